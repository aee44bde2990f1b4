"""What can be asked about: items with votes and a model, or the charts of a phenotype.

A pool ranks its items and reports the progress: labels are enough if as many more would raise the
expected accuracy, or narrow an interval on each side, by less than half a point.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.analysis.certified_draws import Drawn, draw_gold, plan_certification
from unelisa.analysis.certify import certify
from unelisa.analysis.judged import LEVEL
from unelisa.analysis.rate import estimate_rate
from unelisa.analysis.scoring import bound_frequency
from unelisa.analysis.suggestions.gains import measure_label_gains
from unelisa.base import clone
from unelisa.errors import ModelError, VotesError
from unelisa.latent.trust import LEAST_LABELS
from unelisa.outputs import make_plain
from unelisa.report.findings import describe_expected, explain_structure
from unelisa.report.wording import count_noun
from unelisa.sources.files import TextTable, reading
from unelisa.sources.labels import CHOSEN, RANDOM, REVIEWER, USEFUL, list_rows
from unelisa.votes import Votes
from unelisa.votes.ballots import Floats
from unelisa.votes.coding import encode_classes

Aim = Literal["labels", "rate", "certify"]
Facts = dict[str, Any]

KINDS = {"labels": USEFUL, "rate": RANDOM}
CHARTS = ("person_id", "label", "probability", "drawn")  # what `unelisa phenotype --charts` writes
NOTE = "note"
ENOUGH = 0.95  # share of the items that can be certified that is certified or gold
EVERY = 10  # answers between two updates of the progress
LITTLE = 0.005
_DIGITS = 9  # of gains that count as different
LEAST_ANSWERS = 20  # fewer never are enough
# facts that not every aim has
_NO_FACTS: Facts = {"expected": None, "measured": None, "rates": [], "readings": [], "cautions": []}


class Known(NamedTuple):
    """The gold labels so far, one per item."""

    labels: NDArray[np.intp]  # place among the classes; -1: unknown, or reviewers disagree
    sampled: NDArray[np.bool_]  # whether the item was drawn at random

    @property
    def rows(self) -> NDArray[np.intp]:
        """The items with a label."""
        return np.flatnonzero(self.labels >= 0)

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return len(self.rows)

    def only_sample(self) -> "Known":
        """Return the labels of items that were drawn at random."""
        return self._replace(labels=np.where(self.sampled, self.labels, -1))

    def name(self, classes: NDArray[Any]) -> NDArray[Any]:
        """Return one label per item as users write it, None where unknown."""
        return np.append(np.asarray(classes, dtype=object), [None])[self.labels]


class Study(NamedTuple):
    """A pool's view of its items, given the labels so far."""

    ranking: NDArray[np.intp]  # which item to ask about first, second, ...
    chances: Floats  # P(class) per item, items x classes
    facts: Facts  # for the page


