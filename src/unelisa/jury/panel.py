"""What a panel of judges is worth: leniency, accuracy and family of each, and its pass rate."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, xlogy

from unelisa.aggregators import Aggregator
from unelisa.analysis.judged import MOST_LISTED, Judged, estimate_shares
from unelisa.analysis.suggestions.advice import count_labels
from unelisa.errors import VotesError
from unelisa.jury.grades import name_grades, read_grade
from unelisa.jury.intervals import LEVEL, Estimate
from unelisa.jury.systems import LEAST_JUDGES, Truth, describe_systems, shift_mean
from unelisa.jury.verdicts import Jury
from unelisa.latent.trust import match_factor
from unelisa.outputs import make_plain
from unelisa.sources.labels import RANDOM, KnownLabels, LabelTable, read_labels
from unelisa.votes import Votes
from unelisa.votes.coding import encode_classes

Floats = NDArray[np.float64]
RAREST = 0.002  # of errors of a judge


def describe_jury(
    model: Aggregator,
    judged: Judged,
    systems: Mapping[str, str],
    *,
    questions: Mapping[str, str] | None = None,
    truth: Truth | None = None,
    show_items: bool = False,
) -> dict[str, Any]:
    """Return what a fitted model says about a panel of judges, as data that JSON can hold.

    `truth` holds gold labels with probabilities that did not use them; `show_items` names items.
    """
    passing = _chances_of_passing(judged)
    counts = count_classes(judged.votes)
    split = (counts > 0).sum(axis=1) > 1
    found = None
    if passing is not None:
        shares, _ = estimate_shares(model, judged)
        mean = float(passing[judged.voted_on].mean())
        rates: dict[str, Any] = (
            {**shares[-1]} if shares else {"share": mean, "low": None, "high": None}
        )
        passing = shift_mean(passing, judged.voted_on, rates["share"])
        bounds = rates["low"], rates["high"]
        rates |= describe_systems(judged, passing, systems, bounds, questions, truth)
        if len(rates["systems"]) == 1 and rates["systems"][0]["items"] == judged.voted_on.sum():
            rates["systems"][0] |= {end: rates[end] for end in ("share", "low", "high")}
        found = rates
    families = [[str(name) for name in kin] for kin in getattr(model, "families_", [])]
    return {
        "n_judges": int(model.n_features_in_),
        **_describe_worth(model, judged),
        "n_items": judged.votes.n_items,
        "families": families,
        "judges": _describe_judges(model, judged.votes, passing),
        "pass_rate": found,
        "disagreement": {
            "items": int(split.sum()),
            "share": float(split[judged.voted_on].mean()),
            "most": _list_divided(judged, counts) if show_items else None,
        },
        "reliable": getattr(model, "reliable_", None),
        "reason": getattr(model, "reliability_reason_", ""),
        "cautions": list(getattr(model, "cautions_", [])),
        "labels_needed": count_labels(model, judged),
    }


def _chances_of_passing(judged: Judged) -> Floats | None:
    """Return P(pass) per item; None where no class is the best."""
    if judged.two_classes:
        return judged.as_shares()
    return judged.as_class_shares()[:, -1] if judged.votes.ordered else None


def _describe_judges(
    model: Aggregator, votes: Votes, passing: Floats | None
) -> list[dict[str, Any]]:
    table, best = model.voters_, encode_classes(votes.n_classes)[-1]
    accuracy = table["accuracy"].to_numpy() if "accuracy" in table else np.full(len(table), np.nan)
    rows = []
    for s, voter in enumerate(table.to_dict("records")):
        column = votes.values[:, s]
        items, lean, share = np.flatnonzero(column), None, None
        if passing is not None and len(items) and len(table) > 1:
            share = int(np.count_nonzero(column == best)) / len(items)
            lean = share - float(passing[items].mean())
        rows.append(
            {
                "name": str(voter["voter"]),
                "verdict": voter["verdict"],
                "family": str(voter.get("family", "")),
                "accuracy": make_plain(accuracy[s]),
                "low": make_plain(voter.get("accuracy_low")),
                "high": make_plain(voter.get("accuracy_high")),
                "lean": lean,
                "share_passed": share,
                "verdicts": len(items),
                "reason": str(voter.get("reason", "")),
            }
        )
    order = sorted(range(len(rows)), key=lambda s: -np.nan_to_num(accuracy[s], nan=-1.0))
    return [rows[s] for s in order]


def _describe_worth(model: Aggregator, judged: Judged) -> dict[str, Any]:
    """Return how many independent judges the panel is, with an interval, and how far it agrees."""
    effective, bounds = make_plain(getattr(model, "effective_voters_", None)), None
    if judged.votes.n_voters < LEAST_JUDGES or not exceeds_chance(judged.votes):
        effective = None
    if effective is not None:
        ends = getattr(model, "expected_accuracy_interval_", None)
        bounds = bound_effective(judged.votes, judged.as_columns(), ends)
    return {
        "effective_judges": effective,
        "effective_judges_low": None if bounds is None else min(bounds[0], effective),
        "effective_judges_high": None if bounds is None else max(bounds[1], effective),
        **measure_agreement(judged.votes),
    }


def find_truth(jury: Votes, gold: NDArray[np.int8], blind: Judged) -> Truth | None:
    """Return gold labels as passed or not, beside what a model says that has not seen them."""
    passing = _chances_of_passing(blind)
    if passing is None or not gold.any():
        return None
    best = encode_classes(jury.n_classes)[-1]
    return Truth(np.where(gold == 0, np.nan, (gold == best).astype(np.float64)), passing)


def _list_divided(judged: Judged, counts: Floats) -> list[dict[str, Any]]:
    """Return the items worth a human look, by 1 - max_k P(k), the errors that a label saves."""
    votes = counts.sum(axis=1)
    against = votes - counts.max(axis=1)
    chances = judged.chances
    if chances is not None and judged.two_classes:
        chances = np.maximum(chances, 1 - chances)
    split = -against / np.maximum(votes, 1)
    order = np.lexsort((-votes, split) if chances is None else (-votes, split, chances))
    labels = judged.labels()
    return [
        {
            "item": str(judged.votes.items[i]),
            "judges": int(votes[i]),
            "against": int(against[i]),
            "label": str(labels[i]),
            "probability": None if chances is None else float(chances[i]),
        }
        for i in order[against[order] > 0][:MOST_LISTED]
    ]


def measure_agreement(votes: Votes) -> dict[str, Any]:
    """Return Krippendorff's alpha, Fleiss' kappa, and the mean of Cohen's kappa over pairs."""
    counts, codes = count_classes(votes), encode_classes(votes.n_classes)
    pairs = []
    for s, t in combinations(range(votes.n_voters), 2):
        one, other = votes.values[:, s], votes.values[:, t]
        both = (one != 0) & (other != 0)
        if both.any():
            pairs.append(compute_kappa(one[both], other[both], codes).value)
    known = [kappa for kappa in pairs if not np.isnan(kappa)]
    found = {
        "alpha": compute_alpha(counts, votes.ordered),
        "fleiss_kappa": compute_fleiss(counts),
        "cohen_kappa": float(np.mean(known)) if known else None,
    }
    return {name: make_plain(value) for name, value in found.items()}


