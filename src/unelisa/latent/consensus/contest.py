"""The contest: plain, ease, tilt and families, decided by the votes alone.

Two rules. Among candidates with the same truth the evidence decides; less than log n nats is a tie,
the price of one hidden node, and then the most branches win, and no tilt. Between two truths the
evidence says nothing: a tree may be rooted anywhere without changing its likelihood (five copies
are a family under the truth, or the truth's other voters are a family under the copies' opinion).
There the majority is the referee, voters who repeat each other counted once, unless the best model
describes the votes (`doubt.py`); the other truth is a second reading.

Admissible are families whose voters repeat them and which leave four branches (three fit any root,
so nothing is left to test it), and a tilt that keeps the truth where it was, and that all voters
share, or that fits far better than anything else. An inadmissible candidate that fits better is
reported.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from unelisa.latent.consensus.coefficients import BRANCHES
from unelisa.latent.consensus.doubt import measure_misfit
from unelisa.latent.consensus.families import (
    REPEATS,
    count_once,
    find_ties,
    number_families,
    propose_families,
    prune_families,
)
from unelisa.latent.consensus.model import (
    EVEN,
    MAX_ITER,
    Consensus,
    Families,
    Floats,
    fit_consensus,
    infer,
    start_consensus,
)
from unelisa.latent.crowd import Sample
from unelisa.progress import another, each, until

Kind = Literal["plain", "ease", "tilt", "families"]

SAME_TRUTH = 0.9  # share of the items on which two fits of the same truth agree
LEAST_BRANCHES = 4
KEPT_TREES = 3  # whose residuals are clustered once more, and which are fitted with ease
ROUNDS = 2
TREE_ITER, EASE_ITER, TILT_ITER = 30, 60, 60
EASE_REPEATS = 0.9  # of `REPEATS`, where ease takes a part of what relatives share
RAREST = 0.25  # a class may not shrink below this fraction of its share without a tilt
CLEAR_ERRORS = 2.0  # standard errors of a branch that is clearly tied to the truth
FIRST_TILT = 0.3
EVEN_TILT = 0.975  # of the largest spread: voters follow the tilt to about the same degree
# log n nats by which a tilt must win that voters follow to very different degrees: below, it is as
# often another dependence that it stands for
TILT_LEAD = 10.0
TILT_LED = 1.5  # times the tilt's mean c: the least mean a beside such a tilt
FEW_LEAD = 3.0  # log n nats by which a tree must win that leaves too few branches to test it
FITS = 0.03  # misfit up to which a model describes the votes, and needs no referee


@dataclass(frozen=True, eq=False)
class Candidate:
    """A structure of the consensus, fitted to a sample."""

    model: Consensus
    posterior: Floats  # of the hidden states, per item
    truth: Floats  # P(f0 = +1) per item
    branches: int  # that were heard
    clear: int  # of them, clearly tied to the truth
    admissible: bool = True

    @property
    def kind(self) -> str:
        """Its name in the table of structures."""
        model = self.model
        parts = {"families": model.n_families, "tilt": model.has_tilt, "ease": model.has_ease}
        return ", ".join(part for part, there in parts.items() if there) or "plain"

    @property
    def shares_tilt(self) -> bool:
        """Whether all voters follow the tilt, if there is one, to about the same degree."""
        spread = self.model.branches.spread
        return not self.model.has_tilt or bool(spread[2] < EVEN_TILT * BRANCHES.most[2])

    @property
    def evidence(self) -> float:
        """Lower bound of the log evidence of the sample's votes."""
        return self.model.evidence

    def agreement(self, other: "Candidate") -> float:
        """Return the share of items on which both say the same, or the opposite."""
        same = float(np.mean((self.truth > 0.5) == (other.truth > 0.5)))
        return max(same, 1 - same)


class Choice(NamedTuple):
    """What the contest decided."""

    best: Candidate
    rival: Candidate | None  # the best candidate of another truth, admissible or not
    few: Candidate | None  # a better tree with too few branches
    tried: list[Candidate]
    once: Floats  # weights with which voters who repeat each other count once


