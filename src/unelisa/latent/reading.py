"""What a reading of the votes is: how it scores items, what it says of voters and of itself."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unelisa.blocks import ItemBlocks, KeptBlocks
from unelisa.em import bound_share
from unelisa.errors import Sentence
from unelisa.graph import Edge
from unelisa.kernels.ballots import tally_ballots
from unelisa.latent.ballots import Ballots, Floats, Sums, fill_silence
from unelisa.latent.worth import DOUBT, Worth, measure_worth
from unelisa.schema import stored

NOTHING_FOUND = "a model of uninformative voters fits equally well: no expert is claimed"
LEAST_CLEAR = 3  # branches that can check each other
DECIDE = "a prior, or at least ten gold labels, can decide"
NAMED = 3  # voters that are named in a sentence


@stored(text="text", voters="many count")
class Caution(NamedTuple):
    """Why a reading may be wrong: a sentence, with voters' names for {voters} or {pair}."""

    text: str
    voters: tuple[int, ...] = ()

    def tell(self, names: NDArray[Any]) -> Sentence:
        """Return the sentence with the voters' names, of pairs with the first."""
        own = [str(names[s]) for s in self.voters]
        if "{pair}" not in self.text:
            return Sentence.listing(self.text.replace("{voters}", "{}"), own, NAMED)
        pairs = [f"{s}, {t}" for s, t in zip(own[::2], own[1::2], strict=True)]
        return Sentence(self.text.replace("{pair}", pairs[0]), pairs if len(pairs) > 1 else ())


@stored(
    prevalence="share",
    prevalence_interval="many(2) share",
    expected_accuracy="share",
    expected_interval="many(2) share",
    share_yes="share",
    coins="float[2, voters]",
)
class Answers(NamedTuple):
    """What a reading says of all items together, and of every voter."""

    # prevalence, prevalence_interval: mean P(yes) of items with votes, and a 95 % interval
    prevalence: float
    prevalence_interval: tuple[float, float]
    # expected_accuracy, expected_interval: mean P(label is right), and its range
    expected_accuracy: float
    expected_interval: tuple[float, float]
    share_yes: float  # share of the items labeled yes
    coins: Floats  # P(yes | truth is no), P(yes | truth is yes) per voter: two rows

    def describe_labels(self, classes: NDArray[Any]) -> dict[str, float]:  # noqa: ARG002
        """Return the shares of the labels, as columns of `readings_`."""
        return {"share_yes": self.share_yes}

    def turned(self) -> "Answers":
        """Return the same with the two sides of the truth swapped."""
        low, high = self.prevalence_interval
        return self._replace(
            prevalence=1 - self.prevalence,
            prevalence_interval=(1 - high, 1 - low),
            share_yes=1 - self.share_yes,
            coins=self.coins[::-1],
        )


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

    @classmethod
    def within(cls, family: NDArray[np.integer], weights: Floats) -> "Links":
        """Return a tie between any two voters of one family, with the product of their weights.

        Examples
        --------
        >>> Links.within(np.array([0, -1, 0]), np.array([0.5, 1.0, 1.0]))
        Links(first=array([0], dtype=int32), second=array([2], dtype=int32), weights=array([0.5]))
        """
        related = np.flatnonzero(family >= 0).astype(np.int32)
        own = family[related]
        s, t = np.nonzero(np.triu(own[:, None] == own, 1))
        first, second = related[s], related[t]
        return cls(first, second, weights[first] * weights[second])

    @property
    def edges(self) -> list[Edge]:
        """The ties as (s, t, weight), in the order of the voters."""
        columns = self.first.tolist(), self.second.tolist(), self.weights.tolist()
        return sorted(zip(*columns, strict=True))

    def name_partners(self, names: NDArray[Any]) -> list[str]:
        """Return for every voter the names of those it is tied to most."""
        near: list[list[tuple[float, int]]] = [[] for _ in names]
        for s, t, weight in self.edges:
            near[s].append((-abs(weight), t))
            near[t].append((-abs(weight), s))
        return [list_names([names[voter] for _, voter in sorted(others)]) for others in near]


