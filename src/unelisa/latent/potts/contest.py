"""The contest over K classes: plain, ease and families, decided by the votes alone.

By the rules of `latent.consensus.contest`: among candidates with the same truth the evidence
decides, less than log n nats is a tie, and then the most branches win; between two truths the
majority is the referee, voters who repeat each other counted once, unless the best model describes
the votes. Families must leave four branches, and their voters repeat them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.kernels.potts import expect_answers
from unelisa.latent.consensus.checks import CASES, IMPLIED
from unelisa.latent.consensus.contest import (
    CLEAR_ERRORS,
    FEW_LEAD,
    FITS,
    KEPT_TREES,
    LEAST_BRANCHES,
    ROUNDS,
    SAME_TRUTH,
)
from unelisa.latent.consensus.families import (
    Ties,
    number_families,
    pick_ties,
    propose_families,
    weigh_once,
)
from unelisa.latent.consensus.model import Families, Floats
from unelisa.latent.crowd import Sample
from unelisa.latent.pairs import correlate_residuals, measure_agreement
from unelisa.latent.potts.doubt import measure_class_misfit
from unelisa.latent.potts.model import (
    ClassConsensus,
    fit_classes,
    infer,
    list_answers,
    start_classes,
    sum_ease,
)
from unelisa.progress import another

ClassKind = Literal["plain", "ease", "families"]

REPEATS = 0.8  # least mean P(says g | opinion g) of a family's voter
ITERATIONS = 20


@dataclass(frozen=True, eq=False)
class ClassCandidate:
    """A structure of the consensus, fitted to a sample."""

    model: ClassConsensus
    posterior: Floats  # of class and ease, per item
    branches: int  # that were heard
    clear: int  # of them, clearly tied to the class

    @property
    def kind(self) -> str:
        """Its name in the table of structures."""
        parts = {"families": self.model.n_families, "ease": self.model.has_ease}
        return ", ".join(part for part, there in parts.items() if there) or "plain"

    @property
    def evidence(self) -> float:
        """Approximate log evidence of the sample's votes."""
        return self.model.evidence

    @property
    def truth(self) -> Floats:
        """P(class) per item: items x classes."""
        return sum_ease(self.posterior, self.model.n_classes)

    @property
    def admissible(self) -> bool:
        """Whether the voters of all families repeat them."""
        return bool((self.model.repeats[~self.model.lone] >= REPEATS).all())

    def agreement(self, other: "ClassCandidate") -> float:
        """Return the share of items on which both name the same class."""
        return float(np.mean(self.truth.argmax(axis=1) == other.truth.argmax(axis=1)))


class ClassChoice(NamedTuple):
    """What the contest decided."""

    best: ClassCandidate
    rival: ClassCandidate | None  # the better fit of another truth
    few: Families | None  # families of a better tree with too few branches
    tried: list[ClassCandidate]
    once: Floats  # weights with which voters who repeat each other count once


class Attempt(NamedTuple):
    """What all candidates are fitted to."""

    sample: Sample
    form: Floats
    least_weight: float

    def fit(
        self, family: NDArray[np.integer], truth: Floats, *, ease: bool = False
    ) -> ClassCandidate:
        """Return the structure fitted from P(class) per item."""
        blocks, least = self.sample.blocks, self.least_weight
        first = ClassConsensus.first(family, self.form, ease=ease)
        with another():
            model = fit_classes(
                *(blocks, start_classes(blocks, first, truth, least)),
                least_weight=least,
                max_iter=ITERATIONS,
            )
        heard = np.bincount(self.sample.ballots.voters, minlength=model.n_voters) > 0
        rows = np.concatenate([model.lone & heard, np.ones(model.n_families, dtype=np.bool_)])
        errors = np.sqrt(model.branches.weight_variances[rows])
        clear = np.count_nonzero(np.abs(model.branches.weights[rows]) > CLEAR_ERRORS * errors)
        posterior = infer(self.sample.ballots, model.factors)
        return ClassCandidate(model, posterior, int(np.count_nonzero(rows)), int(clear))


