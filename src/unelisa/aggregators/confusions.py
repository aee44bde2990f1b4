"""Confusions: EM of Dawid and Skene's model for any number of classes, from several starts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators.base import Aggregator, Floats, is_two_class
from unelisa.errors import ExpertsWarning, warn_user
from unelisa.kernels import tally as kernels
from unelisa.paper.em import list_starts, rank_fits
from unelisa.votes.ballots import Ballots, list_ballots
from unelisa.votes.blocks import ItemBlocks, WholeTable

Codes = NDArray[np.uint8]

CLIP = 1e-9  # without smoothing a probability may reach 0, whose logarithm is infinite
NEAR = 0.005  # from tables that differ by less, EM leads to the same fixed point
LEAST_VARYING = 3  # who vary: two have three moments, and the model five parameters
FEW_VARYING = "fewer than three voters vary: their reliability is taken from the majority vote"
NO_GOLD: Codes = np.empty(0, dtype=np.uint8)


@dataclass(frozen=True)
class Confusions:
    """The model's parameters as estimated by EM."""

    tables: Floats  # [voters, meant, said]: P(says c | truth is k)
    shares: Floats  # P(truth is k)
    votes: Floats  # [voters, meant]: expected number of votes on items of that class
    lower_bound: Floats  # penalized log-likelihood per item after each iteration; it never falls
    converged: bool  # whether the last iteration raised it by less than the tolerance

    @property
    def coins(self) -> Floats:
        """P(says yes | no) and P(says yes | yes) of two classes, in two rows."""
        return np.asarray(self.tables[:, :, 1].T)

    @property
    def weights(self) -> Floats:
        """Half the mean over k and l of log P(says k | k) / P(says k | l)."""
        logs, n_classes = np.log(self.tables), self.tables.shape[1]
        own = np.einsum("skk->sk", logs)[:, None]
        # exactly 0 for a voter whose rows are equal
        return np.asarray((own - logs).sum(axis=(1, 2)) / (2 * n_classes * (n_classes - 1)))


@dataclass(frozen=True)
class FullTables:
    """The full model: P(says c | truth is k) per voter, smoothed in proportion to its own votes."""

    smoothing: float  # pseudo-votes, which shrink the estimates

    def maximize(self, counts: Floats) -> Floats:
        """Return the M-step: tables [voters, meant, said] from votes [voters, said, meant]."""
        added = self._split(counts)[:, :, None] + counts
        mass = added.sum(axis=1, keepdims=True)
        # without smoothing, a class that a voter never met has no estimate
        tables = np.where(mass > 0, added, 1.0) / np.where(mass > 0, mass, counts.shape[1])
        return np.asarray(np.clip(tables.transpose(0, 2, 1), CLIP, 1 - CLIP))

    def log_prior(self, tables: Floats, counts: Floats) -> float:
        """Return what the M-step adds to the log-likelihood: sum of a q_sc log P(s says c | k)."""
        return float((self._split(counts)[:, None] * np.log(tables)).sum())

    def _split(self, counts: Floats) -> Floats:
        said = counts.sum(axis=2)
        total = said.sum(axis=1, keepdims=True)
        even = np.full_like(said, 1 / counts.shape[1])  # of a voter who never voted
        split = np.divide(said, total, out=even, where=total > 0)
        return np.asarray(self.smoothing * split)


class OneReliability(FullTables):
    """The one-coin model: voter s is right with probability psi_s, and errs evenly."""

    def maximize(self, counts: Floats) -> Floats:
        """Return psi_s on the diagonal and (1 - psi_s) / (K - 1) elsewhere."""
        n_classes = counts.shape[1]
        right = np.einsum("skk->s", counts) + self.smoothing / n_classes
        mass = counts.sum(axis=(1, 2)) + self.smoothing
        psi = np.where(mass > 0, right, 1 / n_classes) / np.where(mass > 0, mass, 1.0)
        return spread_errors(np.clip(psi, CLIP, 1 - CLIP), n_classes)

    def log_prior(self, tables: Floats, counts: Floats) -> float:
        """Return the sum of a / K log psi_s + a (1 - 1 / K) log(1 - psi_s)."""
        n_classes, psi = counts.shape[1], tables[:, 0, 0]
        each = self.smoothing / n_classes
        return float((each * np.log(psi) + (self.smoothing - each) * np.log1p(-psi)).sum())


COINS = FullTables(smoothing=1.0)


def spread_errors(psi: Floats, n_classes: int) -> Floats:
    """Return tables [voters, meant, said] of voters who are right with probability psi."""
    right = np.eye(n_classes)
    errors = (1 - psi) / (n_classes - 1)
    return np.asarray(np.where(right, psi[:, None, None], errors[:, None, None]))


class Expected(NamedTuple):
    """What an E-step gives to the next M-step."""

    counts: Floats  # [voters, said, meant]: expected votes
    mass: Floats  # expected number of items of each class


