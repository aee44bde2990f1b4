"""Which structure the votes need, decided by the votes alone.

One criterion: how well a model predicts every vote, through the truth (and the tilt), from the
voters on its item who are not its neighbours. Voters who repeat each other predict each other under
any model; what only strangers can tell is what the truth carries. The log score of a model beyond
plain's is its gain, judged by its standard error over the items.

The majority's axis stays unless another one is clearly better, and so does the structure without a
tilt; where a second axis exists at all, the votes allow two readings, and the result says so.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.blocks import mark_starts
from unelisa.kernels.ballots import score_by_strangers
from unelisa.latent.ballots import BallotBlocks, Ballots, MemoryBallots
from unelisa.latent.consensus import (
    Consensus,
    Floats,
    fit_consensus,
    infer_states,
    log_state_priors,
    share_votes,
    weigh_truth,
)
from unelisa.latent.discount import (
    Affinity,
    Discounted,
    count_once,
    discount_votes,
    fit_discounted,
)
from unelisa.latent.pairs import Pairs, Singles, correlate, expect_votes
from unelisa.latent.silence import LEAST_WEIGHT, share_spoken
from unelisa.latent.tilt import TILT_ROUNDS, count_pulls, fit_tilted, weigh_tilt

Kind = Literal["plain", "tilt", "discount"]

MOST_ITEMS = 5000  # on which candidates are compared
CLEAR_ERRORS = 3.0  # standard errors by which another axis or a tilt must win
CLEAR_NATS = 3.0  # by which a discount must win, and a truth over voters who know nothing
SAME_AXIS = 0.85  # share of the items on which two fits of one axis agree
# standard errors and size of a correlation from which voters are neighbours
NEIGHBOR_ERRORS, NEIGHBOR_SIZE = 4.0, 0.1
MOST_NEIGHBORS = 0.75  # of the voters: some must be left to predict from
RAREST = 0.25  # a class may not shrink below this part of what it is under plain


class Candidate(NamedTuple):
    """One structure, fitted.

    Attributes
    ----------
    name, kind
        What it is called in the table, and which of the three kinds it is.
    model
        Its parameters.
    affinity
        Who repeats whom, under a discount.
    """

    name: str
    kind: Kind
    model: Consensus
    affinity: Affinity | None = None

    def weigh(self, ballots: Ballots) -> Ballots:
        """Return a block with the weights that its votes have here."""
        return ballots if self.affinity is None else discount_votes(ballots, self.affinity)

    def prepare(self, blocks: BallotBlocks) -> BallotBlocks:
        """Return all blocks with the weights that their votes have here."""
        return blocks if self.affinity is None else blocks.rewrite(discount_votes, self.affinity)


@dataclass
class Verdict:
    """One candidate's row in the table of structures.

    Attributes
    ----------
    structure
        Its name.
    gain, standard_error
        Log score beyond plain's, less what the tilt's parameters cost, and its standard error.
    agreement
        Share of the items on which it says the same as plain.
    admissible
        Whether it may be chosen: voters know more than nothing on average, neither class vanishes,
        and the truth is not the tilt.
    kept
        Whether it was chosen.
    """

    structure: str
    gain: float
    standard_error: float
    agreement: float
    admissible: bool
    kept: bool = False


class Rival(NamedTuple):
    """Another axis than the majority's."""

    verdict: Verdict  # on its best candidate
    lead: float  # standard errors by which it outscores the majority's axis
    other: Candidate  # the best candidate of the axis that was not kept


class Choice(NamedTuple):
    """The structure that was kept, how all candidates did, and the second axis, if there is one."""

    candidate: Candidate
    table: list[Verdict]
    rival: Rival | None = None


def choose_structure(
    blocks: BallotBlocks, sample: MemoryBallots, pairs: Pairs, kinds: tuple[Kind, ...]
) -> Choice:
    """Return the structure that predicts best, fitted to all items.

    Parameters
    ----------
    blocks, sample
        All items, and those on which candidates are compared, in one block.
    pairs
        The pairs of voters who met on the sample.
    kinds
        What may be chosen; plain is always tried, as what the others are compared with.
    """
    candidates = fit_candidates(sample, pairs, kinds)
    contest = _Contest(sample, pairs, candidates)
    choice = contest.decide(kinds)
    if choice.rival is not None:
        other = fit_all(blocks, sample, pairs, choice.rival.other)
        choice = choice._replace(rival=choice.rival._replace(other=other))
    return choice._replace(candidate=fit_all(blocks, sample, pairs, choice.candidate))


