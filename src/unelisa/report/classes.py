"""More than two classes: how many items each got, what voters confuse, and which pairs are hard."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators import Aggregator
from unelisa.report.judged import Judged
from unelisa.report.wording import make_plain
from unelisa.votes import Votes
from unelisa.votes.ballots import Ballots, list_ballots

Floats = NDArray[np.float64]

MOST_PAIRS = 8
MOST_DRAWN = 24  # classes in a picture of confusions; more cannot be read
MOST_CELLS = 200_000  # numbers of voters' own confusions in a page, so that it stays small


def describe_classes(
    model: Aggregator,
    judged: Judged | None,
    ranking: list[int],
    shares: Sequence[dict[str, Any]] | None = None,
) -> dict[str, Any] | None:
    """Return what a report says of more than two classes; None for two.

    Classes are given by their place in `classes_`, voters by their row in the ranking; `shares` are
    the estimated shares of the classes.

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = ue.Votes.of([["a", "a", "b"], ["b", "b", "b"], ["c", "c", "a"]])
    >>> model = ue.MajorityVote().fit(votes)
    >>> found = describe_classes(model, Judged.of(model, votes), [0, 1, 2])
    >>> [one["labeled"] for one in found["shares"]]
    [1, 1, 1]
    """
    if len(model.classes_) == 2:
        return None
    listed = _list_shares(model, judged, shares)
    found = {"ordered": bool(getattr(model, "ordered_", False)), "shares": listed}
    measured = _measure_confusions(model, judged)
    if measured is None:
        return {**found, "drawn": [], "confusion": None, "pairs": [], "voters": []}
    tables, votes = measured
    pooled = pool_confusions(tables, votes)
    drawn = _choose_drawn(votes.sum(axis=0))
    own = [tables[s][np.ix_(drawn, drawn)] for s in ranking[: MOST_CELLS // len(drawn) ** 2]]
    return {
        **found,
        "drawn": drawn,
        "confusion": pooled[np.ix_(drawn, drawn)].round(4).tolist(),
        "pairs": list_pairs(pooled, votes.sum(axis=0)),
        "voters": [table.round(3).tolist() for table in own],
    }


def _list_shares(
    model: Aggregator, judged: Judged | None, shares: Sequence[dict[str, Any]] | None
) -> list[dict[str, Any]]:
    """Return per class its label, the items labeled so, and its estimated share of all items."""
    labels, n = [make_plain(label) for label in model.classes_.tolist()], len(model.classes_)
    counts = [None] * n if judged is None else np.bincount(judged.picked, minlength=n).tolist()
    unknown = {"share": None, "low": None, "high": None}
    return [
        {
            "label": label,
            "labeled": count,
            "prevalence": one["share"],
            "low": one["low"],
            "high": one["high"],
        }
        for label, count, one in zip(labels, counts, shares or [unknown] * n, strict=True)
    ]


def _measure_confusions(model: Aggregator, judged: Judged | None) -> tuple[Floats, Floats] | None:
    """Return P(says c | class k) as [voters, k, c], and the votes behind it as [voters, k].

    The model's own estimates, or, for a method that has none, the votes counted by the labels.
    """
    table, n_classes = getattr(model, "confusions_", None), len(model.classes_)
    if table is not None:
        shape = model.n_features_in_, n_classes, n_classes
        votes = table["votes"].to_numpy().reshape(shape)[:, :, 0]
        return table["probability"].to_numpy().reshape(shape), votes
    if judged is None:
        return None
    counts = tally_confusions(judged.votes, judged.as_class_shares())
    votes = counts.sum(axis=2)
    return counts / np.maximum(votes, 1e-300)[:, :, None], votes


def tally_confusions(votes: Votes, shares: Floats) -> Floats:
    """Return expected votes [voters, class, said], given each item's share of every class.

    Examples
    --------
    >>> votes = Votes.of([["a", "b"], ["b", "b"], ["c", None]])
    >>> tally_confusions(votes, np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]]))[1]
    array([[0., 1., 0.],
           [0., 1., 0.],
           [0., 0., 0.]])
    """
    ballots, sizes = list_ballots(votes.blocks), (votes.n_voters, votes.n_classes)
    counts: Floats = ballots.sum(_tally_run, *sizes, per_item=(shares,))[0]
    return counts


def _tally_run(run: Ballots, shares: Floats, n_voters: int, n_classes: int) -> tuple[Floats]:
    """Return the expected votes of a run of items. A pass."""
    said = run.votes.view(np.uint8).astype(np.intp) - 1
    place, items = run.voters * n_classes + said, run.items
    length = n_voters * n_classes
    counts = [np.bincount(place, column[items], minlength=length) for column in shares.T]
    shape = n_classes, n_voters, n_classes
    return (np.array(counts, dtype=np.float64).reshape(shape).transpose(1, 0, 2),)


def pool_confusions(tables: Floats, votes: Floats) -> Floats:
    """Return P(says c | class k) of a random vote on class k, from all voters' [voters, k, c].

    Examples
    --------
    >>> tables = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5], [0.0, 1.0]]])
    >>> pool_confusions(tables, np.array([[3.0, 1.0], [1.0, 1.0]]))
    array([[0.875, 0.125],
           [0.   , 1.   ]])
    """
    behind = np.maximum(votes.sum(axis=0), 1e-300)
    return np.asarray(np.einsum("sk,skc->kc", votes, tables) / behind[:, None])


def list_pairs(confusion: Floats, votes: Floats) -> list[dict[str, Any]]:
    """Return the pairs of classes that voters mix up most often, by expected number of votes.

    `confusion` is [class, said], and `votes` are those on items of each class.

    Examples
    --------
    >>> confusion = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0], [0.0, 0.0, 1.0]])
    >>> [(one["first"], one["second"], one["votes"])
    ...  for one in list_pairs(confusion, np.array([10.0, 20.0, 30.0]))]
    [(0, 1, 5.0)]
    """
    wrong = confusion * votes[:, None]
    pairs = [
        {
            "first": int(k),
            "second": int(c),
            "first_as_second": float(confusion[k, c]),
            "second_as_first": float(confusion[c, k]),
            "votes": float(wrong[k, c] + wrong[c, k]),
        }
        for k, c in zip(*np.triu_indices(len(votes), 1), strict=True)
    ]
    ranked = sorted(pairs, key=lambda pair: -pair["votes"])[:MOST_PAIRS]
    return [pair for pair in ranked if pair["votes"] >= 0.5]


def _choose_drawn(votes: Floats) -> list[int]:
    """Return the classes that are drawn: all, or those with most votes, in their own order."""
    kept = np.argsort(-votes, kind="stable")[:MOST_DRAWN]
    return sorted(int(k) for k in kept)
