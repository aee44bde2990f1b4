import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from ehr.conftest import ANCHORS
from unelisa.ehr.anchors import AnchorModel, CaseOdds, ClassCounts
from unelisa.ehr.cautions import _doubt_anchors, find_roles
from unelisa.ehr.counts import read_counts
from unelisa.ehr.phenotyper import Phenotyper
from unelisa.ehr.posterior import MODEL, Estimate, Performance
from unelisa.errors import ModelError, UnelisaWarning, VotesError


def test_a_truth_that_follows_utilization_is_warned_of():
    rng = np.random.default_rng(0)
    use = np.exp(rng.normal(3, 1, 3000))
    counts = pd.DataFrame({f"f{j}": rng.poisson(0.5 * use) for j in range(30)})
    for name in ANCHORS:
        counts[name] = rng.poisson(0.3 * use)
    with pytest.warns(UnelisaWarning, match="follows the sum of all other counts .* more than"):
        Phenotyper(ANCHORS, random_state=0).fit(counts)


@pytest.mark.parametrize(
    ("settings", "error", "told"),
    [
        ({"anchors": ["ICD:714.0", "NLP:gout"]}, VotesError, "no feature 'NLP:gout'.*an anchor"),
        ({"anchors": []}, ModelError, "at least one feature"),
        ({"anchors": ["ICD:714.0"] * 2}, ModelError, "each feature only once"),
        ({"anchors": "ICD:714.0"}, ModelError, "a list of feature names"),
        (
            {"anchors": ANCHORS, "prevalence": 1.5},
            ModelError,
            "strictly between 0 and 1, or .*, found 1.5",
        ),
        ({"anchors": ANCHORS, "utilization": "visits"}, VotesError, "no utilization column"),
    ],
)
def test_bad_settings_are_refused_in_one_sentence(datamart, settings, error, told):
    with pytest.raises(error, match=told) as caught:
        Phenotyper(**{"utilization": "note_count", **settings}).fit(datamart.counts[:100])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda frame: frame.assign(**{ANCHORS[0]: 0}), "the anchor 'ICD:714.0' never occurs"),
        (lambda frame: frame.assign(**{ANCHORS[0]: 2}), "the same count for every patient"),
        (lambda frame: frame - 1, "has a negative count in data row"),
        (lambda frame: pd.concat([frame, frame[:1]]), "data row 1 appears more than once"),
        (lambda frame: frame.assign(sex="f"), "column 'sex' holds String, not counts"),
        (lambda frame: frame[:5], "5 patients; at least 20"),
    ],
)
def test_bad_counts_are_refused_in_one_sentence(datamart, change, told):
    with pytest.raises(VotesError, match=told) as caught:
        Phenotyper(ANCHORS, "note_count").fit(change(datamart.counts[:200]))
    assert "\n" not in str(caught.value)


def test_a_good_fit_has_no_caution_and_em_without_convergence_is_told(datamart, monkeypatch, model):
    monkeypatch.setattr("unelisa.ehr.anchors.MAX_ITER", 3)
    with pytest.warns(UnelisaWarning) as told:
        Phenotyper(ANCHORS, "note_count", random_state=0).fit(datamart.counts[:2000])
    assert any("iteration limit" in str(one.message) for one in told)
    assert model.reliable_
    assert model.reliability_reason_ == "nothing speaks against the fit"


def take_cases(datamart, share, n, seed=0):
    """Patients of whom a share are cases."""
    rng, case = np.random.default_rng(seed), datamart.truth.to_numpy() > 0
    cases = rng.choice(np.flatnonzero(case), round(share * n), replace=False)
    others = rng.choice(np.flatnonzero(~case), n - len(cases), replace=False)
    return datamart.counts.iloc[np.sort(np.r_[cases, others])]


def tell_doubts(counts, anchors=ANCHORS, y=None):
    """Fit with doubts; return their words."""
    with pytest.warns(UnelisaWarning, match="the phenotype is not reliable"):
        model = Phenotyper(list(anchors), "note_count", random_state=0).fit(counts, y)
    assert not model.reliable_
    return model.reliability_reason_


@pytest.mark.parametrize("share", [0.2, 0.01])
@pytest.mark.parametrize("anchor", ANCHORS)
@pytest.mark.filterwarnings("ignore:EM for the anchor model")
def test_one_anchor_gives_labels_that_never_fall_but_is_doubted(datamart, anchor, share):
    counts = take_cases(datamart, share, 4000)
    with pytest.warns(UnelisaWarning, match="a single anchor cannot be compared"):
        model = Phenotyper([anchor], "note_count", random_state=0).fit(counts)
    more = pd.concat([counts.iloc[[7]]] * 60, ignore_index=True).assign(**{anchor: range(60)})
    chances = model.predict_proba(more)[:, 1]
    assert (np.diff(chances) >= 0).all()
    assert chances[0] < 0.1
    assert chances[-1] > 0.9


def test_charts_settle_the_doubt_of_a_single_anchor(datamart):
    counts = datamart.counts.iloc[:4000]
    truth = datamart.truth[counts.index]
    model = Phenotyper([ANCHORS[0]], "note_count", random_state=0).fit(counts, truth.iloc[:400])
    assert model.reliable_
    assert model.ppv_.basis.endswith("reviewed charts")


def present(counts, *names):
    """Counts in which some features are only present or absent, as in a problem list."""
    return counts.assign(**{name: counts[name].clip(upper=1) for name in names})


