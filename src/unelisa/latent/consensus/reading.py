"""The consensus as a reading: how it scores items, who is an expert, how it is fitted again."""

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import xlogy

from unelisa.blocks import ItemBlocks
from unelisa.latent.ballots import Floats, fill_silence
from unelisa.latent.consensus.affinity import Affinity, discount_votes
from unelisa.latent.consensus.candidate import Candidate
from unelisa.latent.consensus.model import (
    Consensus,
    collect,
    fit_consensus,
    infer_states,
    weigh_truth,
)
from unelisa.latent.consensus.rules import LEAST_WEIGHT, odds_before_silence
from unelisa.latent.crowd import Crowd
from unelisa.latent.reading import NOTHING_FOUND, Links, Reading
from unelisa.schema import stored

RATE = 0.5  # share of the class rate's log-odds in a score: the voters' biases express it too
SURE_ERRORS = 2.0  # standard errors of a weight above which a voter is an expert
CLEAR_NATS = 3.0  # by which the truth must beat a model of uninformative voters


@stored(model="Consensus", affinity="Affinity | None")
@dataclass(frozen=True, eq=False, kw_only=True)
class ConsensusReading(Reading):
    """The truth is what the voters agree on, or what the gold labels alone say."""

    name: str = "consensus"
    # model, affinity: the consensus, and which votes count less in it; None: all count in full
    model: Consensus
    affinity: Affinity | None = None

    @classmethod
    def of(
        cls, crowd: Crowd, candidate: Candidate, table: tuple[dict[str, Any], ...]
    ) -> "ConsensusReading":
        """Return a candidate as a reading."""
        model = candidate.model.without(crowd.votes == 0)
        experts, notes = find_experts(crowd, model)
        return cls(
            structure=candidate.name + (", silence filled in" if crowd.silence.any() else ""),
            model=model,
            affinity=candidate.affinity,
            experts=experts,
            silence=crowd.silence,
            notes=notes,
            table=table or ({"structure": candidate.name, "kept": True},),
        )

    @property
    def field(self) -> float:
        """theta_0: half the part of the class rate's log-odds that enters a score.

        Under a discount that is all of it.
        """
        return (self.model.rate if self.affinity is not None else RATE * self.model.rate) / 2

    @property
    def links(self) -> Links:
        """Which voters repeat each other."""
        if self.affinity is None:
            return Links.none()
        rows, others, strengths = self.affinity
        table = sp.csr_matrix((strengths, others, rows), (len(rows) - 1,) * 2)
        upper = sp.triu(table, 1).tocoo()
        return Links(upper.row, upper.col, upper.data.astype(np.float64))

    def view(self, ballots: ItemBlocks) -> ItemBlocks:
        """Return ballots as they are fitted: silence filled in, near-duplicates discounted."""
        return ballots.view(fill_silence, self.silence).view(discount_votes, self.affinity)

    def score(self, ballots: ItemBlocks) -> Floats:
        """Return the log-odds of every item's truth."""
        model = self.model
        odds = self.view(ballots).concatenate(weigh_truth, model.factors)
        odds -= model.rate - 2 * self.field
        if self.silence.any():
            unheard = ballots.concatenate(attrgetter("counts")) == 0
            before = odds_before_silence(model.coins, self.silence, model.rate)
            odds[unheard] += RATE * before - 2 * self.field
        return np.asarray(odds)

    def judge(self, ballots: ItemBlocks) -> Floats:
        """Return the log-odds with the class rate in full, as in the fit."""
        return self.score(ballots) + self.model.rate - 2 * self.field

    def estimate_coins(self, signed: Floats, observed: Floats) -> Floats:  # noqa: ARG002 - a graph's
        """Return the coins of the model."""
        return self.model.coins

    def is_upside_down(self, ballots: ItemBlocks, prior_odds: Floats) -> bool:  # noqa: ARG002
        """Return whether the informative voters are on the other side.

        The fit started from the majority, on the prior's side; but where most voters are nearly
        uninformative, the others may be against them. Each voter counts with its squared merit.
        """
        no, yes = self.model.coins
        merits = yes - no
        return not prior_odds.any() and bool(np.sum(merits * np.abs(merits)) < 0)

    def turned(self) -> "ConsensusReading":
        """Return the same reading with the two sides of the truth swapped."""
        others = tuple(other.turned() for other in self.others)
        return replace(self, model=self.model.turned(), others=others)

    def fit_again(self, ballots: ItemBlocks, rng: np.random.Generator) -> "ConsensusReading":
        """Return the reading fitted to ballots with other prior odds, on the same side."""
        least = LEAST_WEIGHT if self.silence.any() else -np.inf
        start = infer_states, self.model.factors
        model = fit_consensus(self.view(ballots), *start, model=self.model, least_weight=least)
        crowd = Crowd.of(ballots, rng)
        model = model.without(crowd.votes == 0)
        experts, notes = find_experts(crowd, model)
        kept = tuple(note for note in self.notes if note != NOTHING_FOUND)
        return replace(self, model=model, experts=experts, notes=(*notes, *kept))


def find_experts(crowd: Crowd, model: Consensus) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """Return who is an expert, and a note if the votes show no truth.

    The evidence of the votes must exceed that of uninformative voters by more than the uncertainty
    of the weights costs.
    """
    evidence = crowd.ballots.sum(collect, model.factors, len(crowd.votes))[2][0]
    share = crowd.yes / np.maximum(crowd.votes, 1)
    nothing = xlogy(crowd.yes, share) + xlogy(crowd.votes - crowd.yes, 1 - share)
    if evidence - nothing.sum() > CLEAR_NATS:
        return (crowd.votes > 0) & are_sure(model), ()
    return np.zeros(len(crowd.votes), dtype=np.bool_), (NOTHING_FOUND,)


def are_sure(model: Consensus) -> NDArray[np.bool_]:
    """Return whose weight is clear, with the prior and by its own votes alone.

    A voter with three votes, shrunk toward the mean of the others, is not an expert.
    """
    clear = np.abs(model.weights) > SURE_ERRORS * model.standard_errors
    own = model.own_scores * np.sign(model.weights) > SURE_ERRORS
    return np.asarray(clear & own)
