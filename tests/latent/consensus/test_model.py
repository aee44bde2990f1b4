from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy.special import expit, log_expit, logit, logsumexp

from latent.worlds import (
    ballots_of,
    copying_crowd,
    plain_crowd,
    run_of,
    tilted_crowd,
    uneven_crowd,
)
from unelisa.latent.ballots import CERTAIN
from unelisa.latent.consensus.model import (
    GRID,
    Consensus,
    collect,
    fit_consensus,
    infer,
    infer_truth,
    start_consensus,
)

VOTES = arrays(
    np.int8,
    array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=12),
    elements=st.sampled_from([-1, 0, 1]),
)
TILTS = pytest.mark.parametrize("tilt", [False, True], ids=["", "tilt"])
EASES = pytest.mark.parametrize("ease", [False, True], ids=["", "ease"])


def fit(values, prior_odds=None, family=None, *, tilt=False, ease=False, **bounds):
    """The model of these hidden nodes, from the majority on."""
    blocks = ballots_of(values, prior_odds)
    family = np.full(values.shape[1], -1) if family is None else family
    share = ((values > 0).sum(axis=1) + 0.5) / (np.count_nonzero(values, axis=1) + 1)
    first = Consensus.first(family, tilt=tilt, ease=ease)
    least = bounds.get("least_weight", -np.inf)
    return fit_consensus(blocks, start_consensus(blocks, first, logit(share), least), **bounds)


def truth_of(values, model, prior_odds=None):
    return ballots_of(values, prior_odds).concatenate(infer_truth, model.factors)


def draw_model(seed, family, *, tilt, ease):
    """Voters known for sure, drawn at random."""
    rng = np.random.default_rng(seed)
    first = Consensus.first(family, tilt=tilt, ease=ease)
    branches = replace(
        first.branches,
        means=rng.normal(0.3, 0.8, first.branches.means.shape),
        covariances=np.zeros_like(first.branches.covariances),
    )
    members = replace(
        first.members,
        means=rng.normal([0.0, 1.0], 0.5, first.members.means.shape),
        covariances=np.zeros_like(first.members.covariances),
    )
    grid = rng.dirichlet(np.ones(len(GRID))) if ease else first.ease
    return replace(first, branches=branches, members=members, ease=grid, rate=0.4)


def list_nodes(model):
    """Every state of the hidden nodes: f0, log P(d, u, opinions | f0), log-odds of each voter."""
    n_voters, n_families = model.n_voters, model.n_families
    eases = zip(GRID, model.ease, strict=True) if model.has_ease else [(1.0, 1.0)]
    tilts = [(1.0, 0.5), (-1.0, 0.5)] if model.has_tilt else [(0.0, 1.0)]
    for f0, (d, p), (u, q), *opinions in product(
        (1, -1), list(eases), tilts, *[(1, -1)] * n_families
    ):
        state = np.array([1.0, d * f0, u])[: model.branches.means.shape[1]]
        x = model.branches.means @ state
        chance = np.log(p * q) + sum(
            log_expit(2 * g * x[n_voters + c]) for c, g in enumerate(opinions)
        )
        odds = x[:n_voters].copy()
        for s in np.flatnonzero(~model.lone):
            odds[s] = model.members.means[s] @ [1.0, opinions[model.family[s]]]
        yield f0, chance, 2 * odds


@TILTS
@EASES
def test_the_e_step_is_enumeration_for_known_voters(tilt, ease):
    rng = np.random.default_rng(1)
    values = rng.choice(np.array([-1, 0, 1], dtype=np.int8), (40, 6))
    prior_odds = rng.normal(0, 1, 40)
    model = draw_model(2, np.array([0, 0, -1, 1, 1, -1]), tilt=tilt, ease=ease)
    joint, yes = [], []
    for f0, chance, odds in list_nodes(model):
        votes = (log_expit(values * odds) * (values != 0)).sum(axis=1)
        joint.append(votes + chance + log_expit(f0 * (model.rate + prior_odds)))
        yes.append(f0 > 0)
    joint = np.array(joint)
    ballots = run_of(values, prior_odds)
    evidence = logsumexp(joint, axis=0)
    assert infer(ballots, model.factors)[2] == pytest.approx(evidence)
    expected = np.exp(logsumexp(joint[yes], axis=0) - evidence)
    assert infer_truth(ballots, model.factors) == pytest.approx(expected)


