"""A reading with gold labels: which reading they follow, and the fit once more with them."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unelisa.latent.ballots import CERTAIN, BallotBlocks, count_votes
from unelisa.latent.consensus import Consensus, Floats, fit_consensus, infer_states
from unelisa.latent.gold_verdict import (
    LEAST_LABELS,
    GoldVerdict,
    compare_with_gold,
    labels_help,
    weigh_by_gold,
)
from unelisa.latent.interpretation import (
    NOTHING_FOUND,
    Crowd,
    are_sure,
    find_experts,
    read_edges,
)
from unelisa.latent.reading import Links, Reading
from unelisa.latent.silence import LEAST_WEIGHT, fill_silence

LABEL_FOLDS = 5
TURNED = "the gold labels turned the sides"
CHOSEN = "the gold labels follow the other one of the two readings that the votes allow"
OVERRULED = (
    "the gold labels speak against what the voters agree on, but too few or too weakly to turn it: "
    "the voters' side is kept"
)


def follow_gold(
    lay: Callable[[Floats], BallotBlocks],
    fields: Floats,
    gold: NDArray[np.int8],
    reading: Reading,
    rng: np.random.Generator,
) -> Reading:
    """Return the reading that the gold labels follow: this one, its opposite, or gold alone.

    Where the votes allow another one, labels that clearly predict better from either choose it.
    Where they follow it, it is fitted once more with the labels as certain, if that helps to
    predict labels that were left out.

    Parameters
    ----------
    lay
        Gives the votes with any fields.
    fields
        The items' own log-odds.
    gold
        -1 or +1 per item, 0 where unknown.
    reading
        What the votes say without the labels.
    rng
        As in `interpret`.
    """
    reading = _choose_reading(lay(fields), gold, reading)
    verdict, alone = _ask_gold(lay(fields), gold, reading)
    rows = (
        {"structure": "unlabelled axis", "gold_log_score": verdict.axis},
        {"structure": "gold labels alone", "gold_log_score": verdict.alone},
    )
    if verdict.follows == "gold":
        others = tuple({**row, "kept": False} for row in (*reading.table, rows[0]))
        return replace(alone, table=(*others, {**rows[1], "kept": True}))
    side = -1.0 if verdict.follows == "opposite" else 1.0
    model = reading.model
    if model is None:
        labelled = _label_edges(lay, fields, gold, reading, rng)
    else:
        signs = side * gold.astype(np.float64)
        labelled = _label_consensus(lay, side * fields, signs, reading, model, rng)
        labelled = labelled.turned().noting(TURNED) if side < 0 else labelled
        labelled = labelled.noting(OVERRULED) if side > 0 and verdict.contradict else labelled
    return replace(labelled, table=(*labelled.table, *rows))


def _choose_reading(blocks: BallotBlocks, gold: NDArray[np.int8], reading: Reading) -> Reading:
    """Return the one of two readings from which labels are clearly better predicted, if any is."""
    items, other = np.flatnonzero(gold), reading.other
    if other is None or len(items) < LEAST_LABELS:
        return reading
    kept, left = (_scale(one.score(blocks))[items] for one in (reading, other))
    signs = gold[items].astype(np.float64)
    signs *= 1.0 if signs @ (kept + left) >= 0 else -1.0  # both may be upside down
    if labels_help(signs, kept, left):
        return replace(other, coherence=reading.coherence).noting(CHOSEN)
    return reading.settled() if labels_help(signs, left, kept) else reading


def _label_edges(
    lay: Callable[[Floats], BallotBlocks],
    fields: Floats,
    gold: NDArray[np.int8],
    reading: Reading,
    rng: np.random.Generator,
) -> Reading:
    """Return the graph fitted once more with the labels as certain; they settle its sign."""
    labelled = read_edges(Crowd.of(lay(np.where(gold != 0, gold * CERTAIN, fields)), rng))
    labelled = replace(labelled, coherence=reading.coherence)
    right = float(gold @ labelled.score(lay(fields))) >= 0
    return labelled if right else labelled.turned()


def _label_consensus(
    lay: Callable[[Floats], BallotBlocks],
    fields: Floats,
    gold: Floats,
    reading: Reading,
    model: Consensus,
    rng: np.random.Generator,
) -> Reading:
    """Return the consensus with the labels as certain, if labels left out say that this helps."""
    items = np.flatnonzero(gold)
    if len(items) < LEAST_LABELS:
        return reading
    plain, folds = lay(fields), np.arange(len(items)) % LABEL_FOLDS
    after = np.zeros(len(items))
    for fold in range(LABEL_FOLDS):
        known = fields.copy()
        known[items[folds != fold]] = CERTAIN * gold[items[folds != fold]]
        refitted = reading.refitted(_fit_again(lay(known), reading, model))
        after[folds == fold] = _scale(refitted.score(plain))[items[folds == fold]]
    if not labels_help(gold[items], _scale(reading.score(plain))[items], after):
        return reading
    blocks = lay(np.where(gold != 0, CERTAIN * gold, fields))
    return _describe_again(blocks, reading, _fit_again(blocks, reading, model), rng)


def _ask_gold(
    blocks: BallotBlocks, gold: NDArray[np.int8], reading: Reading
) -> tuple[GoldVerdict, Reading]:
    """Return what the gold labels follow, and the reading by gold labels alone."""
    items = np.flatnonzero(gold)
    filled = blocks.rewrite(fill_silence, reading.silence) if reading.silence.any() else blocks
    ballots, signs = filled.take(items).blocks[0], gold[items].astype(np.float64)
    idle = filled.sum(count_votes, blocks.n_voters)[0] == 0
    model = weigh_by_gold(ballots, signs, blocks.n_voters).without(idle)
    met = np.bincount(ballots.voters, minlength=blocks.n_voters) > 0
    alone = replace(
        reading,
        name="gold",
        structure="gold labels alone",
        weights=model.weights,
        fields=model.fields,
        standard_errors=model.standard_errors,
        field=0.0,
        experts=met & are_sure(model),
        model=model,
        affinity=None,
        links=Links.none(),
        two_readings=False,
        notes=(
            "the gold labels do not follow what the voters agree on: voters are weighed by the "
            "gold labels alone",
        ),
    )
    axis, unit = _scale(reading.score(blocks))[items], _unit(alone.score(blocks))
    return compare_with_gold(ballots, signs, axis, unit, blocks.n_voters), alone


def _scale(odds: Floats) -> Floats:
    """Return log-odds in units of their spread: how sure an axis is of itself tells nothing."""
    return odds / _unit(odds)


def _unit(odds: Floats) -> float:
    return max(float(odds.std()), 1e-9)


def _fit_again(blocks: BallotBlocks, reading: Reading, model: Consensus) -> Consensus:
    """Return the model of a consensus fitted once more, to votes with other fields."""
    least = LEAST_WEIGHT if reading.silence.any() else None
    start = infer_states, model.factors
    return fit_consensus(reading.prepare(blocks), *start, model=model, least_weight=least)


def _describe_again(
    blocks: BallotBlocks, reading: Reading, model: Consensus, rng: np.random.Generator
) -> Reading:
    """Return a reading with another model, and with what follows from it."""
    crowd = Crowd.of(blocks, rng)
    heard = model.without(crowd.votes == 0)
    experts, notes = find_experts(crowd, heard)
    told = tuple(note for note in reading.notes if note != NOTHING_FOUND)
    return replace(reading.refitted(heard), experts=experts, notes=(*notes, *told))
