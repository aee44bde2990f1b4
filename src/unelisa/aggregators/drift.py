"""Drift: voters whose accuracy changed over time, the last third of their votes against the first.

A vote c's surprise is Q(c) - sum_v Q(v) sum_k Q(k) T(k, v), T the voter's confusions and
Q(k) ~ P(k) / T(k, c) the probabilities without it; so harder items do not count as worse votes.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from unelisa.aggregators.confusions import ConfusionAggregator
from unelisa.errors import ModelError
from unelisa.latent.crowd import draw_items
from unelisa.votes import Votes
from unelisa.votes.ballots import Ballots, list_ballots, take_ballots
from unelisa.votes.frames import list_names

Floats = NDArray[np.float64]

LEAST_VOTES = 20  # of a third
LEAST_VOTERS = 3  # who are tested, to know what changes have in common
LEVEL = 0.01  # chance that any voter is named where none has changed
LEAST_CHANCE = 1e-6


def find_drift(model: Any, votes: Any, *, most: int | None = None) -> Any:
    """Return how each voter's accuracy changed over time, as a pandas table.

    One row per voter: voter, votes, first and last (accuracy in the first and the last third of its
    votes), change (beyond what items and other voters account for), p_value (adjusted by Holm's
    method) and drifted (p_value < .01). NaN where a third has fewer than 20 votes.

    Parameters
    ----------
    model
        A fitted `LatentIsing` or `DawidSkene`.
    votes
        The votes with items in the order of time (those of a long table are sorted by name).
    most
        Number of items used, evenly spaced; all by default.

    Examples
    --------
    >>> import numpy as np, unelisa as ue
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(1200) < 0.5
    >>> right = np.tile([0.9, 0.8, 0.8, 0.75, 0.75], (1200, 1))
    >>> right[600:, 0] = 0.55  # the first voter becomes tired
    >>> said = np.where(rng.random(right.shape) < right, truth[:, None], ~truth[:, None])
    >>> votes = ue.Votes.of(said)
    >>> table = ue.find_drift(ue.LatentIsing().fit(votes), votes)
    >>> table["drifted"].tolist()
    [True, False, False, False, False]
    """
    import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

    if not isinstance(model, ConfusionAggregator) or not hasattr(model, "predict_proba"):
        name = type(model).__name__
        raise ModelError(f"drift is found with LatentIsing or DawidSkene, found {name}")
    known: Votes = model._reenter(votes)
    counts = known.vote_counts()
    if most is not None and known.n_items > most:
        known = known.take_items(draw_items(known.n_items, most))
    ballots = take_ballots(list_ballots(known.blocks), np.arange(known.n_items))
    right, surprise = _judge_votes(ballots, model.predict_proba(known), model._answer_tables())
    thirds = _cut_thirds(ballots.voters, known.n_voters)
    sizes = np.bincount(ballots.voters[thirds[0]], minlength=known.n_voters)

    def average(values: Floats) -> Floats:
        sums = [np.bincount(ballots.voters[x], values[x], known.n_voters) for x in thirds]
        return np.array(sums) / np.maximum(sizes, 1)

    (first, last), surprised = average(right), average(surprise)
    variances = (average(surprise**2) - surprised**2) / np.maximum(sizes - 1, 1)
    change = surprised[1] - surprised[0]
    unknown = (sizes < LEAST_VOTES) | ~np.isfinite(change)
    change, error = _leave_common(change, np.maximum(variances.sum(axis=0), 1e-24), ~unknown)
    together = adjust_holm(np.where(unknown, np.nan, 2 * ndtr(-np.abs(change) / error)))
    found = {"first": first, "last": last, "change": change, "p_value": together}
    known_only = {name: np.where(unknown, np.nan, column) for name, column in found.items()}
    columns = {"voter": model.voter_names_, "votes": counts, **known_only}
    return pd.DataFrame({**columns, "drifted": together < LEVEL})


def describe_drift(table: Any) -> str:
    """Return the sentence about voters who drifted; nothing where none did."""
    drifted = table[table["drifted"]].sort_values("p_value", kind="stable")
    if not len(drifted):
        return ""
    who = "1 voter" if len(drifted) == 1 else f"{len(drifted)} voters"
    worst, names = drifted.iloc[0], list_names(drifted["voter"].tolist())
    return (
        f"the accuracy of {who} changed over time: {names}; that of the first from "
        f"{worst['first']:.2f} in the first third of its votes to {worst['last']:.2f} in the last"
    )


def adjust_holm(chances: Floats) -> Floats:
    """Return p-values for all tests together, by Holm's method; NaN was not tested."""
    tested = np.flatnonzero(~np.isnan(chances))
    order = tested[np.argsort(chances[tested], kind="stable")]
    found = np.full(len(chances), np.nan)
    scaled = chances[order] * np.arange(len(order), 0, -1)
    found[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return found


def _leave_common(
    change: Floats, variance: Floats, known: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Return the changes without what they have in common, and their standard errors."""
    if np.count_nonzero(known) < LEAST_VOTERS:
        return change, np.sqrt(variance)
    of_median = np.pi / 2 * np.median(variance[known]) / np.count_nonzero(known)
    return change - np.median(change[known]), np.sqrt(variance + of_median)


def _judge_votes(ballots: Ballots, chances: Floats, tables: Floats) -> tuple[Floats, Floats]:
    """Return how probably each vote is right, and how far it surprises given everybody else's."""
    said = ballots.answer(chances.shape[1])
    table = np.clip(tables, LEAST_CHANCE, 1)[ballots.voters]
    rows = np.arange(len(said))
    of_item = np.maximum(chances, LEAST_CHANCE)[ballots.items]
    others = of_item / table[rows, :, said]
    others /= others.sum(axis=1, keepdims=True)
    expected = np.einsum("nk,nkv,nv->n", others, table, others)
    return of_item[rows, said], others[rows, said] - expected


def _cut_thirds(
    voters: NDArray[np.int32], n_voters: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    order = np.argsort(voters, kind="stable")
    counts = np.bincount(voters, minlength=n_voters)
    starts = np.cumsum(counts) - counts
    sorted_voters = voters[order]
    place, third = np.arange(len(order)) - starts[sorted_voters], (counts // 3)[sorted_voters]
    return order[place < third], order[place >= counts[sorted_voters] - third]
