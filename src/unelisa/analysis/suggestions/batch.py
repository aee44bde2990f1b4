"""A batch of questions: greedy, each given that the ones before it will be answered.

Items are opened in the order of upper bounds of their gains. An item that was asked about splits
into one case per answer. If a model takes a clique for experts, only items that all voters answer
show that they repeat each other: part of each batch.
"""

import heapq
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.analysis.suggestions.gains import (
    Criterion,
    Panel,
    await_label,
    await_vote,
    bound_gains,
    form_belief,
    measure_gains,
    measure_label_gains,
)
from unelisa.votes.ballots import RUN, Ballots, Floats, Sums, take_ballots
from unelisa.votes.blocks import ItemBlocks

OPENED = 256  # items that are worked out at a time
# items that are worked out at most, times the questions wanted: those with the largest bounds. Once
# the best voters count as more expensive the bounds are far above the gains, and the items below
# would be worked out in vain
MOST_OPENED, LEAST_OPENED = 20, 2048
LEAST_GAIN = 1e-9  # below this a gain is rounding
SHARE = 0.25  # of a batch that goes to items that everybody answers
COMMON = 50  # items on which a pair must meet, so that ten voters who repeat each other show
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
    """Return the items that a question may improve, those with the largest bounds first."""
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


def ask_everybody(
    panel: Panel, ballots: ItemBlocks, chances: Floats, terms: Terms, n: int
) -> list[Question]:
    """Return questions that complete the items with the most votes, at most a quarter of n."""
    asked = np.isfinite(terms.prices[:-1])
    n_asked, left = int(np.count_nonzero(asked)), int(SHARE * n)
    if not 1 < n_asked <= left or COMMON * n_asked > len(chances):
        return []
    (common,) = ballots.sum(_count_common, asked)
    if np.median(common[np.triu_indices(n_asked, 1)]) >= COMMON:
        return []
    counts = ballots.concatenate(_count_votes, asked)
    order = np.lexsort((chances.max(axis=1), -counts))
    order = order[counts[order] < n_asked][:left]  # more items than votes are never completed
    numbers = np.sort(order)
    items = {item.number: item for item in open_items(panel, ballots, chances, terms, numbers)}
    found: list[Question] = []
    for item in (items[number] for number in order.tolist()):
        voters = np.flatnonzero(np.isfinite(item.prices[:-1])).tolist()
        if len(found) + len(voters) > left:
            break
        found += [Question(item.number, s, float(item.gains[s])) for s in voters]
    return found


def without(terms: Terms, questions: list[Question], shape: tuple[int, int]) -> Terms:
    """Return the terms on which these questions are not asked again."""
    offered = np.ones(shape, dtype=np.bool_) if terms.offered is None else terms.offered.copy()
    for question in questions:
        offered[question.item, question.voter] = False
    return terms._replace(offered=offered)


def _count_common(ballots: Ballots, asked: NDArray[np.bool_]) -> Sums:
    """Return on how many items each pair of the voters who can be asked have met. A pass."""
    own = asked[ballots.voters]
    place = np.cumsum(asked) - 1
    there = np.zeros((ballots.n_items, int(np.count_nonzero(asked))), dtype=np.float32)
    there[ballots.items[own], place[ballots.voters[own]]] = 1
    return (np.asarray(there.T @ there, dtype=np.float64),)


def _count_votes(ballots: Ballots, asked: NDArray[np.bool_]) -> NDArray[np.int64]:
    return np.bincount(ballots.items[asked[ballots.voters]], minlength=ballots.n_items)
