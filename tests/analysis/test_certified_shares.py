"""Guarantees for groups: the share of a class in each, and the cases in a cohort."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import unelisa as ue
from unelisa.analysis.certified_shares import certify_cohort, certify_rates
from unelisa.analysis.error_bounds import Draws, bound_strata, log_ratio
from unelisa.errors import ModelError, VotesError


@pytest.fixture(scope="module")
def jury():
    """Two systems with pass rates of about .7 and .4, five judges."""
    rng = np.random.default_rng(0)
    system = np.repeat(["a", "b"], 400)
    passed = rng.random(800) < np.where(system == "a", 0.7, 0.4)
    said = np.where(rng.random((800, 5)) < 0.85, passed[:, None], ~passed[:, None])
    votes = ue.Votes.of(pd.DataFrame(said.astype(int), columns=list("vwxyz")), coding="01")
    return votes, passed.astype(int), system, ue.LatentIsing().fit(votes)


@pytest.mark.parametrize("looks", ["any", "once"])
def test_the_rates_of_all_systems_are_covered_together(jury, looks):
    votes, passed, system, model = jury
    groups = dict(enumerate(system))
    rng, missed, runs = np.random.default_rng(1), 0, 40
    true = pd.Series(passed).groupby(system).mean()
    for _ in range(runs):
        drawn = rng.choice(800, 200, replace=False)
        gold = {int(i): int(passed[i]) for i in drawn}
        found = certify_rates(model, votes, gold, groups, 0.9, looks=looks)
        missed += ((true < found["low"] - 1e-9) | (true > found["high"] + 1e-9)).any()
    assert binom.sf(missed - 1, runs, 0.1) > 0.001
    assert (found["high"] - found["low"] < 0.35).all()
    assert found["items"].tolist() == [400, 400]


def test_the_rate_of_another_class_is_the_rest(jury):
    votes, passed, system, model = jury
    gold = {i: int(passed[i]) for i in range(0, 800, 4)}
    one, other = (
        certify_rates(model, votes, gold, dict(enumerate(system)), label=k) for k in (1, 0)
    )
    assert np.allclose(one["low"], 1 - other["high"])
    with pytest.raises(ModelError, match="not a class"):
        certify_rates(model, votes, gold, {0: "a"}, label="x")
    with pytest.raises(VotesError, match="none of the items"):
        certify_rates(model, votes, gold, {"nobody": "a"})


@pytest.mark.parametrize("case", [(Draws(40, 12, 1, 0.05), Draws(30, 10, 0, 0.02))])
def test_the_bound_over_strata_is_the_worst_division(case):
    possible = [
        a + b
        for a in range(41)
        for b in range(31)
        if log_ratio(case[0], a) + log_ratio(case[1], b) < np.log(20)
    ]
    assert bound_strata(case, 0.05) == max(possible)


def test_cells_make_a_bound_over_strata_larger_at_most():
    one = Draws(4000, 200, 2, 0.02)
    two = [one, Draws(1500, 100, 3, 0.05)]
    fine, coarse = bound_strata([one], 0.05), bound_strata(two, 0.05)
    possible = [w for w in range(2, 4000) if log_ratio(one, w) < np.log(20)]
    assert max(possible) <= fine <= max(possible) + 10
    assert fine < coarse < 800


def test_the_cohort_is_certified_no_more_often_than_promised():
    rng, runs, broken, given = np.random.default_rng(2), 200, 0, 0
    stratum = np.repeat([0, 1], [600, 200])
    no_case = np.concatenate([np.arange(600) < 30, np.arange(200) < 52])  # 10.25 % of all
    names = np.arange(800)
    for _ in range(runs):
        drawn = np.concatenate([rng.choice(names[stratum == s], 60, replace=False) for s in (0, 1)])
        charts = {int(i): int(not no_case[i]) for i in drawn}
        found = certify_cohort(
            dict(zip(names.tolist(), stratum.tolist(), strict=True)), charts, 0.08, 0.9
        )
        left = no_case.sum() - found["n_removed"]
        broken += found["certified"] and left > 0.08 * found["n_cohort"]
        given += found["ppv_at_least"] <= 1 - left / found["n_cohort"] + 1e-4
    assert binom.sf(broken - 1, runs, 0.1) > 0.001
    assert given >= 0.85 * runs


def test_a_good_cohort_is_certified_and_says_from_what():
    flagged = {f"p{i}": 0.2 if i < 300 else 0.5 for i in range(400)}
    charts = {name: 1 for k, name in enumerate(flagged) if k % 4 == 0} | {"p0": 0, "stranger": 1}
    found = certify_cohort(flagged, charts)
    assert found["certified"]
    assert (found["n_charts"], found["n_removed"], found["n_cohort"]) == (100, 1, 399)
    assert found["n_strata"] == 2
    assert found["guarantee"] == (
        "with 95% confidence, at most 10% of the 399 patients are no cases, from 100 random charts"
    )
    few = certify_cohort(flagged, dict(list(charts.items())[:20]))
    assert not few["certified"]
    assert "cannot be certified" in few["guarantee"]


def test_what_is_no_cohort_is_refused():
    with pytest.raises(ModelError, match="no flagged patient"):
        certify_cohort({}, {})
    with pytest.raises(ModelError, match="error must be a share"):
        certify_cohort({"p": 1}, {"p": 1}, 1.0)
    with pytest.raises(VotesError, match="must be 0 or 1"):
        certify_cohort({"p": 1}, {"p": "case"})
