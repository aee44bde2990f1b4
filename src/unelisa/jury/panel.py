"""What a panel of judges is worth: lean, accuracy and family of each, pass rates, disagreement."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators import Aggregator
from unelisa.analysis.judged import MOST_LISTED, Judged, estimate_shares
from unelisa.analysis.labels_needed import count_labels
from unelisa.jury.coefficients import bound_effective, exceeds_chance, measure_agreement
from unelisa.jury.systems import Truth, describe_systems
from unelisa.outputs import make_plain
from unelisa.votes import Votes
from unelisa.votes.coding import encode_classes

Floats = NDArray[np.float64]


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

    To pass is the positive of two classes or the last of ordered ones; other classes have no pass
    rate. `questions` names what an item answers, and `truth` holds gold labels with probabilities
    that did not use them. Without `show_items` no item is named.
    """
    passing = _chances_of_passing(judged)
    counts, said = _count_votes(judged)
    split = (counts > 0).sum(axis=1) > 1
    rates = None
    if passing is not None:
        rates = _describe_rates(model, judged, passing, systems, questions, truth)
    families = [[str(name) for name in kin] for kin in getattr(model, "families_", [])]
    return {
        "n_judges": int(model.n_features_in_),
        **_describe_worth(model, judged),
        "n_items": judged.votes.n_items,
        "families": families,
        "judges": _describe_judges(model, passing, said),
        "pass_rate": rates,
        "disagreement": {
            "items": int(split.sum()),
            "share": float(split.mean()),
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


def _count_votes(judged: Judged) -> tuple[NDArray[np.int64], list[tuple[Any, Any]]]:
    """Return items x classes: how many judges say so; per judge, the items judged and passed."""
    votes = judged.votes
    codes = np.array(encode_classes(votes.n_classes), dtype=np.int8)
    counts = np.zeros((votes.n_items, votes.n_classes), dtype=np.int64)
    judged_by: list[list[Any]] = [[] for _ in range(votes.n_voters)]
    passed_by: list[list[Any]] = [[] for _ in range(votes.n_voters)]
    for block in votes.blocks:
        rows = slice(block.start, block.start + block.n_items)
        for k, code in enumerate(codes):
            counts[rows, k] = (block.votes == code).sum(axis=1)
        for s in range(votes.n_voters):
            column = block.votes[:, s]
            judged_by[s].append(block.start + np.flatnonzero(column))
            passed_by[s].append(block.start + np.flatnonzero(column == codes[-1]))
    pairs = zip(judged_by, passed_by, strict=True)
    return counts, [(np.concatenate(items), np.concatenate(passed)) for items, passed in pairs]


def _describe_judges(
    model: Aggregator, passing: Floats | None, said: list[tuple[Any, Any]]
) -> list[dict[str, Any]]:
    """Return one row per judge, the best first; all of them, as the worst matter most."""
    table = model.voters_
    accuracy = _read_accuracy(model, table)
    rows = []
    for s, (voter, (items, passed)) in enumerate(zip(table.to_dict("records"), said, strict=True)):
        lean = share = None
        if passing is not None and len(items):
            share = len(passed) / len(items)
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
    best = sorted(range(len(rows)), key=lambda s: -np.nan_to_num(accuracy[s], nan=-1.0))
    return [rows[s] for s in best]


def _read_accuracy(model: Aggregator, table: Any) -> Floats:
    """Return how often each judge is right, by the model's own estimates; NaN if it cannot tell."""
    if "accuracy" in table:
        return np.asarray(table["accuracy"], dtype=np.float64)
    share: Any = getattr(model, "prevalence_", np.nan)
    if "sensitivity" not in table:
        return np.full(len(table), np.nan)
    right = share * table["sensitivity"] + (1 - share) * table["specificity"]
    return np.asarray(right, dtype=np.float64)


def _describe_worth(model: Aggregator, judged: Judged) -> dict[str, Any]:
    """Return how many independent judges the panel is, with an interval, and how far it agrees.

    Judges who agree no more than coins do are worth nothing that votes could show: None.
    """
    found = measure_agreement(judged.votes)
    effective = make_plain(getattr(model, "effective_voters_", None))
    bounds = None
    if not exceeds_chance(judged.votes):
        effective = None
    if effective is not None:
        ends = getattr(model, "expected_accuracy_interval_", None)
        bounds = bound_effective(judged.votes, _list_chances(judged), ends)
    return {
        "effective_judges": effective,
        "effective_judges_low": None if bounds is None else min(bounds[0], effective),
        "effective_judges_high": None if bounds is None else max(bounds[1], effective),
        "alpha": make_plain(found.alpha),
        "fleiss_kappa": make_plain(found.kappa),
        "cohen_kappa": make_plain(found.cohen),
    }


def _list_chances(judged: Judged) -> Floats:
    """Return the probability of every class, items x classes."""
    if not judged.two_classes:
        return judged.as_class_shares()
    yes = judged.as_shares()
    return np.column_stack([1 - yes, yes])


def _describe_rates(
    model: Aggregator,
    judged: Judged,
    passing: Floats,
    systems: Mapping[str, str],
    questions: Mapping[str, str] | None,
    truth: Truth | None,
) -> dict[str, Any]:
    """Return the share of items that pass, of all and of each system under test."""
    shares, _ = estimate_shares(model, judged)
    mean: Any = {"share": float(passing[judged.voted_on].mean()), "low": None, "high": None}
    rate = shares[-1] if shares else mean
    bounds = rate["low"], rate["high"]
    return {**rate, **describe_systems(judged, passing, systems, bounds, questions, truth)}


def find_truth(jury: Votes, gold: NDArray[np.int8], blind: Judged) -> Truth | None:
    """Return gold labels as passed or not, beside what a model says that has not seen them.

    `gold` are codes per item, 0 without; None where no class is the best, or without gold labels.
    """
    passing = _chances_of_passing(blind)
    if passing is None or not gold.any():
        return None
    best = encode_classes(jury.n_classes)[-1]
    return Truth(np.where(gold == 0, np.nan, (gold == best).astype(np.float64)), passing)


def _list_divided(judged: Judged, counts: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Return the items worth a human look, by name: judges differ, and the label is least certain.

    A human label is expected to save 1 - max_k P(k) errors on an item; without probabilities the
    items on which judges differ most come first.
    """
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
