"""What speaks against a consensus: why its labels may be wrong although they look sure."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.latent.ballots import Ballots, Floats, Sums, fill_silence, keep_voters
from unelisa.latent.consensus.coefficients import BRANCHES, MEMBERS
from unelisa.latent.consensus.contest import LEAST_BRANCHES, Choice
from unelisa.latent.consensus.doubt import Doubt
from unelisa.latent.consensus.families import number_families
from unelisa.latent.consensus.model import (
    LEAST_REPEAT,
    OPINIONS,
    Consensus,
    Families,
    collect,
    infer,
)
from unelisa.latent.consensus.pool import FAR, Pool, answer_each
from unelisa.latent.crowd import Sample
from unelisa.latent.reading import (
    DECIDE,
    LEAST_CLEAR,
    NOTHING_FOUND,
    TWO_READINGS,
    Answers,
    Caution,
    bound_prevalence,
)

SAME_LABELS, LEAST_COVERAGE = 0.99, 0.5  # of the items: the labels are one voter's
RARE, VANISHING = 0.005, 0.25  # a class below this, or below this fraction of the majority's
SPLIT = 0.1  # share of the items on which the members of the pool differ from the labels
DOUBTED = 0.25  # doubt of the model at which it is said
COUNTED = 0.02  # least weight of a pool's member that bounds what is expected
NOWHERE = np.array([[1.0, 0.0]])  # the only state where there is no truth
NOTHING_ITER = 20
# one voter implies another: share of at least so many cases; of at most so many voters
IMPLIED, CASES, MOST_YES, MOST_VOTERS = 0.995, 20, 0.8, 300


class Tally(NamedTuple):
    """Sums over all items, see `sum_answers`."""

    totals: Floats
    chances: Floats
    means: Floats
    differ: Floats
    by_voter: Floats
    by_family: Floats


def sum_answers(ballots: Ballots, pool: Pool, silence: NDArray[np.int8]) -> Sums:
    """Return what the checks and `Answers` need. A pass.

    Totals: items, items with votes, P and P^2 of the latter, max(P, 1 - P) of all, labels yes, and
    labels yes among items with votes. Per part of the pool: P(label), P(yes) and different labels.
    Per voter and per family: votes or opinions equal to the label, and all of them.
    """
    each = answer_each(ballots, pool, silence)
    ballots = keep_voters(ballots, pool.kept)
    pooled = each @ pool.parts
    heard, yes = ballots.counts > 0, pooled >= 0.5
    signs = np.where(yes, 1, -1)[ballots.items]
    n_voters = len(pool.family)
    same = np.bincount(ballots.voters[ballots.votes == signs], minlength=n_voters)
    votes = np.bincount(ballots.voters, minlength=n_voters)
    leans = infer(fill_silence(ballots, silence), pool.best.factors)[1]
    agree = ((leans > 0.5) == yes[:, None]) & (leans >= 0)
    sums = [len(pooled), heard.sum(), pooled[heard].sum(), (pooled[heard] ** 2).sum()]
    sums += [np.maximum(pooled, 1 - pooled).sum(), yes.sum(), yes[heard].sum()]
    return (
        np.array(sums, dtype=np.float64),
        np.where(yes[:, None], each, 1 - each).sum(axis=0),
        each[heard].sum(axis=0),
        ((each > 0.5) != yes[:, None])[heard].sum(axis=0).astype(np.float64),
        np.stack([same, votes]).astype(np.float64),
        np.stack([agree.sum(axis=0), (leans >= 0).sum(axis=0)]).astype(np.float64),
    )


def describe_answers(tally: Tally, pool: Pool) -> Answers:
    """Return what the pool says of all items; the intervals span its members."""
    n_items, n_heard, total, squares, sure, yes, _ = tally.totals
    share, (low, high) = bound_prevalence(n_heard, total, squares)
    counted = pool.parts > COUNTED
    means = tally.means[counted] / n_heard
    chances = tally.chances[counted] / n_items
    return Answers(
        share,
        (min(low, float(means.min())), max(high, float(means.max()))),
        float(sure / n_items),
        (float(chances.min()), float(chances.max())),
        float(yes / n_items),
        pool.coins,
    )


def find_reasons(
    sample: Sample, choice: Choice, tally: Tally, pool: Pool, majority: Floats, doubt: Doubt
) -> Iterator[Caution]:
    """Yield why the labels may be wrong.

    `sample` are the items on which candidates were compared, `majority` the majority's share of yes
    on those with votes; an even vote counts half.
    """
    yield from _repeat_one(tally, pool)
    yield from _are_few(choice)
    yield from _lose_a_class(tally, majority)
    yield from _differ(tally, pool, doubt)
    gain = choice.best.evidence - find_nothing(sample, choice.best.model)
    if gain < np.log(max(len(majority), 2)):
        yield Caution(NOTHING_FOUND)
    if not choice.best.shares_tilt:
        yield Caution(
            f"{TWO_READINGS}: some voters follow the tilt and others do not, so that it may be the "
            f"truth itself; {DECIDE}"
        )
    if choice.rival is not None:
        share = choice.best.agreement(choice.rival)
        yield Caution(
            f"{TWO_READINGS}: the other one, '{choice.rival.kind}', agrees with the labels on "
            f"{share:.0%} of the items (see `readings_`); {DECIDE}"
        )


def _repeat_one(tally: Tally, pool: Pool) -> Iterator[Caution]:
    n_items = tally.totals[0]
    same, votes = tally.by_voter
    often = (votes > LEAST_COVERAGE * n_items) & (same > SAME_LABELS * votes)
    alone = np.flatnonzero(often & (pool.family < 0)).tolist()
    if len(alone) == 1:
        text = "the labels are those of one voter, {voters}: nothing shows whether it is right"
        yield Caution(text, tuple(alone))
    elif alone:
        text = "the labels are those of each of {voters}: errors that they share do not show"
        yield Caution(text, tuple(alone))
    agree, spoke = tally.by_family
    families = np.flatnonzero((spoke > LEAST_COVERAGE * n_items) & (agree > SAME_LABELS * spoke))
    members = [s for c in families for s in _members(pool.best.family, int(c))]
    if len(families) == 1:
        text = "the labels are those of one family ({voters}): nothing shows whether it is right"
        yield Caution(text, tuple(members))
    elif members:
        of = f"the labels are those of each of {len(families)} families ({{voters}})"
        yield Caution(f"{of}: errors that they share do not show", tuple(members))


def _are_few(choice: Choice) -> Iterator[Caution]:
    if choice.few is not None:
        end = "" if choice.few is choice.best else ", so the labels are the share of yes"
        yield tell_few(choice.few.model.family, choice.few.branches, end)
    elif choice.best.clear < LEAST_CLEAR:
        yield tell_unclear(choice.best.clear)


def _lose_a_class(tally: Tally, majority: Floats) -> Iterator[Caution]:
    n_heard, yes = tally.totals[1], tally.totals[6]
    share, by_majority = yes / n_heard, float(np.mean(np.sign(majority - 0.5) / 2 + 0.5))
    rarer, other = min(share, 1 - share), min(by_majority, 1 - by_majority)
    if rarer < min(RARE, other) or rarer < VANISHING * other:
        yield tell_vanishing(rarer, other)
    elif abs(share - by_majority) > FAR:
        yield Caution(
            f"the share of yes is {share:.0%}, far from the majority's {by_majority:.0%}: the "
            "votes cannot tell a common bias of the voters from the class rate"
        )


def tell_vanishing(share: float, by_majority: float) -> Caution:
    """Return that a class has fewer labels than the majority gives it."""
    return Caution(
        f"one class all but vanishes: {share:.1%} of the items, {by_majority:.1%} by majority vote"
    )


def tell_unclear(clear: int) -> Caution:
    """Return that too few branches are clearly tied to the truth."""
    return Caution(
        f"the votes tie only {_count(clear)} clearly to the truth; "
        f"{LEAST_CLEAR} are needed to check each other"
    )


def tell_few(family: Families, branches: int, end: str = "") -> Caution:
    """Return that families leave too few branches."""
    return Caution(
        "{voters} repeat each other, which leaves "
        f"{_count(branches)}; {LEAST_CLEAR} are needed to estimate how good they are, "
        f"{LEAST_BRANCHES} to check it{end}",
        tuple(np.flatnonzero(family >= 0).tolist()),
    )


def _differ(tally: Tally, pool: Pool, doubt: Doubt) -> Iterator[Caution]:
    differ = float(pool.parts @ tally.differ / tally.totals[1])
    if differ > SPLIT:
        yield Caution(
            f"models that the votes cannot tell apart differ from the labels on {differ:.0%} of "
            "the items"
        )
    yield from tell_doubt(doubt)


def tell_doubt(doubt: Doubt) -> Iterator[Caution]:
    """Yield that the model does not describe the votes, where it does not."""
    if doubt.size > DOUBTED:
        yield Caution(
            f"the model may leave up to {doubt.at_most:.0%} of the dependence between voters "
            f"unexplained, and differs from the majority on {doubt.apart:.0%} of the items: voters "
            "may agree on something else than the truth"
        )


def find_nothing(sample: Sample, model: Consensus) -> float:
    """Return the log evidence of the best model without a truth: families are all there is.

    Where the truth has no more than two voters of its own, they may be one more family.
    """
    families = [model.family]
    lone = model.lone & (np.bincount(sample.ballots.voters, minlength=model.n_voters) > 0)
    if model.n_families and np.count_nonzero(lone) < LEAST_CLEAR:
        families.append(number_families(np.where(lone, model.n_families, model.family)))
    return max(weigh_nothing(sample, family) for family in families)


def weigh_nothing(sample: Sample, family: Families) -> float:
    """Return the log evidence of voters who know nothing: branches have a bias and no weight.

    With the priors that the consensus has. Without families one E-step is enough.
    """
    model = Consensus.first(family)
    for _ in range(NOTHING_ITER):
        tables = np.repeat(model.branches.tabulate(NOWHERE), 2, axis=2)
        opinions = np.exp(tables[model.n_voters :])
        factors = model.factors._replace(tables=tables, opinions=opinions)
        said, repeated, _, totals = sample.blocks.sum(collect, factors)
        everywhere = said.sum(axis=2, keepdims=True)
        on = said.sum(axis=(1, 2)) > 0, repeated.sum(axis=(1, 2)) > 0
        evidence = totals[0] - model.branches.divergence(on[0]) - model.members.divergence(on[1])
        branches = model.branches.moved(everywhere, NOWHERE, 1, -np.inf)
        members = model.members.moved(repeated, OPINIONS, 1, LEAST_REPEAT)
        model = replace(
            model,
            branches=branches.learned(everywhere, BRANCHES),
            members=members.learned(repeated, MEMBERS) if model.n_families else members,
        )
    return float(evidence)


def _count(branches: int) -> str:
    return f"{branches} independent voter{'' if branches == 1 else 's'}"


def _members(family: Families, c: int) -> tuple[int, ...]:
    return tuple(np.flatnonzero(family == c).tolist())


def find_implied(sample: Sample) -> list[tuple[int, int]]:
    """Return pairs (s, t): where voter s says yes, t does too, in 99.5 % of at least 20 cases.

    t also says no, and s does not always say yes: codes counted at least three times imply the same
    codes counted once. Two voters who imply each other are copies.
    """
    counts = np.bincount(sample.ballots.voters, minlength=sample.n_voters)
    busiest = np.sort(np.argsort(-counts, kind="stable")[:MOST_VOTERS])
    values = sample.tabulate()[:, busiest]
    says_yes, says_no = (values > 0).astype(np.float32), (values < 0).astype(np.float32)
    both, against = says_yes.T @ says_yes, says_yes.T @ says_no
    cases = both + against
    yes, votes = says_yes.sum(axis=0), (says_yes + says_no).sum(axis=0)
    varied = (yes < votes) & (yes > 0)
    implied = (cases >= CASES) & (both > IMPLIED * cases)
    implied &= (yes < MOST_YES * votes)[None, :] & varied[:, None] & varied[None, :]
    np.fill_diagonal(implied, False)
    return [(int(busiest[s]), int(busiest[t])) for s, t in np.argwhere(implied)]