def find_fits(
    ballots: ItemBlocks,
    model: FullTables,
    starts: Sequence[Expected],
    varying: int,
    max_iter: int = 500,
    **settings: Any,
) -> list[Confusions]:
    """Return the most likely fixed point of EM from the starts, then those tied with it."""
    if varying < LEAST_VARYING:
        if varying:
            warn_user(FEW_VARYING, ExpertsWarning)
        starts, max_iter = starts[:1], 1
    fits: list[Confusions] = []
    for start in starts:
        fit = estimate_confusions(ballots, model, start, max_iter, found=fits, **settings)
        if fit is not None:
            fits.append(fit)
    return rank_fits(fits, ballots.n_items)


def estimate_confusions(  # noqa: PLR0913 - EM's settings
    ballots: ItemBlocks,
    model: FullTables,
    start: Expected,
    max_iter: int = 500,
    *,
    tol: float = 1e-9,
    gold: Codes = NO_GOLD,
    found: Sequence[Confusions] = (),
) -> Confusions | None:
    """Return the fixed point of EM from a start, or None where it comes near one of `found`.

    Shares stay half an item off 0: a class not seen so far may still exist. Gold classes are from
    1.
    """
    history = [-np.inf]
    (counts, mass), said = start, start.counts.sum(axis=2)
    tables, shares, votes = np.empty(0), mass, counts
    for _ in range(max_iter):
        tables, shares, votes = model.maximize(counts), keep_classes(mass), counts.sum(axis=1)
        if any(np.abs(tables - fit.tables).max(initial=0.0) < NEAR for fit in found):
            return None
        penalty = model.log_prior(tables, counts)
        counts, mass, likelihood = _expect(ballots, tables, shares, said, gold)
        history.append((likelihood + penalty) / float(mass.sum()))
        if history[-1] - history[-2] < tol:
            break
    converged = history[-1] - history[-2] < tol
    return Confusions(tables, shares, votes, np.array(history[1:]), converged)


def _expect(
    ballots: ItemBlocks, tables: Floats, shares: Floats, said: Floats, gold: Codes
) -> tuple[Floats, Floats, float]:
    """Return the expected votes and items of each class, and the log-likelihood."""
    logs, log_shares = as_logs(tables, shares)
    if len(shares) > 2 or gold.any():
        given: Any = (kernels.expect_classes, len(shares)), logs, log_shares
        counts, mass, total = ballots.sum(run_kernel, *given, per_item=(gold,))
        return counts, mass, float(total)
    odds, prior = np.ascontiguousarray(logs[:, :, 1] - logs[:, :, 0]), log_shares[1] - log_shares[0]
    yes, items, total, heard = ballots.sum(run_kernel, (kernels.expect_two, 0), odds, float(prior))
    counts = np.stack([np.maximum(said - yes, 0.0), yes], axis=2)
    of_no = float((said * logs[:, :, 0]).sum()) + float(heard) * float(log_shares[0])
    return counts, np.array([heard - items, items]), float(total) + of_no


def start_from(
    ballots: ItemBlocks,
    weights: Floats,
    n_classes: int,
    gold: Codes = NO_GOLD,
    *,
    only_gold: bool = False,
) -> Expected:
    """Return the start whose posteriors are the weighted votes, or gold labels where known."""
    given = (kernels.split_votes, n_classes), weights, n_classes, only_gold
    return Expected(*ballots.sum(run_kernel, *given, per_item=(gold,)))


def start_at(blocks: ItemBlocks, posterior: Floats) -> Expected:
    """Return the start of two classes whose items are yes with these probabilities."""
    sums = [blocks.tally(1 - posterior), blocks.tally(posterior)]
    counts = [np.stack([seen - signed, seen + signed], axis=1) / 2 for signed, seen in sums]
    mass = np.array([len(posterior) - posterior.sum(), posterior.sum()])
    return Expected(np.stack(counts, axis=2), mass)


def list_expected(ballots: ItemBlocks, n_voters: int, n_starts: int) -> list[Expected]:
    """Return starts of two classes: crowds weighted by `em.list_starts`, the first one equally."""
    sums: Any = _Sums(ballots, n_voters)
    weights = list_starts(sums, np.ones(n_voters), n_starts)
    return [start_from(ballots, one, 2) for one in weights]


class _Sums(NamedTuple):
    """The two sums of `list_starts`, over votes of two classes."""

    ballots: ItemBlocks
    n_voters: int

    def __len__(self) -> int:
        return self.ballots.n_items

    def weigh(self, signed: Floats, observed: Floats) -> Floats:
        """Return per item sum_s signed_s f_is + observed_s |f_is|."""
        return self.ballots.concatenate(run_kernel, (kernels.weigh_ballots, 0), signed, observed)

    def tally(self, x: Floats) -> tuple[Floats, Floats]:
        """Return per voter sum_i x_i f_is and sum_i x_i |f_is|."""
        given = (kernels.tally_ballots, 0), self.n_voters
        signed, observed = self.ballots.sum(run_kernel, *given, per_item=(x,))
        return signed, observed


