"""What a panel of judges is worth: leniency, accuracy and family of each, and its pass rate."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators import Aggregator
from unelisa.analysis.judged import MOST_LISTED, Judged, estimate_shares
from unelisa.analysis.suggestions.advice import count_labels
from unelisa.jury.coefficients import (
    bound_effective,
    count_classes,
    exceeds_chance,
    measure_agreement,
)
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
    counts = count_classes(judged.votes)
    split = (counts > 0).sum(axis=1) > 1
    rates = None
    if passing is not None:
        rate = _estimate_rate(model, judged, passing)
        bounds = rate["low"], rate["high"]
        rates = rate | describe_systems(judged, passing, systems, bounds, questions, truth)
    families = [[str(name) for name in kin] for kin in getattr(model, "families_", [])]
    return {
        "n_judges": int(model.n_features_in_),
        **_describe_worth(model, judged),
        "n_items": judged.votes.n_items,
        "families": families,
        "judges": _describe_judges(model, judged.votes, passing),
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


def _describe_judges(
    model: Aggregator, votes: Votes, passing: Floats | None
) -> list[dict[str, Any]]:
    """Return one row per judge, the best first; all of them, as the worst matter most."""
    table, best = model.voters_, encode_classes(votes.n_classes)[-1]
    accuracy = _read_accuracy(model, table)
    rows = []
    for s, voter in enumerate(table.to_dict("records")):
        column = votes.values[:, s]
        items, lean, share = np.flatnonzero(column), None, None
        if passing is not None and len(items):
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


def _read_accuracy(model: Aggregator, table: Any) -> Floats:
    """Return how often each judge is right, by the model's own estimates; NaN where it has none."""
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
        bounds = bound_effective(judged.votes, judged.as_columns(), ends)
    return {
        "effective_judges": effective,
        "effective_judges_low": None if bounds is None else min(bounds[0], effective),
        "effective_judges_high": None if bounds is None else max(bounds[1], effective),
        "alpha": make_plain(found.alpha),
        "fleiss_kappa": make_plain(found.kappa),
        "cohen_kappa": make_plain(found.cohen),
    }


def _estimate_rate(model: Aggregator, judged: Judged, passing: Floats) -> dict[str, Any]:
    """Return the share of items that pass, with its interval where there is one."""
    shares, _ = estimate_shares(model, judged)
    if shares:
        return {**shares[-1]}
    return {"share": float(passing[judged.voted_on].mean()), "low": None, "high": None}


def find_truth(jury: Votes, gold: NDArray[np.int8], blind: Judged) -> Truth | None:
    """Return gold labels as passed or not, beside what a model says that has not seen them.

    `gold` are codes per item, 0 without; None where no class is the best, or without gold labels.
    """
    passing = _chances_of_passing(blind)
    if passing is None or not gold.any():
        return None
    best = encode_classes(jury.n_classes)[-1]
    return Truth(np.where(gold == 0, np.nan, (gold == best).astype(np.float64)), passing)


def _list_divided(judged: Judged, counts: Floats) -> list[dict[str, Any]]:
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