def hold_contest(
    spoken: Sample, filled: Sample, kinds: tuple[Kind, ...], least_weight: float
) -> Choice:
    """Return the choice among structures of these kinds.

    `spoken` holds the votes, in which the majority is counted, `filled` the same with rules'
    silence filled in, which the models are fitted to.
    """
    everybody = np.ones(spoken.n_voters)
    once = count_once(spoken) if filled is spoken else everybody
    contest = _Contest(filled, weigh_majority(spoken, everybody), kinds, least_weight)
    with until(0.2):
        contest.fit_alone()
    if "families" in kinds:
        with until(0.7):
            contest.search_families(once)
    if "tilt" in kinds:
        contest.add_tilt()
    choice = _choose(contest.tried, (spoken, filled), once, kinds)
    if choice.rival is None and choice.best.model.n_families:
        choice = choice._replace(rival=contest.reroot(choice.best))
    return choice


def fit_tree(sample: Sample, family: Families, truth: Floats, least_weight: float) -> Candidate:
    """Return the tree of given families, from a given P(f0 = +1)."""
    contest = _Contest(sample, truth, ("families",), least_weight)
    return contest._attempt(family, truth, TREE_ITER)


def list_candidates(tried: Sequence[Any], best: Any) -> tuple[dict[str, Any], ...]:
    """Return one row per kind of structure, its best candidate; the first tried one is plain."""
    plain, rows = tried[0], {}
    for one in sorted(tried, key=lambda one: -one.evidence):
        if one.kind not in rows or one is best:
            rows[one.kind] = {
                "structure": one.kind,
                "gain": one.evidence - plain.evidence,
                "branches": one.branches,
                "agreement": plain.agreement(one),
                "admissible": one.admissible,
                "kept": one is best,
            }
    return tuple(rows.values())


def weigh_majority(sample: Sample, weights: Floats) -> Floats:
    """Return (yes + 1/2) / (votes + 1) per item, voters counted with these weights."""
    ballots, items = sample.ballots, sample.ballots.items
    counts = weights[ballots.voters]
    yes = np.bincount(items, counts * (ballots.votes > 0), ballots.n_items)
    return np.asarray((yes + 0.5) / (np.bincount(items, counts, ballots.n_items) + 1))


