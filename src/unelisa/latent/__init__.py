"""The latent Ising model: from votes to a reading of them.

Which reading identifies the truth is an assumption that the likelihood does not decide: on coherent
votes a graph of the voters explains more than any truth does. So the coherence kappa of the votes
decides, about (2 q - 1)^2 where a share q of the voters points the same way. From kappa = .3 on
(q = .77) the truth is what they agree on (the consensus). Below .2 (q = .72), with two classes and
enough common items, it is the hub of the voters' graph (the edges). In between it is the consensus
if one common factor explains the voters' correlations, and else the hub.

    votes -> lists (votes/ballots.py) -> crowd and its coherence (crowd.py)
          -> read_consensus (consensus.py): who repeats whom (repeats.py), EM
             or read_edges (edges/)
          -> follow_gold (gold.py), where there are gold labels
          -> describe: one pass for trust (trust.py) and the accuracy of voters (worth.py)

The result is a `Reading` (reading.py). Numbers that votes cannot determine are in prior.py.
"""

from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import ModelError
from unelisa.latent import prior
from unelisa.latent.consensus import read_consensus
from unelisa.latent.crowd import Crowd, Pairs, draw_run, exceeds_factor, measure_coherence
from unelisa.latent.edges import read_edges
from unelisa.latent.reading import DECIDE, LEAST_CLEAR, Reading
from unelisa.latent.repeats import compare_voters, find_repeaters
from unelisa.latent.trust import (
    Checked,
    Tally,
    count_independent,
    gain_experience,
    judge_labels,
    settle,
    spread_shift,
)
from unelisa.latent.worth import Cases, describe_worth, find_experts, sum_cases
from unelisa.votes.ballots import Ballots, Floats, Sums, keep_voters
from unelisa.votes.blocks import ItemBlocks

Structure = Literal["auto", "plain", "ease", "families", "edges"]

JUDGED_ITEMS = 20_000  # on which experience is gained
SAMPLE_ITEMS = 5000  # on which coherence is measured
HARDLY = (
    "the voters hardly point the same way (coherence {:.2f}): the truth is taken to be the hub of "
    f"their graph, which the votes cannot confirm; {DECIDE}"
)
APART = (
    "the voters do not point the same way (coherence {:.2f}) and are too few, or share too few "
    "items, to learn their graph: what they agree on may not be the truth"
)
UNLABELED = (
    "no item is labeled as a class whose share was stated: each alone is probably of another "
    "class; choose items by their probability"
)
LEAST_VOTERS = 5  # for a graph
ITEMS_PER_VOTER = 4.0  # common items a pair needs, for each voter of the graph


def interpret(ballots: ItemBlocks, structure: Structure, n_classes: int = 2) -> Reading:
    """Return the reading of the votes in the structure asked for, or in the one they need."""
    crowd = Crowd.of(ballots, n_classes)
    reading = _read(crowd, structure)
    run = crowd.draw(JUDGED_ITEMS).ballots
    return replace(
        _temper(reading, run), others=tuple(_temper(other, run) for other in reading.others)
    )


def _read(crowd: Crowd, structure: Structure) -> Reading:
    if crowd.n_classes > 2:
        if structure == "edges":
            raise ModelError("structure 'edges' takes two classes: choose another")
        return read_consensus(crowd, structure)
    compared = compare_voters(crowd) if structure in ("auto", "families", "edges") else None
    kappa, graph = _measure_crowd(crowd, find_repeaters(crowd, compared).counts)
    if structure == "edges" or (structure == "auto" and graph):
        hub = replace(read_edges(crowd), coherence=kappa)
        return hub.doubting(HARDLY.format(kappa)) if kappa > prior.COHERENT / 2 else hub
    reading = replace(read_consensus(crowd, structure, compared), coherence=kappa)
    alone = kappa < prior.COHERENT and structure == "auto"
    return reading.doubting(APART.format(kappa)) if alone else reading