@TILTS
@EASES
def test_coins_are_enumeration_over_everything_but_the_truth(tilt, ease):
    model = draw_model(3, np.array([0, 0, 0, -1, -1]), tilt=tilt, ease=ease)
    coins = np.zeros((2, 5))
    for f0, chance, odds in list_nodes(model):
        coins[int(f0 > 0)] += np.exp(chance) * expit(odds)
    assert model.coins == pytest.approx(coins)
    no, yes = logit(coins)
    assert model.weights == pytest.approx((yes - no) / 4)
    assert model.biases == pytest.approx((yes + no) / 4)


@settings(max_examples=30)
@given(VOTES, st.floats(-3, 3), st.booleans(), st.booleans(), st.booleans())
def test_the_bound_never_falls(values, odds, related, tilt, ease):
    family = np.full(values.shape[1], -1)
    family[: 3 if related else 0] = 0
    prior_odds = np.linspace(-odds, odds, len(values))
    model = fit(values, prior_odds, family, tilt=tilt, ease=ease)
    rises = np.diff(model.objective)
    assert np.all(rises >= -1e-7 * np.abs(model.objective[1:]))
    assert np.all(np.isfinite(model.coins))
    assert np.isfinite(model.evidence)


def test_the_bound_never_falls_where_weights_are_held(crowd):
    model = fit(crowd[0].values, least_weight=0.2)
    assert np.all(np.diff(model.objective) >= -1e-8 * np.abs(model.objective[1:]))
    assert model.branches.means[:, 1].min() == pytest.approx(0.2)


@TILTS
@EASES
def test_turning_around_mirrors_everything(tilt, ease):
    values, _ = copying_crowd(0)
    family = np.array([0] * 3 + [-1] * 8)
    model = fit(values, family=family, tilt=tilt, ease=ease, max_iter=15)
    turned = model.turned()
    assert truth_of(values, turned) == pytest.approx(1 - truth_of(values, model))
    assert turned.coins == pytest.approx(model.coins[::-1])
    assert turned.weights == pytest.approx(-model.weights)
    assert turned.biases == pytest.approx(model.biases)
    leans = [infer(run_of(values), one.factors)[1] for one in (model, turned)]
    assert leans[1] == pytest.approx(leans[0])


@pytest.mark.parametrize("family", [None, np.array([0] * 3 + [-1] * 8)], ids=["alone", "families"])
def test_votes_turned_around_are_fitted_by_the_same_voters(family):
    """All yes as no: the truth and the biases change signs, the weights do not."""
    values, _ = copying_crowd(1)
    one, other = fit(values, family=family), fit(-values, family=family)
    assert truth_of(-values, other) == pytest.approx(1 - truth_of(values, one), abs=1e-6)
    assert other.weights == pytest.approx(one.weights, abs=1e-6)
    assert other.biases == pytest.approx(-one.biases, abs=1e-6)
    assert other.evidence == pytest.approx(one.evidence, abs=1e-4)


def test_voters_who_never_voted_are_exactly_zero():
    values, _ = plain_crowd(1)
    values[:, 3] = 0
    idle = np.arange(20) == 3
    model = fit(values)
    quiet = model.without(idle)
    assert model.weights[3] != 0
    assert (quiet.weights[3], quiet.biases[3], quiet.standard_errors[3]) == (0, 0, 0)
    assert np.array_equal(quiet.weights[~idle], model.weights[~idle])
    assert truth_of(values, quiet) == pytest.approx(truth_of(values, model))


def test_missing_votes_leave_no_trace():
    values, _ = plain_crowd(1)
    more = np.insert(np.insert(values, 3, 0, axis=1), [0, 100], 0, axis=0)
    plain, padded = fit(values), fit(more)
    assert np.delete(padded.weights, 3) == pytest.approx(plain.weights, abs=1e-9)
    assert padded.rate == pytest.approx(plain.rate, abs=1e-9)
    assert padded.evidence == pytest.approx(plain.evidence)
    assert truth_of(more, padded)[0] == pytest.approx(expit(padded.rate))


def test_a_voter_with_three_votes_is_drawn_to_the_others():
    values, truth = plain_crowd(2, n_voters=12)
    few, many = np.zeros((2, 300, 1), dtype=np.int8)
    few[:3, 0] = -truth[:3]  # wrong three times
    model = fit(np.hstack([values, few]))
    center, spread = model.branches.center[1], model.branches.spread[1]
    assert abs(model.weights[-1] - center) < 2 * spread
    assert model.standard_errors[-1] > 2 * np.median(model.standard_errors[:-1])
    many[:150, 0] = -truth[:150]
    assert fit(np.hstack([values, many])).weights[-1] < -0.5


