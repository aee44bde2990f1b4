"""A batch of questions: greedy, each given that the ones before it will be answered.

Items are opened in the order of an upper bound of their gains, so that only those which may matter
are worked out. An item that was asked about splits into one case per answer, over which later gains
on it are expected.
"""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.blocks import ItemBlocks
from unelisa.latent.ballots import RUN, Floats, take_ballots
from unelisa.suggestions.beliefs import Belief, await_label, await_vote, form_belief
from unelisa.suggestions.gains import (
    Criterion,
    bound_gains,
    measure_gains,
    measure_label_gains,
)
from unelisa.suggestions.panels import Panel

OPENED = 256  # items that are worked out at a time
LEAST_GAIN = 1e-9  # below this a gain is rounding
MOST_CASES = 256  # of one item: about eight votes of two classes in one batch


class Question(NamedTuple):
    """Whom to ask about which item; the human is the voter after the last."""

    item: int
    voter: int
    gain: float


class Terms(NamedTuple):
    """What may be asked, and at which price."""

    prices: Floats  # of every voter, and of the human; infinite: not asked
    labels: Floats  # P(human says v | class k)
    criterion: Criterion
    offered: NDArray[np.bool_] | None = None  # items x voters that can be asked; None: all


@dataclass(order=True)
class _Offer:
    """The best question about one item, in the order of asking."""

    rank: float  # minus gain per cost, rounded, so that equal gains are equal
    asked: int  # questions about the item so far: other items come first
    item: int
    voter: int = field(compare=False)
    gain: float = field(compare=False)
    belief: Belief = field(compare=False)
    prices: Floats = field(compare=False)  # of this item's questions


def plan_questions(
    panel: Panel, ballots: ItemBlocks, chances: Floats, terms: Terms
) -> Iterator[Question]:
    """Yield questions in the order of asking, as long as any gains."""
    bounds = _bound_items(panel, ballots, chances, terms)
    order = np.argsort(-bounds, kind="stable")
    finite = terms.prices[np.isfinite(terms.prices)]
    order = order[bounds[order] > LEAST_GAIN / finite.max(initial=1.0)]
    offers: list[_Offer] = []
    opened = 0
    while True:
        while opened < len(order) and (not offers or -offers[0].rank <= bounds[order[opened]]):
            items = np.sort(order[opened : opened + OPENED])
            for offer in _open_items(panel, ballots, chances, terms, items):
                heapq.heappush(offers, offer)
            opened += len(items)
        if not offers:
            return
        best = heapq.heappop(offers)
        yield Question(best.item, best.voter, best.gain)
        if (follow := _follow(panel, terms, best)) is not None:
            heapq.heappush(offers, follow)


def _bound_items(panel: Panel, ballots: ItemBlocks, chances: Floats, terms: Terms) -> Floats:
    """Return an upper bound of the gain per cost of a question about each item."""
    bounds = np.empty(len(chances))
    for start in range(0, len(chances), RUN):
        items = np.arange(start, min(start + RUN, len(chances)))
        belief = form_belief(panel, take_ballots(ballots, items), chances[items])
        bounds[items] = bound_gains(panel, belief, terms.criterion, terms.prices[:-1])
    if np.isfinite(terms.prices[-1]):
        human = measure_label_gains(chances, terms.labels, terms.criterion)
        bounds = np.maximum(bounds, human / terms.prices[-1])
    return bounds


def _open_items(
    panel: Panel, ballots: ItemBlocks, chances: Floats, terms: Terms, items: NDArray[np.intp]
) -> Iterator[_Offer]:
    """Yield the first offer of each item that has one."""
    taken = take_ballots(ballots, items)
    belief = form_belief(panel, taken, chances[items])
    prices = np.repeat(terms.prices[None], len(items), axis=0)
    prices[taken.items, taken.voters] = np.inf
    if terms.offered is not None:
        prices[:, :-1][~terms.offered[items]] = np.inf
    gains = _measure_all(panel, terms, belief)
    voters = (gains / prices).argmax(axis=1)
    for row, (item, voter) in enumerate(zip(items.tolist(), voters.tolist(), strict=True)):
        gain, price = float(gains[row, voter]), prices[row, voter]
        if gain > LEAST_GAIN and np.isfinite(price):
            rank, case = -round(gain / price, 12), belief.take(slice(row, row + 1))
            yield _Offer(rank, 0, item, voter, gain, case, prices[row])


def _follow(panel: Panel, terms: Terms, last: _Offer) -> _Offer | None:
    """Return the next offer of an item that was asked about, if there is one."""
    if len(last.belief.mass) * panel.n_classes > MOST_CASES:
        return None
    last.prices[last.voter] = np.inf
    if last.voter == panel.n_voters:
        belief = await_label(last.belief, terms.labels)
    else:
        belief = await_vote(panel, last.belief, last.voter)
    gains = _measure_all(panel, terms, belief).sum(axis=0)
    voter = int((gains / last.prices).argmax())
    gain, price = float(gains[voter]), last.prices[voter]
    if gain <= LEAST_GAIN or not np.isfinite(price):
        return None
    rank = -round(gain / price, 12)
    return _Offer(rank, last.asked + 1, last.item, voter, gain, belief, last.prices)


def _measure_all(panel: Panel, terms: Terms, belief: Belief) -> Floats:
    """Return the gains of all voters, and of the human: cases x (voters + 1)."""
    gains = measure_gains(panel, belief, terms.criterion)
    human = measure_label_gains(belief.chances, terms.labels, terms.criterion)
    return np.column_stack([gains, human])
