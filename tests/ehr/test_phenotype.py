"""The steps of a fit alone, and phenotypes fitted by earlier releases."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit

from ehr.conftest import ANCHORS
from unelisa.ehr.anchors import AnchorModel, CaseOdds, ClassCounts
from unelisa.ehr.charts import read_reviewed
from unelisa.ehr.counts import Roles, read_counts
from unelisa.ehr.datamart import simulate_ehr
from unelisa.ehr.phenotype import GROUP_WEIGHT, SHARED_JUDGES, FeatureFacts, Judges, fit_phenotype
from unelisa.ehr.phenotyper import Phenotyper
from unelisa.storage import load

OLD = Path(__file__).parent / "models" / "phenotyper-0.1.0.npz"


@pytest.fixture(scope="module")
def fitted():
    table = read_counts(simulate_ehr(2000, random_state=6).counts, "note_count")
    roles = Roles(table.find(ANCHORS, "an anchor"), np.array([], dtype=np.intp))
    charts = read_reviewed(None, table.patients)
    return table, fit_phenotype(table, roles, charts, None, np.random.default_rng(0))


def test_the_score_is_the_anchors_plus_half_the_group_and_facts_describe_features(fitted):
    table, fit = fitted
    phenotype = fit.phenotype
    counts, rates = table.values[:, phenotype.anchors], phenotype.expected_counts.rates(table)
    odds = phenotype.anchor_model.log_odds(counts, table.log_use)
    group = phenotype.group.log_ratio(rates[:, phenotype.group_places])
    assert np.array_equal(phenotype.score(table), odds + GROUP_WEIGHT * group)
    assert np.array_equal(expit(phenotype.log_odds(table)), fit.chances)
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
    # without a code, the release gave a patient a higher P(case) than with one
    coded, told = counts[:20]["ICD:714.0"].to_numpy() > 0, np.array(expected["probabilities"])
    assert found[coded] == pytest.approx(told[coded], abs=1e-8)
    assert (found[~coded] < told[~coded]).all()
    assert sorted(model.features_["feature"][model.features_["selected"]]) == expected["selected"]
    assert model.expect_ppv(counts)[:3] == pytest.approx(expected["ppv"][:3], abs=0.01)


@pytest.fixture
def table():
    """An anchor, a feature for and one against it, two that others explain, two idle ones."""
    anchor = ClassCounts(np.log([0.5, 5.0]), 0.5, np.ones(2))
    model = AnchorModel(0.2, CaseOdds(-1.4, 0.0), (anchor,), 3.0, 10, True)
    facts = FeatureFacts(
        features=np.array(
            ["code", "for", "against", "copy", "shade", "idle", "never"], dtype=object
        ),
        anchors=np.array([0]),
        correlations=np.array([[1.0], [0.4], [-0.3], [0.2], [-0.2], [0.01], [0.0]]),
        directions=np.array([1, 1, -1, 1, -1, 0, 0], dtype=np.int8),
        ties=np.array([np.nan, 0.35, -0.2, 0.01, -0.01, np.nan, np.nan]),
        selected=np.array([True, True, True, False, False, False, False]),
        weights=np.array([8.0, 0.5, -0.9, 0.0, 0.0, 0.0, 0.0]),
    )
    return facts.describe(model).set_index("feature")


def test_every_feature_has_its_reason_the_strongest_first(table):
    assert table["reason"].to_dict() == {
        "code": "anchor: 10 times as frequent among cases",
        "for": "positively correlated with every anchor (0.40), coupling to the truth 0.35",
        "against": "negatively correlated with every anchor (-0.30), coupling to the truth -0.20",
        "copy": "positively correlated with every anchor (0.20), but explained by other features",
        "shade": "negatively correlated with every anchor (-0.20), but explained by other features",
        "idle": "not correlated with every anchor (0.01)",
        "never": "constant: the same count for every patient",
    }
    assert table.index.tolist()[:3] == ["code", "against", "for"]
    assert table["direction"].tolist() == [1, -1, 1, 0, 0, 0, 0]


def test_the_first_judge_counts_those_whom_the_anchors_show_and_others_lie_around_it(
    datamart, model
):
    judges = model._judges
    assert judges.patients.tolist() == datamart.counts.index.tolist()
    chances = model.predict_proba(datamart.counts)[:, 1]
    assert judges.chances[0].sum() < chances.sum() < judges.chances[2].sum()
    strict, generous, halved = judges.chances[1:4]
    assert len(judges.chances) == 8 + len(model.anchors)
    shared, *ordered = judges.chances[SHARED_JUDGES]
    for least in ordered:
        assert least.sum() == pytest.approx(shared.sum())
        smaller = least[least < judges.chances[0]]
        assert (smaller > 0).sum() <= 1  # patients with the error are no cases, the others stay
    assert (shared <= judges.chances[0]).all()
    assert (generous >= judges.chances[0]).all()
    assert (halved <= strict).all()
    case = datamart.truth.to_numpy() > 0
    assert halved.sum() < case.sum() < generous.sum()


def test_judges_of_other_patients_need_their_counts_only(datamart, model):
    some = datamart.counts.iloc[:500]
    found = Judges.of(model._phenotype, read_counts(some, "note_count"))
    assert np.allclose(found.chances[0], model._judges.chances[0][:500])