def hold_contest(
    samples: tuple[Sample, Sample],
    form: Floats,
    kinds: tuple[ClassKind, ...],
    least_weight: float,
) -> ClassChoice:
    """Return the choice among structures of these kinds.

    `samples` are the votes, in which the majority is counted, and the same with rules' silence
    filled in, which the models are fitted to.
    """
    spoken, filled = samples
    n_classes, n_voters = len(form), spoken.n_voters
    once = np.ones(n_voters)
    if filled is spoken:
        once = weigh_once(find_ties(spoken, *_no_truth(spoken, form.shape[1])), n_voters)
    start = weigh_majority(spoken, np.ones(n_voters), n_classes)
    attempt = Attempt(filled, form, least_weight)
    nobody = np.full(n_voters, -1)
    tried = [attempt.fit(nobody, start)]
    if "ease" in kinds:
        tried.append(attempt.fit(nobody, start, ease=True))
    if "families" in kinds:
        referee = weigh_majority(spoken, once, n_classes)
        tried += _search_families(attempt, max(tried, key=_evidence), referee)
        if "ease" in kinds:
            trees = [one for one in tried if one.model.n_families]
            trees = sorted(trees, key=_evidence, reverse=True)[:1]
            tried += [attempt.fit(one.model.family, one.truth, ease=True) for one in trees]
    choice = _choose(tried, samples, once, kinds)
    if choice.few is None and choice.best.branches <= LEAST_BRANCHES and filled is spoken:
        return choice._replace(few=_merge_copies(spoken, choice.best.model.family))
    return choice


def _merge_copies(sample: Sample, family: Families) -> Families | None:
    """Return the families with voters who always say the same as one; None where there are none.

    With few branches the residuals of copies hardly show: three branches fit any truth.
    """
    first, second, common = sample.pairs
    answers = sample.ballots.answers
    alike = measure_agreement(sample.ballots, sample.pairs, answers, sample.n_voters) >= IMPLIED
    groups = np.where(family < 0, np.arange(len(family)), len(family) + family)
    for pair in np.flatnonzero(alike & (common >= CASES)):
        groups[groups == groups[second[pair]]] = groups[first[pair]]
    merged = number_families(groups)
    return None if np.array_equal(merged, family) else merged


def count_branches(family: Families) -> int:
    """Return the number of families, and of voters without one."""
    return int(np.count_nonzero(family < 0) + family.max(initial=-1) + 1)


def weigh_majority(sample: Sample, weights: Floats, n_classes: int) -> Floats:
    """Return (votes for k + 1 / K) / (votes + 1) per item, voters counted with these weights."""
    ballots = sample.ballots
    cells = ballots.items * n_classes + ballots.answers
    counts = np.bincount(cells, weights[ballots.voters], ballots.n_items * n_classes)
    shares = counts.reshape(ballots.n_items, n_classes) + 1 / n_classes
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def find_ties(sample: Sample, posterior: Floats, chances: Floats) -> Ties:
    """Return who goes together beyond what the hidden states explain.

    `chances` holds P(answer | state) per voter.
    """
    starts, voters, answers = list_answers(sample.ballots)
    residuals = -expect_answers(starts, voters, posterior, np.ascontiguousarray(chances))
    residuals[np.arange(len(answers)), answers] += 1
    correlations = correlate_residuals(sample.ballots, sample.pairs, residuals, sample.n_voters)
    return pick_ties(sample, correlations.astype(np.float64))


def _no_truth(sample: Sample, n_answers: int) -> tuple[Floats, Floats]:
    """Return one state for all items, and each voter's shares of answers in it."""
    cells = sample.ballots.voters.astype(np.int64) * n_answers + sample.ballots.answers
    counts = np.bincount(cells, minlength=sample.n_voters * n_answers).astype(np.float64)
    shares = counts.reshape(sample.n_voters, n_answers, 1)
    shares = shares / np.maximum(shares.sum(axis=1, keepdims=True), 1)
    return np.ones((sample.ballots.n_items, 1)), shares


