"""LatentIsing: a hidden truth, voters' biases and dependences, missing votes; the default."""

from dataclasses import replace
from operator import attrgetter
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators.base import Floats, LogOdds, TwoCoinVoters, describe_votes
from unelisa.aggregators.known import add_prior, read_prior
from unelisa.blocks import ItemBlocks
from unelisa.em import bound_share
from unelisa.errors import ConvergenceWarning, ExpertsWarning, ModelError, warn_user
from unelisa.graph import VoterGraph
from unelisa.latent import Structure, interpret
from unelisa.latent.ballots import list_ballots, set_prior_odds
from unelisa.latent.consensus.reading import SURE_ERRORS
from unelisa.latent.gold import follow_gold
from unelisa.latent.reading import NOTHING_FOUND, Reading, sum_posteriors
from unelisa.orientation import Orient, is_upside_down
from unelisa.partitioned import is_partitioned
from unelisa.votes import Votes

CONTRADICTION = (
    "the prior and the anchor voter point to opposite sides: the anchor decides which side is yes, "
    "and the prior contradicts the votes"
)


def _of_reading(name: str, doc: str) -> Any:
    """Return a property that is an attribute of the fitted reading."""
    return property(attrgetter(f"_reading.{name}"), doc=doc)


class LatentIsing(TwoCoinVoters, LogOdds):
    """The latent Ising model: what real votes need, and the product's default.

    A hidden truth f0 stands behind the votes; voter s has a bias b_s, a weight a_s and, where the
    votes need it, ties to a shared misreading u (a tilt) or to other voters (edges)::

        logit P(f_s = +1 | f0, u, f) = 2 (b_s + a_s f0 + c_s u + sum_t W_st f_t)

    Missing votes are ignored, voters with few votes are shrunk toward the mean, near-duplicates
    share their weight. What is needed is decided from the votes alone, see Notes.

    Parameters
    ----------
    structure
        "auto", or one of "plain" (voters err independently), "tilt" (with a misreading that all
        share), "discount" (near-duplicates count less), "edges" (a graph of the voters). A tilt
        or discount that leaves no truth, and a discount that predicts worse than plain, are
        replaced by plain with a warning.
    orient
        "majority", or the name or index of an anchor voter who is right more often than wrong.
        Which side is yes is decided by gold labels, else by the anchor, else in a graph by a
        prior, else by the majority; a prior and an anchor that differ give a warning.
    n_jobs
        Threads; the result does not depend on them.
    random_state
        Seed or generator for sampling the items on which structures are compared.

    Attributes
    ----------
    experts_, weights_, polarity_, voters_
        Voters whose a_s is clearly not 0 (by two standard errors on their own votes; in a graph
        with a probability above one half), a_s, its sign, and why.
    prevalence_, prevalence_interval_
        Share of positive items among those with votes, and a 95 % interval
        logit(pi) +- 1.96 / sqrt(sum_i (tau_i - pi)^2) that takes the voters' quality as known.
    field_, fields_
        theta_0, half the log-odds of an item without votes (unless rules' silence is an answer, see
        Notes), and the voters' biases b_s.
    sensitivity_, specificity_
        P(says yes | yes) and P(says no | no) per voter.
    standard_errors_
        Standard error of each weight.
    graph_
        `VoterGraph` of the ties between voters beyond the truth: the edges, or the correlations
        that were discounted.
    structure_
        A pandas table of the structures that were tried: gain (log score beyond plain's, or nats
        beyond a graph without a truth), standard_error, agreement with plain, admissible, kept.
    reading_
        "consensus", "edges" or "gold".
    coherence_
        kappa: how far the voters point the same way; 1 all, 0 no preferred side.
    two_readings_
        Whether the votes allow another truth.

    Notes
    -----
    Which reading is meant is an identifying assumption: where at least four fifths of the voters
    point the same way (kappa >= .36), or clearly more than half of many, the truth is what they
    agree on (the consensus), else the hub of their graph (the edges).
    Among plain, tilt and discount, the log score decides with which each vote is predicted from the
    voters on its item who do not depend on it. The class rate enters a score by half, because the
    voters' biases express it too; under a discount in full.

    Where one-sided voters cast most votes, as labeling rules do, silence is their other answer on
    items with votes; an item without votes gets the odds that follow from how often rules speak on
    either side.

    Gold labels decide which side is yes. Ten or more can do two more things: voters are weighted by
    them alone if they do not follow what the voters agree on, and they enter a consensus as certain
    if that helps to predict held-out labels. In a graph they are always certain.

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
            `Votes`, an array of -1 / +1 or of 0 / 1 (items x voters), or a table that `Votes.of`
            reads; -1, 0 and 1 together need ``Votes.of(X, coding=...)``.
        y
            Optional gold labels, as for every aggregator. A few that agree clearly decide which
            side is yes; ten or more can do more, see Notes.
        prior
            Optional log-odds per item, from an anchor or a classifier: in the items' order, or a
            dict or pandas Series by item (0 where an item is absent). A model keeps no items, so
            `predict` needs the log-odds of its items again.
        """
        if self.structure not in get_args(Structure):
            known = ", ".join(repr(name) for name in get_args(Structure))
            raise ModelError(f"structure must be one of {known}, found {self.structure!r}")
        return self._fit_known(X, y, prior)

    def _learn(self, votes: Votes, gold: NDArray[np.int8] | None, prior: Floats | None) -> None:
        """Read the votes, decide which side is yes, follow gold labels, estimate prevalence."""
        prior_odds = np.zeros(votes.n_items) if prior is None else prior
        ballots = list_ballots(votes.blocks, self.n_jobs)
        rng = np.random.default_rng(self.random_state)
        reading = interpret(set_prior_odds(ballots, prior_odds), self.structure, rng)
        reading = self._orient(votes, ballots, prior_odds, reading)
        if gold is not None and gold.any():
            reading = follow_gold(ballots, prior_odds, gold, reading, rng)
        self._reading = replace(reading, others=())
        self.weights_ = reading.model.weights
        self._learn_prevalence(set_prior_odds(ballots, prior_odds))
        self._warn()

    def _orient(
        self, votes: Votes, ballots: ItemBlocks, prior_odds: Floats, reading: Reading
    ) -> Reading:
        """Return the reading on the side of the anchor voter, or else of prior and majority."""
        if self.orient == "majority":
            turned = reading.is_upside_down(ballots, prior_odds)
            return reading.turned() if turned else reading
        scores = reading.score(ballots)
        turned = is_upside_down(self.orient, votes, scores, np.empty(0))
        if turned and prior_odds.any() and not reading.sign_is_open:
            # the majority's side was fitted, where the prior has the opposite sign
            rng = np.random.default_rng(self.random_state)
            reading = interpret(set_prior_odds(ballots, -prior_odds), self.structure, rng)
        reading = reading.turned() if turned else reading
        differ = float(prior_odds @ scores) * (-1 if turned else 1) < 0
        return reading.noting(CONTRADICTION) if differ else reading

    def _learn_prevalence(self, ballots: ItemBlocks) -> None:
        """Learn pi and its interval, and both coins of every voter."""
        reading = self._reading
        found, signed, observed = ballots.sum(sum_posteriors, reading, ballots.n_voters)
        n_heard, total, squares = found
        share = float(np.clip(total / n_heard, 0.5 / n_heard, 1 - 0.5 / n_heard))
        spread = squares - 2 * share * total + n_heard * share**2
        self.prevalence_ = share
        self.prevalence_interval_ = bound_share(share, max(float(spread), 1e-9))
        self.coins_ = reading.estimate_coins(signed, observed)

    def _warn(self) -> None:
        for note in self._reading.notes:
            warn_user(note, ExpertsWarning)
        model = self._reading.model
        if not model.converged:
            warn_user(
                f"EM stopped after {len(model.objective)} iterations before every voter's weight "
                "had converged; labels of undecided items may still change",
                ConvergenceWarning,
            )

    def _check_identifiability(self, votes: Votes) -> None:
        """Set `reliable_`: False also where the fit found no truth."""
        super()._check_identifiability(votes)
        if not self.reliable_ or NOTHING_FOUND not in self._reading.notes:
            return
        self.reliable_, self.reliability_reason_ = False, NOTHING_FOUND
        if self.reading_ == "edges":
            gain = self._reading.table[0]["gain"]
            self.reliability_reason_ += f" (a truth gains {gain:.1f} nats, one per voter is needed)"

    def decision_function(self, X: Any, prior: Any = None) -> Floats:
        """Return the log-odds per item, with the items' prior log-odds added where given.

        For a Dask collection, `prior` has its partitions or is in the order of the items.
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

    def _score(self, votes: Votes) -> Floats:
        return self._reading.score(list_ballots(votes.blocks, self.n_jobs))

    @property
    def experts_(self) -> NDArray[np.intp]:
        """Indices of the voters who clearly follow the truth or its opposite."""
        return np.flatnonzero(self._reading.experts)

    field_ = _of_reading("field", "theta_0: half the log-odds of an item without votes.")
    fields_ = _of_reading("model.biases", "Bias b of each voter.")
    standard_errors_ = _of_reading("model.standard_errors", "Standard error of each weight.")
    reading_ = _of_reading("name", "Which reading of the votes was taken.")
    coherence_ = _of_reading("coherence", "How far the voters point the same way.")
    two_readings_ = _of_reading("two_readings", "Whether the votes allow another truth.")

    @property
    def structure_(self) -> Any:
        """The structures that were tried, as a pandas table."""
        import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

        table = pd.DataFrame(list(self._reading.table))
        return table.assign(kept=table.get("kept", False)).fillna({"kept": False})

    @property
    def graph_(self) -> VoterGraph:
        """Ties between voters beyond the truth."""
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
        return {**super()._voter_estimates(), "standard_error": self.standard_errors_}

    def _reasons(self, votes: Votes) -> list[str]:
        heard = (self._reading.silence != 0) & (votes.vote_counts() < votes.n_items)
        return [
            f"{self._reason(s)}; its silence is its other answer" if heard[s] else reason
            for s, reason in enumerate(super()._reasons(votes))
        ]

    def _reason(self, voter: int) -> str:
        weight = f"{self.weights_[voter]:z.2f} ± {self.standard_errors_[voter]:.2f}"
        if self._reading.experts[voter]:
            side = "agrees with" if self.weights_[voter] > 0 else "contradicts"
            return f"{side} the truth, {weight}"
        if NOTHING_FOUND in self._reading.notes:
            return f"the votes show no truth that it could follow, {weight}"
        links = self._reading.links
        if self.reading_ == "edges" and voter in np.append(links.first, links.second):
            return f"explained by other voters, {weight}"
        if abs(self.weights_[voter]) > SURE_ERRORS * self.standard_errors_[voter]:
            return f"shrunk toward the mean, its own votes are too few, {weight}"
        return f"not clearly tied to the truth, {weight}"
