"""Policies: which recorded votes to buy next, given those that were bought."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from unelisa.aggregators import DawidSkene, LatentIsing
from unelisa.latent.ballots import list_ballots
from unelisa.suggestions import share_evenly
from unelisa.suggestions.batch import Terms, plan_questions
from unelisa.suggestions.gains import Criterion
from unelisa.suggestions.panels import seat_panel
from unelisa.votes import Votes

Pairs = NDArray[np.intp]  # item and voter, two columns
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Market:
    """What was bought, and what can be."""

    votes: Votes
    offered: NDArray[np.bool_]  # items x voters, not bought yet
    rng: np.random.Generator

    @cached_property
    def latent(self) -> LatentIsing:
        """The latent Ising model of what was bought."""
        model: LatentIsing = LatentIsing(n_jobs=1).fit(self.votes)
        return model

    @cached_property
    def dawid_skene(self) -> DawidSkene:
        """Dawid and Skene's model of what was bought."""
        model: Any = DawidSkene().fit(self.votes)
        return model  # type: ignore[no-any-return]

    def without(self, pairs: Pairs) -> NDArray[np.bool_]:
        """Return what is offered apart from some pairs."""
        left = self.offered.copy()
        left[pairs[:, 0], pairs[:, 1]] = False
        return left


Policy = Callable[[Market, int], Pairs]


def buy_at_random(market: Market, n: int) -> Pairs:
    """Return any votes."""
    pairs = np.argwhere(market.offered)
    return np.asarray(market.rng.permutation(pairs)[:n])


def buy_for_fewest(market: Market, n: int) -> Pairs:
    """Return votes of any voters on the items with the fewest votes."""
    counts = np.count_nonzero(market.votes.values, axis=1)
    return _go_round(market, counts.astype(np.float64), n, np.ones(len(counts)))


def buy_for_entropy(market: Market, n: int) -> Pairs:
    """Return votes of any voters on the items of largest entropy under Dawid and Skene's model."""
    chances = market.dawid_skene.predict_proba(market.votes)
    entropy = np.asarray(entr(chances).sum(axis=1))
    return _go_round(market, -entropy, n, np.zeros(len(entropy)))


def _go_round(market: Market, order: Floats, n: int, step: Floats) -> Pairs:
    """Return n pairs, item by item in rising order, one vote each; then round again.

    `step` is by how much a vote moves its item back. Voters are drawn at random.
    """
    rng, shape = market.rng, market.offered.shape
    keys = np.where(market.offered, rng.random(shape), np.inf)
    turns = np.argsort(np.argsort(keys, axis=1), axis=1)  # of each voter on its item
    items, voters = np.nonzero(market.offered)
    turn = turns[items, voters]
    late = np.where(step[items] > 0, 0, turn)
    ranks = np.lexsort((rng.random(shape[0])[items], order[items] + step[items] * turn, late))
    return np.stack([items[ranks], voters[ranks]], axis=1)[:n]


def buy_by_gradient(market: Market, n: int) -> Pairs:
    """Return the votes of largest expected gain under Dawid and Skene's model."""
    return _plan(market, market.dawid_skene, n, ("errors", "log_loss"), spread=False)


def buy_suggested(market: Market, n: int) -> Pairs:
    """Return the votes that `suggest_votes` names, those that change labels first."""
    return _plan(market, market.latent, n, ("errors", "log_loss"))


def buy_informative(market: Market, n: int) -> Pairs:
    """Return the votes that `suggest_votes` names with criterion="log_loss"."""
    return _plan(market, market.latent, n, ("log_loss",))


def _plan(
    market: Market, model: Any, n: int, criteria: tuple[Criterion, ...], *, spread: bool = True
) -> Pairs:
    """Return the best votes by each criterion in turn, and then any."""
    panel, chances = seat_panel(model), model.predict_proba(market.votes)
    prices = np.append(np.where(panel.known, 1.0, np.inf), np.inf)
    ballots, found = list_ballots(market.votes.blocks), np.empty((0, 2), dtype=np.intp)
    for criterion in criteria:
        share, left = share_evenly(n, prices) if spread else np.inf, market.without(found)
        terms = Terms(prices, np.eye(panel.n_classes), criterion, left, share)
        questions = islice(plan_questions(panel, ballots, chances, terms), n - len(found))
        more = np.array([question[:2] for question in questions], dtype=np.intp).reshape(-1, 2)
        found = np.concatenate([found, more])
    rest = market.rng.permutation(np.argwhere(market.without(found)))
    return np.concatenate([found, rest[: n - len(found)]])


RANDOM, OURS = "random", "ours"
POLICIES: dict[str, Policy] = {
    OURS: buy_suggested,
    "ours-log-loss": buy_informative,
    RANDOM: buy_at_random,
    "fewest-votes": buy_for_fewest,
    "entropy": buy_for_entropy,
    "knowledge-gradient": buy_by_gradient,
}
