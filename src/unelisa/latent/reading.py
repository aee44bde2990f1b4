"""What the votes say: which reading is meant, what it found, and how it scores further items."""

from dataclasses import dataclass, replace
from dataclasses import field as made_by
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.special import expit

from unelisa.kernels.ballots import tally_ballots, weigh_ballots
from unelisa.latent.ballots import BallotBlocks, Ballots, MemoryBallots, Sums
from unelisa.latent.consensus import Consensus, Floats, weigh_truth
from unelisa.latent.discount import Affinity, discount_votes
from unelisa.latent.silence import fill_silence, odds_before_silence

Name = Literal["consensus", "edges", "gold"]

TWO_READINGS = "the votes allow two readings"  # begins what is said of them
NAMED = 3  # partners that are named in a voter's row
RATE = 0.5  # share of the class rate's log-odds in a score: the voters' fields stand for it too


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
    def of_affinity(cls, affinity: Affinity) -> "Links":
        """Return what was discounted."""
        n_voters = len(affinity.rows) - 1
        table = sp.csr_matrix((affinity.strengths, affinity.others, affinity.rows), (n_voters,) * 2)
        upper = sp.triu(table, 1).tocoo()
        return cls(upper.row, upper.col, upper.data.astype(np.float64))

    @classmethod
    def of_edges(cls, edges: Floats, voters: NDArray[np.intp]) -> "Links":
        """Return the edges of a table whose rows are these voters."""
        s, t = np.nonzero(np.triu(edges, 1))
        ends = (voters[s].astype(np.int32), voters[t].astype(np.int32))
        return cls(*ends, np.asarray(edges[s, t]))

    def name_partners(self, names: NDArray[Any]) -> list[str]:
        """Return for every voter the names of those it is tied to most."""
        near: list[list[tuple[float, int]]] = [[] for _ in names]
        for s, t, weight in zip(self.first, self.second, self.weights, strict=True):
            near[s].append((-abs(weight), int(t)))
            near[t].append((-abs(weight), int(s)))
        return [_list_names([names[voter] for _, voter in sorted(others)]) for others in near]


@dataclass(frozen=True, eq=False)
class Reading:
    """The hidden truth as one reading of the votes has it.

    Attributes
    ----------
    name, structure
        "consensus", "edges" or "gold", and the structure that was kept.
    weights, fields, standard_errors
        a, b and the standard error of a per voter.
    field
        theta_0: half the log-odds of an item without votes, unless silence says something.
    experts
        Which voters are believed to see the truth or its opposite.
    silence
        What each voter's silence says on items with votes; 0 nothing.
    model, affinity
        The consensus and who repeats whom there; None under edges.
    links
        Ties between voters beyond the truth.
    coherence
        How far the voters look the same way.
    two_readings
        Whether the votes, and the gold labels if any, allow another truth.
    other
        The other reading of a consensus, for gold labels to choose from.
    notes
        What must be said of it, in words.
    table
        The candidates and their criterion, one dict each.
    """

    name: Name
    structure: str
    weights: Floats
    fields: Floats
    standard_errors: Floats
    field: float
    experts: NDArray[np.bool_]
    silence: NDArray[np.int8]
    model: Consensus | None = None
    affinity: Affinity | None = None
    links: Links = made_by(default_factory=Links.none)
    coherence: float = 1.0
    two_readings: bool = False
    other: "Reading | None" = None
    notes: tuple[str, ...] = ()
    table: tuple[dict[str, Any], ...] = ()

    def score(self, blocks: BallotBlocks) -> Floats:
        """Return the log-odds of every item's truth."""
        model = self.model
        if model is None:
            return self.prepare(blocks).concatenate(score_edges, self.weights, self.field)
        odds = self.prepare(blocks).concatenate(weigh_truth, model.factors)
        odds -= model.rate - 2 * self.field
        if self.silence.any():
            unheard = blocks.concatenate(count_ballots) == 0
            before = odds_before_silence(model.coins, self.silence, model.rate)
            odds[unheard] += share_rate(before, discounted=False) - 2 * self.field
        return np.asarray(odds)

    def prepare(self, blocks: BallotBlocks) -> BallotBlocks:
        """Return the blocks as they were fitted: silence filled in, repeats discounted."""
        if self.silence.any():
            blocks = blocks.rewrite(fill_silence, self.silence)
        if self.affinity is not None:
            blocks = blocks.rewrite(discount_votes, self.affinity)
        return blocks

    def refitted(self, model: Consensus) -> "Reading":
        """Return the same consensus with another model, and what every voter is worth in it."""
        rate = share_rate(model.rate, self.affinity is not None)
        weights, errors = model.weights, model.standard_errors
        found = replace(self, weights=weights, fields=model.fields, standard_errors=errors)
        return replace(found, model=model, field=rate / 2)

    def turned(self) -> "Reading":
        """Return the same reading with the two sides of the truth swapped."""
        model = None if self.model is None else self.model.turned()
        other = None if self.other is None else self.other.turned()
        return replace(self, weights=-self.weights, field=-self.field, model=model, other=other)

    def noting(self, *notes: str) -> "Reading":
        """Return the same reading with more to be said of it."""
        return replace(self, notes=(*self.notes, *notes))

    def settled(self) -> "Reading":
        """Return the same reading as the only one that the votes and gold labels allow."""
        notes = tuple(note for note in self.notes if not note.startswith(TWO_READINGS))
        return replace(self, two_readings=False, other=None, notes=notes)


def _list_names(names: list[Any]) -> str:
    told = ", ".join(str(name) for name in names[:NAMED])
    return told if len(names) <= NAMED else f"{told} and {len(names) - NAMED} more"


def share_rate(rate: float, discounted: bool) -> float:
    """Return the part of the class rate's log-odds that counts: all of it under a discount."""
    return rate if discounted else RATE * rate


def count_ballots(ballots: Ballots) -> NDArray[np.int64]:
    """Return the number of votes per item. A pass."""
    return ballots.counts


def sum_chances(ballots: Ballots, reading: Reading, n_voters: int) -> Sums:
    """Return the sums of 1, tau and tau^2 over items with votes, the class rate in full. A pass.

    Then sum_i P(side) f_is and sum_i P(side) |f_is| per voter, for truth no and yes, silence
    filled in.
    """
    odds = reading.score(MemoryBallots([ballots], n_voters))
    if reading.model is not None:
        odds = odds + reading.model.rate - 2 * reading.field
    chances = expit(odds)
    heard = chances[ballots.counts > 0]
    sides = np.stack([1 - chances, chances], axis=1)
    filled = fill_silence(ballots, reading.silence) if reading.silence.any() else ballots
    lists = filled.starts, filled.voters, filled.votes
    signed, observed = tally_ballots(*lists, sides, n_voters)
    return np.array([len(heard), heard.sum(), (heard**2).sum()]), signed, observed


def score_edges(ballots: Ballots, weights: Floats, truth_field: float) -> Floats:
    """Return 2 (theta_0 + z_i / 2 + sum_s a_s f_is) per item. A pass."""
    starts, voters, votes, fields, _ = ballots
    full = np.empty(0, dtype=np.float32)
    lean = weights[:, None]
    said = weigh_ballots(starts, voters, votes, full, lean, np.zeros_like(lean))[:, 0]
    return np.asarray(2 * (truth_field + said) + fields)