def count_classes(votes: Votes) -> Floats:
    """Return how many judges say each class of each item."""
    codes = encode_classes(votes.n_classes)
    return np.stack([(votes.values == code).sum(axis=1) for code in codes], axis=1).astype(float)


def compute_alpha(counts: Floats, ordered: bool = False) -> float:
    """Return Krippendorff's alpha from the number of judges per item (row) and class (column).

    1 - (n - 1) sum_i sum_{c,k} n_ic n_ik d_ck / (m_i - 1) / sum_{c,k} n_c n_k d_ck over m_i > 1
    votes; d is 1 for different classes, or, if ordered, the squared number of votes between them.
    """
    counts = counts[counts.sum(axis=1) > 1]
    sizes, totals = counts.sum(axis=1), counts.sum(axis=0)
    apart = 1 - np.eye(len(totals))
    if ordered:
        middle = np.cumsum(totals) - totals / 2
        apart = (middle[:, None] - middle) ** 2
    expected = totals @ apart @ totals
    if not expected > 0:
        return float("nan")
    observed = np.einsum("ic,ck,ik,i->", counts, apart, counts, 1 / np.maximum(sizes - 1, 1))
    return float(1 - (totals.sum() - 1) * observed / expected)


def compute_fleiss(counts: Floats) -> float:
    """Return Fleiss' kappa, for any number of judges per item."""
    sizes = counts.sum(axis=1)
    counts, sizes = counts[sizes > 1], sizes[sizes > 1]
    if not len(sizes):
        return float("nan")
    observed = float(np.mean((counts * (counts - 1)).sum(axis=1) / (sizes * (sizes - 1))))
    shares = counts.sum(axis=0) / sizes.sum()
    chance = float(shares @ shares)
    return (observed - chance) / (1 - chance) if chance < 1 else float("nan")


def compute_kappa(one: NDArray[np.int8], other: NDArray[np.int8], codes: Sequence[int]) -> Estimate:
    """Return Cohen's kappa of two raters, with variance p (1 - p) / (n (1 - e)^2)."""
    agreed = float(np.mean(one == other))
    chance = float(sum(np.mean(one == code) * np.mean(other == code) for code in codes))
    if chance >= 1:
        return Estimate(float("nan"), float("nan"), float("nan"))
    variance = agreed * (1 - agreed) / (len(one) * (1 - chance) ** 2)
    kappa, low, high = Estimate.of((agreed - chance) / (1 - chance), variance)
    return Estimate(kappa, max(low, -1.0), min(high, 1.0))


