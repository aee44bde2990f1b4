import numpy as np
import pytest

from studies.rules.worlds import SIMULATORS
from unelisa.ehr.counts import read_counts
from unelisa.ehr.phenotyper import Phenotyper
from unelisa.ehr.rules.definition import apply_rules, parse_rule
from unelisa.errors import UnelisaWarning


@pytest.mark.parametrize("name", SIMULATORS)
def test_a_world_has_its_prevalence_and_rules_that_mean_the_disease(name):
    world = SIMULATORS[name](0.1, 3, 3000)
    assert len(world.case) == len(world.counts)
    assert abs(world.case.mean() - 0.1) < 0.02
    table = read_counts(world.counts, world.utilization)
    assert [len(rules) for rules in world.rules.values()] == [3, 3, 6]
    for rules in world.rules.values():
        flags = apply_rules({key: parse_rule(text) for key, text in rules.items()}, table)
        assert (flags[world.case].mean(axis=0) > 1.1 * flags[~world.case].mean(axis=0)).all()
    flags = apply_rules({k: parse_rule(t) for k, t in world.rules["3 nested"].items()}, table)
    assert (flags[:, 1:] <= flags[:, :-1]).all()


def test_both_anchors_of_diabetes_share_an_error():
    world = SIMULATORS["diabetes"](0.02, 0, 6000)
    counts = world.counts.loc[~world.case, list(world.anchors)].to_numpy() > 0
    both = counts.all(axis=1).mean()
    assert both > 3 * np.prod(counts.mean(axis=0))


def test_cases_without_any_anchor_record_are_a_fifth_of_the_cases_at_most():
    world = SIMULATORS["lupus"](0.01, 7, 10_000)
    with pytest.warns(UnelisaWarning, match="review charts"):
        model = Phenotyper(list(world.anchors), world.utilization, random_state=0).fit(world.counts)
    chances = model.predict_proba(world.counts)[:, 1]
    silent = ~(world.counts[list(world.anchors)] > 0).any(axis=1).to_numpy()
    assert chances[silent].sum() <= 0.2 * chances.sum() * (1 + 1e-6)
