"""Where a review stands: what the labels so far say, and whether more of them would change it.

Enough is said by doubling: if as many answers again as were given would raise the expected accuracy
by less than half a point, or would narrow the interval of a share by less than that on each side,
more of them would change little.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.analysis.judged import LEVEL
from unelisa.analysis.scoring import bound_frequency
from unelisa.outputs import make_plain
from unelisa.report.readings import explain_structure
from unelisa.report.wording import count_noun
from unelisa.review.order import measure_gains
from unelisa.votes.ballots import Floats

LITTLE = 0.005
LEAST_ANSWERS = 20  # fewer never are enough
Facts = dict[str, Any]


class Known(NamedTuple):
    """The gold labels so far, one per item."""

    labels: NDArray[np.intp]  # place among the classes; -1: unknown, or reviewers disagree
    sampled: NDArray[np.bool_]  # whether the item was drawn at random

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(np.count_nonzero(self.labels >= 0))

    def only_sample(self) -> "Known":
        """Return the labels of items that were drawn at random."""
        return self._replace(labels=np.where(self.sampled, self.labels, -1))

    def name(self, classes: NDArray[Any]) -> NDArray[Any]:
        """Return one label per item as users write it, None where unknown."""
        return np.append(np.asarray(classes, dtype=object), [None])[self.labels]


class Study(NamedTuple):
    """What a pool says of its items, given the labels so far."""

    ranking: NDArray[np.intp]  # which item to ask about first, second, ...
    chances: Floats  # P(class) per item, items x classes
    facts: Facts  # for the page


def fix_known(chances: Floats, known: Known) -> Floats:
    """Return the probabilities with those of labeled items certain."""
    fixed, rows = chances.copy(), np.flatnonzero(known.labels >= 0)
    fixed[rows] = 0.0
    fixed[rows, known.labels[rows]] = 1.0
    return fixed


def expect_accuracy(model: Any, chances: Floats) -> Facts:
    """Return the accuracy that a model expects of its labels; None where it is not reliable.

    For methods that never say it is the mean probability of the labels.
    """
    if not getattr(model, "reliable_", True):
        return {"share": None, "low": None, "high": None}
    if not hasattr(model, "expected_accuracy_"):
        return {"share": float(chances.max(axis=1).mean()), "low": None, "high": None}
    low, high = model.expected_accuracy_interval_ or (None, None)
    return {"share": model.expected_accuracy_, "low": low, "high": high}


def measure_accuracy(chances: Floats, known: Known, weights: Floats | None = None) -> Facts | None:
    """Return the share of gold labels that the probabilities agree with; None without any.

    With weights it is a weighted share, with the interval of as many labels as these are worth,
    (sum w)^2 / sum w^2.
    """
    rows = np.flatnonzero(known.labels >= 0)
    right = chances[rows].argmax(axis=1) == known.labels[rows]
    return bound_mean(right, None if weights is None else weights[rows])


def bound_mean(values: NDArray[np.bool_], weights: Floats | None = None) -> Facts | None:
    """Return a share and its 90 % interval (Wilson's), weighted if there are weights.

    Examples
    --------
    >>> bound_mean(np.array([True, False]), np.array([3.0, 1.0]))["share"]
    0.75
    """
    if not len(values):
        return None
    weight = np.ones(len(values)) if weights is None else weights
    share = float(weight @ values / weight.sum())
    worth = float(weight.sum() ** 2 / (weight @ weight))
    low, high = bound_frequency(share, worth, LEVEL)
    return {"share": share, "low": low, "high": high, "labels": len(values)}


def list_rates(table: Any) -> list[Facts]:
    """Return the shares of `estimate_rate` as plain data."""
    return [
        {key: make_plain(value) for key, value in row.items()}
        for row in table.reset_index().to_dict("records")
    ]


def compare_readings(first: Any, latest: Any) -> list[Facts]:
    """Return the readings that the votes alone allowed, and what has become of each.

    Nothing is returned for methods with one reading.
    """
    readings: Any = getattr(first, "readings_", ())
    if len(readings) < 2:
        return []
    left = list(latest.readings_["structure"])
    rows = []
    for row in readings.to_dict("records"):
        place = left.index(row["structure"]) if row["structure"] in left else None
        state = "ruled out" if place is None else "possible" if place else "taken"
        name, share = explain_structure(row["structure"]), make_plain(row.get("share_yes"))
        rows.append({"structure": name, "share": share, "state": state})
    return rows


def look_ahead(chances: Floats, known: Known, obstacle: str = "") -> Facts:
    """Return whether as many labels again would raise the expected accuracy.

    Gold labels are certain in `chances`. `obstacle` says why the expectation cannot be relied on
    yet.
    """
    gains = np.sort(measure_gains(chances))[::-1]
    more = max(known.n_labels, LEAST_ANSWERS // 2)
    rise = float(gains[:more].sum() / len(gains))
    enough = known.n_labels >= LEAST_ANSWERS and rise < LITTLE and not obstacle
    return {"enough": enough, "more": more, "words": _tell_rise(more, rise, enough, obstacle)}


def _tell_rise(more: int, rise: float, enough: bool, obstacle: str) -> str:
    points = f"{100 * rise:.1f} points" if rise >= 0.0005 else "less than 0.1 points"
    if enough:
        return f"Enough: {more} more would change little (accuracy would rise by {points})."
    expected = f"{count_noun(more, 'more answer')} are expected to raise accuracy by {points}."
    return f"{obstacle[:1].upper()}{obstacle[1:]}. {expected}" if obstacle else expected


def look_at_width(rates: list[Facts], known: Known) -> Facts:
    """Return whether as many labels again would narrow the interval of the shares.

    The width falls with the square root of the number of labels.
    """
    widths = [row["high"] - row["low"] for row in rates if row["low"] is not None]
    half, more = max(widths, default=1.0) / 2, max(known.n_labels, LEAST_ANSWERS // 2)
    narrower = half * (1 - 0.5**0.5)
    enough = known.n_labels >= LEAST_ANSWERS and narrower < LITTLE
    after = f"from ±{100 * half:.1f} to about ±{100 * (half - narrower):.1f} points"
    verb = "would narrow the interval only" if enough else "would narrow the interval"
    head = f"Enough: {more} more" if enough else count_noun(more, "more answer")
    return {"enough": enough, "more": more, "words": f"{head} {verb} {after}."}