def fit_rules(blocks: BallotBlocks, silence: NDArray[np.int8]) -> Candidate:
    """Return the plain structure of rules whose silence was filled in.

    They are weighed once, by the majority of those that speak, at even odds of the two classes.
    Rules overlap: rounds of EM would draw the truth to the largest group that speaks together, and
    the class rate to how often rules of one side speak.
    """
    model = fit_consensus(blocks, share_spoken, silence, least_weight=LEAST_WEIGHT, max_rounds=0)
    return Candidate("plain", "plain", replace(model, rate=0.0, converged=True))


def fit_candidates(sample: MemoryBallots, pairs: Pairs, kinds: tuple[Kind, ...]) -> list[Candidate]:
    """Return every structure that is tried; plain comes first."""
    plain = fit_consensus(sample, share_votes, np.ones(sample.n_voters))
    found = [Candidate("plain", "plain", plain)]
    if "tilt" in kinds:
        found.append(Candidate("tilt", "tilt", fit_tilted(sample, plain)))
    if "discount" in kinds:
        once = fit_discounted(sample, sample, pairs, count_once(sample, pairs))
        both = fit_discounted(sample, sample, pairs, Discounted(plain))
        found += [
            Candidate("discount", "discount", *both),
            Candidate("discount, duplicates once", "discount", *once),
        ]
        if "tilt" in kinds and _agreement(sample, found[0], found[-1]) < SAME_AXIS:
            tilted = fit_tilted(found[-1].prepare(sample), once.model)
            found.append(Candidate("tilt, duplicates once", "tilt", tilted, once.affinity))
    return found


def fit_all(
    blocks: BallotBlocks, sample: MemoryBallots, pairs: Pairs, candidate: Candidate
) -> Candidate:
    """Return the candidate fitted to all items, from where it stood on the sample."""
    if blocks.n_items == sample.n_items:
        return candidate
    model = candidate.model
    if candidate.kind == "discount":
        found = fit_discounted(blocks, sample, pairs, Discounted(model, candidate.affinity))
        return candidate._replace(model=found.model, affinity=found.affinity)
    rounds = {"max_rounds": TILT_ROUNDS} if model.has_tilt else {}
    votes = candidate.prepare(blocks)
    whole = fit_consensus(votes, infer_states, model.factors, model=model, **rounds)
    return candidate._replace(model=whole)


class _Contest:
    """Candidates on the same sample, scored by the same neighbours."""

    def __init__(self, sample: MemoryBallots, pairs: Pairs, candidates: list[Candidate]) -> None:
        ballots = sample.blocks[0]
        self.candidates = candidates
        near = _find_neighbors(ballots, pairs, candidates, sample.n_voters)
        self.scores = [_score(candidate, ballots, near) for candidate in candidates]
        self.odds = [_odds(candidate, ballots) for candidate in candidates]
        self.table = [self._judge(k, ballots) for k in range(len(candidates))]

    def decide(self, kinds: tuple[Kind, ...]) -> Choice:
        """Return the candidate to keep."""
        best = self._top("discount", "plain", other_axis=False)
        if best is None or (self.table[best].gain <= CLEAR_NATS and "plain" in kinds):
            best = 0
        second, rival = self._top("discount", other_axis=True), None
        if second is not None:
            lead = self._lead(second, best)
            best, other = (second, best) if lead > CLEAR_ERRORS else (best, second)
            rival = Rival(self.table[second], lead, self.candidates[other])
        tilted = self._top("tilt", other_axis=self._is_other_axis(best))
        if tilted is not None and ("plain" not in kinds or self._lead(tilted, best) > CLEAR_ERRORS):
            best = tilted
        self.table[best].kept = True
        return Choice(self.candidates[best], self.table, rival)

    def _judge(self, k: int, ballots: Ballots) -> Verdict:
        candidate, beyond = self.candidates[k], self.scores[k] - self.scores[0]
        model, agreement = candidate.model, _same(self.odds[k], self.odds[0])
        admissible = bool(model.centre[1] > 0)
        admissible &= _rarer(self.odds[k]) >= RAREST * _rarer(self.odds[0])
        cost = 0.0
        if model.has_tilt:
            cost = count_pulls(model)
            if candidate.name == "tilt":
                by_tilt = _same(weigh_tilt(ballots, model.factors), self.odds[0])
                admissible &= agreement >= max(by_tilt, 1 - by_tilt)
        error = float(beyond.std() * np.sqrt(len(beyond)))
        return Verdict(
            candidate.name, float(beyond.sum()) - cost, error, agreement, bool(admissible)
        )

    def _is_other_axis(self, k: int) -> bool:
        """Return whether a candidate looks elsewhere than plain; one tilt belongs to plain."""
        own = self.candidates[k].name != "tilt"
        return own and self.table[k].agreement < SAME_AXIS

    def _top(self, *kinds: Kind, other_axis: bool) -> int | None:
        """Return the admissible candidate of some kinds and of one axis with the largest gain."""
        fit = [
            k
            for k, candidate in enumerate(self.candidates)
            if candidate.kind in kinds
            and self._is_other_axis(k) == other_axis
            and (self.table[k].admissible or k == 0)
        ]
        return max(fit, key=lambda k: self.table[k].gain, default=None)

    def _lead(self, one: int, other: int) -> float:
        """Return by how many standard errors one candidate's gain exceeds another's."""
        apart = self.scores[one] - self.scores[other]
        error = apart.std() * np.sqrt(len(apart)) + 1e-9
        return float((self.table[one].gain - self.table[other].gain) / error)


