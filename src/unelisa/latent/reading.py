"""What a reading of the votes is: how it scores items, and what it says of voters and of itself."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from unelisa.errors import Sentence
from unelisa.latent.trust import Experience, Trust
from unelisa.latent.worth import Worth
from unelisa.paper.ising import Edge
from unelisa.schema import stored
from unelisa.votes.ballots import Ballots, Floats, count_answers
from unelisa.votes.blocks import ItemBlocks

LEAST_CLEAR = 3  # voters, a family counted as one, that can check each other
DECIDE = "a prior, or at least ten gold labels, can decide"
NAMED = 3  # voters that are named in a sentence
TWO_READINGS = "the votes allow two readings"  # how the sentence on a second reading begins
SURE_ERRORS = 2.0  # standard errors by which a weight is clearly not 0
WORDS = {
    "expert": "clearly better than the crowd",
    "counted": "agrees with the truth",
    "contrarian": "contradicts the truth: its votes are reversed",
    "uninformative": "not clearly tied to the truth",
}


@stored(text="text", voters="many count")
class Caution(NamedTuple):
    """Why a reading may be wrong: a sentence, with voters' names for {voters}."""

    text: str
    voters: tuple[int, ...] = ()

    def name_voters(self, names: NDArray[Any]) -> Sentence:
        """Return the sentence with the voters' names."""
        return list_names(names[list(self.voters)], self.text.replace("{voters}", "{}"))


@stored(first="index32(voters)[links]", second="index32(voters)[links]", weights="finite[links]")
@dataclass(frozen=True, eq=False)
class Links:
    """Ties between voters: s, t and the weight of each."""

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    weights: Floats

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
        nobody = list_names([])  # most are tied to nobody, and there may be many voters
        return [
            list_names([names[voter] for _, voter in sorted(others)]) if others else nobody
            for others in near
        ]


@stored(slope="finite", offsets="finite[classes]", votes="finite[voters]")
class Correction(NamedTuple):
    """What gold labels and a stated prevalence make of a reading's log-probabilities."""

    slope: float
    offsets: Floats  # per class
    votes: Floats  # weight of each voter's vote for the class that it names

    @classmethod
    def none(cls, n_classes: int, n_voters: int) -> "Correction":
        """Return that nothing is corrected."""
        return cls(1.0, np.zeros(n_classes), np.zeros(n_voters))

    def turned(self) -> "Correction":
        """Return the same for the two classes swapped."""
        return self._replace(offsets=self.offsets[::-1])

    def apply(self, ballots: Ballots, logs: Floats) -> Floats:
        """Return the corrected log-probabilities of a run of items."""
        corrected = self.slope * log_softmax(logs, axis=1) + self.offsets
        if self.votes.any():
            corrected += count_answers(ballots, self.votes, len(self.offsets))
        return np.asarray(corrected)


