"""The consensus: the truth is what the voters agree on.

`model.py` is the model and its EM, `coefficients.py` what it learns of each voter. Which hidden
nodes it has besides the truth (families of voters who repeat each other, items of unequal ease, a
tilt that all voters share) is decided in a contest (`contest.py`; families are proposed in
`families.py`). How far its model can be believed is its doubt (`doubt.py`). What the votes cannot
decide is averaged over in a pool (`pool.py`), and what speaks against the result is listed
(`checks.py`).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from unelisa.latent.consensus.checks import (
    DOUBTED,
    Tally,
    describe_answers,
    find_implied,
    find_reasons,
    sum_answers,
)
from unelisa.latent.consensus.contest import (
    LEAST_BRANCHES,
    Candidate,
    Choice,
    Kind,
    fit_tree,
    hold_contest,
    list_candidates,
    weigh_majority,
)
from unelisa.latent.consensus.doubt import SHARE, Doubt, measure_doubt
from unelisa.latent.consensus.families import number_families
from unelisa.latent.consensus.model import Families, Floats, fit_consensus
from unelisa.latent.consensus.pool import CENTERED, Pool, Terms, fit_pool
from unelisa.latent.consensus.reading import ConsensusReading, find_experts
from unelisa.latent.crowd import Crowd, Sample
from unelisa.latent.reading import LEAST_CLEAR, NOTHING_FOUND, Caution
from unelisa.progress import until

__all__ = ["ConsensusReading", "Kind", "read_consensus"]

SEARCH_VOTES, FIT_VOTES = 40_000, 300_000  # on which structures are compared, and pools fitted
LEAST_WEIGHT = 0.2  # of a rule: its silence must not make it a contrarian
NO_DOUBT = Doubt(0.0, 0.0, 0.0)


def read_consensus(crowd: Crowd, kinds: tuple[Kind, ...]) -> ConsensusReading:
    """Return what the voters agree on; with one kind of structure, in that one alone."""
    spoken, filled = crowd.draw_votes(SEARCH_VOTES)
    rules = bool(crowd.silence.any())
    least = LEAST_WEIGHT if rules else -np.inf
    if rules:
        # a rule's bias is its coverage, which a tilt would explain
        kinds = tuple(kind for kind in kinds if kind != "tilt") or ("plain",)
    with until(0.3):
        choice = hold_contest(spoken, filled, kinds, least)
    implied = [] if rules else find_implied(filled)
    choice = _merge_implied(choice, implied, crowd, filled)
    if choice.few is not None and choice.few.branches == LEAST_CLEAR:
        # enough to estimate how good each is, though not to test it
        choice = choice._replace(best=choice.few)
    majority = weigh_majority(spoken, choice.once)
    # items on which no rule speaks are left out, which makes rules look dependent: no doubt there
    best = choice.best
    doubt = NO_DOUBT if rules else measure_doubt(filled, best.model, best.truth, majority)
    majority = majority[spoken.ballots.counts > 0]
    if len(kinds) == 1:
        alone = _fit_alone(crowd, best, least)
        return _describe(crowd, filled, choice, alone, majority, doubt)
    with until(0.9):
        pool = _fit_pool(crowd, best, choice.once, doubt.share)
    if doubt.size > DOUBTED:
        # families are as doubtful as the model that they belong to
        pool = replace(pool, family=np.full_like(pool.family, -1))
    if choice.few is not None and choice.few is not best:
        family = choice.few.model.family
        pool = replace(pool, weights=np.zeros(len(pool.members)), share=1.0, family=family)
    reading = _describe(crowd, filled, choice, pool, majority, doubt)
    family = reading.family
    strangers = [(s, t) for s, t in implied if family[s] < 0 or family[s] != family[t]]
    if strangers and choice.few is None:
        reading = replace(reading, notes=(*reading.notes, _tell_implied(strangers)))
    if choice.rival is None:
        return reading
    return replace(reading, others=(_describe_rival(crowd, choice, choice.rival),))


def _fit_pool(
    crowd: Crowd,
    candidate: Candidate,
    once: Floats,
    weight: float,
    centered: Sequence[float] = CENTERED,
) -> Pool:
    """Return the pool on a candidate's structure; many votes are fitted in part."""
    samples = spoken, _ = crowd.draw_votes(FIT_VOTES)
    rules = bool(crowd.silence.any())
    part = spoken.ballots.n_items < crowd.ballots.n_items
    pool = fit_pool(
        *(samples, candidate, weigh_majority(spoken, once), weight),
        Terms(
            centered if not rules else (0.0,),
            LEAST_WEIGHT if rules else -np.inf,
            crowd.ballots if part else None,
        ),
    )
    members = tuple(one.without(crowd.votes == 0) for one in pool.members)
    return replace(pool, members=members, kept=crowd.kept)