def _find_neighbors(
    ballots: Ballots, pairs: Pairs, candidates: list[Candidate], n_voters: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return every voter's neighbours, those who go together with it under any candidate.

    At most the nearest three quarters of the others: someone must be left to predict from.
    """
    strength = np.zeros(len(pairs.first), dtype=np.float32)
    for candidate in candidates:
        weighed = candidate.weigh(ballots)
        expected = expect_votes(weighed, candidate.model)
        size = np.abs(correlate(ballots, pairs, expected, n_voters))
        seen = (size * np.sqrt(pairs.common) > NEIGHBOR_ERRORS) & (size > NEIGHBOR_SIZE)
        strength = np.maximum(strength, np.where(seen, size, 0))
    near = strength > 0
    tied = Affinity.tie(pairs.first[near], pairs.second[near], strength[near], n_voters)
    return _keep_nearest(tied, int(MOST_NEIGHBORS * (n_voters - 1)))


def _keep_nearest(tied: Affinity, most: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the partners of every voter that are nearer than its (most + 1)-th nearest."""
    keep = np.ones(len(tied.others), dtype=np.bool_)
    for s in np.flatnonzero(np.diff(tied.rows) > most):
        own = slice(tied.rows[s], tied.rows[s + 1])
        strengths: Singles = tied.strengths[own]
        keep[own] = strengths > np.partition(strengths, -most - 1)[-most - 1]
    voters = np.repeat(np.arange(len(tied.rows) - 1), np.diff(tied.rows))
    counts = np.bincount(voters[keep], minlength=len(tied.rows) - 1)
    return mark_starts(counts), tied.others[keep]


def _score(candidate: Candidate, ballots: Ballots, near: tuple[Any, Any]) -> Floats:
    """Return the log score of every item's votes."""
    starts, voters, votes, _, weights = candidate.weigh(ballots)
    factors = candidate.model.factors
    priors = log_state_priors(ballots, factors)
    return score_by_strangers(starts, voters, votes, weights, priors, factors.lean, *near)


def _odds(candidate: Candidate, ballots: Ballots) -> Floats:
    return weigh_truth(candidate.weigh(ballots), candidate.model.factors)


def _agreement(sample: MemoryBallots, one: Candidate, other: Candidate) -> float:
    ballots = sample.blocks[0]
    return _same(_odds(one, ballots), _odds(other, ballots))


def _same(one: Floats, other: Floats) -> float:
    """Return the share of items with the same sign."""
    return float(np.mean((one > 0) == (other > 0)))


def _rarer(odds: Floats) -> float:
    """Return the share of the rarer class."""
    return float(min(np.mean(odds > 0), np.mean(odds < 0)))
