"""What voters say of items of each class, which they mix up, and whether they agree at all."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators import Aggregator
from unelisa.analysis.judged import Judged
from unelisa.votes import Votes
from unelisa.votes.ballots import Ballots, list_ballots, split_answers
from unelisa.votes.blocks import Block, ItemBlocks, weigh_votes

Floats = NDArray[np.float64]
MOST_PAIRS = 8


def measure_confusions(model: Aggregator, judged: Judged | None) -> tuple[Floats, Floats] | None:
    """Return P(says c | class k), [voters, k, c], and the votes behind it, by model or labels."""
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
    """Return expected votes [voters, class, said], given each item's share of every class."""
    ballots = list_ballots(votes.blocks)
    return ballots.sum(_tally_run, votes.n_voters, per_item=(shares,))[0].transpose(0, 2, 1)


def _tally_run(run: Ballots, shares: Floats, n_voters: int) -> tuple[Floats]:
    return (split_answers(run, shares, n_voters),)


def pool_confusions(tables: Floats, votes: Floats) -> Floats:
    """Return P(says c | class k) of a random vote on class k, from all voters' [voters, k, c]."""
    behind = np.maximum(votes.sum(axis=0), 1e-300)
    return np.asarray(np.einsum("sk,skc->kc", votes, tables) / behind[:, None])


def list_pairs(confusion: Floats, votes: Floats) -> list[dict[str, Any]]:
    """Return the pairs of classes that voters confuse most often, by expected number of votes."""
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


def measure_agreement(blocks: ItemBlocks, weights: Floats) -> tuple[float, float]:
    """Return the voters' weighted agreement in standard deviations, and what noise can reach.

    T = sum_i sum_{s<t} 2 w_s w_t g_is g_it, with g the centered votes, has mean 0 for independent
    voters. The weights were fitted to the same votes; on n items of noise, any weights of p voters
    reach at most the edge of Marchenko and Pastur, which gives sqrt(2 p) + p / sqrt(2 n).
    """
    n_items, n_voters = blocks.shape
    signed, observed = blocks.tally(np.ones(n_items))
    excess, variance = blocks.sum(_sum_excess, weights, signed / np.maximum(observed, 1.0))[0]
    found = excess / np.sqrt(variance) if variance > 1e-12 else 0.0
    return float(found), float(np.sqrt(2 * n_voters) + n_voters / np.sqrt(2 * n_items))


def _sum_excess(block: Block, weights: Floats, means: Floats) -> tuple[Floats]:
    """Return T and its variance under independence, summed over a block of items."""
    votes, nothing = block.votes, np.zeros(len(weights))
    squares, spread = weights**2, 1 - means**2
    total = weigh_votes(votes, weights, -weights * means)
    own = weigh_votes(votes, -2 * squares * means, squares * (1 + means**2))
    expected = weigh_votes(votes, nothing, squares * spread)
    repeated = weigh_votes(votes, nothing, (squares * spread) ** 2)
    return (np.array([(total**2 - own).sum(), 2 * (expected**2 - repeated).sum()]),)