@dataclass(eq=False)
class VotesPool:
    """The items of some votes, with a model that was fitted to the votes alone.

    First the most useful ("labels"), a stratified sample ("rate"), or a draw of gold ("certify").
    """

    model: Any
    votes: Votes
    aim: Aim = "labels"
    seed: int = 0
    promise: tuple[float, float] = (0.05, 0.95)
    share: float | None = None
    loss: str = "wrong"
    per: str = "file"
    weights: Any = None

    header = ("item", "label", REVIEWER, CHOSEN, NOTE)

    def __post_init__(self) -> None:
        name = type(self.model).__name__
        if not hasattr(self.model, "predict_proba") or "orient" not in self.model.get_params():
            raise ModelError(
                f"{name} does not learn from gold labels; review with LatentIsing or DawidSkene"
            )
        self.votes = self.model._reenter(self.votes)
        self.items = self.votes.items
        self.classes = tuple(self.model.classes_.tolist())
        self.words = tuple(map(str, self.classes))

    def describe_choice(self, item: int) -> str:  # noqa: ARG002 - charts differ
        """Return how an item is chosen, as the file records it."""
        return self.drawn.design if self.aim == "certify" else KINDS[self.aim]

    @cached_property
    def drawn(self) -> Drawn:
        """The items that are asked about for a certificate."""
        error, _ = self.promise
        return draw_gold(self.model, self.votes, error, seed=self.seed, **self._wanted)

    @property
    def _wanted(self) -> Any:
        """What the plan and the draw are made for."""
        return {"loss": self.loss, "share": self.share, "weights": self.weights}

    def list_opinions(self, item: int) -> list[tuple[int, list[str]]]:
        """Return (class, who voted for it) on an item; classes with votes only."""
        (part,) = self.votes.take_items([item]).parts()
        codes = np.array(encode_classes(len(self.classes)), dtype=np.int8)
        found = [(k, part.voters[part.values[0] == code]) for k, code in enumerate(codes)]
        return [(k, [str(name) for name in who]) for k, who in found if len(who)]

    def study(self, known: Known) -> Study:
        """Return the order of the items and the progress of the review."""
        if self.aim == "labels":
            return self._learn(known)
        chances, sample = self.model.predict_proba(self.votes), known.only_sample()
        gold = sample.name(self.model.classes_) if sample.n_labels else None
        measured = {"measured": measure_accuracy(chances, sample), "sampled": sample.n_labels}
        if self.aim == "certify":
            outlook = self._look_at_certificate(gold)
            return Study(self.drawn.places, chances, {**_NO_FACTS, **measured, "outlook": outlook})
        rates = list_rates(estimate_rate(self.model, self.votes, gold, LEVEL))
        facts = {**_NO_FACTS, **measured, "rates": rates, "outlook": look_at_width(rates, sample)}
        return Study(spread_sample(chances, self.seed), chances, facts)

    def _learn(self, known: Known) -> Study:
        model: Any = self.model
        if known.n_labels:
            model = clone(self.model).fit(self.votes, known.name(self.model.classes_))
        chances = fix_known(model.predict_proba(self.votes), known)
        sample = known.only_sample()
        enough = sample.n_labels >= LEAST_LABELS
        gold = sample.name(self.model.classes_) if enough else None
        rates = estimate_rate(self.model if enough else model, self.votes, gold, LEVEL)
        readings, obstacle = compare_readings(self.model, model), ""
        if not getattr(model, "reliable_", True):
            left = any(row["state"] == "possible" for row in readings)
            other = "the votes still allow another reading"
            obstacle = other if left else "the labels are not reliable yet"
        before = getattr(self.model, "cautions_", [])
        facts: Facts = {
            "expected": expect_accuracy(model, chances),
            "measured": None,
            "rates": list_rates(rates),
            "sampled": sample.n_labels if enough else 0,
            "readings": readings,
            # only what the labels have added
            "cautions": [one for one in getattr(model, "cautions_", []) if one not in before],
            "outlook": look_ahead(chances, known, obstacle),
        }
        ranking = rank_useful(self._weigh_readings(model, chances, known), self.seed)
        return Study(ranking, chances, facts)

    def _weigh_readings(self, model: Any, chances: Floats, known: Known) -> Floats:
        """Return probabilities over all readings, until there are labels enough to choose."""
        others = range(1, getattr(model, "n_readings_", 1))
        if not others or known.n_labels >= LEAST_LABELS:
            return chances
        return mix_chances([chances, *(model.read(k).predict_proba(self.votes) for k in others)])

    def _look_at_certificate(self, gold: Any) -> Facts:
        if gold is None:
            (*_, last) = plan_certification(self.model, self.votes, *self.promise, **self._wanted)
            words = (
                f"About {last.answers:,} answers would certify {last.certified:.0%} of the items."
            )
            return {"enough": False, "more": last.answers, "words": words}
        asked: Any = {"loss": self.loss, "per": self.per, "weights": self.weights}
        design = self.drawn.design
        found = certify(self.model, self.votes, gold, *self.promise, drawn=design, **asked)
        done = (found.n_certified + found.n_gold) / len(self.items)
        words = f"Certified now: {done:.0%} of the items. {str(found)[:1].upper()}{str(found)[1:]}."
        most = len(self.drawn.places) / len(self.items)
        return {"enough": done >= ENOUGH * most, "more": EVERY, "words": words}


