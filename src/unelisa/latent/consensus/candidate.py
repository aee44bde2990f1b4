"""Candidate: one structure of the consensus, fitted; plain is the first of them."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from unelisa.blocks import ItemBlocks
from unelisa.latent.ballots import Ballots, Floats
from unelisa.latent.consensus.affinity import Affinity, discount_votes
from unelisa.latent.consensus.model import (
    MAX_ITER,
    Consensus,
    fit_consensus,
    infer_states,
    share_votes,
    weigh_truth,
)
from unelisa.latent.crowd import Sample

Kind = Literal["plain", "tilt", "discount"]

SAME_AXIS = 0.85  # share of the items on which two fits of the same truth agree
RAREST = 0.25  # a class may not shrink below this fraction of its share under plain


@dataclass(frozen=True, eq=False)
class Candidate:
    """A structure of the consensus."""

    name: str  # what the table of structures calls it
    model: Consensus  # its parameters
    affinity: Affinity | None = None  # which votes count less; None: all count in full

    kind: ClassVar[Kind] = "plain"
    max_iter: ClassVar[int] = MAX_ITER

    def weigh(self, ballots: Ballots) -> Ballots:
        """Return a run of ballots with the weights that its votes have here."""
        return discount_votes(ballots, self.affinity)

    def view(self, ballots: ItemBlocks) -> ItemBlocks:
        """Return all ballots with the weights that their votes have here."""
        return ballots.view(discount_votes, self.affinity)

    def score(self, ballots: Ballots) -> Floats:
        """Return the log-odds of the truth per item."""
        return weigh_truth(self.weigh(ballots), self.model.factors)

    def fit_all(self, ballots: ItemBlocks, sample: Sample) -> "Candidate":  # noqa: ARG002 - some do
        """Return the candidate fitted to all items, starting from the fit to the sample."""
        model, start = self.model, (infer_states, self.model.factors)
        whole = fit_consensus(self.view(ballots), *start, model=model, max_iter=self.max_iter)
        return replace(self, model=whole)

    @property
    def cost(self) -> float:
        """Effective number of parameters beyond those of plain."""
        return 0.0

    def is_other_axis(self, odds: Floats, plain_odds: Floats) -> bool:
        """Return whether its truth is another one than that of plain."""
        return share_agreement(odds, plain_odds) < SAME_AXIS

    def is_admissible(self, ballots: Ballots, odds: Floats, plain_odds: Floats) -> bool:  # noqa: ARG002
        """Return whether a truth is left: voters know something, and no class vanishes."""
        informative = bool(self.model.center[1] > 0)
        return informative and _share_rarer(odds) >= RAREST * _share_rarer(plain_odds)


def propose_plain(sample: Sample, _: list[Candidate]) -> list[Candidate]:
    """Return the structure in which voters err independently."""
    return [Candidate("plain", fit_consensus(sample.blocks, share_votes, np.ones(sample.n_voters)))]


def share_agreement(one: Floats, other: Floats) -> float:
    """Return the share of items on which two log-odds have the same sign."""
    return float(np.mean((one > 0) == (other > 0)))


def _share_rarer(odds: Floats) -> float:
    """Return the share of the rarer class."""
    return float(min(np.mean(odds > 0), np.mean(odds < 0)))
