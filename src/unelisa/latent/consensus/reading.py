"""The consensus as a reading: how it scores items, and who is an expert."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from unelisa.blocks import ItemBlocks
from unelisa.latent.ballots import Ballots, Floats, Sums, fill_silence, keep_voters
from unelisa.latent.consensus.checks import COUNTED
from unelisa.latent.consensus.model import Consensus, infer
from unelisa.latent.consensus.pool import Pool, answer_each
from unelisa.latent.reading import Links, Reading, count_effective
from unelisa.schema import stored

SURE_ERRORS = 2.0  # standard errors by which an expert is better than the crowd
MOST_CERTAIN = 1e-9


@stored(model="Consensus", pool="Pool")
@dataclass(frozen=True, eq=False, kw_only=True)
class ConsensusReading(Reading):
    """The truth is what the voters agree on."""

    name: str = "consensus"
    model: Consensus  # the member of the pool with the largest weight
    pool: Pool

    @property
    def field(self) -> float:
        """theta_0: half the log-odds of an item without votes."""
        return float(logit(self.pool.unheard)) / 2

    @property
    def links(self) -> Links:
        """Who repeats whom: voters of one family, with a_s a_t."""
        return Links.within(self.family, self.model.members.means[:, 1])

    @property
    def effective_voters(self) -> float:
        """(sum |a|)^2 / sum a^2 over branches: how many equally good independent voters.

        Where relatives leave too few branches to learn their weights, the number of branches.
        """
        if not np.array_equal(self.family, self.model.family):
            return float(self.branches)
        rows = np.concatenate([self.model.lone, np.ones(self.model.n_families, dtype=np.bool_)])
        return count_effective(self.model.branches.means[rows, 1])

    def score(self, ballots: ItemBlocks) -> Floats:
        """Return the log-odds of every item's truth."""
        return ballots.concatenate(score_pool, self.pool, self.silence)

    def measure_ease(self, ballots: ItemBlocks) -> Floats:
        """Return E d per item under the member with ease: 1 an ordinary item, 0 nobody can tell."""
        easing = [one for one in self.pool.members if one.has_ease]
        if not easing:
            return super().measure_ease(ballots)
        best = max(easing, key=lambda one: one.evidence)
        kept = ballots.view(keep_voters, self.pool.kept)
        return kept.concatenate(expect_ease, best, self.silence)

    def list_shares(self, ballots: ItemBlocks) -> Floats:
        """Return the mean P(no), P(yes) under every part of the pool that counts."""
        (sums,) = ballots.sum(_sum_parts, self.pool, self.silence)
        yes = sums[self.pool.parts > COUNTED] / ballots.n_items
        return np.stack([1 - yes, yes], axis=1)

    def is_upside_down(self, ballots: ItemBlocks, prior_odds: Floats) -> bool:  # noqa: ARG002
        """Return whether the informative voters are on the other side.

        The fit started from the majority, on the prior's side; but where most voters are nearly
        uninformative, the others may be against them. Each voter counts with its squared merit.
        """
        no, yes = self.pool.coins
        merits = yes - no
        return not prior_odds.any() and bool(np.sum(merits * np.abs(merits)) < 0)

    def turned(self) -> "ConsensusReading":
        """Return the same reading with the two sides of the truth swapped."""
        return replace(
            self,
            model=self.model.turned(),
            pool=self.pool.turned(),
            answers=None if self.answers is None else self.answers.turned(),
            others=tuple(other.turned() for other in self.others),
        )


def score_pool(ballots: Ballots, pool: Pool, silence: NDArray[np.int8]) -> Floats:
    """Return the pooled log-odds per item, and the prior odds. A pass."""
    pooled = answer_each(ballots, pool, silence) @ pool.parts
    odds = logit(np.clip(pooled, MOST_CERTAIN, 1 - MOST_CERTAIN))
    return np.asarray(odds + ballots.prior_odds)


def _sum_parts(ballots: Ballots, pool: Pool, silence: NDArray[np.int8]) -> Sums:
    """Return the sum of P(yes) under every part of the pool. A pass."""
    return (answer_each(ballots, pool, silence).sum(axis=0),)


def expect_ease(ballots: Ballots, model: Consensus, silence: NDArray[np.int8]) -> Floats:
    """Return E d per item; NaN without votes. A pass."""
    posterior = infer(fill_silence(ballots, silence), model.factors)[0]
    ease = posterior @ np.abs(model.states[:, 1])
    return np.where(ballots.counts > 0, ease, np.nan)


def find_experts(coins: Floats, votes: Floats, prevalence: float) -> NDArray[np.bool_]:
    """Return who is clearly better than the crowd.

    By two standard errors of sensitivity + specificity - 1, given that a share `prevalence` of a
    voter's votes are on positive items; the crowd's is the mean, each voter weighted by its votes.
    """
    no, yes = coins
    merits = yes - no
    crowd = float(votes @ merits) / max(float(votes.sum()), 1.0)
    spread = yes * (1 - yes) / np.maximum(prevalence * votes, 1)
    spread += no * (1 - no) / np.maximum((1 - prevalence) * votes, 1)
    return np.asarray((votes > 0) & (merits - crowd > SURE_ERRORS * np.sqrt(spread + 1e-12)))
