"""The latent Ising model: from votes to a reading of them.

A hidden truth stands behind the votes. Which reading of the votes is meant is an assumption that
identifies the truth, and the likelihood cannot tell: on coherent votes a graph of the voters
explains more than any truth does. So the coherence kappa of the votes decides, about (2 q - 1)^2
where a share q of the voters points the same way. From kappa = .2 on (72 % of the voters) the
truth is what they agree on (the consensus). Below, with two classes and enough items in common, it
is the hub of the voters' graph (the edges); section 5.1's designs, whose voters point either way by
a coin, lie mostly within .1 of 0.

The walk of a fit::

    votes -> ballots (ballots.py) -> crowd (crowd.py) -> coherence (pairs.py)
          -> read_consensus (consensus.py): who repeats whom (repeats.py), EM (model.py)
             or read_edges (edges/)
          -> follow_gold (gold.py), where there are gold labels
          -> describe: one pass for trust (trust.py) and the worth of voters (worth.py)

and what comes back is a `Reading` (reading.py), which scores items. Every number that the votes
cannot tell is in prior.py.
"""

from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.blocks import ItemBlocks
from unelisa.latent.ballots import Floats
from unelisa.latent.consensus import read_consensus
from unelisa.latent.crowd import Crowd
from unelisa.latent.edges.reading import read_edges
from unelisa.latent.pairs import Pairs, measure_coherence
from unelisa.latent.reading import DECIDE, LEAST_CLEAR, Reading
from unelisa.latent.trust import Checked, Tally, judge_labels, sum_answers
from unelisa.latent.worth import Cases, describe_worth, find_experts

Structure = Literal["auto", "plain", "ease", "families", "edges"]

SAMPLE_ITEMS = 5000  # on which coherence is measured
COHERENT = 0.2  # kappa: nearly three quarters of the voters point the same way
HARDLY_COHERENT = 0.1  # what voters who point either way by a coin rarely reach
HARDLY = (
    "the voters hardly point the same way (coherence {:.2f}): the truth is taken to be the hub of "
    f"their graph, which the votes cannot confirm; {DECIDE}"
)
APART = (
    "the voters do not point the same way (coherence {:.2f}) and are too few, or share too few "
    "items, to learn their graph: what they agree on may not be the truth"
)
LEAST_VOTERS = 5  # for a graph
ITEMS_PER_VOTER = 4.0  # common items a pair needs, for each voter of the graph


def interpret(ballots: ItemBlocks, structure: Structure, n_classes: int = 2) -> Reading:
    """Return the reading of the votes, in the structure asked for or in the one they need."""
    crowd = Crowd.of(ballots, n_classes)
    if n_classes > 2:
        return read_consensus(crowd, structure)
    kappa, rich = _measure_crowd(crowd)
    if structure == "edges" or (structure == "auto" and rich and kappa < COHERENT):
        hub = replace(read_edges(crowd), coherence=kappa)
        return hub.doubting(HARDLY.format(kappa)) if kappa > HARDLY_COHERENT else hub
    reading = replace(read_consensus(crowd, structure), coherence=kappa)
    alone = kappa < COHERENT and structure == "auto"
    return reading.doubting(APART.format(kappa)) if alone else reading


def _measure_crowd(crowd: Crowd) -> tuple[float, bool]:
    """Return kappa, and whether there are voters and items enough for a graph."""
    sample = crowd.draw(SAMPLE_ITEMS)
    # coherence is that of the voters who vary: the others point nowhere
    first, second, common = sample.pairs
    varied = np.isin(first, crowd.varied) & np.isin(second, crowd.varied)
    pairs = Pairs(first[varied], second[varied], common[varied])
    kappa = measure_coherence(pairs, sample.correlations[varied])
    n_varied = len(crowd.varied)
    return kappa, n_varied >= LEAST_VOTERS and crowd.common >= ITEMS_PER_VOTER * n_varied


class Known(NamedTuple):
    """What is known besides the votes."""

    gold: NDArray[np.int8]  # codes of gold labels, 0 unknown
    checked: Checked  # how right labels were on them
    bounds: Floats | None  # stated shares of the classes: rows low, high


def describe(ballots: ItemBlocks, reading: Reading, known: Known, *, identified: bool) -> Reading:
    """Return the reading with its trust and the worth of every voter, of one pass.

    The prior odds of the ballots include gold labels. `identified` says whether the votes identify
    a truth at all.
    """
    gold = known.gold if known.gold.any() else np.empty(0, dtype=np.int8)
    counts, totals, *cases = ballots.sum(sum_answers, reading, ballots.n_voters, per_item=(gold,))
    agreement = min((one.agreement for one in reading.others), default=1.0)
    trust = judge_labels(Tally(counts, totals), known.checked, agreement, known.bounds)
    found = Cases(*cases)
    told = known.checked.enough or (identified and reading.branches >= LEAST_CLEAR)
    worth = describe_worth(found, doubt=1.0)
    experts = find_experts(found) & told if reading.name == "consensus" else reading.experts
    return replace(
        reading,
        trust=trust if told else trust.unknown(),
        worth=worth if told else worth.untold(),
        experts=experts,
    )
