"""What a reading of the votes is: the verbs that both kinds share, and the ties between voters."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unelisa.blocks import ItemBlocks, KeptBlocks
from unelisa.kernels.ballots import tally_ballots
from unelisa.latent.ballots import CERTAIN, Ballots, Floats, Sums, fill_silence, set_prior_odds
from unelisa.schema import stored

TWO_READINGS = "the votes allow two readings"  # how the note on a second reading begins
NOTHING_FOUND = "a model of uninformative voters fits equally well: no expert is claimed"
DECIDE = "a prior, or at least ten gold labels, can decide"
NAMED = 3  # partners that are named in a voter's row


@stored(first="index32(voters)[links]", second="index32(voters)[links]", weights="finite[links]")
@dataclass(frozen=True, eq=False)
class Links:
    """Ties between voters: s, t and the weight of each."""

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    weights: Floats

    @classmethod
    def none(cls) -> "Links":
        """Return no ties."""
        nobody = np.empty(0, dtype=np.int32)
        return cls(nobody, nobody, np.empty(0))

    def name_partners(self, names: NDArray[Any]) -> list[str]:
        """Return for every voter the names of those it is tied to most."""
        near: list[list[tuple[float, int]]] = [[] for _ in names]
        for s, t, weight in zip(self.first, self.second, self.weights, strict=True):
            near[s].append((-abs(weight), int(t)))
            near[t].append((-abs(weight), int(s)))
        return [_list_names([names[voter] for _, voter in sorted(others)]) for others in near]


@stored(
    name="text",
    structure="text",
    experts="flag[voters]",
    silence="sign[voters]",
    coherence="float",
    two_readings="flag",
    others="many Reading",
    notes="many text",
    table="many plain",
)
@dataclass(frozen=True, eq=False, kw_only=True)
class Reading(ABC):
    """The hidden truth as one reading of the votes has it."""

    # name, structure: "consensus", "edges" or "gold", and the structure that was kept
    name: str
    structure: str
    # what was fitted: weights, biases and standard_errors of the voters, whether it converged
    model: Any
    experts: NDArray[np.bool_]  # which voters clearly follow the truth or its opposite
    # the vote that each voter's silence stands for on items with votes; 0 none
    silence: NDArray[np.int8]
    coherence: float = 1.0  # kappa: how far the voters point the same way
    two_readings: bool = False  # whether the votes, and the gold labels if any, allow another truth
    others: tuple[Self, ...] = ()  # what else the votes allow, for gold labels to choose from
    notes: tuple[str, ...] = ()  # what users must be told, one sentence each
    table: tuple[dict[str, Any], ...] = ()  # the candidates and their criterion, one dict each
    sign_is_open: ClassVar[bool] = False  # whether nothing in the fit says which side is yes

    @property
    @abstractmethod
    def field(self) -> float:
        """theta_0: half the log-odds of an item without votes, unless silence is an answer."""

    @property
    @abstractmethod
    def links(self) -> Links:
        """Ties between voters beyond the truth."""

    @abstractmethod
    def score(self, ballots: ItemBlocks) -> Floats:
        """Return the log-odds of every item's truth."""

    @abstractmethod
    def judge(self, ballots: ItemBlocks) -> Floats:
        """Return the log-odds with the class rate in full, as in the fit."""

    @abstractmethod
    def estimate_coins(self, signed: Floats, observed: Floats) -> Floats:
        """Return P(yes | truth is no), P(yes | truth is yes) per voter: two rows.

        From sum_i P(side) f_is and sum_i P(side) |f_is| per voter and side.
        """

    @abstractmethod
    def is_upside_down(self, ballots: ItemBlocks, prior_odds: Floats) -> bool:
        """Return whether its sides must be swapped, as far as votes and prior odds say."""

    @abstractmethod
    def turned(self) -> Self:
        """Return the same reading with the two sides of the truth swapped."""

    @abstractmethod
    def fit_again(self, ballots: ItemBlocks, rng: np.random.Generator) -> Self:
        """Return the reading fitted to ballots with other prior odds."""

    def label(
        self,
        ballots: ItemBlocks,
        prior_odds: Floats,
        gold: NDArray[Any],
        rng: np.random.Generator,
    ) -> Self:
        """Return the reading fitted again with gold labels (-1, +1, or 0: unknown) as certain.

        They decide a sign that is open.
        """
        certain = set_prior_odds(ballots, np.where(gold != 0, CERTAIN * gold, prior_odds))
        labeled = self.fit_again(certain, rng)
        if not self.sign_is_open:
            return labeled
        agreement = float(gold @ labeled.score(set_prior_odds(ballots, prior_odds)))
        return labeled if agreement >= 0 else labeled.turned()

    def noting(self, *notes: str) -> Self:
        """Return the same reading with more notes."""
        return replace(self, notes=(*self.notes, *notes))

    def settled(self) -> Self:
        """Return the same reading as the only one that the votes and gold labels allow."""
        notes = tuple(note for note in self.notes if not note.startswith(TWO_READINGS))
        return replace(self, two_readings=False, others=(), notes=notes)


def sum_posteriors(ballots: Ballots, reading: Reading, n_voters: int) -> Sums:
    """Return the sums of 1, tau and tau^2 over items with votes, tau = P(f0 = +1). A pass.

    Then sum_i P(side) f_is and sum_i P(side) |f_is| per voter, for truth no and yes, with silence
    filled in.
    """
    posterior = expit(reading.judge(KeptBlocks([ballots], n_voters)))
    heard = posterior[ballots.counts > 0]
    sides = np.stack([1 - posterior, posterior], axis=1)
    filled = fill_silence(ballots, reading.silence)
    signed, observed = tally_ballots(*filled[:3], sides, n_voters)
    return np.array([len(heard), heard.sum(), (heard**2).sum()]), signed, observed


def _list_names(names: list[Any]) -> str:
    listed = ", ".join(str(name) for name in names[:NAMED])
    return listed if len(names) <= NAMED else f"{listed} and {len(names) - NAMED} more"
