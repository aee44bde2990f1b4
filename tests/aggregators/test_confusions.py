import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unelisa.aggregators.coins import CLIP, estimate_coins, list_shares
from unelisa.aggregators.confusions import (
    FullTables,
    OneReliability,
    estimate_confusions,
    keep_classes,
    score_classes,
    spread_errors,
)
from unelisa.paper.em import OneCoin, estimate_reliability
from unelisa.votes.ballots import list_ballots
from unelisa.votes.blocks import WholeTable

NONE = np.empty(0, dtype=np.uint8)


def crowd(n_classes=3, n_items=600, n_voters=6, seed=0, abstain=0.3):
    """Codes from 1 of voters with known tables, and the truth."""
    rng = np.random.default_rng(seed)
    tables = 0.4 * rng.dirichlet(np.ones(n_classes), (n_voters, n_classes))
    tables += 0.6 * np.eye(n_classes)
    truth = rng.integers(n_classes, size=n_items)
    codes = np.zeros((n_items, n_voters), dtype=np.int8, order="F")
    for s in range(n_voters):
        said = [rng.choice(n_classes, p=tables[s, k]) for k in truth]
        codes[:, s] = np.where(rng.random(n_items) < abstain, 0, np.array(said) + 1)
    return codes, truth, tables


@pytest.mark.parametrize("smoothing", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_two_classes_give_the_coins(smoothing, seed):
    """The code for more classes, driven with two of them, is Dawid and Skene's for two."""
    codes, _, _ = crowd(2, 300, seed=seed)
    table = WholeTable(np.asfortranarray(np.array([0, -1, 1], dtype=np.int8)[codes]))
    start = list_shares(table, 1)[0]
    limits = {"max_iter": 200, "tol": 1e-9}
    coins = estimate_coins(table, start, smoothing, **limits)
    ballots = list_ballots(WholeTable(codes))
    fit = estimate_confusions(ballots, (6, 2), FullTables(smoothing), NONE, **limits)
    assert pytest.approx(coins.coins, abs=1e-6) == fit.tables[:, :, 1].T
    assert fit.shares[1] == pytest.approx(coins.prevalence, abs=1e-6)
    assert fit.lower_bound[-1] == pytest.approx(coins.lower_bound[-1], abs=1e-8)
    assert fit.converged == coins.converged


@pytest.mark.parametrize("smoothing", [0.5, 1.0, 3.0])
def test_two_classes_give_one_reliability(smoothing):
    codes, _, _ = crowd(2, 300)
    table = WholeTable(np.asfortranarray(np.array([0, -1, 1], dtype=np.int8)[codes]))
    voted = (codes != 0).any(axis=1).astype(np.float64)
    model = OneCoin(smoothing, CLIP, prevalence_clip=None)
    one = estimate_reliability(table, list_shares(table, 1)[0], model, copies=voted)
    ballots = list_ballots(WholeTable(codes))
    fit = estimate_confusions(ballots, (6, 2), OneReliability(smoothing), NONE)
    assert fit.tables[:, 0, 0] == pytest.approx(one.reliabilities, abs=1e-4)
    assert fit.weights == pytest.approx(one.weights, abs=1e-3)
    assert fit.shares[1] == pytest.approx(one.prevalence, abs=1e-4)


@given(seed=st.integers(0, 40), model=st.sampled_from([FullTables, OneReliability]))
def test_the_objective_never_falls(seed, model):
    codes, _, _ = crowd(4, 40, 5, seed)
    ballots = list_ballots(WholeTable(codes))
    fit = estimate_confusions(ballots, (5, 4), model(1.0), NONE, max_iter=60)
    assert np.diff(fit.lower_bound).min(initial=0.0) > -1e-9


def test_the_voters_tables_are_found_again():
    codes, truth, tables = crowd(n_items=6000, n_voters=8)
    ballots = list_ballots(WholeTable(codes))
    fit = estimate_confusions(ballots, (8, 3), FullTables(1.0), NONE)
    assert fit.tables == pytest.approx(tables, abs=0.05)
    assert fit.votes.sum() == pytest.approx((codes != 0).sum())
    named = score_classes(ballots, fit.tables, fit.shares).argmax(axis=1)
    assert np.mean(named == truth) > 0.9
    assert fit.accuracies == pytest.approx(np.einsum("skk->s", tables) / 3, abs=0.05)


def test_gold_labels_name_the_classes():
    """Where voters exchange two classes, some known items show it."""
    codes, truth, _ = crowd(n_items=2000, n_voters=8)
    turned = np.array([0, 2, 1, 3], dtype=np.int8)[codes]
    ballots = list_ballots(WholeTable(np.asfortranarray(turned)))
    gold = np.where(np.arange(2000) < 300, truth + 1, 0).astype(np.uint8)
    for known, least, most in ((NONE, 0.0, 0.6), (gold, 0.85, 1.0)):
        fit = estimate_confusions(ballots, (8, 3), FullTables(1.0), known)
        named = score_classes(ballots, fit.tables, fit.shares).argmax(axis=1)
        assert least <= np.mean(named == truth) <= most


def test_a_voter_without_information_has_no_weight():
    tables = np.repeat([[[0.2, 0.3, 0.5]]], 3, axis=1)
    tables = np.concatenate([tables, spread_errors(np.array([0.7]), 3)])
    codes, _, _ = crowd(3, 50, 2)
    fit = estimate_confusions(list_ballots(WholeTable(codes)), (2, 3), FullTables(1.0), NONE)
    known = type(fit)(tables, fit.shares, fit.votes, fit.lower_bound, True)
    assert known.weights[0] == 0
    assert known.weights[1] == pytest.approx(np.log(0.7 * 2 / 0.3) / 2)


def test_no_class_dies_out():
    assert keep_classes(np.array([0.2, 9.8])).tolist() == [0.05, 0.95]
    assert keep_classes(np.array([3.0, 7.0])) == pytest.approx([0.3, 0.7])
    assert keep_classes(np.eye(1, 7)[0]).min() > 0
