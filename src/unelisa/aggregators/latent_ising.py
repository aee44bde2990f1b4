"""LatentIsing: a hidden truth, voters' biases and dependences, missing votes; the default."""

from copy import copy
from dataclasses import replace
from operator import attrgetter
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators.base import Floats, LogOdds, describe_votes, list_idle, map_chances
from unelisa.aggregators.confusions import ConfusionAggregator, has_confusions
from unelisa.aggregators.drift import describe_drift, find_drift
from unelisa.aggregators.known import (
    KeptVotes,
    Memory,
    add_prior,
    join_gold,
    no_odds,
    number_codes,
    read_more,
    read_prevalence,
    read_prior,
)
from unelisa.aggregators.orientation import Orient, is_upside_down
from unelisa.base import check_is_fitted
from unelisa.errors import ModelError, ReliabilityWarning, Sentence, warn_user
from unelisa.estimator import Takes
from unelisa.latent import Known, Structure, describe, interpret
from unelisa.latent.gold import follow_gold, match_prevalence
from unelisa.latent.reading import (
    Reading,
    describe_copies,
    explain_voters,
    find_heads,
    judge_voters,
    tabulate_readings,
)
from unelisa.latent.trust import Checked, Trust
from unelisa.paper.ising import VoterGraph
from unelisa.progress import until
from unelisa.schema import stored
from unelisa.votes import Votes, join_votes
from unelisa.votes.ballots import fix_labels, list_ballots, set_prior_odds
from unelisa.votes.blocks import ItemBlocks
from unelisa.votes.partitioned import is_partitioned

CONTRADICTION = (
    "the prior and the anchor voter point to opposite sides: the anchor decides which side is yes, "
    "and the prior contradicts the votes"
)
DRIFT_ITEMS = 4_000  # at most, on which an update looks for drift


def _of_reading(name: str, doc: str) -> Any:
    return property(attrgetter(f"_reading.{name}"), doc=doc)


