"""LatentIsing: a hidden truth, voters' biases and dependences, missing votes; the default."""

from copy import copy
from dataclasses import replace
from operator import attrgetter
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators.base import Floats, LogOdds
from unelisa.aggregators.copies import CopiesAsOne, of_voters
from unelisa.aggregators.known import add_prior, read_prior
from unelisa.aggregators.sides import read_sides
from unelisa.aggregators.two_coins import TwoCoinVoters
from unelisa.aggregators.updating import Updating
from unelisa.aggregators.voters import describe_votes, idle_reason
from unelisa.errors import ConvergenceWarning, ModelError, ReliabilityWarning, Sentence, warn_user
from unelisa.graph import VoterGraph
from unelisa.latent import Structure, verdicts
from unelisa.latent.ballots import fix_labels, set_prior_odds
from unelisa.latent.gold import LEAST_LABELS, follow_gold
from unelisa.latent.potts.gold import read_known_classes
from unelisa.latent.potts.reading import ClassReading
from unelisa.latent.reading import Reading
from unelisa.orientation import Orient
from unelisa.partitioned import is_partitioned
from unelisa.schema import stored
from unelisa.votes import Votes


def _of_reading(name: str, doc: str) -> Any:
    return property(attrgetter(f"_reading.{name}"), doc=doc)


