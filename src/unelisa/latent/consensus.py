"""The consensus: the truth is what the voters agree on, each of them counted once."""

from dataclasses import dataclass, replace

import numpy as np

from unelisa.latent.crowd import Crowd
from unelisa.latent.model import Consensus, average, expect_ease, fit_consensus
from unelisa.latent.reading import DECIDE, TWO_READINGS, Caution, Correction, Links, Reading
from unelisa.latent.repeats import (
    MOSTLY,
    Compared,
    Repeaters,
    compare_voters,
    find_repeaters,
    suspect_repeaters,
)
from unelisa.latent.trust import LOSS
from unelisa.progress import until
from unelisa.schema import stored
from unelisa.votes.ballots import Ballots, Floats
from unelisa.votes.blocks import ItemBlocks

# the readings in which voters who repeat each other count once each, and in which voters who
# perhaps repeat each other, on few common items, count as one
APART, TOGETHER = "repeaters apart", "suspects together"


@stored(model="Consensus", ties="Links", swapped="flag")
@dataclass(frozen=True, eq=False, kw_only=True)
class ConsensusReading(Reading):
    """The truth is what the voters agree on."""

    name: str = "consensus"
    model: Consensus
    ties: Links  # who repeats whom, with the excess of each pair
    swapped: bool = False  # whether the two sides of the truth are swapped

    @property
    def links(self) -> Links:
        """Who repeats whom."""
        return self.ties

    @property
    def field(self) -> float:
        """theta_0: half the log-odds of an item without votes; of more classes, of the last."""
        logs = self.model.log_unheard
        return float(logs[-1] - logs[0]) / 2 * (-1 if self.swapped else 1)

    @property
    def weights(self) -> Floats:
        """a_s; of two classes half of it, as in logit P = 2 (b + a f0)."""
        halves = self.model.weights / (2 if self.n_classes == 2 else 1)
        return -halves if self.swapped else halves

    @property
    def fields(self) -> Floats:
        """b_s of two classes; of more, how far the last class is preferred to the first."""
        return np.asarray(self.model.biases[:, -1] - self.model.biases[:, 0]) / 2

    @property
    def standard_errors(self) -> Floats:
        """Standard error of each weight."""
        errors = super().standard_errors
        return errors / 2 if self.n_classes == 2 else errors

    @property
    def confusions(self) -> Floats:
        """P(says c | class k) per voter, averaged over the items' ease."""
        chances, shares = self.model.confusions, self.model.ease_shares
        found = np.asarray(np.einsum("skgc,g->skc", chances, shares))
        return found[:, ::-1] if self.swapped else found

    def think(self, ballots: Ballots) -> Floats:
        """Return the average of model and share of the votes, as log-probabilities."""
        logs = average(ballots, self.model)
        return logs[:, ::-1] if self.swapped else logs

    def measure_ease(self, ballots: ItemBlocks) -> Floats:
        """Return E d per item: 1 is ordinary, 0 nobody can tell."""
        if len(self.model.ease) == 1:
            return super().measure_ease(ballots)
        return ballots.concatenate(expect_ease, self.model)

    def leans_down(self) -> bool:
        """Return False: EM began on the side of most votes."""
        return False

    def turned(self) -> "ConsensusReading":
        """Return the same reading with the two sides of the truth swapped."""
        others = tuple(other.turned() for other in self.others)
        correction = self.correction.turned()
        return replace(self, swapped=not self.swapped, correction=correction, others=others)


def read_consensus(
    crowd: Crowd, structure: str = "auto", compared: Compared | None = None
) -> ConsensusReading:
    """Return what the voters agree on.

    "plain" counts every voter once and gives all items one ease; "ease" and "families" do without
    one of the two. Where voters repeat each other, or perhaps do, labels are compared with those of
    each counted once, or of all these as one.
    """
    near, ease = structure in ("auto", "families"), structure in ("auto", "ease")
    if near and compared is None:
        compared = compare_voters(crowd)
    repeaters = find_repeaters(crowd, near=near, compared=compared)
    with until(0.5):
        reading = _read(crowd, repeaters, structure, ease=ease)
    if compared is None:
        return reading
    rivals = {}
    if len(repeaters.excess) > repeaters.n_copies:
        rivals[APART] = repeaters.only_copies(crowd)
    suspected = suspect_repeaters(crowd, compared)
    if np.abs(suspected.counts - repeaters.counts).max(initial=0) > MOSTLY / 2:
        rivals[TOGETHER] = suspected
    for name, other in rivals.items():
        with until(1.0):
            reading = _compare(crowd.ballots, reading, _read(crowd, other, name, ease=ease))
    return reading


def _read(crowd: Crowd, repeaters: Repeaters, structure: str, *, ease: bool) -> ConsensusReading:
    n_voters = crowd.ballots.n_voters
    return ConsensusReading(
        structure=structure,
        model=fit_consensus(crowd, repeaters.counts, ease=ease),
        ties=Links(repeaters.first, repeaters.second, repeaters.excess),
        experts=np.zeros(n_voters, dtype=np.bool_),
        heads=crowd.heads,
        family=repeaters.family,
        correction=Correction.none(crowd.n_classes, n_voters),
    )


def _compare(
    ballots: ItemBlocks, reading: ConsensusReading, other: ConsensusReading
) -> ConsensusReading:
    """Return the reading, with the other one beside it where their labels differ."""
    first, second = (one.weigh(ballots).argmax(axis=1) for one in (reading, other))
    agreement = float(np.mean(first == second))
    if agreement >= 1 - LOSS:
        return reading
    how, ties = "if each counted once", reading.ties
    if other.structure == TOGETHER:
        how, ties = "if they counted as one", other.ties
    text = (
        f"{TWO_READINGS}: {{voters}} repeat each other more than they should, and labels would be "
        f"others on {1 - agreement:.0%} of the items {how}; {DECIDE}"
    )
    told = Caution(text, tuple(np.union1d(ties.first, ties.second).tolist()))
    others = (*reading.others, replace(other, agreement=agreement))
    return replace(reading, others=others, reasons=(*reading.reasons, told))