def _fit_alone(crowd: Crowd, candidate: Candidate, least_weight: float) -> Pool:
    """Return one structure alone as a pool of one."""
    model = fit_consensus(crowd.ballots, candidate.model, least_weight=least_weight)
    model = model.without(crowd.votes == 0)
    chance = 1 / (1 + np.exp(-model.rate / 2))
    return Pool((model,), np.ones(1), 0.0, model.family, crowd.kept, float(chance))


def _describe(
    crowd: Crowd, sample: Sample, choice: Choice, pool: Pool, majority: Floats, doubt: Doubt
) -> ConsensusReading:
    """Return the pool as the reading that is taken, with what speaks against it."""
    tally = Tally(*crowd.spoken.sum(sum_answers, pool, crowd.silence))
    reasons = tuple(find_reasons(sample, choice, tally, pool, majority, doubt))
    reading = _read_pool(crowd, choice, pool, tally)
    family = (choice.few or choice.best).model.family
    branches = _count_branches(family, crowd.votes > 0)
    reading = replace(reading, reasons=reasons, family=family, branches=branches)
    if choice.few is not None or NOTHING_FOUND in {reason.text for reason in reasons}:
        reading = replace(reading, experts=np.zeros_like(reading.experts))
    return reading


def _describe_rival(crowd: Crowd, choice: Choice, rival: Candidate) -> ConsensusReading:
    """Return the second reading."""
    pool = _fit_pool(crowd, rival, choice.once, SHARE, centered=(0.0,))
    tally = Tally(*crowd.spoken.sum(sum_answers, pool, crowd.silence))
    reading = _read_pool(crowd, choice._replace(best=rival), pool, tally)
    return replace(reading, agreement=choice.best.agreement(rival))


def _read_pool(crowd: Crowd, choice: Choice, pool: Pool, tally: Tally) -> ConsensusReading:
    """Return a pool on the structure of the choice's best candidate as a reading."""
    answers = describe_answers(tally, pool)
    return ConsensusReading(
        structure=choice.best.kind + (", silence filled in" if crowd.silence.any() else ""),
        model=pool.best,
        pool=pool,
        experts=find_experts(answers.coins, crowd.votes, answers.prevalence),
        silence=crowd.silence,
        family=pool.family,
        branches=_count_branches(pool.family, crowd.votes > 0),
        evidence=choice.best.evidence - choice.tried[0].evidence,
        answers=answers,
        table=list_candidates(choice.tried, choice.best),
    )


def _count_branches(family: Families, heard: NDArray[np.bool_]) -> int:
    return int(np.count_nonzero(heard & (family < 0)) + family.max(initial=-1) + 1)


def _merge_implied(
    choice: Choice, implied: list[tuple[int, int]], crowd: Crowd, sample: Sample
) -> Choice:
    """Return the choice with voters who imply each other as families, where few others are left.

    Three branches fit any truth, so that the residuals of four voters hardly show who repeats whom.
    """
    if not implied or choice.few is not None or choice.best.branches > LEAST_BRANCHES:
        return choice
    groups = np.arange(len(crowd.votes))
    for c in range(choice.best.model.n_families):
        own = np.flatnonzero(choice.best.model.family == c)
        groups[own] = groups[own[0]]
    for s, t in implied:
        groups[groups == groups[t]] = groups[s]
    family = number_families(groups)
    branches = _count_branches(family, crowd.votes > 0)
    if branches >= LEAST_BRANCHES:
        return choice
    merged = fit_tree(sample, family, choice.best.truth, -np.inf)
    return choice._replace(few=replace(merged, branches=branches))


def _tell_implied(implied: list[tuple[int, int]]) -> Caution:
    rest = len(implied) - 1
    more = f"; so it is with {rest} more {'pair' if rest == 1 else 'pairs'}" if rest else ""
    return Caution(
        "of {pair}, the second says yes wherever the first does: they may share a source, and "
        f"their accuracy may be overstated{more}",
        tuple(s for pair in implied for s in pair),
    )