@stored(
    name="text",
    structure="text",
    experts="flag[voters]",
    silence="sign[voters]",
    family="group32(voters)[voters]",
    branches="count",
    coherence="float",
    evidence="float",
    agreement="float",
    answers="Answers | None",
    worth="?Worth | None",
    others="many Reading",
    reasons="many Caution",
    notes="many Caution",
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
    experts: NDArray[np.bool_]  # in a consensus who is better than the crowd; in a graph the hub's
    # the vote that each voter's silence stands for on items with votes; 0 none
    silence: NDArray[np.int8]
    family: NDArray[np.int32]  # of each voter; -1: none
    branches: int  # families, and voters without one
    coherence: float = 1.0  # kappa: how far the voters point the same way
    evidence: float = np.nan  # nats beyond plain's, on the items that were compared
    agreement: float = 1.0  # share of these items on which it agrees with the reading that is kept
    answers: Any = None  # `Answers`; None: not yet computed
    worth: Worth | None = None  # of every voter; None: not yet computed
    others: tuple["Reading", ...] = ()  # what else the votes allow
    reasons: tuple[Caution, ...] = ()  # why it is not reliable; empty: nothing speaks against it
    notes: tuple[Caution, ...] = ()  # what else users must be told
    table: tuple[dict[str, Any], ...] = ()  # the candidates and their criterion, one dict each
    sign_is_open: ClassVar[bool] = False  # whether nothing in the fit says which side is yes

    @property
    @abstractmethod
    def field(self) -> float:
        """theta_0: half the log-odds of an item without votes."""

    @property
    @abstractmethod
    def links(self) -> Links:
        """Ties between voters beyond the truth."""

    @property
    @abstractmethod
    def effective_voters(self) -> float:
        """How many equally good independent voters the votes are worth."""

    @abstractmethod
    def score(self, ballots: ItemBlocks) -> Floats:
        """Return the log-odds of every item's truth."""

    @abstractmethod
    def is_upside_down(self, ballots: ItemBlocks, prior_odds: Floats) -> bool:
        """Return whether its sides must be swapped, as far as votes and prior odds say."""

    @abstractmethod
    def turned(self) -> Self:
        """Return the same reading with the two sides of the truth swapped."""

    @property
    def readings(self) -> list["Reading"]:
        """The reading itself, and what else the votes allow."""
        return [self, *self.others]

    @property
    def two_readings(self) -> bool:
        """Whether the votes allow another truth."""
        told = any(reason.text.startswith(TWO_READINGS) for reason in self.reasons)
        return bool(self.others) or told

    @property
    def told(self) -> bool:
        """Whether the votes can tell how good each voter is: two others can check it."""
        nothing = any(reason.text.startswith(NOTHING_FOUND) for reason in self.reasons)
        return self.branches >= LEAST_CLEAR and not nothing

    def measure_ease(self, ballots: ItemBlocks) -> Floats:
        """Return how easy every item is for the voters; NaN where the reading does not say."""
        return np.full(ballots.n_items, np.nan)

    def list_shares(self, ballots: ItemBlocks) -> Floats:  # noqa: ARG002
        """Return the mean P(class) under every model that the votes allow, models x classes.

        There is no row where the reading is a single model.
        """
        return np.empty((0, 2))

    def answering(self, ballots: ItemBlocks) -> Self:
        """Return the same reading with what it says of all items together."""
        if self.answers is not None:
            return self
        found, signed, observed = ballots.sum(sum_posteriors, self, ballots.n_voters)
        n_items, n_heard, total, squares, sure, yes = found
        expected = float(sure / n_items)
        error = np.sqrt(expected * (1 - expected) / n_items)
        answers = Answers(
            *bound_prevalence(n_heard, total, squares),
            expected,
            (max(expected - 2 * error, 0.0), min(expected + 2 * error, 1.0)),
            float(yes / n_items),
            np.asarray((signed + observed + 1).T / (2 * observed + 2).T),
        )
        return replace(self, answers=answers)

    def judging(self, ballots: ItemBlocks, *, recalibrated: bool, identified: bool) -> Self:
        """Return the same reading, and what else the votes allow, with the worth of every voter.

        `recalibrated`: by gold labels; without them, `identified` says whether the votes identify
        a truth.
        """
        doubt = DOUBT if self.reasons and not recalibrated else 1.0

        def judge(one: Any) -> Any:
            n_classes = getattr(one.model, "n_classes", 2)
            worth = measure_worth(ballots, one, n_classes, doubt)
            told = recalibrated or (identified and one.told)
            return replace(one, worth=worth if told else worth.untold())

        return judge(replace(self, others=tuple(judge(other) for other in self.others)))  # type: ignore[no-any-return]

    def noting(self, *notes: str) -> Self:
        """Return the same reading with more notes."""
        return replace(self, notes=(*self.notes, *map(Caution, notes)))

    def settled(self) -> Self:
        """Return the same reading as the only one that the votes and gold labels allow."""
        kept = tuple(reason for reason in self.reasons if not reason.text.startswith(TWO_READINGS))
        return replace(self, others=(), reasons=kept)


TWO_READINGS = "the votes allow two readings"  # how the sentence on a second reading begins


def sum_posteriors(ballots: Ballots, reading: Reading, n_voters: int) -> Sums:
    """Return sums over items, and sum_i P(side) f_is and sum_i P(side) |f_is| per voter. A pass.

    The sums: items, items with votes, tau and tau^2 of the latter, max(tau, 1 - tau), tau >= 1/2;
    tau = P(f0 = +1). Silence is filled in.
    """
    posterior = expit(reading.score(KeptBlocks([ballots], n_voters)))
    heard = posterior[ballots.counts > 0]
    sides = np.stack([1 - posterior, posterior], axis=1)
    filled = fill_silence(ballots, reading.silence)
    signed, observed = tally_ballots(*filled[:3], sides, n_voters)
    totals = [len(posterior), len(heard), heard.sum(), (heard**2).sum()]
    totals += [np.maximum(posterior, 1 - posterior).sum(), np.count_nonzero(posterior >= 0.5)]
    return np.array(totals), signed, observed


def bound_prevalence(
    n_items: float, total: float, squares: float
) -> tuple[float, tuple[float, float]]:
    """Return the mean of n probabilities with this sum and sum of squares, and a 95 % interval."""
    share = float(np.clip(total / n_items, 0.5 / n_items, 1 - 0.5 / n_items))
    spread = max(float(squares - 2 * share * total + n_items * share**2), 1e-9)
    return share, bound_share(share, spread)


def count_effective(weights: Floats) -> float:
    """Return (sum |a|)^2 / sum a^2: how many equally good independent voters these are worth.

    Examples
    --------
    >>> count_effective(np.array([0.5, -0.5, 0.0]))
    2.0
    """
    sizes = np.abs(np.nan_to_num(weights))
    return float(sizes.sum() ** 2 / max(float(sizes @ sizes), 1e-12))


def list_names(names: list[Any]) -> str:
    """Return the first names, and how many more there are."""
    return Sentence.listing("{}", [str(name) for name in names], NAMED)