def test_items_and_voters_in_another_order_give_the_same():
    values, _ = copying_crowd(3)
    rng, family = np.random.default_rng(0), np.array([0] * 3 + [-1] * 8)
    items, voters = rng.permutation(len(values)), rng.permutation(11)
    one = fit(values, family=family)
    other = fit(values[items][:, voters], family=family[voters])
    assert other.weights == pytest.approx(one.weights[voters], abs=1e-6)
    there = truth_of(values[items][:, voters], other)
    assert there == pytest.approx(truth_of(values, one)[items], abs=1e-6)


def test_prior_odds_are_known_log_odds():
    values, truth = plain_crowd(4)
    values[:20] = 0
    odds = np.where(np.arange(300) < 20, 2.0 * truth, 0.0)
    model = fit(values, odds)
    assert truth_of(values, model, odds)[:20] == pytest.approx(expit(model.rate + odds[:20]))
    certain = np.where(np.arange(300) == 50, -CERTAIN * truth, 0.0)
    model = fit(values, certain)
    assert truth_of(values, model, certain)[50] == (truth[50] < 0)


def test_the_class_rate_is_that_of_all_items_beyond_their_prior_odds():
    """Prior odds that say all there is about the rate leave nothing to be learned."""
    values, truth = plain_crowd(5, n_items=2000, share=0.2)
    model = fit(values)
    assert expit(model.rate) == pytest.approx(np.mean(truth > 0), abs=0.03)
    informed = fit(values, np.full(2000, model.rate))
    assert informed.rate == pytest.approx(0, abs=0.05)


def test_centering_takes_the_common_bias_out():
    values, _ = plain_crowd(6)
    lenient = np.where((values != 0) & (np.arange(300)[:, None] % 4 == 0), 1, values).astype(
        np.int8
    )
    free, half, centered = (fit(lenient, centered=part) for part in (0.0, 0.5, 1.0))
    bias = [abs(np.mean(model.branches.means[:, 0])) for model in (free, half, centered)]
    assert bias[0] > bias[1] > bias[2]
    assert bias[2] < 0.05
    assert centered.rate > half.rate > free.rate


def test_sums_over_blocks_add_up():
    values, _ = copying_crowd(6)
    factors = Consensus.first(np.array([0] * 3 + [-1] * 8), ease=True, tilt=True).factors
    whole = ballots_of(values).sum(collect, factors)
    parts = [ballots_of(part).sum(collect, factors) for part in (values[:90], values[90:])]
    for total, one, other in zip(whole, *parts, strict=True):
        assert one + other == pytest.approx(total)


@pytest.mark.parametrize("seed", range(3))
def test_evidence_prefers_the_structure_that_the_votes_were_made_with(seed):
    copies = np.array([0] * 3 + [-1] * 8)
    nobody = np.full(11, -1)
    votes = {
        "plain": copying_crowd(seed, n_copies=0, n_others=11)[0],
        "families": copying_crowd(seed)[0],
        "ease": uneven_crowd(seed, n_voters=11)[0],
        "tilt": tilted_crowd(seed, n_voters=11, votes_per_item=11)[0],
    }
    for made_with, values in votes.items():
        found = {
            "plain": fit(values).evidence,
            "families": fit(values, family=copies).evidence,
            "ease": fit(values, family=nobody, ease=True).evidence,
            "tilt": fit(values, family=nobody, tilt=True).evidence,
        }
        assert max(found, key=found.get) == made_with


@pytest.mark.parametrize("n_copies", [2, 5, 10])
def test_a_voter_said_many_times_in_one_family_leaves_the_others_alone(n_copies):
    values, _ = copying_crowd(4, n_copies=1)
    alone = fit(values)
    repeated = np.hstack([values[:, :1]] * n_copies + [values[:, 1:]])
    family = np.array([0] * n_copies + [-1] * 8)
    joined, apart = fit(repeated, family=family), fit(repeated)
    before = truth_of(values, alone)
    changed = np.abs(truth_of(repeated, joined) - before).mean()
    assert changed < 0.015
    assert changed < np.abs(truth_of(repeated, apart) - before).mean() / 3
    assert joined.branches.means[n_copies:-1, 1] == pytest.approx(
        alone.branches.means[1:, 1], abs=0.05
    )


def test_the_error_of_a_relative_is_its_familys_in_proportion():
    values, _ = copying_crowd(5)
    model = fit(values, family=np.array([0] * 3 + [-1] * 8))
    own = np.sqrt(model.branches.covariances[-1, 1, 1])
    expected = own * np.abs(model.weights[:3]) / model.branches.means[-1, 1]
    assert model.standard_errors[:3] == pytest.approx(np.minimum(expected, own))