@stored()
@dataclass(frozen=True, eq=False, kw_only=True)
class Reading(ABC):
    """The hidden truth as one reading of the votes has it."""

    name: Annotated[str, "text"]  # "consensus" or "edges"
    structure: Annotated[str, "text"]  # what was fitted
    model: Any  # weights, biases and standard_errors of the voters
    # in a consensus who is better than the crowd; in a graph the hub's
    experts: Annotated[NDArray[np.bool_], "flag[voters]"]
    # of each voter the first of its exact copies, and its family (-1: none)
    heads: Annotated[NDArray[np.int32], "index32(voters)[voters]"]
    family: Annotated[NDArray[np.int32], "group32(voters)[voters]"]
    correction: Annotated[Correction, "Correction"]
    coherence: Annotated[float, "float"] = 1.0  # kappa: how far the voters point the same way
    agreement: Annotated[float, "float"] = 1.0  # share of items on which it agrees with the taken
    # of labels like these, of all items, and of every voter; None: not yet computed
    experience: Annotated[Experience | None, "Experience | None"] = None
    trust: Annotated[Trust | None, "Trust | None"] = None
    worth: Annotated[Worth | None, "Worth | None"] = None
    others: Annotated[tuple["Reading", ...], "many Reading"] = ()  # what else the votes allow
    reasons: Annotated[tuple[Caution, ...], "many Caution"] = ()  # why it is not reliable
    notes: Annotated[tuple[Caution, ...], "many Caution"] = ()  # what else users must know
    sign_is_open: ClassVar[bool] = False  # whether nothing in the fit says which side is yes

    @property
    def field(self) -> float:
        """theta_0: half the log-odds of an item without votes."""
        return float(self.model.field)

    @property
    def links(self) -> Links:
        """Ties between voters beyond the truth."""
        found: Links = self.model.links
        return found

    @property
    def weights(self) -> Floats:
        """a_s: how much a vote of each voter says."""
        return np.asarray(self.model.weights)

    @property
    def fields(self) -> Floats:
        """b_s: which answer each voter prefers, in halves of log-odds."""
        return np.asarray(self.model.biases)

    @abstractmethod
    def think(self, ballots: Ballots) -> Floats:
        """Return the log-probabilities of a run of items, without prior odds or correction."""

    @abstractmethod
    def turned(self) -> Self:
        """Return the same reading with the two sides of the truth swapped."""

    def needs_turning(self) -> bool:
        """Return whether most voters say that its sides must be swapped."""
        return False

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.correction.offsets)

    @property
    def clusters(self) -> int:
        """Number of voters with votes, a family counted as one."""
        heard = np.isfinite(self.model.standard_errors)
        return int(np.count_nonzero(heard & (self.family < 0)) + self.family.max(initial=-1) + 1)

    @property
    def distinct(self) -> NDArray[np.bool_]:
        """Which voters are no copies of an earlier one."""
        return np.asarray(self.heads == np.arange(len(self.heads)))

    @property
    def independent(self) -> NDArray[np.intp]:
        """One voter of every family, and those without one; no copies."""
        _, first = np.unique(self.family, return_index=True)
        kept = (self.family < 0) & self.distinct
        kept[first[self.family[first] >= 0]] = True
        return np.flatnonzero(kept)

    @property
    def readings(self) -> list["Reading"]:
        """The reading itself, and what else the votes allow."""
        return [self, *self.others]

    def score(self, ballots: ItemBlocks) -> Floats:
        """Return the log-odds of every item, or with more classes their log-probabilities."""
        logs = self.weigh(ballots)
        return np.asarray(logs[:, 1] - logs[:, 0] if self.n_classes == 2 else logs)

    def weigh(self, ballots: ItemBlocks) -> Floats:
        """Return the log-probabilities of all items, items x classes."""
        return ballots.concatenate(_weigh_run, self)

    def weigh_run(self, ballots: Ballots) -> Floats:
        """Return the log-probabilities of a run of items, with correction and prior odds."""
        logs = self.correction.apply(ballots, self.think(ballots))
        priors = ballots.log_priors(self.n_classes)
        return np.asarray(log_softmax(logs + priors if len(priors) else logs, axis=1))

    def measure_ease(self, ballots: ItemBlocks) -> Floats:
        """Return how easy every item is for the voters; NaN where the reading does not say."""
        return np.full(ballots.n_items, np.nan)

    @property
    def two_readings(self) -> bool:
        """Whether the votes allow another truth."""
        return bool(self.others) or self.settled().reasons != self.reasons

    @property
    def standard_errors(self) -> Floats:
        """Standard error of each voter's weight."""
        return np.asarray(self.model.standard_errors)

    @property
    def confusions(self) -> Floats:
        """P(says c | class k) per voter, voters x classes x answers, as the model has it."""
        raise NotImplementedError

    def settled(self) -> Self:
        """Return the same reading as the only one that the votes and gold labels allow."""
        kept = tuple(reason for reason in self.reasons if not reason.text.startswith(TWO_READINGS))
        return replace(self, others=(), reasons=kept)

    def doubting(self, *reasons: str) -> Self:
        """Return the same reading with further reasons to doubt its labels."""
        return replace(self, reasons=(*self.reasons, *map(Caution, reasons)))

    def noting(self, *notes: str) -> Self:
        """Return the same reading with more notes."""
        return replace(self, notes=(*self.notes, *map(Caution, notes)))


