"""A batch of questions: greedy, each given that the ones before it will be answered.

Items are opened in the order of an upper bound of their gains, so that only those which may matter
are worked out. An item that was asked about splits into one case per answer, over which later gains
on it are expected.
"""

import heapq
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.analysis.suggestions.beliefs import await_label, await_vote, form_belief
from unelisa.analysis.suggestions.gains import (
    Criterion,
    bound_gains,
    measure_gains,
    measure_label_gains,
)
from unelisa.analysis.suggestions.panels import Panel
from unelisa.votes.ballots import RUN, Floats, take_ballots
from unelisa.votes.blocks import ItemBlocks

OPENED = 256  # items that are worked out at a time
# items that are worked out at most, times the questions wanted: those with the largest bounds. Once
# the best voters count as more expensive the bounds are far above the gains, and the items below
# would be worked out in vain
MOST_OPENED, LEAST_OPENED = 20, 2048
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
    # questions after which a voter counts as twice as expensive, as a hedge against a model that is
    # wrong about it: if nobody else is asked, what one voter says cannot be checked
    spread: float = np.inf
    n: int | None = None  # questions that will be asked for; None: nobody knows


class Item(NamedTuple):
    """An item whose questions were worked out."""

    number: int
    asked: int  # questions about it so far
    mass: Floats  # what is believed in each of its cases: see `form_belief`
    gains: Floats  # of everybody's answer
    prices: Floats  # infinite: already answered, or not offered


class _Offer(NamedTuple):
    """The best question about one item, in the order of asking; an item has one at a time."""

    rank: float  # minus gain per cost, the hedge included, rounded so that equal gains are equal
    asked: int  # questions about the item so far: other items come first
    number: int  # of the item: no two offers have the same, so that nothing behind is compared
    dearer: float  # what the voter's price was multiplied by
    question: Question
    item: Item


def plan_questions(
    panel: Panel, ballots: ItemBlocks, chances: Floats, terms: Terms
) -> Iterator[Question]:
    """Yield questions in the order of asking, as long as any gains."""
    bounds = _bound_items(panel, ballots, chances, terms)
    order = _order_items(bounds, terms)
    offers: list[_Offer] = []
    opened, dearer = 0, np.ones(len(terms.prices))
    while True:
        while opened < len(order) and (not offers or -offers[0].rank <= bounds[order[opened]]):
            numbers = np.sort(order[opened : opened + OPENED])
            for item in open_items(panel, ballots, chances, terms, numbers):
                _push_offer(offers, item, dearer)
            opened += len(numbers)
        if not offers:
            return
        best = heapq.heappop(offers)
        if best.dearer < dearer[best.question.voter]:  # the voter was asked since
            _push_offer(offers, best.item, dearer)
            continue
        yield best.question
        if best.question.voter < panel.n_voters:
            dearer[best.question.voter] += 1 / terms.spread
        after = _await_answer(panel, terms, best.item, best.question.voter)
        if after is not None:
            _push_offer(offers, after, dearer)


def _order_items(bounds: Floats, terms: Terms) -> NDArray[np.intp]:
    """Return the items that may be worth a question, those with the largest bounds first."""
    order = np.argsort(-bounds, kind="stable")
    finite = terms.prices[np.isfinite(terms.prices)]
    order = order[bounds[order] > LEAST_GAIN / finite.max(initial=1.0)]
    most = len(order) if terms.n is None else max(MOST_OPENED * terms.n, LEAST_OPENED)
    return np.asarray(order[:most])


def _bound_items(panel: Panel, ballots: ItemBlocks, chances: Floats, terms: Terms) -> Floats:
    """Return an upper bound of the gain per cost of a question about each item."""
    bounds = np.empty(len(chances))
    for start in range(0, len(chances), RUN):
        items = np.arange(start, min(start + RUN, len(chances)))
        mass = form_belief(panel, take_ballots(ballots, items), chances[items])
        bounds[items] = bound_gains(panel, mass, terms.criterion, terms.prices[:-1])
    if np.isfinite(terms.prices[-1]):
        human = measure_label_gains(chances, terms.labels, terms.criterion)
        bounds = np.maximum(bounds, human / terms.prices[-1])
    return bounds


def open_items(
    panel: Panel, ballots: ItemBlocks, chances: Floats, terms: Terms, numbers: NDArray[np.intp]
) -> Iterator[Item]:
    """Yield items with the gains of their questions."""
    taken = take_ballots(ballots, numbers)
    mass = form_belief(panel, taken, chances[numbers])
    prices = np.repeat(terms.prices[None], len(numbers), axis=0)
    prices[taken.items, taken.voters] = np.inf
    if terms.offered is not None:
        prices[:, :-1][~terms.offered[numbers]] = np.inf
    gains = _measure_all(panel, terms, mass)
    for row, number in enumerate(numbers.tolist()):
        yield Item(number, 0, mass[row : row + 1], gains[row], prices[row])


def _push_offer(offers: list[_Offer], item: Item, dearer: Floats) -> None:
    """Add the best question about an item, if any gains."""
    ratios = item.gains / (item.prices * dearer)
    voter = int(ratios.argmax())
    gain = float(item.gains[voter])
    if gain > LEAST_GAIN and np.isfinite(item.prices[voter]):
        question, rank = Question(item.number, voter, gain), -round(float(ratios[voter]), 12)
        offer = _Offer(rank, item.asked, item.number, float(dearer[voter]), question, item)
        heapq.heappush(offers, offer)


def _await_answer(panel: Panel, terms: Terms, item: Item, voter: int) -> Item | None:
    """Return the item when a voter or the human was asked about it; None: it has too many cases."""
    if len(item.mass) * panel.n_classes > MOST_CASES:
        return None
    if voter == panel.n_voters:
        mass = await_label(item.mass, terms.labels)
    else:
        mass = await_vote(panel, item.mass, voter)
    prices = item.prices.copy()
    prices[voter] = np.inf
    gains = _measure_all(panel, terms, mass).sum(axis=0)
    return Item(item.number, item.asked + 1, mass, gains, prices)


def _measure_all(panel: Panel, terms: Terms, mass: Floats) -> Floats:
    """Return the gains of all voters, and of the human: cases x (voters + 1)."""
    gains = measure_gains(panel, mass, terms.criterion)
    human = measure_label_gains(mass.sum(axis=1), terms.labels, terms.criterion)
    return np.column_stack([gains, human])
