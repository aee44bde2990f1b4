"""LatentIsing: a hidden truth, voters' biases and dependences, missing votes; the default."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators.base import (
    Floats,
    PosteriorAggregator,
    describe_votes,
    idle_reason,
    pool_ballots,
)
from unelisa.aggregators.known import add_prior, read_prior
from unelisa.em import bound_share
from unelisa.errors import ConvergenceWarning, ExpertsWarning, ModelError, warn_user
from unelisa.graph import VoterGraph
from unelisa.latent.ballots import BallotBlocks, lay_ballots
from unelisa.latent.gold_following import follow_gold
from unelisa.latent.interpretation import NOTHING_FOUND, SURE_ERRORS, Structure, interpret
from unelisa.latent.reading import Reading, sum_chances
from unelisa.orientation import Orient, is_upside_down
from unelisa.partitioned import is_partitioned
from unelisa.votes import Votes

CONTRADICTION = (
    "the prior and the anchor voter point to opposite sides: the anchor settles which side is yes, "
    "and the prior speaks against the votes"
)


class LatentIsing(PosteriorAggregator):
    """The latent Ising model: what real votes need, and the product's default.

    A hidden truth f0 stands behind the votes; voter s has a field b_s, a tie a_s to the truth and,
    where the votes ask for it, ties to a shared misreading u (a tilt) or to other voters (edges)::

        logit P(f_s = +1 | f0, u, f) = 2 (b_s + a_s f0 + c_s u + sum_t W_st f_t)

    Missing votes leave no trace, voters with few votes are drawn to the others, near-duplicates
    share their weight. What is needed is decided from the votes alone, see Notes.

    Parameters
    ----------
    structure
        "auto", or one of "plain" (voters err independently), "tilt" (with a misreading that all
        share), "discount" (near-duplicates count less), "edges" (a graph of the voters). A tilt
        or discount that leaves no truth, and a discount that predicts worse than plain, give way
        to plain with a warning.
    orient
        "majority", or the name or index of an anchor voter who is right more often than wrong.
        Which side is yes is settled by gold labels, else by the anchor, else in a graph by a
        prior, else by the majority; a prior and an anchor that differ give a warning.
    n_jobs
        Threads; the result does not depend on them.
    random_state
        Seed or generator that draws the items on which structures are compared.

    Attributes
    ----------
    experts_, weights_, polarity_, voters_
        Who is an expert by clear evidence on a_s (two standard errors on its own votes; in a graph
        a chance above one half), a_s, its sign, and why.
    prevalence_, prevalence_interval_
        Share of positive items among those with votes, and a 95 % interval
        logit(pi) +- 1.96 / sqrt(sum_i (tau_i - pi)^2) that takes the voters' quality as known.
    field_, fields_
        theta_0, half the log-odds of an item without votes (unless rules' silence tells of it, see
        Notes), and b_s.
    sensitivity_, specificity_
        P(says yes | yes) and P(says no | no) per voter.
    standard_errors_
        Standard error of each weight.
    graph_
        `VoterGraph` of what ties voters beyond the truth: the edges, or what was discounted.
    structure_
        A pandas table of the structures that were tried: gain (log score beyond plain's, or nats
        beyond a graph without truth), standard_error, agreement with plain, admissible, kept.
    reading_
        "consensus", "edges" or "gold".
    coherence_
        kappa: how far the voters look the same way; 1 all, 0 no preferred side.
    two_readings_
        Whether the votes allow another truth.

    Notes
    -----
    Which reading is meant is an identification assumption: where at least four fifths of the voters
    look the same way (kappa >= .36), or clearly more than half of many, the truth is what they
    agree on, else the hub of their graph.
    Among plain, tilt and discount, the log score decides with which each vote is predicted from the
    voters on its item who do not depend on it. The class rate enters a score by half, because the
    voters' fields stand for it too; under a discount in full.

    Where one-sided voters cast most votes, as labelling rules do, silence is their other answer on
    items with votes; one without votes gets the odds that follow from how often rules speak on
    either side.

    Gold labels settle the sides. From ten on, voters are weighed by them alone where they do not
    follow what the voters agree on, and they enter a consensus as certain where that predicts
    labels left out better. In a graph they are always certain.

    Examples
    --------
    400 messages and five readers, who each saw about two thirds of them; eve guesses:

    >>> import numpy as np, pandas as pd, unelisa as ue
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.choice(["ham", "spam"], 400, p=[0.7, 0.3])
    >>> other = np.where(truth == "ham", "spam", "ham")
    >>> right = {"ann": 0.95, "bob": 0.9, "cem": 0.8, "dia": 0.75, "eve": 0.5}
    >>> said = {who: np.where(rng.random(400) < p, truth, other) for who, p in right.items()}
    >>> votes = pd.DataFrame(said).mask(rng.random((400, 5)) < 0.3)
    >>> votes.head(2)
       ann  bob  cem   dia  eve
    0  ham  NaN  ham   ham  NaN
    1  ham  ham  ham  spam  NaN
    >>> model = ue.LatentIsing(random_state=0).fit(votes)  # it never sees the truth
    >>> model.predict(votes)[:2].tolist(), model.predict_proba(votes)[0].round(2).tolist()
    (['ham', 'ham'], [0.99, 0.01])
    >>> model.score(votes, truth) > ue.MajorityVote().fit(votes).score(votes, truth) + 0.05
    True
    >>> model.voters_[["voter", "verdict", "sensitivity", "specificity"]].round(2)
      voter  verdict  sensitivity  specificity
    0   ann   expert         0.89         0.95
    1   bob   expert         0.92         0.90
    2   cem   expert         0.75         0.78
    3   dia   expert         0.83         0.79
    4   eve  counted         0.49         0.56
    """

    verdicts = ("contrarian", "pruned", "expert")

    def __init__(
        self,
        structure: Structure = "auto",
        *,
        orient: Orient = "majority",
        n_jobs: int | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.structure = structure
        self.orient = orient
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, prior: Any = None) -> "LatentIsing":
        """Return self, fitted to the votes.

        Parameters
        ----------
        X
            `Votes`, an array of -1 / 0 / +1 (items x voters), or a table that `Votes.of` reads.
        y
            Optional gold labels, as for every aggregator. A few that agree clearly settle which
            side is yes, ten and more may do more, see Notes.
        prior
            Optional log-odds per item, from an anchor or a classifier: in the items' order, or a
            dict or pandas Series by item (0 where an item is absent). A model keeps no items, so
            `predict` takes the log-odds of its items anew.
        """
        if self.structure not in get_args(Structure):
            known = ", ".join(repr(name) for name in get_args(Structure))
            raise ModelError(f"structure must be one of {known}, found {self.structure!r}")
        return self._fit_known(X, y, prior)

    def _learn(self, votes: Votes, gold: NDArray[np.int8] | None, prior: Floats | None) -> None:
        fields = np.zeros(votes.n_items) if prior is None else prior
        self._interpret(votes, gold, fields)
        self._learn_prevalence(votes, fields)
        for note in self._reading.notes:
            warn_user(note, ExpertsWarning)
        model = self._reading.model
        if model is not None and not model.converged:
            rounds = len(model.objective)
            warn_user(
                f"EM stopped after {rounds} rounds before every voter's weight had settled; labels "
                "of undecided items may still change",
                ConvergenceWarning,
            )

    def _weigh_evidence(self, votes: Votes) -> None:
        """Settle whether the votes tell of a truth, also where only voters' own ties tell of it."""
        super()._weigh_evidence(votes)
        if not self.reliable_ or NOTHING_FOUND not in self._reading.notes:
            return
        self.reliable_, self.reliability_reason_ = False, NOTHING_FOUND
        if self.reading_ == "edges":
            gain = self._reading.table[0]["gain"]
            self.reliability_reason_ += f" (a truth gains {gain:.1f} nats, one a voter is needed)"

    def decision_function(self, X: Any, prior: Any = None) -> Floats:
        """Return the log-odds per item, with the items' own log-odds where given.

        For a Dask collection, `prior` has its partitions or stands in the items' order.
        """
        if prior is None:
            return super().decision_function(X)
        if is_partitioned(X):
            return add_prior(super().decision_function(X), prior)
        votes = self._reenter(X)
        return self._score_all(votes) + read_prior(prior, votes)

    def predict(self, X: Any, prior: Any = None) -> NDArray[Any]:
        """Return one of the user's two labels per item."""
        return self._label(self.decision_function(X, prior))

    def predict_proba(self, X: Any, prior: Any = None) -> Floats:
        """Return P(negative), P(positive) per item, in the order of `classes_`."""
        return self._pair(self.decision_function(X, prior))

    def _interpret(self, votes: Votes, gold: NDArray[np.int8] | None, fields: Floats) -> None:
        """Read the votes, then settle the sides."""

        def lay(known: Floats) -> BallotBlocks:
            return lay_ballots(votes.held, known, self.n_jobs)

        rng = np.random.default_rng(self.random_state)
        reading = interpret(lay(fields), self.structure, rng)
        if self.orient != "majority":
            reading = self._follow_anchor(votes, lay, fields, reading)
        elif _is_upside_down(votes, lay, fields, reading):
            reading = reading.turned()
        if gold is not None and gold.any():
            reading = follow_gold(lay, fields, gold, reading, rng)
        self._reading = replace(reading, other=None)
        self.weights_ = reading.weights

    def _follow_anchor(
        self,
        votes: Votes,
        lay: Callable[[Floats], BallotBlocks],
        fields: Floats,
        reading: Reading,
    ) -> Reading:
        """Return the reading on the anchor's side, the prior on the same; tell if they differ."""
        scores = reading.score(lay(np.zeros(votes.n_items)))
        turned = is_upside_down(self.orient, votes, scores, np.empty(0))
        if turned and fields.any() and reading.model is not None:
            # the voters' side was fitted, and there the prior says the opposite
            rng = np.random.default_rng(self.random_state)
            reading = interpret(lay(-fields), self.structure, rng)
        reading = reading.turned() if turned else reading
        differ = float(fields @ scores) * (-1 if turned else 1) < 0
        return reading.noting(CONTRADICTION) if differ else reading

    def _score(self, votes: Votes) -> Floats:
        fields = np.zeros(votes.n_items)
        return self._reading.score(lay_ballots(votes.held, fields, self.n_jobs))

    def _learn_prevalence(self, votes: Votes, fields: Floats) -> None:
        """Learn pi and its interval, and both coins of every voter."""
        reading = self._reading
        blocks = lay_ballots(votes.held, fields, self.n_jobs)
        found, signed, observed = blocks.sum(sum_chances, reading, votes.n_voters)
        n_heard, total, squares = found
        share = float(np.clip(total / n_heard, 0.5 / n_heard, 1 - 0.5 / n_heard))
        spread = squares - 2 * share * total + n_heard * share**2
        self.prevalence_ = share
        self.prevalence_interval_ = bound_share(share, max(float(spread), 1e-9))
        self.coins_ = (signed + observed + 1).T / (2 * observed + 2).T
        if reading.model is not None:
            self.coins_ = reading.model.coins

    @property
    def experts_(self) -> NDArray[np.intp]:
        """Indices of the voters with clear evidence that they see the truth or its opposite."""
        return np.flatnonzero(self._reading.experts)

    @property
    def field_(self) -> float:
        """theta_0: half the log-odds of an item without votes."""
        return float(self._reading.field)

    @property
    def fields_(self) -> Floats:
        """Field b of each voter."""
        return self._reading.fields

    @property
    def standard_errors_(self) -> Floats:
        """Standard error of each weight."""
        return self._reading.standard_errors

    @property
    def sensitivity_(self) -> Floats:
        """P(says yes | truth is yes) per voter."""
        return np.asarray(self.coins_[1])

    @property
    def specificity_(self) -> Floats:
        """P(says no | truth is no) per voter."""
        return np.asarray(1 - self.coins_[0])

    @property
    def reading_(self) -> str:
        """How the votes were read."""
        return self._reading.name

    @property
    def coherence_(self) -> float:
        """How far the voters look the same way."""
        return self._reading.coherence

    @property
    def two_readings_(self) -> bool:
        """Whether the votes allow another truth."""
        return self._reading.two_readings

    @property
    def structure_(self) -> Any:
        """The structures that were tried, as a pandas table."""
        import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

        table = pd.DataFrame(list(self._reading.table))
        return table.assign(kept=table.get("kept", False)).fillna({"kept": False})

    @property
    def graph_(self) -> VoterGraph:
        """What ties voters beyond the truth."""
        n_voters, links = self.n_features_in_, self._reading.links
        weights = np.zeros((n_voters, n_voters))
        weights[links.first, links.second] = weights[links.second, links.first] = links.weights
        return VoterGraph(weights, weights != 0)

    @property
    def voters_(self) -> Any:
        """One row per voter, as a pandas table."""
        table = super().voters_
        if self.reading_ == "edges":
            table.loc[~self._reading.experts, "verdict"] = "pruned"
        return table

    def _describe_voters(self, votes: Votes) -> dict[str, Any]:
        partners = self._reading.links.name_partners(self.voter_names_)
        reasons = self._reasons(votes)
        return {**describe_votes(votes), "depends_on": partners, "reason": reasons}

    def _voter_estimates(self) -> dict[str, Floats]:
        return {
            "sensitivity": self.sensitivity_,
            "specificity": self.specificity_,
            "standard_error": self.standard_errors_,
        }

    def _reasons(self, votes: Votes) -> list[str]:
        links, n_voters = self._reading.links, votes.n_voters
        tied = np.isin(np.arange(n_voters), [links.first, links.second])
        heard = (self._reading.silence != 0) & (votes.vote_counts() < votes.n_items)
        told = [self._reason(s, tied=bool(tied[s])) for s in range(n_voters)]
        return [
            f"{told[s]}; its silence is its other answer"
            if heard[s]
            else idle_reason(votes, s) or told[s]
            for s in range(n_voters)
        ]

    def _reason(self, voter: int, *, tied: bool) -> str:
        told = f"{self.weights_[voter]:z.2f} ± {self.standard_errors_[voter]:.2f}"
        if self._reading.experts[voter]:
            side = "agrees with" if self.weights_[voter] > 0 else "contradicts"
            return f"{side} the truth, {told}"
        if NOTHING_FOUND in self._reading.notes:
            return f"the votes show no truth that it could be tied to, {told}"
        if self.reading_ == "edges" and tied:
            return f"explained by other voters, {told}"
        if abs(self.weights_[voter]) > SURE_ERRORS * self.standard_errors_[voter]:
            return f"drawn to the others, its own votes are too few to tell, {told}"
        return f"not clearly tied to the truth, {told}"


def _is_upside_down(
    votes: Votes, lay: Callable[[Floats], BallotBlocks], fields: Floats, reading: Reading
) -> bool:
    """Return whether the sides must be swapped.

    A graph's by the prior, else by most experts. A consensus began at the majority, on the prior's
    side; but where most voters know next to nothing, those who do know may be on the other.
    """
    if reading.model is not None:
        no, yes = reading.model.coins
        return not fields.any() and bool(pool_ballots(yes - no)[0] < 0)
    if fields.any() and (side := fields @ reading.score(lay(np.zeros(votes.n_items)))) != 0:
        return bool(side < 0)
    experts = reading.experts if reading.experts.any() else np.abs(reading.weights) > 0
    return is_upside_down("majority", votes, np.empty(0), reading.weights[experts])
