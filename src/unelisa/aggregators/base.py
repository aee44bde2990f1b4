"""What aggregators share: votes in, scores per item out, and labels as the user names them."""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from unelisa.aggregators.identifiability import check_identifiability
from unelisa.aggregators.known import Remembering, number_codes, read_gold, read_prior, repeat_rows
from unelisa.errors import ModelError, warn_if_unreliable
from unelisa.estimator import VotesEstimator, fit_aside
from unelisa.progress import show_fit, until
from unelisa.schema import stored
from unelisa.votes import Votes
from unelisa.votes.blocks import Block, WholeTable
from unelisa.votes.partitioned import is_partitioned, map_scores, score_items

Floats = NDArray[np.float64]
ROUNDING = 1e-10  # scores that differ by less are tied: sums in another order differ as much


@stored(
    weights_="finite[voters]",
    reliable_="?flag",
    reliability_reason_="?text",
    _voter_columns="columns(voters)",
    _n_gold="?count",
)
class Aggregator(Remembering, VotesEstimator):
    """Base of all aggregators: subclasses write `_fit` (or `_learn`) and `_score`.

    A fit sets `weights_` (how much a yes of each voter raises the score; 0 for pruned voters),
    `polarity_` (their signs), `experts_` (indices of the voters that count), `reliable_` and
    `reliability_reason_` (whether the votes can identify a truth at all), and the table `voters_`.
    """

    weights_: Floats
    reliable_: bool
    reliability_reason_: str
    _tie: str  # what the answer rests on besides the votes, in words; only during `fit`
    estimator_type = "classifier"
    verdicts: ClassVar[tuple[str, str, str]] = ("contrarian", "left out", "counted")

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Return self, fitted to the votes.

        Parameters
        ----------
        X
            `Votes`, an array of -1 / +1 or of 0 / 1 (items x voters), or a table that `Votes.of`
            reads; -1, 0 and 1 together need ``Votes.of(X, coding=...)``. A Dask array or frame is
            fitted where its partitions live.
        y
            Gold labels: a dict or pandas Series by item, or one label per item, missing where
            unknown. They decide which side is "yes"; with more than two classes, methods that
            estimate confusions learn from them.
        sample_weight
            Whole number of items that each item stands for; matched to the items as `y` is.
        """
        self._fit_known(X, y, sample_weight=sample_weight)
        return self

    @fit_aside
    def _fit_known(self, X: Any, y: Any, prior: Any = None, sample_weight: Any = None) -> None:
        """Fit the model to the votes and to what is known of the items besides."""
        votes, self._tie = self._enter(X), ""
        votes.warn_of_idle_voters()
        gold = None if y is None else read_gold(y, votes)
        odds = None if prior is None else read_prior(prior, votes)
        self._remember(votes, gold)
        if sample_weight is not None:
            rows = repeat_rows(sample_weight, votes)
            votes, gold, odds = take_rows(rows, votes, gold, odds)
        everything, silent = votes, votes.blocks.find_silent()
        if len(silent):
            rows = np.delete(np.arange(votes.n_items), silent)
            votes, gold, odds = take_rows(rows, votes, gold, odds)
        with show_fit(f"fitting {type(self).__name__}"):
            with until(0.9):
                self._learn(votes, gold, odds)
            identified = self._check_identifiability(votes)
            del self._tie
            with until(0.98):
                self._judge_voters(votes, gold, odds, identified)
            self._voter_columns = self._describe_voters(everything)
        warn_if_unreliable(self)

    def decision_function(self, X: Any) -> Floats:
        """Return one score per item, positive for yes; one per class if there are more than two.

        X: votes as in `fit`, on these or other items; lazy for Dask collections.
        """
        if is_partitioned(X):
            return score_items(self, X)
        return self._score_all(self._reenter(X))

    def _score_all(self, votes: Votes) -> Floats:
        """Return every item's score, block by block unless the votes are one table."""
        whole = votes.blocks.whole
        scores = self._score(votes) if whole else votes.blocks.concatenate(_score_block, self)
        return scores if scores.ndim > 1 else np.where(np.abs(scores) < ROUNDING, 0.0, scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return one of the user's labels per item of X, which is as in `fit`.

        A tie goes to the first of `tie_order_`.
        """
        return self._label(self.decision_function(X))

    @property
    def tie_order_(self) -> NDArray[np.intp]:
        """Classes (indices) in the order in which they win ties: positive, or as in `classes_`."""
        order = np.arange(len(self.classes_))
        return order[::-1] if is_two_class(self) else order

    def _label(self, scores: Floats) -> NDArray[Any]:
        order = self.tie_order_
        return map_scores(
            name_classes, scores, self.classes_.dtype, classes=self.classes_, order=order
        )

    def labels(self, X: Any, **beside: Any) -> Any:
        """Return the label of every item of X, which is as in `fit`, as a pandas table.

        Its columns are item, label, probability and status; `beside` is what `predict` takes
        besides X, such as ``prior=`` of `LatentIsing`.

        The status is "gold" (a gold label of the fit, probability 1), "no votes", "tie" (between m
        classes, probability 1 / m) or "model" (NaN for methods without `predict_proba`).
        """
        from unelisa.aggregators.tables import tabulate_labels  # noqa: PLC0415 - loads pandas

        votes: Votes = self._reenter(X)
        known: Any = self
        scores = known.decision_function(votes, **beside)
        return tabulate_labels(self, votes, scores, self._recall_gold(votes))

    def summary(self) -> Any:
        """Return the fit in a few lines: expected accuracy, classes, worst voters, next steps."""
        from unelisa.aggregators.tables import Summary  # noqa: PLC0415 - loads pandas

        return Summary(self)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        shown = super().__repr__(N_CHAR_MAX)
        return f"<{shown}: {self._describe_fit()}>" if "weights_" in self.__dict__ else shown

    def _describe_fit(self) -> str:
        kept = "experts" if self.verdicts[2] == "expert" else self.verdicts[2]
        counted = f"{len(self.experts_)} of {self.n_features_in_} voters {kept}"
        trust = "" if getattr(self, "reliable_", True) else ", labels cannot be relied on"
        return f"{len(self.classes_)} classes, {counted}{trust}"

    def fit_predict(
        self, X: Any, y: Any = None, *, sample_weight: Any = None, **beside: Any
    ) -> NDArray[Any]:
        """Return the labels of the items it is fitted to.

        X, y and `sample_weight` are those of `fit`; `beside` is ``prior=`` where the method takes
        one.
        """
        return self.fit(X, y, sample_weight=sample_weight, **beside).predict(X, **beside)

    def score(self, X: Any, y: Any) -> float:
        """Return the accuracy on the items of X whose true label y, given as in `fit`, is known."""
        votes = self._reenter(X)
        truth = read_gold(y, votes)
        picked = pick_classes(self.decision_function(votes), self.tie_order_)
        return float((number_codes(truth, votes.n_classes) == picked)[truth != 0].mean())

    def report(
        self,
        path: str | Path,
        X: Any = None,
        y: Any = None,
        *,
        comparison: Sequence[Any] = (),
        show_items: bool = False,
    ) -> None:
        """Write a self-contained HTML page on the fit to `path` (needs the report extra).

        Without the votes X, usually those of the fit, the page covers the voters only. `y` is the
        known truth of some items to compare with, `comparison` the rows of `compare_methods` on it.
        `show_items`: whether the page may name items, which may be patients.
        """
        if not isinstance(path, str | Path):
            raise ModelError("the path of the page comes first: report('report.html', votes)")
        # imported by name: the report's layer lies above this one
        report: Any = import_module("unelisa.report.page")
        votes = None if X is None else self._reenter(X)
        truth = None if y is None or votes is None else read_gold(y, votes)
        report.write_report(
            self, votes, path, truth=truth, comparison=comparison, show_items=show_items
        )

    def _html_repr(self) -> Any:
        if hasattr(self, "weights_") and find_spec("jinja2") is not None:
            # imported by name: the report's layer lies above this one
            notebook: Any = import_module("unelisa.report.notebook")
            return notebook.show_model(self)
        return super()._html_repr()

    @property
    def polarity_(self) -> NDArray[np.int8]:
        """Sign of each voter's weight."""
        return np.sign(self.weights_).astype(np.int8)

    @property
    def experts_(self) -> NDArray[np.intp]:
        """Indices of the voters that count."""
        return np.flatnonzero(self.weights_)

    @property
    def voters_(self) -> Any:
        """One row per voter, as a pandas table that prints its main columns only."""
        from unelisa.aggregators.tables import VoterTable  # noqa: PLC0415 - loads pandas

        return VoterTable(self.voters_full_)

    @property
    def voters_full_(self) -> Any:
        """One row per voter, as a pandas table."""
        import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

        return pd.DataFrame(self.voter_columns_)

    @property
    def voter_columns_(self) -> dict[str, Any]:
        """The columns of `voters_full_` by name, each with one value per voter."""
        experts = np.isin(np.arange(self.n_features_in_), self.experts_)
        words = {False: ("counted", self.verdicts[1], "counted"), True: self.verdicts}
        verdicts = [words[bool(e)][s + 1] for e, s in zip(experts, self.polarity_, strict=True)]
        columns = {"voter": self.voter_names_, "verdict": verdicts, "weight": self.weights_}
        return {**columns, **self._voter_estimates(), **self._voter_columns}

    def add_voter_column(self, name: str, values: NDArray[Any]) -> None:
        """Add to `voters_` a column `name` of `values`, learned of each voter after the fit."""
        self._voter_columns = {name: values, **self._voter_columns}

    def _check_identifiability(self, votes: Votes) -> bool:
        """Set `reliable_`, and return it: whether the votes can identify a truth at all."""
        found, tie = check_identifiability(votes), self._tie
        self.reliable_ = found.reliable and not tie
        self.reliability_reason_ = found.reason
        if tie:
            self.reliability_reason_ = tie if found.reliable else f"{found.reason}; besides, {tie}"
        return self.reliable_

    def _judge_voters(
        self, votes: Votes, gold: NDArray[np.int8] | None, prior: Floats | None, identified: bool
    ) -> None:
        """Estimate how good each voter is, in methods whose intervals say how sure that is."""

    def _learn(self, votes: Votes, _gold: NDArray[np.int8] | None, _prior: Floats | None) -> None:
        """Fit the method; gold labels and prior log-odds are for those that use them."""
        self._fit(votes)

    def _fit(self, votes: Votes) -> None:
        raise NotImplementedError

    def _score(self, votes: Votes) -> Floats:
        raise NotImplementedError

    def _describe_voters(self, votes: Votes) -> dict[str, Any]:
        """Return the last columns of `voters_`, computed from the votes."""
        return {**describe_votes(votes), "reason": self._reasons(votes)}

    def _voter_estimates(self) -> dict[str, NDArray[Any]]:
        """Return what else the method estimates of each voter: further columns of `voters_`."""
        return {}

    def _reasons(self, votes: Votes) -> list[str]:
        return [idle or self._reason(s) for s, idle in enumerate(list_idle(votes))]

    def _reason(self, voter: int) -> str:
        words = {-1: "its votes are reversed", 0: "it has no weight", 1: "it is counted"}
        return words[int(np.sign(self.weights_[voter]))]


@stored(
    lambda model: (np.ndim(model.prevalence_) == 0) == is_two_class(model),
    prevalence_="share | share[classes]",
)
class LogOdds(Aggregator):
    """An aggregator whose scores are log-odds, or log-probabilities of more than two classes."""

    prevalence_: Any  # estimated share of positive items, or of the items of every class

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of every class per item of X, in the order of `classes_`."""
        return map_chances(self.decision_function(X))

    def fit_predict_proba(
        self, X: Any, y: Any = None, *, sample_weight: Any = None, **beside: Any
    ) -> Floats:
        """Return the probabilities of the items; X, y and all others are as in `fit_predict`.

        That is, `sample_weight` is one of `fit`, and `beside` may be ``prior=``.
        """
        fitted: Any = self.fit(X, y, sample_weight=sample_weight, **beside)
        return fitted.predict_proba(X, **beside)  # type: ignore[no-any-return]


def take_rows(rows: Any, votes: Votes, *per_item: NDArray[Any] | None) -> tuple[Any, ...]:
    """Return the votes on some items, and what else there is of these."""
    return votes.keep_items(rows), *(one if one is None else one[rows] for one in per_item)


def _score_block(block: Block, model: Aggregator) -> Floats:
    """Return the scores of a block whose voters and labels are those of the model. A pass."""
    names = np.arange(block.n_items), model.voter_names_
    return model._score(Votes(WholeTable(block.votes), *names, tuple(model.classes_)))


def is_two_class(model: Any) -> bool:
    """Return whether a fitted model has two classes: its scores are then one number per item."""
    return len(model.classes_) == 2


def find_best(scores: Floats) -> NDArray[np.bool_]:
    """Return which classes have the largest score, items x classes; several where they are tied."""
    if scores.ndim == 1:
        return np.column_stack([scores <= 0, scores >= 0])
    return np.asarray(scores >= scores.max(axis=1, keepdims=True) - ROUNDING)


def name_status(
    heard: NDArray[np.bool_], tied: NDArray[Any], gold: NDArray[np.int8] | None
) -> NDArray[Any]:
    """Return what each label rests on, given who has votes and how many classes are tied."""
    status = np.where(heard, np.where(tied > 1, "tie", "model"), "no votes").astype(object)
    if gold is not None:
        status[gold != 0] = "gold"
    return status


def pick_classes(scores: Floats, order: Any = None) -> NDArray[np.intp]:
    """Return each item's class; ties go to the first in `order`, by default to yes or class 0."""
    best = find_best(scores)
    order = np.arange(best.shape[1])[:: -1 if scores.ndim == 1 else 1] if order is None else order
    return np.asarray(order[np.argmax(best[:, order], axis=1)])


def name_classes(scores: Floats, classes: NDArray[Any], order: Any = None) -> NDArray[Any]:
    """Return the user's label of every item."""
    return np.asarray(classes[pick_classes(scores, order)])


def as_chances(scores: Floats) -> Floats:
    """Return P(negative), P(positive) per item from log-odds, or all from log-probabilities."""
    if scores.ndim > 1:
        return np.asarray(softmax(scores, axis=1))
    positive = expit(scores)
    return np.column_stack([1 - positive, positive])


def map_chances(scores: Any) -> Floats:
    """Return what `as_chances` does; lazy for Dask."""
    return map_scores(as_chances, scores, np.float64, n_columns=0 if scores.ndim > 1 else 2)


def describe_votes(votes: Votes) -> dict[str, NDArray[Any]]:
    """Return per voter the number of votes, and snorkel's coverage, overlaps and conflicts."""
    counts = votes.vote_counts()
    shares = np.array([counts, *votes.comparison[0][-2:]]) / votes.n_items
    named = dict(zip(("coverage", "overlaps", "conflicts"), shares, strict=True))
    return {"votes": counts, **named}


def list_idle(votes: Votes) -> list[str | None]:
    """Return for every voter why it is uninformative, or None."""
    words = {0: "it never voted", 1: "it always gave the same vote"}
    return [words.get(many) for many in np.count_nonzero(votes.answers, axis=0).tolist()]