class _Contest:
    """The candidates tried so far."""

    def __init__(
        self, sample: Sample, start: Floats, kinds: tuple[Kind, ...], least_weight: float
    ) -> None:
        self.sample, self.start, self.kinds = sample, start, kinds
        self.least_weight = least_weight
        self.tried: list[Candidate] = []
        self._seen: set[tuple[bytes, ...]] = set()

    def fit_alone(self) -> None:
        """Fit the voters without families, with and without ease."""
        nobody = np.full(self.sample.n_voters, -1)
        self.alone = [self._attempt(nobody, self.start, MAX_ITER)]
        if "ease" in self.kinds:
            self.alone.append(self._ease(self.alone[0]))

    def search_families(self, once: Floats) -> None:
        """Fit families found on several axes: the majority's, with repeats counted once, and EM's.

        Then those found on the axes of the best trees, and the best of all with ease.
        """
        n_voters, best = self.sample.n_voters, max(self.alone, key=_evidence)
        even = Consensus.first(np.full(n_voters, -1)).states
        axes = [
            (self.start, _sides(self.start), even),
            (best.truth, best.posterior, best.model.states),
        ]
        if (once < 1).any():
            counted = weigh_majority(self.sample, once)
            axes.insert(1, (counted, _sides(counted), even))
        for _ in each(range(ROUNDS)):
            found = []
            for truth, posterior, states in axes:
                for family in propose_families(find_ties(self.sample, posterior, states), n_voters):
                    found += self._fit_families(family, truth)
            found = sorted(found, key=_evidence, reverse=True)[:KEPT_TREES]
            axes = [(tree.truth, tree.posterior, tree.model.states) for tree in found]
        if "ease" in self.kinds:
            for tree in self._best_trees():
                self._ease(tree)

    def add_tilt(self) -> None:
        """Add a tilt to the best fit without families, with and without ease."""
        best = max(self.alone, key=_evidence)
        small = min(np.mean(best.truth > 0.5), np.mean(best.truth < 0.5))
        rest = max(one.evidence for one in self.tried if one.admissible)
        for begin in (replace(best.model, ease=EVEN), best.model.easing())[: len(self.alone)]:
            model = fit_consensus(self.sample.blocks, _tilted(begin), max_iter=TILT_ITER)
            tilted = self._enter(model)
            rare = min(np.mean(tilted.truth > 0.5), np.mean(tilted.truth < 0.5))
            same = np.mean((tilted.truth > 0.5) == (best.truth > 0.5)) >= SAME_TRUTH
            ahead = tilted.evidence > rest + TILT_LEAD * _price_node(self.sample)
            shared = tilted.shares_tilt or ahead
            _, weight, pull = tilted.model.branches.center
            led = weight > (0 if tilted.shares_tilt else TILT_LED * abs(pull))
            fit = bool(same and shared and led and rare > RAREST * small)
            self.tried.append(replace(tilted, admissible=fit))

    def reroot(self, best: Candidate) -> Candidate | None:
        """Return the tree whose root is a family with as many branches and another opinion."""
        leans = infer(self.sample.ballots, best.model.factors)[1]
        sizes = np.bincount(best.model.family[~best.model.lone])
        for c in np.flatnonzero((sizes >= LEAST_BRANCHES - 1) & (sizes + 1 >= best.branches)):
            heard = leans[:, c] >= 0
            same = np.mean((leans[:, c] > 0.5)[heard] == (best.truth > 0.5)[heard])
            if same < SAME_TRUTH:
                family = number_families(np.where(best.model.family == c, -1, 0))
                return self._attempt(family, np.where(heard, leans[:, c], 0.5), TREE_ITER)
        return None

    def _fit_families(self, family: Families, truth: Floats) -> list[Candidate]:
        """Return the tree of these families; pruned, where some voters hardly repeat them."""
        if not self._is_new(family, truth):
            return []
        tree = self._attempt(family, truth, TREE_ITER)
        if not tree.admissible:
            family = prune_families(tree.model)
            if family.max() < 0 or not self._is_new(family, truth):
                return []
            tree = self._attempt(family, truth, TREE_ITER)
        return [tree] if tree.admissible else []

    def _best_trees(self) -> list[Candidate]:
        kept: dict[bytes, Candidate] = {}
        for tree in sorted(self.tried, key=_evidence, reverse=True):
            if tree.model.n_families and tree.admissible and len(kept) < KEPT_TREES:
                kept.setdefault(tree.model.family.tobytes(), tree)
        return list(kept.values())

    def _is_new(self, family: Families, truth: Floats) -> bool:
        key = family.tobytes(), np.round(truth[:100], 1).tobytes()
        new = key not in self._seen
        self._seen.add(key)
        return new

    def _attempt(self, family: NDArray[np.integer], truth: Floats, max_iter: int) -> Candidate:
        blocks = self.sample.blocks
        odds = logit(np.clip(truth, 1e-3, 1 - 1e-3))
        least = {"least_weight": self.least_weight}
        model = start_consensus(blocks, Consensus.first(family), odds, **least)
        with another():
            found = self._enter(fit_consensus(blocks, model, max_iter=max_iter, **least))
        found = replace(found, admissible=_repeat(found.model, REPEATS))
        self.tried.append(found)
        return found

    def _ease(self, candidate: Candidate) -> Candidate:
        model = fit_consensus(
            *(self.sample.blocks, candidate.model.easing()),
            max_iter=EASE_ITER,
            least_weight=self.least_weight,
        )
        found = self._enter(model)
        found = replace(found, admissible=_repeat(model, EASE_REPEATS * REPEATS))
        self.tried.append(found)
        return found

    def _enter(self, model: Consensus) -> Candidate:
        factors = model.factors
        posterior = infer(self.sample.ballots, factors)[0]
        heard = np.bincount(self.sample.ballots.voters, minlength=model.n_voters) > 0
        rows = np.concatenate([model.lone & heard, np.ones(model.n_families, dtype=np.bool_)])
        weights = np.abs(model.branches.means[rows, 1])
        errors = np.sqrt(model.branches.covariances[rows, 1, 1])
        clear = int(np.count_nonzero(weights > CLEAR_ERRORS * errors))
        truth = posterior[:, factors.says_yes].sum(axis=1)
        return Candidate(model, posterior, truth, int(np.count_nonzero(rows)), clear)


