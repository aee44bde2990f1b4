"""The steps of a fit alone, and phenotypes fitted by earlier releases."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from phenotyping.conftest import ANCHORS
from unelisa.datamart import simulate_ehr
from unelisa.phenotyping.charts import read_reviewed
from unelisa.phenotyping.counts import read_counts
from unelisa.phenotyping.phenotype import GROUP_WEIGHT, fit_phenotype
from unelisa.phenotyping.phenotyper import Phenotyper
from unelisa.storage import load

OLD = Path(__file__).parent / "models" / "phenotyper-0.1.0.npz"


@pytest.fixture(scope="module")
def fitted():
    table = read_counts(simulate_ehr(2000, random_state=6).counts, "note_count")
    anchors = table.find(ANCHORS, "an anchor")
    charts = read_reviewed(None, table.patients)
    return table, fit_phenotype(table, anchors, charts, None, np.random.default_rng(0))


def test_the_score_is_the_anchors_plus_half_the_group(fitted):
    table, fit = fitted
    phenotype = fit.phenotype
    counts, rates = table.values[:, phenotype.anchors], phenotype.expected_counts.rates(table)
    odds = phenotype.anchor_model.log_odds(counts, table.log_use)
    group = phenotype.group.log_ratio(rates[:, phenotype.group_places])
    assert np.array_equal(phenotype.score(table), odds + GROUP_WEIGHT * group)
    assert np.array_equal(expit(phenotype.log_odds(table)), fit.chances)


def test_the_facts_describe_every_feature(fitted):
    table, fit = fitted
    used = np.flatnonzero(fit.facts.selected)
    assert set(fit.phenotype.anchors) < set(used)
    assert set(used) <= {*fit.phenotype.anchors, *fit.phenotype.group_places}
    assert (np.sign(fit.facts.weights[used]) == fit.facts.directions[used]).all()
    assert fit.facts.features is table.features


def test_a_stored_model_of_an_earlier_release_still_predicts():
    """Written once by the release in the file name, together with what it predicted then."""
    expected = json.loads(OLD.with_suffix(".json").read_text())
    model = load(OLD, Phenotyper)
    counts = simulate_ehr(600, random_state=4).counts
    found = model.predict_proba(counts[:20])[:, 1]
    assert found == pytest.approx(expected["probabilities"], abs=1e-8)
    assert sorted(model.features_["feature"][model.features_["selected"]]) == expected["selected"]
    assert model.expect_ppv(counts)[:3] == pytest.approx(expected["ppv"][:3])