def _weigh_run(ballots: Ballots, reading: Reading) -> Floats:
    return reading.weigh_run(ballots)


def list_names(names: Iterable[Any], text: str = "{}") -> Sentence:
    """Return a sentence with the first names, and how many more there are."""
    return Sentence.listing(text, [str(name) for name in names], NAMED)


def find_heads(reading: Reading, names: NDArray[Any]) -> list[str]:
    """Return for every voter the name of the one who repeats its family most; empty without one."""
    heads, weights = np.full(len(names), "", dtype=object), np.abs(reading.weights)
    for c in range(int(reading.family.max(initial=-1)) + 1):
        own = np.flatnonzero(reading.family == c)
        heads[own] = str(names[own[np.argmax(weights[own])]])
    return list(heads)


def judge_voters(reading: Reading, names: NDArray[Any]) -> list[str]:
    """Return the verdict on every voter of a consensus."""
    weights = reading.weights
    vague = np.abs(weights) <= SURE_ERRORS * reading.standard_errors
    verdicts = ["expert" if expert else "counted" for expert in reading.experts]
    for s, head in enumerate(find_heads(reading, names)):
        if vague[s]:
            verdicts[s] = "uninformative"
        elif weights[s] < 0:
            verdicts[s] = "contrarian"
        elif head and head != str(names[s]):
            verdicts[s] = f"family of {head}"
    return verdicts


def explain_voters(reading: Reading, names: NDArray[Any]) -> list[str]:
    """Return the reason for the verdict on every voter."""
    if reading.name == "edges":
        return _explain_graph(reading)
    verdicts, heads = judge_voters(reading, names), find_heads(reading, names)
    reasons = [
        WORDS.get(verdict, f"repeats {head}: the family counts as one voter")
        for verdict, head in zip(verdicts, heads, strict=True)
    ]
    for s in np.flatnonzero(~reading.distinct):
        reasons[s] = f"repeats {names[reading.heads[s]]} vote for vote: they count as one voter"
    return reasons


def describe_copies(heads: NDArray[np.integer], names: NDArray[Any]) -> list[Sentence]:
    """Return that voters are copies, in a sentence; nothing if there are none."""
    groups = np.flatnonzero(np.bincount(heads, minlength=len(heads)) > 1)
    if not len(groups):
        return []
    alike = [[str(name) for name in names[heads == k]] for k in groups]
    first = list_names(alike[0])
    rest = len(groups) - 1
    more = f"; so it is with {rest} more {'group' if rest == 1 else 'groups'}" if rest else ""
    text = f"{first} repeat each other vote for vote and count as one voter{more}"
    return [Sentence(text, map(", ".join, alike) if more else first.voters)]


def list_followers(reading: Reading) -> NDArray[np.intp]:
    """Return the voters who are clearly on the side of a reading's truth."""
    errors = np.nan_to_num(reading.standard_errors)
    return np.flatnonzero(reading.weights > SURE_ERRORS * errors)


def tabulate_readings(readings: list[Reading], names: NDArray[Any], classes: NDArray[Any]) -> Any:
    """Return some readings as a pandas table; the first one was taken."""
    import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

    rows = []
    shown = {"yes": 1} if len(classes) == 2 else {label: k for k, label in enumerate(classes)}
    for k, one in enumerate(readings):
        shares = np.full(len(classes), np.nan) if one.trust is None else one.trust.labels
        rows.append(
            {
                "structure": one.structure,
                "clusters": one.clusters,
                "agreement": one.agreement if k else 1.0,
                **{f"share_{label}": float(shares[place]) for label, place in shown.items()},
                "voters": list(names[list_followers(one)]),
            }
        )
    return pd.DataFrame(rows)


def _explain_graph(reading: Reading) -> list[str]:
    own = np.where(reading.weights > 0, WORDS["counted"], "contradicts the truth")
    tied = np.append(reading.links.first, reading.links.second)
    others = np.full(len(own), WORDS["uninformative"], dtype=object)
    others[tied] = "explained by other voters"
    return list(np.where(reading.experts, own, others))