def _choose(
    tried: list[Candidate], samples: tuple[Sample, Sample], once: Floats, kinds: tuple[Kind, ...]
) -> Choice:
    """Return the best candidate by the two rules."""
    spoken, filled = samples
    tie = _price_node(spoken)
    fit = [one for one in tried if one.admissible and _is_asked_for(one, kinds)] or tried[:1]
    rooted = [one for one in fit if not one.model.n_families or one.branches >= LEAST_BRANCHES]
    best = _pick(rooted or tried[:1], tie)
    alone = _pick([one for one in rooted if not one.model.n_families] or tried[:1], tie)
    rival: Candidate | None = None
    if len(kinds) > 1 and best.agreement(alone) < SAME_TRUTH:
        rival = alone
        # with silence filled in, rules look dependent whatever the model
        if filled is not spoken or measure_misfit(filled, best.model)[1] > FITS:
            referee = weigh_majority(spoken, once)
            near = sorted((best, alone), key=lambda one: -measure_nearness(one.truth, referee))
            best, rival = near
    fullest = _pick(fit, tie)
    few = fullest if fullest.model.n_families and fullest.branches < LEAST_BRANCHES else None
    if few is not None and few.evidence < best.evidence + FEW_LEAD * tie:
        few = None
    if rival is not None and rival.evidence <= best.evidence - tie:
        rival = None
    if rival is None and len(kinds) > 1:
        better = [
            one
            for one in tried
            if one.evidence > best.evidence + tie and one.agreement(best) < SAME_TRUTH
        ]
        rival = max(better, key=_evidence, default=None)
    return Choice(best, rival, few, tried, once)


def _price_node(sample: Sample) -> float:
    """Return log n: what one hidden node with two coefficients costs."""
    heard = int(np.count_nonzero(sample.ballots.counts))
    return float(np.log(max(heard, 2)))


def _is_asked_for(candidate: Candidate, kinds: tuple[Kind, ...]) -> bool:
    """Return whether it is of a kind that was asked for: with one kind, of that one alone."""
    return len(kinds) > 1 or candidate.kind == kinds[0]


def _pick(candidates: list[Candidate], tie: float) -> Candidate:
    """Return the candidate with the largest evidence; where it ties, the one with most branches."""
    most = max(one.evidence for one in candidates)
    near = [one for one in candidates if one.evidence > most - tie]
    return max(near, key=lambda one: (one.branches, not one.model.has_tilt, one.evidence))


def measure_nearness(truth: Floats, referee: Floats) -> float:
    """Return the share of the items that the referee decides on which it says the same; or 1."""
    decided = referee != 0.5
    same = (truth > 0.5)[decided] == (referee > 0.5)[decided]
    return float(same.mean()) if same.size else 1.0


def _repeat(model: Consensus, least: float) -> bool:
    """Return whether all voters of families repeat them."""
    return bool((model.members.means[~model.lone, 1] >= least).all())


def _tilted(model: Consensus) -> Consensus:
    """Return the same voters with a tilt: a start of EM."""
    first = Consensus.first(model.family, tilt=True)
    means = first.branches.means.copy()
    means[:, :2] = model.branches.means
    means[:, 2] = FIRST_TILT
    branches = replace(first.branches, means=means)
    return replace(first, branches=branches, ease=model.ease, rate=model.rate)


def _sides(truth: Floats) -> Floats:
    return np.stack([truth, 1 - truth], axis=1)


def _evidence(candidate: Candidate) -> float:
    return candidate.evidence