def _search_families(
    attempt: Attempt, alone: ClassCandidate, referee: Floats
) -> list[ClassCandidate]:
    """Return trees of families found beside the truth of the majority and of the fit alone."""
    sample, found, seen = attempt.sample, list[ClassCandidate](), set[bytes]()
    nobody = np.full(sample.n_voters, -1)
    first = ClassConsensus.first(nobody, attempt.form)
    blocks, least = sample.blocks, attempt.least_weight
    counted = start_classes(blocks, first, referee, least)
    axes = [(referee, referee, counted), (alone.truth, alone.posterior, alone.model)]
    for _ in range(ROUNDS):
        trees: list[ClassCandidate] = []
        for truth, posterior, model in axes:
            ties = find_ties(sample, posterior, model.chances)
            for family in propose_families(ties, sample.n_voters):
                trees += _fit_new(attempt, family, truth, seen)
        found += trees
        best = sorted(trees, key=_evidence, reverse=True)[:KEPT_TREES]
        axes = [(tree.truth, tree.posterior, tree.model) for tree in best]
    return found


def _fit_new(
    attempt: Attempt, family: Families, truth: Floats, seen: set[bytes]
) -> Iterator[ClassCandidate]:
    """Yield the tree of families not tried before; without voters who hardly repeat them."""
    for _ in range(2):
        key = family.tobytes() + np.round(truth[:100], 1).tobytes()
        if family.max(initial=-1) < 0 or key in seen:
            return
        seen.add(key)
        tree = attempt.fit(family, truth)
        if tree.admissible:
            yield tree
            return
        kept = tree.model.lone | (tree.model.repeats >= REPEATS)
        family = number_families(np.where(kept, tree.model.family, -1))


def _choose(
    tried: list[ClassCandidate],
    samples: tuple[Sample, Sample],
    once: Floats,
    kinds: tuple[ClassKind, ...],
) -> ClassChoice:
    """Return the best candidate by the two rules."""
    spoken, filled = samples
    heard = int(np.count_nonzero(spoken.ballots.counts))
    tie = float(np.log(max(heard, 2)))
    fit = [one for one in tried if one.admissible and (len(kinds) > 1 or one.kind == kinds[0])]
    fit = fit or tried[:1]
    rooted = [one for one in fit if not one.model.n_families or one.branches >= LEAST_BRANCHES]
    best = _pick(rooted or tried[:1], tie)
    alone = _pick([one for one in rooted if not one.model.n_families] or tried[:1], tie)
    rival = None
    if best.agreement(alone) < SAME_TRUTH:
        rival = alone
        # with silence filled in, rules look dependent whatever the model
        if filled is not spoken or measure_class_misfit(filled, best.model)[1] > FITS:
            referee = weigh_majority(spoken, once, best.model.n_classes).argmax(axis=1)
            near = [float(np.mean(one.truth.argmax(axis=1) == referee)) for one in (best, alone)]
            best, rival = (best, alone) if near[0] >= near[1] else (alone, best)
        if rival.evidence <= best.evidence - tie:
            rival = None
    fullest = _pick(fit, tie)
    small = fullest.model.n_families > 0 and fullest.branches < LEAST_BRANCHES
    clear = fullest.evidence > best.evidence + FEW_LEAD * tie
    few = fullest.model.family if small and clear else None
    return ClassChoice(best, rival, few, tried, once)


def _pick(candidates: list[ClassCandidate], tie: float) -> ClassCandidate:
    """Return the candidate with the largest evidence; where it ties, the one with most branches."""
    most = max(one.evidence for one in candidates)
    near = [one for one in candidates if one.evidence > most - tie]
    return max(near, key=lambda one: (one.branches, one.evidence))


def _evidence(candidate: ClassCandidate) -> float:
    return candidate.evidence