def fit_coins(values: NDArray[np.int8], varying: int, n_starts: int, **limits: Any) -> Confusions:
    """Return the model of two classes in a table of votes."""
    ballots = list_ballots(WholeTable(values))
    starts = list_expected(ballots, values.shape[1], n_starts)
    return find_fits(ballots, COINS, starts, varying, **limits)[0]


def keep_classes(mass: Floats) -> Floats:
    """Return shares of classes, none below half an item: one not seen so far may still exist."""
    kept = np.maximum(mass, 0.5)
    kept[np.argmax(kept)] -= kept.sum() - mass.sum()
    kept = np.maximum(kept, 0.5)  # more classes than items
    return np.asarray(kept / kept.sum())


def as_logs(tables: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Return log P(says c | truth is k) as [voters, said, meant], and log P(truth is k)."""
    return np.ascontiguousarray(np.log(tables).transpose(0, 2, 1)), np.log(shares)


def score_classes(ballots: ItemBlocks, tables: Floats, shares: Floats) -> Floats:
    """Return log P(truth is k | votes) per item and class."""
    return ballots.concatenate(
        run_kernel, (kernels.join_classes, len(shares)), *as_logs(tables, shares)
    )


def score_two(blocks: ItemBlocks, coins: Floats, prevalence: float) -> Floats:
    """Return the log-odds of yes per item; `coins` are as in `Confusions.coins`."""
    yes, no = np.log(coins), np.log1p(-coins)
    half_yes, half_no = (yes[1] - yes[0]) / 2, (no[1] - no[0]) / 2
    prior = float(np.log(prevalence) - np.log1p(-prevalence))
    return prior + blocks.weigh(half_yes - half_no, half_yes + half_no)


def run_kernel(run: Ballots, *given: Any) -> Any:
    """Return a kernel's result on a block of votes, recoded from 1 if n_classes is not 0."""
    place = next(k for k, part in enumerate(given) if isinstance(part, tuple))
    kernel, n_classes = given[place]
    votes = run.votes if n_classes == 0 else run.answer(n_classes) + np.uint8(1)
    found = kernel((run.starts, run.voters, votes), *given[:place], *given[place + 1 :])
    return tuple(map(np.asarray, found)) if isinstance(found, tuple) else found


class ConfusionAggregator(Aggregator):
    """An aggregator that estimates what every voter says of items of every class."""

    coins_: Floats  # two classes: P(says yes | truth is no), P(says yes | truth is yes), in rows
    _confusion: Floats  # of more than two: P(says c | truth is k), [voters, k, c]
    _confusion_votes: Floats  # expected number of votes on items of each class, [voters, k]

    @property
    def confusions_(self) -> Any:
        """P(says c | truth is k), as a pandas table: voter, said, meant, probability, votes."""
        from unelisa.aggregators.tables import tabulate_confusions  # noqa: PLC0415 - loads pandas

        return tabulate_confusions(self, self._answer_tables(), self._expect_votes())

    def _answer_tables(self) -> Floats:
        """Return P(says c | truth is k), [voters, k, c]."""
        if not is_two_class(self):
            return self._confusion
        return np.stack([1 - self.coins_, self.coins_], axis=2).transpose(1, 0, 2)

    def _expect_votes(self) -> Floats:
        if "_confusion_votes" in self.__dict__:
            return self._confusion_votes
        rate = np.asarray(getattr(self, "prevalence_", 0.5))
        shares = rate if rate.ndim else np.array([1 - rate, rate])
        return np.outer(self._voter_columns["votes"], shares)

    @property
    def sensitivity_(self) -> Floats:
        """P(says yes | truth is yes) per voter."""
        return np.asarray(self.coins_[1])

    @property
    def specificity_(self) -> Floats:
        """P(says no | truth is no) per voter."""
        return np.asarray(1 - self.coins_[0])

    def _share_right(self, voters: Any) -> Any:
        """Return on which share of its votes one voter, or each of some, is right."""
        votes = self._expect_votes()[voters]
        said_right = np.einsum("...kk,...k->...", self._answer_tables()[voters], votes)
        return said_right / np.maximum(votes.sum(axis=-1), 1.0)

    def _voter_estimates(self) -> dict[str, NDArray[Any]]:
        if not is_two_class(self):
            return {"accuracy": self._share_right(slice(None))}
        return {"sensitivity": self.sensitivity_, "specificity": self.specificity_}


def has_confusions(model: Any) -> bool:
    """Return whether a model holds coins of two classes, or tables of more."""
    return hasattr(model, "coins_" if is_two_class(model) else "_confusion")