@stored(
    _reading="Reading",
    prevalence_interval_="many(2) share | share[2, classes]",
    coins_="?estimate[2, voters]",
    _confusion="?estimate[voters, classes, classes]",
)
class LatentIsing(CopiesAsOne, TwoCoinVoters, LogOdds, Updating):
    """The latent Ising model: what real votes need, and the product's default.

    A hidden truth f0 stands behind the votes; voter s has a bias b_s, a weight a_s and, where the
    votes need them, items an ease d and a misreading u that all voters share (a tilt). Voters who
    repeat each other hang on a family's opinion, which takes a voter's place (a branch)::

        logit P(f_s = +1 | f0, d, u) = 2 (b_s + a_s d f0 + c_s u)

    or voters depend on each other directly (edges). Missing votes are ignored, voters with few
    votes are shrunk toward the mean. What is needed is decided from the votes alone, see Notes.

    With more than two classes it is the Potts form of the same model: class k, class fields b_sc,
    confusions D that all voters share and e_s of their own, which are shrunk hard::

        P(f_s = c | k, d) = softmax_c(b_sc + d (a_s A_kc + D_kc + e_skc))

    A is 1 where c = k and 0 elsewhere; ordered classes are averaged over this form and one that
    falls with the distance of c from k.

    Parameters
    ----------
    structure
        "auto", or one of "plain" (voters err independently), "ease" (items differ in how hard they
        are), "tilt", "families", "edges" (a graph of the voters). One that the votes do not admit
        is replaced with a warning. "tilt" and "edges" take two classes.
    orient
        "majority", or the name or index of an anchor voter who is right more often than wrong.
        Which side is yes is decided by gold labels, else by the anchor, else in a graph by a
        prior, else by the majority; a prior and an anchor that differ give a warning.
    n_jobs
        Threads; the result does not depend on them.
    random_state
        Has no influence: the votes determine the result.

    Attributes
    ----------
    experts_, weights_, polarity_
        Voters who are clearly better than the crowd (in a graph: tied to the truth with a
        probability above one half), a_s and its sign.
    voters_, voters_full_
        A table of voters: verdict, reason, accuracy, sensitivity, specificity, ppv and npv, each
        with a 90 % interval (accuracy_low, accuracy_high), NaN where the votes cannot tell; with
        more than two classes accuracy and recall_<class>. The first prints its main columns only.
    families_, effective_voters_
        Voters who repeat each other, and how many equally good independent voters they all are.
    prevalence_, prevalence_interval_
        Share of positive items among those with votes, and a 95 % interval that includes what the
        votes do not identify.
    expected_accuracy_, expected_accuracy_interval_
        Mean probability of the labels, and its range over the models that are averaged.
    field_, fields_
        theta_0, half the log-odds of an item without votes, and the voters' biases b_s.
    sensitivity_, specificity_
        P(says yes | yes) and P(says no | no) per voter; NaN where the votes cannot tell.
    confusions_
        P(says c | class k) per voter, as a pandas table: what more than two classes have instead.
    standard_errors_, edges_, graph_
        Standard error of each weight; ties of families or edges as a list, and as a `VoterGraph`.
    structure_
        A pandas table of the structures that were tried: gain (nats beyond plain's, or beyond a
        graph without a truth), branches, agreement with plain, admissible, kept.
    readings_, reading_, two_readings_
        The readings that the votes allow; "consensus", "edges" or "gold"; whether there are two.
    reliable_, reliability_reason_, cautions_
        False where something speaks against the labels; what; the same and what else to know, one
        sentence each, as the fit warned. `voters` of a sentence names all, if it names only some.
    coherence_
        kappa: how far the voters point the same way; 1 all, 0 no preferred side.

    Notes
    -----
    Which reading is meant is an identifying assumption: where nearly three quarters of the voters
    point the same way (kappa >= .2), the truth is what they agree on (the consensus), else the hub
    of their graph (the edges). Among the structures of a consensus the evidence decides, and what
    the votes do not identify is averaged over.

    Where one-sided voters cast most votes, as labeling rules do, silence is their other answer on
    items with votes.

    Gold labels decide which side is yes. Ten or more also choose between readings, and are
    regressed on the log-odds of the reading and its rivals and on the votes, with priors around "as
    the reading says": they recalibrate the probabilities and, where held-out labels ask for it,
    weight the voters. `reading_` is "gold" where that changes more than a tenth of the labels.
    With more than two classes gold labels fix the class of their items; ten or more recalibrate the
    probabilities, by a slope and one offset per class.

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
    >>> model = ue.LatentIsing().fit(votes)  # it never sees the truth
    >>> model.predict(votes)[:2].tolist(), model.predict_proba(votes)[0].round(2).tolist()
    (['ham', 'ham'], [0.97, 0.03])
    >>> model.score(votes, truth) > ue.MajorityVote().fit(votes).score(votes, truth) + 0.05
    True
    >>> model.voters_
      voter        verdict accuracy   low  high  votes
    4   eve  uninformative     0.53  0.48  0.58    293
    2   cem        counted     0.75  0.69  0.81    275
    3   dia        counted     0.78  0.71  0.84    283
    1   bob         expert     0.88  0.78  0.94    267
    0   ann         expert     0.89  0.78  0.96    288
    accuracy with a 90 % interval; 19 more columns: voters_full_
    """

    verdicts = ("contrarian", "pruned", "expert")
    multiclass = True

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
        self, X: Any, y: Any = None, prior: Any = None, *, sample_weight: Any = None
    ) -> "LatentIsing":
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
            dict or pandas Series by item (0 where an item is absent). With more than two classes a
            table, one column per class. A model keeps no items, so `predict` needs the log-odds of
            its items again.
        sample_weight
            Optional number of items that each item stands for, as for every aggregator.
        """
        if self.structure not in get_args(Structure):
            known = ", ".join(repr(name) for name in get_args(Structure))
            raise ModelError(f"structure must be one of {known}, found {self.structure!r}")
        return self._fit_known(X, y, prior, sample_weight)

    def _learn(self, votes: Votes, gold: NDArray[np.int8] | None, prior: Floats | None) -> None:
        """Read the votes, decide which side is yes, follow gold labels."""
        self._remember(votes, gold)
        if votes.n_classes > 2:
            self._learn_classes(votes, gold, prior)
            return
        prior_odds = np.zeros(votes.n_items) if prior is None else prior
        ballots = self._enter_ballots(votes)
        reading = read_sides(votes, ballots, prior_odds, self.structure, self.orient)
        if gold is not None and gold.any():
            reading = follow_gold(ballots, prior_odds, gold, reading)
        reading = reading.answering(set_prior_odds(ballots, prior_odds))
        others = tuple(other.answering(ballots) for other in reading.others)
        self._take(replace(reading, others=others))
        self._warn()

    def _learn_classes(
        self, votes: Votes, gold: NDArray[np.int8] | None, prior: Floats | None
    ) -> None:
        """Read votes of more than two classes, with gold labels as known classes."""
        if self.orient != "majority":
            raise ModelError("orient takes two classes; more than two have no sides to swap")
        odds = np.zeros((votes.n_items, votes.n_classes)) if prior is None else prior
        labels = np.zeros(votes.n_items, dtype=np.uint8) if gold is None else gold.view(np.uint8)
        known = self._enter_ballots(votes), odds, labels
        self._take(read_known_classes(*known, votes.ordered, self.structure))
        self._warn()

    def _take(self, reading: Reading) -> None:
        """Set what is learned from a reading."""
        self._reading, answers = reading, reading.answers
        self.weights_ = self._spread(reading.model.weights)
        if isinstance(reading, ClassReading):
            self._confusion = self._spread(answers.confusions)
            self._confusion_votes = self._spread(answers.votes)
            self.prevalence_, self.prevalence_interval_ = answers.shares, answers.share_bounds
            return
        coins = answers.coins if reading.worth is None else reading.worth.coins
        self.coins_ = self._spread(coins, axis=1)
        self.prevalence_ = answers.prevalence
        self.prevalence_interval_ = answers.prevalence_interval

    def _warn(self) -> None:
        for caution in self.cautions_:
            warn_user(caution, ReliabilityWarning)
        model = self._reading.model
        if not model.converged:
            warn_user(
                f"EM stopped after {len(model.objective)} iterations before the evidence had "
                "converged; labels of undecided items may still change",
                ConvergenceWarning,
            )

    def _check_identifiability(self, votes: Votes) -> bool:
        """Set `reliable_`: False also where something speaks against the reading."""
        identified = super()._check_identifiability(votes)
        reasons = [reason.tell(self.voter_names_) for reason in self._reading.reasons]
        if self.reliable_ and reasons:
            self.reliable_, self.reliability_reason_ = False, "; ".join(reasons)
        return identified

    def _judge_voters(
        self, votes: Votes, gold: NDArray[np.int8] | None, prior: Floats | None, identified: bool
    ) -> None:
        """Measure the worth of every voter; gold labels are taken as the truth of their items."""
        labels = np.zeros(votes.n_items, dtype=np.int8) if gold is None else gold
        shape = votes.n_items if votes.n_classes == 2 else (votes.n_items, votes.n_classes)
        prior_odds = np.zeros(shape) if prior is None else prior
        known = set_prior_odds(self._list_ballots(votes), fix_labels(prior_odds, labels))
        enough = int(np.count_nonzero(labels)) >= LEAST_LABELS
        self._take(self._reading.judging(known, recalibrated=enough, identified=identified))

    @property
    def cautions_(self) -> list[Sentence]:
        """What speaks against the labels, then what else to know, one sentence each."""
        told = (*self._reading.reasons, *self._reading.notes)
        return [*(one.tell(self.voter_names_) for one in told), *self._tell_copies()]

    def read(self, k: int) -> "LatentIsing":
        """Return the model with another reading of the votes, row `k` of `readings_`.

        Examples
        --------
        >>> import numpy as np, unelisa as ue
        >>> votes = ue.simulate_votes(random_state=0).votes
        >>> model = ue.LatentIsing().fit(votes)
        >>> np.array_equal(model.read(0).predict(votes), model.predict(votes))
        True
        """
        readings = self._reading.readings
        if not 0 <= k < len(readings):
            raise ModelError(f"there is no reading {k}: `readings_` has {len(readings)} rows")
        other = copy(self)
        rest = (reading for j, reading in enumerate(readings) if j != k)
        others = tuple(replace(one, others=()) for one in rest)
        other._take(replace(readings[k], others=others))
        if k > 0:
            reasons = self._explain_copies(verdicts.explain_voters(readings[k], self.voter_names_))
            other._voter_columns = {**self._voter_columns, "reason": reasons}
        return other

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
        """Return one of the user's labels per item."""
        return self._label(self.decision_function(X, prior))

    def predict_proba(self, X: Any, prior: Any = None) -> Floats:
        """Return the probability of every class per item, in the order of `classes_`."""
        return self._pair(self.decision_function(X, prior))

    def _score(self, votes: Votes) -> Floats:
        return self._reading.score(self._list_ballots(votes))

    @property
    def experts_(self) -> NDArray[np.intp]:
        """Indices of the voters who are clearly better than the crowd; in a graph, the hub's."""
        return np.flatnonzero(self._spread(self._reading.experts))

    field_ = _of_reading("field", "theta_0: half the log-odds of an item without votes.")
    fields_ = of_voters("_reading.model.biases", "Bias b of each voter.")
    standard_errors_ = of_voters("_reading.model.standard_errors", "Standard error of each weight.")
    reading_ = _of_reading("name", "Which reading of the votes was taken.")
    coherence_ = _of_reading("coherence", "How far the voters point the same way.")
    two_readings_ = _of_reading("two_readings", "Whether the votes allow another truth.")
    effective_voters_ = _of_reading("effective_voters", "How many independent voters they are.")
    expected_accuracy_ = _of_reading("answers.expected_accuracy", "Mean P(label is right).")
    expected_accuracy_interval_ = _of_reading("answers.expected_interval", "Its range.")

    @property
    def structure_(self) -> Any:
        """The structures that were tried, as a pandas table."""
        return verdicts.tabulate_structures(self._reading)

    @property
    def readings_(self) -> Any:
        """The readings that the votes allow, as a pandas table; the first one was taken."""
        return verdicts.tabulate_readings(self._reading.readings, self.voter_names_, self.classes_)

    @property
    def families_(self) -> list[list[Any]]:
        """Voters who repeat each other, by name: one list per family."""
        family = self._join(self._reading.family)
        return [list(self.voter_names_[family == c]) for c in range(family.max(initial=-1) + 1)]

    def ease(self, X: Any) -> Floats:
        """Return how easy every item is: 1 is ordinary, 0 nobody can tell; NaN is not known."""
        return self._reading.measure_ease(self._list_ballots(self._reenter(X)))

    edges_ = _of_reading("links.edges", "Ties between voters beyond the truth: s, t, weight.")

    @property
    def graph_(self) -> VoterGraph:
        """Ties between voters beyond the truth, as matrices; `edges_` lists the same."""
        return VoterGraph.of_edges(self.edges_, self.n_features_in_)

    @property
    def voters_full_(self) -> Any:
        """One row per voter, as a pandas table."""
        table = super().voters_full_
        if self.reading_ == "edges":
            table.loc[~self._spread(self._reading.experts), "verdict"] = "pruned"
            return table
        judged = verdicts.judge_voters(self._reading, self.voter_names_)
        heads = verdicts.find_heads(self._reading, self.voter_names_)
        table["verdict"], family = self._judge_copies(judged, heads)
        table.insert(2, "family", family)
        return table

    def _describe_voters(self, votes: Votes) -> dict[str, Any]:
        partners = self._reading.links.name_partners(self.voter_names_)
        return {**describe_votes(votes), "depends_on": partners, "reason": self._reasons(votes)}

    def _voter_estimates(self) -> dict[str, Floats]:
        worth = self._reading.worth
        found = {} if worth is None else worth.tabulate(self.classes_)
        told = {name: self._spread(column) for name, column in found.items()}
        return {**(told or super()._voter_estimates()), "standard_error": self.standard_errors_}

    def _reasons(self, votes: Votes) -> list[str]:
        heard = (self._reading.silence != 0) & (votes.vote_counts() < votes.n_items)
        reasons = self._explain_copies(verdicts.explain_voters(self._reading, self.voter_names_))
        return [
            f"{reason}; its silence is its other answer"
            if heard[s]
            else idle_reason(votes, s) or reason
            for s, reason in enumerate(reasons)
        ]
