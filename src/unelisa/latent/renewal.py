"""Renewal: a reading after more votes, without a fit to all of them.

EM needs the votes through sums over items only. A `Ledger` holds these sums under every member of
a reading's pool, so that more votes cost what the items they are on cost (incremental EM)::

    sums = sums - (the items' part as they were) + (the items' part as they are)

and a few M-steps move the coefficients, the items' part being taken anew before each. The parts of
all other items stay as they were under slightly different coefficients. The structure and the
weights of the pool are kept, which is right as long as little is new: where the votes may call for
another structure there is no renewal, and the caller fits everything.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from unelisa.blocks import ItemBlocks
from unelisa.latent.ballots import Ballots, Floats, Sums, fill_silence, keep_voters
from unelisa.latent.consensus import LEAST_WEIGHT, checks, families
from unelisa.latent.consensus import model as two
from unelisa.latent.consensus.reading import ConsensusReading, find_experts
from unelisa.latent.crowd import Sample, read_roles
from unelisa.latent.potts import contest as class_contest
from unelisa.latent.potts import model as many
from unelisa.latent.potts.crowd import code_silence, read_class_roles
from unelisa.latent.potts.reading import (
    ClassReading,
    describe_classes,
    find_class_experts,
    sum_classes,
)
from unelisa.latent.reading import Reading
from unelisa.latent.worth import DOUBT, Cases, describe_worth, sum_cases
from unelisa.schema import stored

GROWTH = 0.2  # votes beyond those of the last fit, as a share of them, from which all are fitted
STEPS = 5  # of EM


@stored(sums="many float[n]", fitted="count")
class Ledger(NamedTuple):
    """What all votes add up to under a reading, and how many votes there were at its last fit."""

    # sums: one after the other and flat, four of EM for every member of the pool that counts, then
    # those of the answers and of the voters' worth
    sums: tuple[Floats, ...]
    fitted: int


class More(NamedTuple):
    """What is new."""

    before: Ballots  # the items with new votes as they were; without votes if they are new
    after: Ballots  # the same items as they are
    counts: NDArray[np.int64]  # how often every voter named each class, in all votes
    n_items: int  # of all votes
    n_new: int  # voters, the last ones


class _Form(NamedTuple):
    """What the consensus of two classes and that of more do alike."""

    fill: Callable[[Ballots, Any], Ballots]  # the votes that EM reads
    collect: Callable[[Ballots, Any], Sums]
    maximize: Callable[[Any, Sums, float], Any]
    sum_answers: Callable[..., Sums]
    voter_axes: tuple[int | None, ...]  # of the sums of the answers, and of the voters' worth


def can_renew(reading: Reading) -> bool:
    """Return whether a reading can be renewed: a consensus that rules on its own, not gold."""
    if not isinstance(reading, ConsensusReading | ClassReading) or reading.others:
        return False
    pool = reading.pool
    turned = getattr(pool, "reverse", False) and bool(reading.silence.any())
    as_fitted = getattr(pool, "slope", 1.0) == 1.0
    return pool.share < 1 and as_fitted and not turned and reading.name == "consensus"


def open_ledger(reading: Any, ballots: ItemBlocks) -> Ledger:
    """Return what all votes add up to, in one pass for every member and one for the answers."""
    form, pool = _find_form(reading), reading.pool
    filled = ballots.view(form.fill, reading)
    counted = [pool.members[k] for k in _find_counted(pool)]
    sums = [part for one in counted for part in filled.sum(form.collect, one.factors)]
    sums += ballots.sum(form.sum_answers, pool, reading.silence)
    sums += ballots.sum(sum_cases, reading, ballots.n_voters, _count_classes(pool))
    votes = int(ballots.concatenate(_count).sum())
    return Ledger(tuple(np.ravel(part) for part in sums), votes)


def is_ledger_of(reading: Any, ledger: Ledger, nothing: Ballots, n_voters: int) -> bool:
    """Return whether a ledger, which may be forged, has the sums of a reading, all finite.

    `nothing` are the ballots of no items.
    """
    form, pool = _find_form(reading), reading.pool
    filled = form.fill(nothing, reading)
    sizes = [
        part.size
        for k in _find_counted(pool)
        for part in form.collect(filled, pool.members[k].factors)
    ]
    sizes += [part.size for part in _sum_told(form, nothing, reading, n_voters)]
    finite = all(np.isfinite(part).all() for part in ledger.sums)
    return finite and sizes == [part.size for part in ledger.sums]


def renew(reading: Any, ledger: Ledger, more: More) -> tuple[Any, Ledger] | None:
    """Return the reading and the ledger after more votes; None where all must be fitted."""
    n_new = more.n_new
    if more.counts.sum() > (1 + GROWTH) * ledger.fitted or not _same_roles(reading, more):
        return None
    if not more.after.n_items:  # new voters who said nothing
        return None if n_new else (reading, ledger)
    grown = _grow_reading(reading, n_new)
    form, pool = _find_form(reading), grown.pool
    before, after = (form.fill(part, grown) for part in (more.before, more.after))
    members, sums = list(pool.members), list[Floats]()
    for k in _find_counted(pool):
        old = form.collect(before, members[k].factors)
        kept = _take_off(ledger, len(sums), old, n_new)
        members[k], found = _move(members[k], kept, form, after, grown)
        sums += found
    if n_new and _repeat_others(members[int(np.argmax(pool.weights))], after, more):
        return None
    renewed = replace(pool, members=tuple(members))
    found = replace(grown, pool=renewed, model=renewed.best)
    old = _sum_told(form, more.before, grown, len(more.counts))
    new = _sum_told(form, more.after, found, len(more.counts))
    told = [
        _pad(flat, before, form.voter_axes[j], n_new) - before + after
        for j, (flat, before, after) in enumerate(
            zip(ledger.sums[len(sums) :], old, new, strict=True)
        )
    ]
    if not all(np.isfinite(part).all() for part in (*sums, *told)):
        return None  # a forged ledger: sums that no votes have
    return _finish(found, told, more), Ledger(tuple(map(np.ravel, (*sums, *told))), ledger.fitted)


def _sum_told(form: _Form, ballots: Ballots, reading: Any, n_voters: int) -> Sums:
    """Return what some items add to the answers, and to the worth of the voters."""
    answers = form.sum_answers(ballots, reading.pool, reading.silence)
    return *answers, *sum_cases(ballots, reading, n_voters, _count_classes(reading.pool))


def _count_classes(pool: Any) -> int:
    return int(getattr(pool, "n_classes", 2))


def _move(
    member: Any, kept: list[Floats], form: _Form, after: Ballots, reading: Any
) -> tuple[Any, list[Floats]]:
    """Return a member after steps of EM, and its sums."""
    least = LEAST_WEIGHT if reading.silence.any() else -np.inf
    for _ in range(STEPS):
        parts = zip(kept, form.collect(after, member.factors), strict=True)
        member = form.maximize(member, tuple(old + new for old, new in parts), least)
    found = zip(kept, form.collect(after, member.factors), strict=True)
    return member, [old + new for old, new in found]


def _find_counted(pool: Any) -> NDArray[np.intp]:
    """Return the members that move; the others have hardly any weight."""
    return np.flatnonzero(pool.weights > checks.COUNTED)


def _take_off(ledger: Ledger, start: int, parts: Sums, n_new: int) -> list[Floats]:
    """Return the sums of EM without some items; new voters have none."""
    n_old = len(parts[1]) - n_new  # those of voters in families, one row per voter
    kept = []
    for j, part in enumerate(parts):
        shape, new = list(part.shape), n_new if j < 2 else 0
        shape[0] -= new
        rows = ledger.sums[start + j].reshape(shape)
        kept.append(np.insert(rows, [n_old] * new, 0.0, axis=0) - part)
    return kept


def _pad(flat: Floats, like: Floats, axis: int | None, n_new: int) -> Floats:
    """Return flat sums in the shape of others, with zeros for new voters at the end of an axis."""
    if axis is None or not n_new:
        return np.asarray(flat.reshape(like.shape))
    shape, width = list(like.shape), [(0, 0)] * like.ndim
    shape[axis] -= n_new
    width[axis] = (0, n_new)
    return np.pad(flat.reshape(shape), width)


def _finish(reading: Any, told: list[Floats], more: More) -> Any:
    """Return the reading with what it says of all items and of every voter."""
    answers, cases = told[:-4], Cases(*told[-4:])
    votes, n_classes = more.counts.sum(axis=1).astype(np.float64), _count_classes(reading.pool)
    if isinstance(reading, ClassReading):
        found: Any = describe_classes(tuple(answers), reading.pool)
        if np.isnan(reading.answers.confusions).all():
            found = found._replace(confusions=np.full_like(found.confusions, np.nan))
        experts = find_class_experts(found)
    else:
        found = checks.describe_answers(checks.Tally(*answers), reading.pool)
        experts = find_experts(found.coins, votes, found.prevalence)
    worth = describe_worth(cases, reading, n_classes, DOUBT if reading.reasons else 1.0)
    worth = worth if reading.told else worth.untold()
    return replace(reading, answers=found, worth=worth, experts=experts & reading.told)


def _same_roles(reading: Any, more: More) -> bool:
    """Return whether all known voters are read as before: as votes, as rules, or not at all."""
    find = read_class_roles if isinstance(reading, ClassReading) else read_roles
    silence, kept = find(more.counts.astype(np.float64), more.n_items)
    n_old = len(reading.silence)
    same = np.array_equal(silence[:n_old], reading.silence)
    same &= np.array_equal(kept[:n_old], reading.pool.kept)
    return bool(same and not silence[n_old:].any() and kept[n_old:].all())


def _repeat_others(member: Any, after: Ballots, more: More) -> bool:
    """Return whether new voters repeat others, on about the same items."""
    sample = Sample(after, member.n_voters)
    if isinstance(member, two.Consensus):
        posterior = two.infer(after, member.factors)[0]
        ties = families.find_ties(sample, posterior, member.states)
    else:
        posterior = many.infer(after, member.factors)
        ties = class_contest.find_ties(sample, posterior, member.chances)
    votes, n_before = more.counts.sum(axis=1), len(more.counts) - more.n_new
    fewer, busier = np.sort([votes[ties.first], votes[ties.second]], axis=0)
    new = np.maximum(ties.first, ties.second) >= n_before
    return bool((new & (fewer >= families.OVERLAP * busier)).any())


def _grow_reading(reading: Any, n_new: int) -> Any:
    """Return the reading with more voters, of whom nothing is known yet."""
    if not n_new:
        return reading
    pool = reading.pool
    alone, none = np.full(n_new, -1, dtype=np.int32), np.zeros(n_new, dtype=np.int8)
    members = tuple(
        replace(
            one,
            family=np.append(one.family, alone),
            branches=one.branches.grown(one.n_voters, n_new),
            members=one.members.grown(one.n_voters, n_new),
        )
        for one in pool.members
    )
    pool = replace(
        pool,
        members=members,
        family=np.append(pool.family, alone),
        kept=np.append(pool.kept, none == 0),
    )
    return replace(
        reading,
        pool=pool,
        model=pool.best,
        silence=np.append(reading.silence, none),
        experts=np.append(reading.experts, none != 0),
        family=np.append(reading.family, alone),
        branches=reading.branches + n_new,
    )


def _maximize_two(member: two.Consensus, sums: Sums, least: float) -> two.Consensus:
    said, repeated, states, (evidence, _, n_items) = sums
    # what the class rate expects is its own, not that of earlier coefficients
    totals = np.array([evidence, n_items * expit(member.rate), n_items])
    parts = said, repeated, states, totals
    return two.maximize(member, parts, 1, member.centered, least)


def _maximize_many(member: many.ClassConsensus, sums: Sums, least: float) -> many.ClassConsensus:
    return many.maximize(member, sums, 1, 2 * least)


def _fill_two(ballots: Ballots, reading: Any) -> Ballots:
    read = keep_voters(ballots, reading.pool.kept)
    return fill_silence(read, reading.silence)


def _fill_many(ballots: Ballots, reading: Any) -> Ballots:
    read = keep_voters(ballots, reading.pool.kept)
    return fill_silence(read, code_silence(reading.silence, reading.pool.n_classes))


def _count(ballots: Ballots) -> NDArray[np.int64]:
    return ballots.counts


_TWO = _Form(
    _fill_two, two.collect, _maximize_two, checks.sum_answers, (*[None] * 4, 1, None, 0, 1, 1, 0)
)
_MANY = _Form(
    _fill_many, many.collect, _maximize_many, sum_classes, (*[None] * 4, 0, 1, 0, 1, 1, 0)
)


def _find_form(reading: Reading) -> _Form:
    return _MANY if isinstance(reading, ClassReading) else _TWO