@stored(
    has_confusions,
    _reading="Reading",
    prevalence_interval_="many(2) estimate | estimate[2, classes]",
    coins_="?estimate[2, voters]",
    _confusion="?estimate[voters, classes, classes]",
    _confusion_votes="?finite[voters, classes]",
    _kept_votes="?KeptVotes",
    _beside="?text",
)
class LatentIsing(ConfusionAggregator, LogOdds):
    """The latent Ising model: what real votes need, and the product's default.

    An item has a hidden class k and an ease d, voter s a weight a_s, biases b_sc and a vote f_s::

        P(f_s = c | k, d) = softmax_c(b_sc + d a_s [c = k])

    which for two classes is the Ising model logit P(f_s = +1 | f0, d) = 2 (b_s + a_s d f0). Voters
    who repeat each other count for less, copies as one. Probabilities are averaged with the share
    of the votes, in log-odds. Missing votes are ignored; voters with few votes are shrunk toward
    the mean. Where the voters do not point the same way, the truth is the hub of their graph.

    What votes do not determine was learned from real votes with known truth: see docs/prior.md.
    Gold labels are the truth of their items; ten or more also choose between readings and correct
    the probabilities. The order of items and voters moves these by rounding only, 1e-6 at most.

    Parameters
    ----------
    structure
        "auto"; "ease" (every voter counts once), "families" (all items have one ease), "plain"
        (both), or "edges" (a graph of the voters; two classes).
    orient
        What decides which side is yes where gold labels do not: "majority", or the name or index of
        an anchor voter who is right more often than wrong.
    n_jobs, random_state
        Number of threads, which does not change the result; `random_state` is not used.

    Attributes
    ----------
    experts_, weights_, polarity_
        Voters clearly better than the crowd (in a graph: tied to the truth), a_s, its sign.
    voters_, voters_full_
        A table of voters: verdict, reason, accuracy, sensitivity, specificity, ppv and npv (or
        recall_<class>), each with a 90 % interval (_low, _high). The first prints its main columns.
    families_, effective_voters_
        Voters who repeat each other; the effective number of voters, Kish's n / (1 + (n - 1) rho)
        with rho the mean correlation of their errors (NaN for a graph).
    prevalence_, prevalence_interval_
        Share of positive items (of each class), and its 90 % interval.
    expected_accuracy_, expected_accuracy_interval_
        Accuracy expected of the labels from experience with other sets of votes, and its 90 %
        interval; None where the votes identify no truth.
    reliable_, reliability_reason_, cautions_
        Whether the chance that the true accuracy is more than .10 below `expected_accuracy_` is
        under 10 %, and no warning concerns the labels; why not; all warnings of the fit.
    field_, fields_
        theta_0, half the log-odds of an item without votes; b_s.
    sensitivity_, specificity_
        P(says yes | yes) and P(says no | no) per voter; NaN where unknown.
    confusions_
        P(says c | class k) per voter, as a pandas table.
    standard_errors_, edges_, graph_
        Standard error of each weight; ties between voters as a list, and as a `VoterGraph`.
    readings_, reading_, two_readings_, coherence_
        The readings that the votes allow; "consensus" or "edges"; whether there are two; kappa,
        how far the voters point the same way (0 to 1).

    Examples
    --------
    400 messages and five readers, each of about two thirds; eve guesses:

    >>> import numpy as np, pandas as pd, unelisa as ue
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.choice(["ham", "spam"], 400, p=[0.7, 0.3])
    >>> other = np.where(truth == "ham", "spam", "ham")
    >>> right = {"ann": 0.95, "bob": 0.9, "cem": 0.8, "dia": 0.75, "eve": 0.5}
    >>> said = {who: np.where(rng.random(400) < p, truth, other) for who, p in right.items()}
    >>> votes = pd.DataFrame(said).mask(rng.random((400, 5)) < 0.3)
    >>> model = ue.LatentIsing().fit(votes)
    >>> model.score(votes, truth), ue.MajorityVote().fit(votes).score(votes, truth)
    (0.925, 0.905)
    >>> model.voters_["verdict"].to_list()
    ['expert', 'expert', 'counted', 'counted', 'uninformative']
    """

    verdicts = ("contrarian", "pruned", "expert")
    takes = Takes(any_class=True, gold="labels", prior=True)
    remembers_votes = True
    _reading: Reading
    prevalence_interval_: Any  # (low, high), or two rows of classes
    _stated: Any = None  # the prevalence that `fit` was given; only during `fit`
    _checked: Checked  # only during `fit`
    _beside: str  # what entered the fit besides votes and gold labels, if anything did

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

    def fit(
        self,
        X: Any,
        y: Any = None,
        prior: Any = None,
        *,
        prevalence: Any = None,
        sample_weight: Any = None,
    ) -> "LatentIsing":
        """Return self, fitted to the votes; warns if the labels cannot be relied on.

        Parameters
        ----------
        X, sample_weight
            Votes, and how many items each item stands for, as in `Aggregator.fit`: an array of
            -1 / +1 or of 0 / 1 (items x voters), `Votes`, or a table that `Votes.of` reads.
        y
            Gold labels: a dict or pandas Series by item, or one label per item, missing where
            unknown. They are the truth of their items; ten or more correct the probabilities.
        prior
            Log-odds per item, in the items' order or by item, one column per class if there are
            more than two; `predict` needs those of its items again.
        prevalence
            The share of positive items: a number, a pair (low, high), or a mapping from class to
            either.
        """
        if self.structure not in get_args(Structure):
            known = ", ".join(repr(name) for name in get_args(Structure))
            raise ModelError(f"structure must be one of {known}, found {self.structure!r}")
        self._stated = prevalence
        try:
            self._fit_known(X, y, prior, sample_weight)
        finally:
            for passing in ("_stated", "_checked", "_beside"):
                self.__dict__.pop(passing, None)
        beside = {"prior log-odds": prior, "prevalence": prevalence, "sample_weight": sample_weight}
        for what in [name for name, given in beside.items() if given is not None]:
            self._beside = what
        return self

    def _learn(self, votes: Votes, gold: NDArray[np.int8] | None, prior: Floats | None) -> None:
        """Read the votes, decide which side is yes, follow gold labels and stated shares."""
        odds = np.empty(0) if prior is None else prior
        ballots = set_prior_odds(self._list_ballots(votes), odds)
        reading, self._checked = read_sides(votes, ballots, odds, self), Checked()
        if gold is not None and gold.any():
            known = number_codes(gold, votes.n_classes)
            reading, self._checked = follow_gold(ballots, known, reading)
        if self._stated is not None:
            bounds = read_prevalence(self._stated, votes.classes)
            own = ballots if gold is None else self._list_known(votes, gold, prior)
            reading = replace(reading, correction=match_prevalence(own, reading, bounds))
        self._reading = reading

    def _check_identifiability(self, votes: Votes) -> bool:
        """Return whether the votes identify a truth at all; voters who repeat others left out."""
        return super()._check_identifiability(votes.take_voters(self._reading.independent))

    def _judge_voters(
        self, votes: Votes, gold: NDArray[np.int8] | None, prior: Floats | None, identified: bool
    ) -> None:
        """Set the accuracy of labels and voters, whether that is reliable, and the warnings."""
        labels = np.empty(0, dtype=np.int8) if gold is None else gold
        ballots = self._list_known(votes, labels, prior)
        stated = self._stated
        bounds = None if stated is None else read_prevalence(stated, votes.classes)
        known = Known(labels, self._checked, bounds)

        def judge(one: Reading) -> Reading:
            return describe(ballots, one, known, identified=identified)

        reading = self._reading
        self._take(judge(replace(reading, others=tuple(map(judge, reading.others)))))
        for caution in self.cautions_:
            if caution not in self.reliability_reason_:  # which one warning gives as a whole
                warn_user(caution, ReliabilityWarning)

    def _take(self, reading: Reading) -> None:
        self._reading, trust = reading, reading.trust
        self.weights_ = np.asarray(reading.weights)
        worth = reading.worth
        if trust is None or worth is None:
            return
        if reading.n_classes == 2:
            self.coins_ = worth.coins
            self.prevalence_ = float(trust.shares[1])
            low, high = trust.share_bounds[:, 1].tolist()
            self.prevalence_interval_ = low, high
        else:
            known = ~np.isnan(worth.values[:1].T[:, :, None])
            self._confusion = np.where(known, reading.confusions, np.nan)
            self._confusion_votes = worth.met
            self.prevalence_, self.prevalence_interval_ = trust.shares, trust.share_bounds
        self._rely(trust, reading)

    def _rely(self, trust: Trust, reading: Reading) -> None:
        if not self.reliable_ and not trust.checked.enough:
            return  # the votes do not identify a truth, and nothing else does
        doubts = [] if trust.checked.enough else [*reading.reasons]
        reasons = [str(one.name_voters(self.voter_names_)) for one in doubts]
        reasons += [] if trust.reliable else [trust.reason]
        self.reliable_ = not reasons
        self.reliability_reason_ = "; ".join(reasons) or trust.reason

    @property
    def cautions_(self) -> list[Sentence]:
        """Why the labels may be unreliable, then other notes, one sentence each."""
        found = (*self._reading.reasons, *self._reading.notes)
        copies = describe_copies(self._reading.heads, self.voter_names_)
        return [*(one.name_voters(self.voter_names_) for one in found), *copies]

    def read(self, k: int) -> "LatentIsing":
        """Return the model with another reading of the votes, row `k` of `readings_`."""
        readings = self._reading.readings
        if k not in range(len(readings)):
            raise ModelError(f"there is no reading {k}: `readings_` has {len(readings)} rows")
        other = copy(self)
        rest = (reading for j, reading in enumerate(readings) if j != k)
        others = tuple(replace(one, others=()) for one in rest)
        if "_memory" in self.__dict__:
            other._memory = self._memory
        other._take(replace(readings[k], others=others))
        if k > 0:
            reasons = explain_voters(readings[k], self.voter_names_)
            other._voter_columns = {**self._voter_columns, "reason": reasons}
        return other

    def update(self, votes: Any, *, earlier: Any = None, y: Any = None) -> Self:
        """Return self, fitted again with more or changed votes; warns of drift (`find_drift`).

        Parameters
        ----------
        votes
            They are matched by name, and replace earlier ones of the same voter on the same item;
            rows of a bare array are new items.
        earlier
            The votes so far, which a loaded model has only if saved with ``keep_votes=True``.
        y
            Gold labels besides those of the fit, which they replace.
        """
        check_is_fitted(self, "voter_names_")
        if "_beside" in self.__dict__:
            what = f"a model fitted with {self._beside} cannot be updated"
            raise ModelError(f"{what}; fit it to all votes again")
        if earlier is None:
            memory = self._recall()
        else:
            known = self._reenter(earlier)
            memory = Memory(known, self._recall_gold(known))
        if memory.gold is None and self.__dict__.get("_n_gold", 0) and y is None:
            raise ModelError(
                f"the model was fitted with {self._n_gold} gold labels, which it no longer holds: "
                "pass them again (y, on the command line --gold)"
            )
        joined = join_votes(memory.votes, read_more(self, votes))
        self.fit(joined, join_gold(memory.gold, y, joined))
        drifted = describe_drift(find_drift(self, joined, most=DRIFT_ITEMS))
        if drifted:
            warn_user(drifted, ReliabilityWarning)
        return self

    def keep_votes(self) -> KeptVotes:
        """Return the votes for a model file, with the gold labels."""
        if "_beside" in self.__dict__:
            raise ModelError(f"a model fitted with {self._beside} cannot keep its votes")
        return self._recall().pack()

    def decision_function(self, X: Any, prior: Any = None) -> Floats:
        """Return the log-odds (over two classes log-probabilities) per item of X.

        `prior`: log-odds of these items, given as in `fit`, which are added.
        """
        if is_partitioned(X):
            scores = super().decision_function(X)
            return scores if prior is None else add_prior(scores, prior)
        votes = self._reenter(X)
        scores = self._score_all(votes) + (0 if prior is None else read_prior(prior, votes))
        gold = self._recall_gold(votes)
        return scores if gold is None else fix_labels(scores, gold)

    def predict(self, X: Any, prior: Any = None) -> NDArray[Any]:
        """Return one of the user's labels per item of X; `prior` as in `decision_function`."""
        return self._label(self.decision_function(X, prior))

    def predict_proba(self, X: Any, prior: Any = None) -> Floats:
        """Return the probability of every class per item of X, in the order of `classes_`.

        `prior` as in `decision_function`; items with gold labels of the fit have certainty.
        """
        return map_chances(self.decision_function(X, prior))

    def _score(self, votes: Votes) -> Floats:
        return self._reading.score(self._list_ballots(votes))

    def _list_known(self, votes: Votes, gold: NDArray[np.int8], prior: Floats | None) -> ItemBlocks:
        """Return the votes as lists, with the prior odds, and the gold labels as certain."""
        odds = np.empty(0) if prior is None else prior
        if gold.any():
            nothing = no_odds(votes.n_items, votes.n_classes)
            odds = fix_labels(odds if odds.size else nothing, gold)
        return set_prior_odds(self._list_ballots(votes), odds)

    def _list_ballots(self, votes: Votes) -> ItemBlocks:
        return list_ballots(votes.blocks, self.n_jobs)

    @property
    def experts_(self) -> NDArray[np.intp]:
        """Indices of the voters who are clearly better than the crowd; in a graph, the hub's."""
        return np.flatnonzero(self._reading.experts)

    field_ = _of_reading("field", "theta_0: half the log-odds of an item without votes.")
    fields_ = _of_reading("fields", "Bias b of each voter.")
    standard_errors_ = _of_reading("standard_errors", "Standard error of each weight.")
    reading_ = _of_reading("name", "Which reading of the votes was taken.")
    structure_ = _of_reading("structure", "What was fitted: row 0 of `readings_` names it.")
    coherence_ = _of_reading("coherence", "How far the voters point the same way.")
    two_readings_ = _of_reading("two_readings", "Whether the votes allow another truth.")
    effective_voters_ = _of_reading("trust.voters", "How many independent voters they are.")
    edges_ = _of_reading("links.edges", "Ties between voters beyond the truth: s, t, weight.")

    expected_accuracy_ = _of_reading("trust.stated", "Accuracy expected of the labels, or None.")
    expected_accuracy_interval_ = _of_reading("trust.interval", "Its 90 % interval, or None.")

    @property
    def n_readings_(self) -> int:
        """How many readings the votes allow."""
        return len(self._reading.readings)

    @property
    def readings_(self) -> Any:
        """The readings that the votes allow, as a pandas table; the first one was taken."""
        return tabulate_readings(self._reading.readings, self.voter_names_, self.classes_)

    @property
    def families_(self) -> list[list[Any]]:
        """Voters who repeat each other, by name: one list per family."""
        family = self._reading.family
        return [list(self.voter_names_[family == c]) for c in range(family.max(initial=-1) + 1)]

    def ease(self, X: Any) -> Floats:
        """Return how easy every item of X is: 1 is ordinary, 0 a coin flip, NaN unknown."""
        return self._reading.measure_ease(self._list_ballots(self._reenter(X)))

    @property
    def graph_(self) -> VoterGraph:
        """Ties between voters beyond the truth, as matrices; `edges_` lists the same."""
        return VoterGraph.of_edges(self.edges_, self.n_features_in_)

    @property
    def voter_columns_(self) -> dict[str, Any]:
        """The columns of `voters_full_` by name, each with one value per voter."""
        columns, experts = super().voter_columns_, self._reading.experts.tolist()
        if self.reading_ == "edges":
            pairs = zip(columns["verdict"], experts, strict=True)
            return {**columns, "verdict": [said if kept else "pruned" for said, kept in pairs]}
        verdicts = judge_voters(self._reading, self.voter_names_)
        heads = find_heads(self._reading, self.voter_names_)
        first = {"voter": self.voter_names_, "verdict": verdicts, "family": heads}
        return {**first, **columns, **first}

    def _describe_voters(self, votes: Votes) -> dict[str, Any]:
        partners = self._reading.links.name_partners(self.voter_names_)
        return {**describe_votes(votes), "depends_on": partners, "reason": self._reasons(votes)}

    def _voter_estimates(self) -> dict[str, Floats]:
        worth = self._reading.worth
        found = {} if worth is None else worth.tabulate(self.classes_)
        return {**(found or super()._voter_estimates()), "standard_error": self.standard_errors_}

    def _reasons(self, votes: Votes) -> list[str]:
        reasons = explain_voters(self._reading, self.voter_names_)
        return [idle or reason for idle, reason in zip(list_idle(votes), reasons, strict=True)]