@dataclass(eq=False)
class ChartsPool:
    """Charts that `unelisa phenotype --charts` drew: patients, P(case) and the share drawn."""

    items: NDArray[Any]
    probabilities: Floats
    drawn: list[str]
    seed: int = 0

    header = ("person_id", "label", REVIEWER, "drawn", NOTE)
    aim = "rate"
    classes = (0, 1)
    words = ("not a case", "case")

    @classmethod
    def read(cls, path: Path, seed: int = 0) -> "ChartsPool":
        """Return the charts in a file."""
        person, _, *known = CHARTS  # there are no labels yet
        with reading(path):
            rows = list(list_rows(TextTable(path), (person, *known)))
        with suppress(ValueError):
            people, chances, drawn = zip(*rows, strict=True)
            shares, probabilities = (np.array(list(map(float, one))) for one in (drawn, chances))
            sound = np.all((shares > 0) & (shares <= 1) & (np.abs(probabilities) <= 1))
            if sound and len(set(people)) == len(people):
                return cls(np.array(people, dtype=object), probabilities, list(drawn), seed)
        raise VotesError(
            f"{path.name} must hold each patient once, with a probability and the share drawn, as "
            "unelisa phenotype --charts writes them"
        )

    def describe_choice(self, item: int) -> str:
        """Return the share of similar charts that was drawn, as the file records it."""
        return self.drawn[item]

    def list_opinions(self, item: int) -> list[Any]:  # noqa: ARG002 - votes differ
        """Return nothing: charts have no votes."""
        return []

    def study(self, known: Known) -> Study:
        """Return a random order, and what the labels so far say."""
        chances = np.column_stack([1 - self.probabilities, self.probabilities])
        weights = 1 / np.array(list(map(float, self.drawn)))
        case = bound_mean(known.labels[known.rows] == 1, weights[known.rows])
        rates = [] if case is None else [{"class": self.words[1], **case}]
        facts: Facts = {
            **_NO_FACTS,
            "measured": measure_accuracy(chances, known, weights),
            "rates": rates,
            "sampled": known.n_labels,
            "outlook": look_at_width(rates, known),
        }
        return Study(np.random.default_rng(self.seed).permutation(len(chances)), chances, facts)


