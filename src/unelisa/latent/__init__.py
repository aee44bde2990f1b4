"""The latent Ising model: from votes to a reading of them.

A hidden truth stands behind the votes. Which reading of the votes is meant is an assumption that
identifies the truth, and the likelihood cannot tell: on coherent votes a graph of the voters
explains more than any truth does. So the coherence kappa of the votes decides, about (2 q - 1)^2
where a share q of the voters points the same way. From kappa = .2 on (72 % of the voters) the
truth is what they agree on (the consensus). Below, with enough items in common, it is the hub of
the voters' graph (the edges); section 5.1's designs, whose voters point either way by a coin, lie
mostly within .1 of 0.

The walk of a fit::

    votes -> ballots (ballots.py) -> crowd and sample (crowd.py) -> coherence (pairs.py)
          -> read_consensus (consensus/) or read_edges (edges/)
          -> follow_gold (gold.py), where there are gold labels

and what comes back is a `Reading` (reading.py), which scores items.
"""

from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from unelisa.blocks import ItemBlocks
from unelisa.latent.consensus import Kind, read_consensus
from unelisa.latent.crowd import Crowd
from unelisa.latent.edges.reading import read_edges
from unelisa.latent.pairs import Pairs, measure_coherence
from unelisa.latent.reading import DECIDE, Reading

Structure = Literal["auto", "plain", "ease", "tilt", "families", "edges"]

SAMPLE_ITEMS = 5000  # on which coherence is measured
COHERENT = 0.2  # kappa: nearly three quarters of the voters point the same way
HARDLY_COHERENT = 0.1  # what voters who point either way by a coin rarely reach
HARDLY = (
    "the voters hardly point the same way (coherence {:.2f}): the truth is taken to be the hub of "
    f"their graph, which the votes cannot confirm; {DECIDE}"
)
LEAST_VOTERS = 5  # for a graph
ITEMS_PER_VOTER = 4.0  # common items a pair needs, for each voter of the graph


def interpret(ballots: ItemBlocks, structure: Structure) -> Reading:
    """Return the reading of the votes, in the structure asked for or in the one they need."""
    crowd = Crowd.of(ballots)
    kappa, graph, rich = _measure_crowd(crowd)
    if structure == "edges" or (structure == "auto" and graph):
        hub = replace(read_edges(crowd), coherence=kappa)
        return hub.noting(HARDLY.format(kappa)) if kappa > HARDLY_COHERENT else hub
    kinds = get_args(Kind) if structure == "auto" else (structure,)
    reading = replace(read_consensus(crowd, kinds), coherence=kappa)
    if structure not in ("auto", reading.structure.split(",")[0]):
        reading = reading.noting(
            f"structure {structure!r} was requested, but the votes do not admit it: "
            f"{reading.structure!r} is kept"
        )
    if kappa < COHERENT and not rich and structure == "auto":
        return reading.noting(
            f"the voters do not point the same way (coherence {kappa:.2f}) and are too few, or "
            "share too few items, to learn their graph: what they agree on may not be the truth"
        )
    return reading


def _measure_crowd(crowd: Crowd) -> tuple[float, bool, bool]:
    """Return kappa, whether the votes call for a graph, and whether there are enough for one."""
    sample = crowd.draw(SAMPLE_ITEMS)
    # coherence is that of the voters who vary: the others point nowhere
    first, second, common = sample.pairs
    varied = np.isin(first, crowd.varied) & np.isin(second, crowd.varied)
    pairs = Pairs(first[varied], second[varied], common[varied])
    correlations = sample.correlations[varied]
    kappa = measure_coherence(pairs, correlations)
    n_varied = len(crowd.varied)
    # a graph needs voters and items; one-sided voters, whose silence was filled in, have none
    rich = n_varied >= LEAST_VOTERS and crowd.common >= ITEMS_PER_VOTER * n_varied
    return kappa, rich and kappa < COHERENT and not crowd.silence.any(), rich