def _temper(reading: Reading, run: Ballots) -> Reading:
    # there is no experience with graphs: all that is known are designed votes
    temper = reading.name == "consensus"
    voted = keep_voters(run, reading.distinct)
    found = gain_experience(voted, reading.think(run), temper=temper)
    correction = reading.correction._replace(slope=found.factor)
    return replace(reading, experience=found, correction=correction)


def _measure_crowd(crowd: Crowd, counts: Floats) -> tuple[float, bool]:
    """Return kappa, and whether the votes call for a graph and suffice for one."""
    sample = crowd.draw(SAMPLE_ITEMS)
    # coherence is that of the voters who vary: the others point nowhere
    first, second, common = sample.pairs
    varied = np.isin(first, crowd.varied) & np.isin(second, crowd.varied)
    pairs = Pairs(first[varied], second[varied], common[varied])
    correlations = sample.correlations[varied]
    weights = counts[pairs.first] * counts[pairs.second]
    kappa, n_varied = measure_coherence(pairs, correlations, weights), len(crowd.varied)
    rich = n_varied >= LEAST_VOTERS and crowd.common >= ITEMS_PER_VOTER * n_varied
    graph = rich and kappa < prior.SURELY_COHERENT
    return kappa, graph and (kappa < prior.COHERENT or exceeds_factor(pairs, correlations))


class Known(NamedTuple):
    """What is known besides the votes."""

    gold: NDArray[np.int8]  # codes of gold labels, 0 unknown
    checked: Checked  # how right labels were on them
    bounds: Floats | None  # stated shares of the classes: rows low, high


def describe(ballots: ItemBlocks, reading: Reading, known: Known, *, identified: bool) -> Reading:
    """Return the reading with its trust and every voter's accuracy, found in one pass."""
    experience = reading.experience
    if experience is None:  # only in files
        return reading
    gold = known.gold if known.gold.any() else np.empty(0, dtype=np.int8)
    found = ballots.sum(sum_answers, reading, ballots.n_voters, per_item=(gold,))
    (n_items, n_heard, n_gold), totals, cases = found[0].tolist(), found[1], Cases(*found[2:])
    tally = Tally(n_items, n_heard, n_gold, totals[:2], totals[2])
    trust = judge_labels(tally, experience, known.checked)
    trust = settle(trust, known.bounds, _count_independent(ballots, reading))
    if known.bounds is not None and ((known.bounds[0] > 0) & (trust.labels == 0)).any():
        reading = reading.noting(UNLABELED)
    trusted = known.checked.enough or (identified and reading.clusters >= LEAST_CLEAR)
    shift = spread_shift(experience, known.checked)
    worth = describe_worth(cases, shift, ballots.n_threads)
    experts = find_experts(cases) & trusted if reading.name == "consensus" else reading.experts
    return replace(
        reading,
        trust=trust if trusted else trust.unknown(),
        worth=worth if trusted else worth.unknown(),
        experts=experts,
    )


def _count_independent(ballots: ItemBlocks, reading: Reading) -> float:
    """Return the effective number of voters; NaN for a graph, whose voters share errors."""
    if reading.name != "consensus":
        return float("nan")
    run = draw_run(ballots, reading.n_classes, JUDGED_ITEMS)
    chances = np.exp(reading.weigh_run(run))
    return count_independent(keep_voters(run, reading.distinct), chances, ballots.n_voters)


def sum_answers(ballots: Ballots, gold: NDArray[np.int8], reading: Reading, n_voters: int) -> Sums:
    """Return the parts of `Tally` and of the voters' `Cases`. A pass."""
    logs = reading.weigh_run(ballots)
    chances, heard = np.exp(logs), ballots.counts > 0
    labels = np.bincount(chances.argmax(axis=1), minlength=logs.shape[1])
    own = chances[heard]
    totals = np.stack([own.sum(axis=0), (own * (1 - own)).sum(axis=0)])
    experience = reading.experience
    factors = (1.0, 1.0) if experience is None else (experience.flatter, experience.steeper)
    return (
        np.array([len(logs), heard.sum(), np.count_nonzero(gold)], dtype=np.float64),
        np.vstack([totals, labels]),
        *sum_cases(ballots, logs, factors, n_voters),
    )
