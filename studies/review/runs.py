"""Reviews replayed on sets with known truth: a line of JSON per set, then one archive.

The truth answers. After every ten answers the model learns from all of them, the labels are scored,
and the order of the review looks again. The accuracy is that of all items with a known truth; a
reviewed item has the label that it was given.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from studies.fingerprints import stamp_with
from studies.records import Json, make_archive, merge_sets, read_lines, run_sets
from unelisa.latent import interpret
from unelisa.latent.gold import follow_gold
from unelisa.latent.trust import LEAST_LABELS
from unelisa.review.pools import EVERY, measure_gains, mix_chances, rank_useful
from unelisa.sources.labels import KnownLabels
from unelisa.votes import Votes
from unelisa.votes.ballots import list_ballots
from unelisa.votes.coding import encode_classes

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
DRAWS, LABELS, CLOSE = 3, 200, 0.005
STAMP = stamp_with(f"{__name__}:run_set")
_DIGITS = 5


class Look(NamedTuple):
    """What the model says of all items, given some labels."""

    chances: Floats
    ranked: Floats  # what the order of the review goes by: the mean over readings at first


Learn = Callable[[Places], Look]  # from the labels so far, -1 where unknown


def learn_votes(votes: Votes) -> Learn:
    """Return how labels are learned: the votes are read once, as a fit with labels does."""
    ballots = list_ballots(votes.blocks)
    reading = interpret(ballots, "auto", votes.n_classes)
    if votes.n_classes == 2 and reading.needs_turning():
        reading = reading.turned()

    def learn(labels: Places) -> Look:
        found, _ = follow_gold(ballots, labels, reading)
        known = labels >= 0
        certain = np.eye(votes.n_classes)[labels]
        weighed = [np.exp(one.weigh(ballots)) for one in found.readings]
        chances = [np.where(known[:, None], certain, one) for one in weighed]
        few = np.count_nonzero(known) < LEAST_LABELS
        return Look(chances[0], mix_chances(chances) if few else chances[0])

    return learn


Rank = Callable[[Floats], Places]  # from the probabilities to the order of the items


def rank_by_gain(chances: Floats) -> Places:
    """Return the items by their gain alone, equal ones in a random order."""
    ties = np.random.default_rng(0).random(len(chances))
    return np.lexsort((ties, -np.round(measure_gains(chances), 9)))


def replay(learn: Learn, truth: Places, n: int, rank: Rank) -> list[float]:
    """Return the accuracy after 0, 10, ... n answers, the items being ranked after each ten.

    `truth` is the place of each item's class, -1 where unknown: such items are not asked about.
    """
    labels, asked, curve = np.full(len(truth), -1), truth >= 0, []
    for start in range(0, n + 1, EVERY):
        look = learn(labels)
        told = np.where(labels >= 0, labels, look.chances.argmax(axis=1))
        curve.append(round(float((told == truth)[asked].mean()), _DIGITS))
        ranking = rank(look.ranked)
        left = ranking[asked[ranking] & (labels[ranking] < 0)]
        some = left[: min(EVERY, n - start)]
        labels[some] = truth[some]
    return curve


def run_set(known: KnownLabels, name: str, draws: int = DRAWS) -> Json:
    """Return the curves of one set: the review's, by gain alone, and those of random orders."""
    votes = known.votes
    codes = np.array(encode_classes(votes.n_classes), dtype=np.int8)
    truth = np.where(known.signs == 0, -1, (known.signs[:, None] == codes).argmax(axis=1))
    learn = learn_votes(votes)
    items = np.flatnonzero(truth >= 0)
    n = min(LABELS, len(items) // 2) // EVERY * EVERY
    shuffled = [np.random.default_rng(seed).permutation(items) for seed in range(draws)]
    ranks: list[Rank] = [lambda _, order=order: order for order in shuffled]  # type: ignore[misc]
    return {
        "set": name,
        "classes": votes.n_classes,
        "items": len(items),
        "labels": n,
        "review": replay(learn, truth, n, rank_useful),
        "gain": replay(learn, truth, n, rank_by_gain),
        "random": [replay(learn, truth, n, rank) for rank in ranks],
    }


def count_answers(curve: Sequence[float], goal: float) -> int:
    """Return after how many answers a curve first comes close to a goal, at most all of them.

    Examples
    --------
    >>> count_answers([0.8, 0.85, 0.898, 0.93], goal=0.9)
    20
    """
    near = (k for k, value in enumerate(curve) if value >= goal - CLOSE)
    return EVERY * next(near, len(curve) - 1)


class Needed(NamedTuple):
    """The goal of a set, and how many answers come close to it in each order."""

    goal: float
    review: int
    gain: int  # by gain alone
    random: float  # the mean of the random orders


def compare_orders(row: Json) -> Needed:
    """Return a set's goal, and how many answers each order needs."""
    goal = float(np.mean([curve[-1] for curve in row["random"]]))
    drawn = [count_answers(curve, goal) for curve in row["random"]]
    ours, plain = (count_answers(row[order], goal) for order in ("review", "gain"))
    return Needed(goal, ours, plain, float(np.mean(drawn)))


def run_review(
    sets: Mapping[str, Callable[[], KnownLabels]],
    folder: Path,
    draws: int = DRAWS,
    done: Callable[[str, int], Any] = lambda _name, _count: None,
) -> None:
    """Run what the results in a folder lack, set by set, and append each line as it finishes."""
    run_sets(sets, partial(run_set, draws=draws), folder / "reviews.jsonl", STAMP, done)


def collect_review(folder: Path, archived: Json | None = None) -> Json:
    """Return the archive of a results folder, added to an old one, in a fixed order."""
    old, new = (archived or {}).get("reviews", ()), read_lines(folder / "reviews.jsonl")
    return make_archive(reviews=merge_sets(old, new))