def test_an_anchor_of_a_problem_list_is_used(datamart):
    counts = present(datamart.counts, ANCHORS[0])
    with pytest.warns(UnelisaWarning, match="the PPV cannot be estimated without charts"):
        found = Phenotyper(ANCHORS, "note_count", random_state=0).fit(counts)
    chances = found.predict_proba(counts)[:, 1]
    # every other patient of this datamart has one code that only rules the disease out
    assert roc_auc_score(datamart.truth > 0, chances) > 0.7
    reasons = found.features_.set_index("feature")["reason"]
    assert "times as frequent among cases" in reasons[ANCHORS[0]]


@pytest.mark.parametrize("share", [1.0, 0.97])
def test_the_same_records_twice_are_one_anchor(datamart, share):
    counts = datamart.counts.iloc[:4000]
    kept = np.random.default_rng(0).random(len(counts)) < share
    copy = counts[ANCHORS[0]].where(kept, counts[ANCHORS[1]])
    told = tell_doubts(counts.assign(copy=copy), [ANCHORS[0], "copy"])
    assert "'ICD:714.0' and 'copy' count the same records" in told
    assert "a single anchor cannot be compared" in told


def test_codes_that_contain_one_another_are_one_anchor(datamart):
    records = datamart.counts.iloc[:4000]
    counts = records.assign(**{"ICD:714+": records["ICD:714.0"] + records["ICD:714.9"]})
    told = tell_doubts(counts, ["ICD:714.0", "ICD:714+"])
    assert "'ICD:714.0' and 'ICD:714+' count the same records" in told
    counts = records.assign(**{"ICD:714.0+": records["ICD:714.0"], "copy": records["ICD:714.0"]})
    model = Phenotyper(ANCHORS, "note_count", random_state=0, related=["copy"]).fit(counts)
    table = model.features_.set_index("feature")
    for name in ("ICD:714.0+", "copy"):
        assert table.loc[name, "reason"] == "shares records with an anchor: not used"
        assert table.loc[name, "weight"] == 0
    assert "shares" not in table.loc["ICD:714.9", "reason"]
    told = tell_doubts(present(records, *ANCHORS))
    assert "present or absent, and how often fewer than 3 of them are wrong" in told


def test_too_few_patients_or_cases_are_refused_or_told(datamart):
    counts = take_cases(datamart, 0.2, 60)
    assert "patients have two records of the anchor" in tell_doubts(counts)
    few = counts.copy()
    few.loc[few.index[np.argsort(few[ANCHORS[1]])[:-4]], ANCHORS[1]] = 0
    with pytest.raises(VotesError, match="only 4 patients have a record of the anchor 'NLP"):
        Phenotyper(ANCHORS, "note_count").fit(few)
    told = tell_doubts(take_cases(datamart, 0.002, 9000))
    assert "do not go together" in told
    assert "the PPV cannot be estimated without charts" in told


def test_a_stated_prevalence_bounds_the_share_of_cases(datamart):
    """Without it nothing can be said of the PPV of a rare disease."""
    counts = take_cases(datamart, 0.03, 9000)
    with pytest.warns(UnelisaWarning, match="cannot be estimated without charts"):
        alone = Phenotyper(ANCHORS, "note_count", random_state=0).fit(counts)
    truth, told = datamart.truth[counts.index], []
    for stated in ((0.029, 0.031), 0.03):
        found = Phenotyper(ANCHORS, "note_count", stated, random_state=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnelisaWarning)
            told.append(found.fit(counts))
    assert 0.029 <= told[0].prevalence_ <= 0.0311
    true = (truth[told[0].predict(counts) > 0] > 0).mean()
    assert told[0].ppv_.low <= true <= told[0].ppv_.high
    assert alone.ppv_.low <= told[1].ppv_.low <= told[0].ppv_.low


def test_anchors_of_other_things_or_of_utilization_are_told(datamart):
    told = tell_doubts(datamart.counts, ["ICD:714.0", "NLP:pregnancy"])
    assert "'ICD:714.0' and 'NLP:pregnancy' do not go together (correlation" in told
    told = tell_doubts(datamart.counts, ["NLP:hypertension", "NLP:blood pressure"])
    assert "is more than twice the share of patients labeled as cases" in told
    rng, use = np.random.default_rng(0), datamart.counts["note_count"]
    counts = datamart.counts.assign(**{"NLP:seen": rng.poisson(0.3 * use)})
    told = tell_doubts(counts, ["ICD:714.0", "NLP:seen"])
    assert "the anchor 'NLP:seen' follows utilization" in told
    rising, falling = (ClassCounts(np.log(m), 0.5, np.ones(2)) for m in ([0.5, 5], [5, 0.5]))
    model = AnchorModel(0.2, CaseOdds(-1.4, 0.0), (rising, falling), 3.0, 300, False)
    table = read_counts(datamart.counts, "note_count")
    told = Performance(*[Estimate(0.9, 0.8, 1.0, MODEL)] * 3)
    phenotype = SimpleNamespace(anchor_model=model)
    fitted = SimpleNamespace(phenotype=phenotype, performance=told)
    doubts = list(_doubt_anchors(table, find_roles(table, ANCHORS, ()), fitted))
    assert len(doubts) == 1
    assert "'NLP:rheumatoid arthritis' is not more frequent among cases" in doubts[0]
