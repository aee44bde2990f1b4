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
from typing import Any

import numpy as np

from unelisa.latent.consensus.checks import (
    DOUBTED,
    LEAST_CLEAR,
    Tally,
    are_unrelated,
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
    weigh_majority,
)
from unelisa.latent.consensus.doubt import SHARE, Doubt, measure_doubt
from unelisa.latent.consensus.families import number_families
from unelisa.latent.consensus.model import Consensus, Floats, fit_consensus
from unelisa.latent.consensus.pool import (
    CENTERED,
    Pool,
    fit_pool,
)
from unelisa.latent.consensus.reading import ConsensusReading, find_experts
from unelisa.latent.crowd import Crowd, Sample
from unelisa.latent.reading import NOTHING_FOUND, Caution

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
        return _describe(crowd, choice, _fit_alone(crowd, best, least), majority, doubt)
    pool = _fit_pool(crowd, best, choice, doubt.share)
    if doubt.size > DOUBTED:
        # families are as doubtful as the model that they belong to
        pool = replace(pool, family=np.full_like(pool.family, -1))
    if choice.few is not None and choice.few is not best:
        family = choice.few.model.family
        pool = replace(pool, weights=np.zeros(len(pool.members)), share=1.0, family=family)
    reading = _describe(crowd, choice, pool, majority, doubt)
    reading = _check_branches(reading, filled, best.model)
    family = reading.family
    strangers = [(s, t) for s, t in implied if family[s] < 0 or family[s] != family[t]]
    if strangers and choice.few is None:
        reading = replace(reading, notes=(*reading.notes, _tell_implied(strangers)))
    if choice.rival is None:
        return reading
    other = _describe_rival(crowd, choice)
    return replace(reading, others=(other,))


def _check_branches(
    reading: ConsensusReading, sample: Sample, model: Consensus
) -> ConsensusReading:
    """Return the reading, without experts where families explain all of the dependence."""
    if not model.n_families or not are_unrelated(sample, model):
        return reading
    reasons = (Caution(NOTHING_FOUND), *reading.reasons)
    return replace(reading, reasons=reasons, experts=np.zeros_like(reading.experts))


def _fit_pool(
    crowd: Crowd,
    candidate: Candidate,
    choice: Choice,
    weight: float,
    centered: Sequence[float] = CENTERED,
) -> Pool:
    """Return the pool on a candidate's structure, fitted to a part of the votes if they are many.

    Then one more iteration on all votes, for voters who are rare in that part.
    """
    samples = spoken, _ = crowd.draw_votes(FIT_VOTES)
    rules = bool(crowd.silence.any())
    pool = fit_pool(
        *(samples, candidate, weigh_majority(spoken, choice.once), weight),
        centered=centered if not rules else (0.0,),
        least_weight=LEAST_WEIGHT if rules else -np.inf,
    )
    members = pool.members
    if spoken.ballots.n_items < crowd.ballots.n_items:
        members = tuple(fit_consensus(crowd.ballots, one, max_iter=2) for one in members)
    idle = crowd.votes == 0
    members = tuple(one.without(idle) for one in members)
    return replace(pool, members=members, kept=crowd.kept)


def _fit_alone(crowd: Crowd, candidate: Candidate, least_weight: float) -> Pool:
    """Return one structure alone as a pool of one."""
    model = fit_consensus(crowd.ballots, candidate.model, least_weight=least_weight)
    model = model.without(crowd.votes == 0)
    chance = 1 / (1 + np.exp(-model.rate / 2))
    return Pool((model,), np.ones(1), 0.0, model.family, crowd.kept, float(chance))


def _describe(
    crowd: Crowd, choice: Choice, pool: Pool, majority: Floats, doubt: Doubt
) -> ConsensusReading:
    """Return the pool as a reading, with what speaks against it."""
    tally = Tally(*crowd.spoken.sum(sum_answers, pool, crowd.silence))
    answers = describe_answers(tally, pool)
    reasons = tuple(find_reasons(crowd, choice, tally, pool, majority, doubt))
    experts = find_experts(answers.coins, crowd.votes, answers.prevalence)
    if choice.few is not None or NOTHING_FOUND in {reason.text for reason in reasons}:
        experts[:] = False
    heard = crowd.votes > 0
    family = (choice.few or choice.best).model.family
    if _count_branches(family, heard) < LEAST_CLEAR:
        # nobody can be checked by two others: how good each is cannot be told
        answers = answers._replace(coins=np.full_like(answers.coins, np.nan))
    return ConsensusReading(
        structure=choice.best.kind + (", silence filled in" if crowd.silence.any() else ""),
        model=pool.best,
        pool=pool,
        experts=experts,
        silence=crowd.silence,
        family=family,
        branches=_count_branches(family, heard),
        evidence=choice.best.evidence - choice.tried[0].evidence,
        answers=answers,
        reasons=reasons,
        table=_list_candidates(choice),
    )


def _describe_rival(crowd: Crowd, choice: Choice) -> ConsensusReading:
    """Return the second reading."""
    rival = choice.rival
    if rival is None:
        raise ValueError("no rival")
    pool = _fit_pool(crowd, rival, choice, SHARE, centered=(0.0,))
    tally = Tally(*crowd.spoken.sum(sum_answers, pool, crowd.silence))
    answers = describe_answers(tally, pool)
    return ConsensusReading(
        structure=rival.kind,
        model=pool.best,
        pool=pool,
        experts=find_experts(answers.coins, crowd.votes, answers.prevalence),
        silence=crowd.silence,
        family=pool.family,
        branches=_count_branches(pool.family, crowd.votes > 0),
        evidence=rival.evidence - choice.tried[0].evidence,
        agreement=choice.best.agreement(rival),
        answers=answers,
        table=_list_candidates(choice._replace(best=rival)),
    )


def _count_branches(family: Any, heard: Any) -> int:
    return int(np.count_nonzero(heard & (family < 0)) + family.max(initial=-1) + 1)


def _list_candidates(choice: Choice) -> tuple[dict[str, Any], ...]:
    """Return one row per kind of structure: its best candidate."""
    plain, rows = choice.tried[0], {}
    for one in sorted(choice.tried, key=lambda one: -one.evidence):
        if one.kind not in rows or one is choice.best:
            rows[one.kind] = {
                "structure": one.kind,
                "gain": one.evidence - plain.evidence,
                "branches": one.branches,
                "agreement": plain.agreement(one),
                "admissible": one.admissible,
                "kept": one is choice.best,
            }
    return tuple(rows.values())


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
    s, t = implied[0]
    more = f"; so it is with {len(implied) - 1} more pairs" if len(implied) > 1 else ""
    return Caution(
        "of {voters}, the second says yes wherever the first does: they may share a source, and "
        f"their accuracy may be overstated{more}",
        (s, t),
    )