def read_sides(votes: Votes, ballots: ItemBlocks, prior_odds: Floats, model: Any) -> Reading:
    """Return the reading of the votes, on the side of the anchor, or of prior and majority."""
    with until(0.9):
        reading = interpret(ballots, model.structure, votes.n_classes)
    if votes.n_classes > 2:
        return reading
    scores = np.empty(0)
    if prior_odds.any() or model.orient != "majority":
        scores = reading.score(set_prior_odds(ballots, scores))
    if model.orient != "majority":
        turned = is_upside_down(model.orient, votes, scores, np.empty(0))
    elif prior_odds.any():
        turned = bool(prior_odds @ scores < 0)
    else:
        turned = reading.needs_turning()
    if not turned:
        return _note_contradiction(reading, prior_odds, scores)
    if prior_odds.any() and not reading.sign_is_open:
        # the majority's side was fitted, where the prior has the opposite sign
        reading = interpret(set_prior_odds(ballots, -prior_odds), model.structure)
    return _note_contradiction(reading.turned(), prior_odds, -scores)


def _note_contradiction(reading: Reading, prior_odds: Floats, scores: Floats) -> Reading:
    differ = prior_odds.any() and bool(prior_odds @ scores < 0)
    return reading.doubting(CONTRADICTION) if differ else reading
