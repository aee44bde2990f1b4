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
from unelisa.analysis.suggestions import plan_batch, share_evenly
from unelisa.analysis.suggestions.batch import Terms
from unelisa.analysis.suggestions.gains import Criterion, build_panel
from unelisa.votes import Votes
from unelisa.votes.ballots import list_ballots

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
    pairs, turns = _take_turns(market)
    ranks = np.argsort(counts[pairs[:, 0]] + turns, kind="stable")
    return np.asarray(pairs[ranks[:n]])


def buy_for_entropy(market: Market, n: int) -> Pairs:
    """Return votes of any voters on the items of largest entropy under Dawid and Skene's model.

    One vote on each item, and then another one.
    """
    entropy = np.asarray(entr(market.dawid_skene.predict_proba(market.votes)).sum(axis=1))
    pairs, turns = _take_turns(market)
    return np.asarray(pairs[np.lexsort((-entropy[pairs[:, 0]], turns))[:n]])


def _take_turns(market: Market) -> tuple[Pairs, NDArray[np.intp]]:
    """Return all offered pairs in random order, and for each how many are before it on its item."""
    pairs = market.rng.permutation(np.argwhere(market.offered))
    by_item = np.argsort(pairs[:, 0], kind="stable")
    counts = np.bincount(pairs[:, 0], minlength=len(market.offered))
    turns = np.empty(len(pairs), dtype=np.intp)
    turns[by_item] = np.arange(len(pairs)) - np.repeat(np.cumsum(counts) - counts, counts)
    return pairs, turns


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
    panel, chances = build_panel(model), model.predict_proba(market.votes)
    prices = np.append(np.where(panel.known, 1.0, np.inf), np.inf)
    ballots, found = list_ballots(market.votes.blocks), np.empty((0, 2), dtype=np.intp)
    for criterion in criteria:
        share, left = share_evenly(n, prices) if spread else np.inf, market.without(found)
        terms = Terms(prices, np.eye(panel.n_classes), criterion, left, share)
        first, others = plan_batch(panel, ballots, chances, terms, n - len(found))
        questions = [*first, *islice(others, n - len(found) - len(first))]
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