def is_charts(path: Path) -> bool:
    """Return whether a file holds the charts that `unelisa phenotype --charts` wrote."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(80).split(b"\n")[0].strip() == ",".join(CHARTS).encode()


def fix_known(chances: Floats, known: Known) -> Floats:
    """Return the probabilities with those of labeled items certain."""
    fixed = chances.copy()
    fixed[known.rows] = np.eye(chances.shape[1])[known.labels[known.rows]]
    return fixed


def expect_accuracy(model: Any, chances: Floats) -> Facts:
    """Return the accuracy that a model expects of its labels, or else their mean probability."""
    if not getattr(model, "reliable_", True):
        return {"share": None, "low": None, "high": None}
    mean = {"share": float(chances.max(axis=1).mean()), "low": None, "high": None}
    return describe_expected(model) or mean


def measure_accuracy(chances: Floats, known: Known, weights: Floats | None = None) -> Facts | None:
    """Return the (weighted) share of gold labels that the probabilities agree with, if any."""
    right = chances[known.rows].argmax(axis=1) == known.labels[known.rows]
    return bound_mean(right, None if weights is None else weights[known.rows])


def bound_mean(values: NDArray[np.bool_], weights: Floats | None = None) -> Facts | None:
    """Return a share and its 90 % interval (Wilson's), weighted if there are weights."""
    if not len(values):
        return None
    weight = np.ones(len(values)) if weights is None else weights
    share = float(weight @ values / weight.sum())
    low, high = bound_frequency(share, float(weight.sum() ** 2 / (weight @ weight)), LEVEL)
    return {"share": share, "low": low, "high": high, "labels": len(values)}


def list_rates(table: Any) -> list[Facts]:
    """Return the shares of `estimate_rate` as plain data."""
    rows = table.reset_index().to_dict("records")
    return [{key: make_plain(value) for key, value in row.items()} for row in rows]


def compare_readings(first: Any, latest: Any) -> list[Facts]:
    """Return the readings that the votes alone allowed, if several, and what became of each."""
    readings: Any = getattr(first, "readings_", ())
    if len(readings) < 2:
        return []
    left, rows = list(latest.readings_["structure"]), []
    for row in readings.to_dict("records"):
        place = left.index(row["structure"]) if row["structure"] in left else None
        state = "ruled out" if place is None else "possible" if place else "taken"
        name, share = explain_structure(row["structure"]), make_plain(row.get("share_yes"))
        rows.append({"structure": name, "share": share, "state": state})
    return rows


def look_ahead(chances: Floats, known: Known, obstacle: str = "") -> Facts:
    """Return whether as many labels again would raise the expected accuracy by much."""
    gains, more = np.sort(measure_gains(chances))[::-1], _plan_more(known)
    rise = float(gains[:more].sum() / len(gains))
    enough = known.n_labels >= LEAST_ANSWERS and rise < LITTLE and not obstacle
    points = f"{100 * rise:.1f} points" if rise >= 0.0005 else "less than 0.1 points"
    words = f"Enough: {more} more would change little (accuracy would rise by {points})."
    if not enough:
        words = f"{count_noun(more, 'more answer')} are expected to raise accuracy by {points}."
    if obstacle:
        words = f"{obstacle[:1].upper()}{obstacle[1:]}. {words}"
    return {"enough": enough, "more": more, "words": words}


def look_at_width(rates: list[Facts], known: Known) -> Facts:
    """Return whether as many labels again would narrow the interval of the shares by much."""
    widths = [row["high"] - row["low"] for row in rates if row["low"] is not None]
    half, more = max(widths, default=1.0) / 2, _plan_more(known)
    narrower = half * (1 - 0.5**0.5)
    enough = known.n_labels >= LEAST_ANSWERS and narrower < LITTLE
    head = f"Enough: {more} more would narrow the interval only"
    if not enough:
        head = f"{count_noun(more, 'more answer')} would narrow the interval"
    after = f"from ±{100 * half:.1f} to about ±{100 * (half - narrower):.1f} points"
    return {"enough": enough, "more": more, "words": f"{head} {after}."}


def _plan_more(known: Known) -> int:
    return max(known.n_labels, LEAST_ANSWERS // 2)


def measure_gains(chances: Floats) -> Floats:
    """Return 1 - max_k P(k): how much a correct label raises the expected number of right ones."""
    return measure_label_gains(chances, np.eye(chances.shape[1]), "errors")


def rank_useful(chances: Floats, seed: int = 0) -> NDArray[np.intp]:
    """Return the items by gain, the largest first; the k-th of equal ones counts 1 / sqrt(k)."""
    ties = np.random.default_rng(seed).random(len(chances))
    gains = measure_gains(chances) / np.sqrt(_count_alike(np.round(chances, _DIGITS), ties))
    return np.lexsort((ties, -np.round(gains, _DIGITS)))


def _count_alike(chances: Floats, ties: Floats) -> NDArray[np.intp]:
    order = np.lexsort((ties, *chances.T))
    rows = chances[order]
    starts = np.append(True, (rows[1:] != rows[:-1]).any(axis=1))
    place = np.arange(len(rows))
    number = place - np.maximum.accumulate(np.where(starts, place, 0)) + 1
    counted = np.empty(len(rows), dtype=np.intp)
    counted[order] = number
    return counted


def spread_sample(chances: Floats, seed: int = 0) -> NDArray[np.intp]:
    """Return the items in a random order of which every beginning is stratified.

    The first 2^k come from 2^k strata of label and probability (van der Corput, randomly shifted),
    so that any first n are a random sample.
    """
    n, rng = len(chances), np.random.default_rng(seed)
    two, label = chances.shape[1] == 2, chances.argmax(axis=1)  # sorted by probability within it
    by_class = np.lexsort(
        (rng.random(n), chances[:, 1] if two else label + chances.max(axis=1) / 2)
    )
    bits = max(int(n - 1).bit_length(), 1)
    places = np.arange(n) ^ rng.integers(2**bits)
    reverse = np.zeros(n, dtype=np.int64)
    for bit in range(bits):
        reverse |= ((places >> bit) & 1) << (bits - 1 - bit)
    return np.asarray(by_class[np.argsort(reverse)])


def mix_chances(tables: Sequence[Floats]) -> Floats:
    """Return the mean of several tables of probabilities."""
    return np.asarray(sum(tables[1:], tables[0]) / len(tables))