def compare_with_gold(votes: Votes, gold: NDArray[np.int8]) -> dict[str, dict[str, float]]:
    """Return Cohen's kappa of each judge with gold labels, as codes per item, 0 without."""
    codes, found = encode_classes(votes.n_classes), {}
    for s, name in enumerate(votes.voters):
        both = (votes.values[:, s] != 0) & (gold != 0)
        if both.any():
            kappa = compute_kappa(votes.values[both, s], gold[both], codes)
            ends = {"low": kappa.low, "high": kappa.high}
            found[str(name)] = {"kappa": kappa.value, **ends, "n": int(both.sum())}
    return found


def bound_effective(
    votes: Votes, chances: Floats, bounds: tuple[float, float] | None
) -> tuple[float, float] | None:
    """Return a 90 % interval of Kish's n / (1 + (n - 1) rho), at both `bounds` of the accuracy.

    rho = sum_i a_i / sum_i b_i has the variance sum_i (a_i - rho b_i)^2 / (sum_i b_i)^2.
    """
    views = [chances]
    if bounds is not None:
        logs = np.log(np.clip(chances, 1e-9, 1))
        for end in bounds:
            powered = np.exp(match_factor(logs, end) * logs)
            views.append(powered / powered.sum(axis=1, keepdims=True))
    ends = [end for view in views for end in _bound_view(votes, view)]
    return (min(ends), max(ends)) if ends else None


def _bound_view(votes: Votes, chances: Floats) -> list[float]:
    shape = chances.shape
    total, squares, counts = np.zeros(shape), np.zeros(shape), np.zeros(shape[0])
    codes = encode_classes(votes.n_classes)
    for s in range(votes.n_voters):
        column = votes.values[:, s]
        voted = column != 0
        said = np.stack([column == code for code in codes], axis=1)
        right = float((chances * said).sum() / max(voted.sum(), 1))
        error = float(np.clip(1 - right, RAREST, 1 - RAREST))
        gap = (~said - error) / np.sqrt(error * (1 - error)) * voted[:, None]
        total += gap
        squares += gap**2
        counts += voted
    together = (chances * (total**2 - squares)).sum(axis=1)
    pairs = counts * (counts - 1)
    if not pairs.sum():
        return []
    rho = together.sum() / pairs.sum()
    spread = float(np.sqrt(np.sum((together - rho * pairs) ** 2)) / pairs.sum())
    depth = float(counts[counts > 0].mean())
    ends = np.clip(rho + ndtri((1 + LEVEL) / 2) * spread * np.array([1, -1]), 0, 1)
    return [float(end) for end in depth / (1 + (depth - 1) * ends)]


def exceeds_chance(votes: Votes) -> bool:
    """Return whether judges agree more than judges who toss a coin would, with 99 % certainty."""
    counts = count_classes(votes)
    counts = counts[counts.sum(axis=1) > 1]
    if not len(counts):
        return False
    sizes = counts.sum(axis=1)
    shares = counts.sum(axis=0) / sizes.sum()
    if xlogy(shares, shares).sum() == 0:
        return False
    agreed = (counts * (counts - 1)).sum(axis=1) - sizes * (sizes - 1) * float(shares @ shares)
    return bool(abs(agreed.sum()) > ndtri(0.99) * np.sqrt(np.sum(agreed**2)))


class GradeTable(LabelTable):
    """A file of labels that may also say 1, true or correct for pass."""

    def _read_label(self, text: str) -> str:
        label = super()._read_label(text)
        if label in map(str, self.coding):
            return label
        try:
            grade = read_grade(label)
            named = label if grade is None else name_grades([grade]).labels[0]
        except VotesError:  # a score: not one of the labels, as the table itself will say
            return label
        return named if named is not None and named in self.coding else label


class RandomGrades(GradeTable):
    """Gold labels of items that a review drew at random; others that it holds are left out."""

    kept = RANDOM


def read_gold(path: str | Path, jury: Jury, *, random: bool = False) -> KnownLabels:
    """Return the gold labels in a file, matched to the items of a panel by name."""
    return read_labels(path, jury, RandomGrades if random else GradeTable)


def read_gold_codes(jury: Jury, gold: Any) -> NDArray[np.int8]:
    """Return the code of each item's gold label, 0 without one; from a dict, or labels by item."""
    codes = dict(zip(map(str, jury.classes), encode_classes(jury.n_classes), strict=True))
    if isinstance(gold, Mapping):
        labels = [gold.get(str(item)) for item in jury.items]
    else:
        labels = list(gold)
    return np.array([codes.get(str(label), 0) for label in labels], dtype=np.int8)
