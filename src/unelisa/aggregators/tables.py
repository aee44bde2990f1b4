"""Tables as people see them: voters, labels, confusions. Loads pandas, so it is imported late."""

from html import escape
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from unelisa.aggregators.base import as_chances, find_best, name_status
from unelisa.base import check_is_fitted
from unelisa.votes import Votes
from unelisa.votes.ballots import count_heard, list_ballots

Floats = NDArray[np.float64]
MOST, WORST = 6, 3  # classes and voters in a summary
SHOWN = ("voter", "verdict", "family", "accuracy", "accuracy_low", "accuracy_high", "votes")
SHORT = {"accuracy_low": "low", "accuracy_high": "high"}
UNKNOWN = "unknown"


class VoterTable(pd.DataFrame):  # type: ignore[misc]
    """A table with one row per voter that prints its main columns, the least accurate first."""

    def _shorten(self) -> pd.DataFrame:
        table = pd.DataFrame(self)
        if "accuracy" not in table:
            return table
        table = table.sort_values("accuracy", kind="stable", na_position="last")
        shown = table[[name for name in SHOWN if name in table]].rename(columns=SHORT)
        if "family" in shown and not shown["family"].any():
            shown = shown.drop(columns="family")
        bounds = shown[["low", "high"]].map(lambda bound: "" if pd.isna(bound) else f"{bound:.2f}")
        accuracy = shown["accuracy"].map(lambda one: UNKNOWN if pd.isna(one) else f"{one:.2f}")
        return shown.assign(accuracy=accuracy, **bounds)

    def _count_rest(self) -> str:
        rest = len(self.columns) - sum(name in self for name in SHOWN)
        return f"accuracy with a 90 % interval; {rest} more columns: voters_full_"

    def to_string(self, *given: Any, **options: Any) -> Any:
        """Return all columns as text."""
        return pd.DataFrame(self).to_string(*given, **options)

    def __repr__(self) -> str:
        shown = repr(self._shorten())
        return f"{shown}\n{self._count_rest()}" if "accuracy" in self else shown

    def _repr_html_(self) -> Any:
        shown: Any = self._shorten()._repr_html_()
        return f"{shown}<p>{self._count_rest()}</p>" if "accuracy" in self else shown


def tabulate_confusions(model: Any, tables: Floats, votes: Floats) -> Any:
    """Return the pandas table of confusions [voters, meant, said] and votes [voters, meant]."""
    n_voters, n_classes = votes.shape
    voter, meant, said = np.indices((n_voters, n_classes, n_classes)).reshape(3, -1)
    return pd.DataFrame(
        {
            "voter": model.voter_names_[voter],
            "said": model.classes_[said],
            "meant": model.classes_[meant],
            "probability": tables.ravel(),
            "votes": votes[voter, meant],
        }
    )


def tabulate_labels(
    model: Any, votes: Votes, scores: Floats, gold: NDArray[np.int8] | None
) -> pd.DataFrame:
    """Return item, label, probability of the label and status, as `Aggregator.labels` says."""
    best = find_best(scores)
    tied = best.sum(axis=1)
    if hasattr(model, "predict_proba"):
        chances = as_chances(scores).max(axis=1)
    else:
        chances = np.where(tied > 1, 1 / tied, np.nan)
    heard = list_ballots(votes.blocks).concatenate(count_heard) > 0
    labels = model._label(scores)
    if gold is not None:
        known = gold != 0
        chances[known] = 1.0
        labels = np.where(known, votes.name_codes(gold), labels).astype(labels.dtype)
    columns = {"item": list(votes.items), "label": labels, "probability": chances}
    return pd.DataFrame({**columns, "status": name_status(heard, tied, gold)})


class Summary:
    """What a fit found, in a few lines, as text and as HTML."""

    def __init__(self, model: Any) -> None:
        check_is_fitted(model, "weights_")
        self.lines = {
            "Model": f"{type(model).__name__}, {model._describe_fit()}",
            "Trust": _describe_trust(model),
            "Classes": _describe_classes(model),
            "Worst voters": _describe_worst(model),
            "Next": _describe_next(model),
        }

    def __repr__(self) -> str:
        return "\n".join(f"{what:14}{text}" for what, text in self.lines.items())

    def _repr_html_(self) -> str:
        rows = (
            f"<tr><th>{escape(what)}</th><td>{escape(text)}</td></tr>"
            for what, text in self.lines.items()
        )
        return f"<table>{''.join(rows)}</table>"


def _describe_trust(model: Any) -> str:
    found = []
    if not getattr(model, "reliable_", True):
        found = [f"the labels cannot be relied on: {model.reliability_reason_}"]
    if (expected := getattr(model, "expected_accuracy_", None)) is not None:
        low, high = model.expected_accuracy_interval_
        found.append(f"expected accuracy {expected:.0%} ({low:.0%} to {high:.0%})")
    return "; ".join(found) or "nothing was found that speaks against the labels"


def _describe_classes(model: Any) -> str:
    names = model.classes_.tolist()
    shares = np.asarray(getattr(model, "prevalence_", np.nan), dtype=np.float64)
    if not np.isnan(shares).any():
        shares = shares if shares.ndim else np.array([1 - shares, shares])
        names = [f"{names[k]} {shares[k]:.1%}" for k in np.argsort(-shares, kind="stable")]
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return ", ".join(map(str, names[:MOST])) + more


def _describe_worst(model: Any) -> str:
    table = pd.DataFrame(model.voters_full_)
    column = "accuracy" if "accuracy" in table else "weight"
    known = table[table[column].notna()].sort_values(column, kind="stable")
    worst = known.head(WORST)[["voter", "verdict", column]].itertuples(index=False)
    return ", ".join(f"{who} ({said}, {column} {x:.2f})" for who, said, x in worst) or UNKNOWN


def _describe_next(model: Any) -> str:
    if not getattr(model, "reliable_", True):
        return "label a random sample by hand and pass it as y, or collect more votes"
    if hasattr(model, "predict_proba"):
        return "labels(votes) for the labels, suggest_votes for the votes worth buying"
    return "labels(votes) for the labels"
