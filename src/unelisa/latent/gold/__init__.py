"""The room of the gold labels: which reading of the votes they follow, and that reading fitted.

Labels follow the reading of the votes (its axis), the opposite, or neither: then the voters are
weighted by the gold labels alone (`comparison.py` decides). Where the votes allow two readings,
labels choose between them. What the labels follow is fitted again with the labels as certain,
where that helps to predict held-out labels.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unelisa.blocks import ItemBlocks
from unelisa.latent.ballots import Floats, count_votes, fill_silence, set_prior_odds, take_ballots
from unelisa.latent.consensus.reading import ConsensusReading, are_sure
from unelisa.latent.gold.comparison import (
    LEAST_LABELS,
    Comparison,
    compare_with_gold,
    labels_help,
    weigh_by_gold,
)
from unelisa.latent.reading import Reading

LABEL_FOLDS = 5
TURNED = "the gold labels swapped the sides"
CHOSEN = "the gold labels follow the other of the two readings that the votes allow"
OVERRULED = (
    "the gold labels contradict what the voters agree on, but too weakly to swap the sides: the "
    "voters' side is kept"
)
ALONE = (
    "the gold labels do not follow what the voters agree on: voters are weighted by the gold "
    "labels alone"
)


def follow_gold(
    ballots: ItemBlocks,
    prior_odds: Floats,
    gold: NDArray[np.int8],
    reading: Reading,
    rng: np.random.Generator,
) -> Reading:
    """Return the reading that the gold labels follow: this one, its opposite, or gold alone.

    `gold` is -1 or +1 per item, 0 where unknown. Where the votes allow two readings, labels that
    one of them predicts clearly better choose it. Where labels follow a consensus, it is fitted
    again with the labels as certain, if that helps to predict held-out labels; a graph always is,
    and labels decide its sign.
    """
    informed = set_prior_odds(ballots, prior_odds)
    reading = _choose_reading(informed, gold, reading)
    found, alone = _ask_gold(informed, gold, reading)
    rows = (
        {"structure": "unlabeled axis", "gold_log_score": found.axis},
        {"structure": "gold labels alone", "gold_log_score": found.alone},
    )
    if found.follows == "gold":
        others = tuple({**row, "kept": False} for row in (*reading.table, rows[0]))
        return replace(alone, table=(*others, {**rows[1], "kept": True}))
    side = -1 if found.follows == "opposite" and not reading.sign_is_open else 1
    own_odds, own_gold = side * prior_odds, side * gold
    labeled = reading
    if reading.sign_is_open or _labels_enter(ballots, own_odds, own_gold, reading, rng):
        labeled = reading.label(ballots, own_odds, own_gold, rng)
    if side < 0:
        labeled = labeled.turned().noting(TURNED)
    elif found.contradict and not reading.sign_is_open:
        labeled = labeled.noting(OVERRULED)
    return replace(labeled, table=(*labeled.table, *rows))


def _choose_reading(ballots: ItemBlocks, gold: NDArray[np.int8], reading: Reading) -> Reading:
    """Return the one of two readings that predicts the labels clearly better, if one does."""
    items = np.flatnonzero(gold)
    if not reading.others or len(items) < LEAST_LABELS:
        return reading
    (other,) = reading.others
    kept, left = (_scale(one.score(ballots))[items] for one in (reading, other))
    signs = gold[items].astype(np.float64)
    signs *= 1.0 if signs @ (kept + left) >= 0 else -1.0  # both may be upside down
    if labels_help(signs, kept, left):
        return replace(other, coherence=reading.coherence).noting(CHOSEN)
    return reading.settled() if labels_help(signs, left, kept) else reading


def _labels_enter(
    ballots: ItemBlocks,
    prior_odds: Floats,
    gold: NDArray[np.int8],
    reading: Reading,
    rng: np.random.Generator,
) -> bool:
    """Return whether labels in the fit help to predict held-out labels."""
    items = np.flatnonzero(gold)
    if len(items) < LEAST_LABELS:
        return False
    informed, folds = set_prior_odds(ballots, prior_odds), np.arange(len(items)) % LABEL_FOLDS
    after = np.zeros(len(items))
    for fold in range(LABEL_FOLDS):
        used = gold.copy()
        used[items[folds == fold]] = 0
        labeled = reading.label(ballots, prior_odds, used, rng)
        after[folds == fold] = _scale(labeled.score(informed))[items[folds == fold]]
    before = _scale(reading.score(informed))[items]
    return labels_help(gold[items].astype(np.float64), before, after)


def _ask_gold(
    ballots: ItemBlocks, gold: NDArray[np.int8], reading: Reading
) -> tuple[Comparison, ConsensusReading]:
    """Return what the labels follow, and the reading in which they alone weight the voters."""
    n_voters, items = ballots.n_voters, np.flatnonzero(gold)
    filled = ballots.view(fill_silence, reading.silence)
    labeled, signs = take_ballots(filled, items), gold[items].astype(np.float64)
    idle = filled.sum(count_votes, n_voters)[0] == 0
    model = weigh_by_gold(labeled, signs, n_voters).without(idle)
    met = np.bincount(labeled.voters, minlength=n_voters) > 0
    alone = ConsensusReading(
        name="gold",
        structure="gold labels alone",
        model=model,
        experts=met & are_sure(model),
        silence=reading.silence,
        coherence=reading.coherence,
        notes=(ALONE,),
    )
    axis, unit = _scale(reading.score(ballots))[items], _unit(alone.score(ballots))
    return compare_with_gold(labeled, signs, axis, unit, n_voters), alone


def _scale(odds: Floats) -> Floats:
    """Return log-odds in units of their spread: how confident an axis is does not matter."""
    return odds / _unit(odds)


def _unit(odds: Floats) -> float:
    return max(float(odds.std()), 1e-9)
