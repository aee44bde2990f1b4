import numpy as np
import pytest

from studies.ehr.sets import phecap_set, rare_cohort
from unelisa.errors import ModelError


def test_the_simulated_set_knows_its_reviewed_charts(datamart):
    assert (datamart.signs == datamart.truth[datamart.reviewed]).all()
    assert datamart.counts.features[datamart.anchor_places].tolist() == list(datamart.anchors)
    assert set(datamart.roles) == set(datamart.counts.features)


def test_a_rare_cohort_is_part_of_its_datamart(datamart):
    cohort = rare_cohort(datamart, 1, 500, 0.03)
    assert (cohort.truth > 0).sum() == 15
    rows = np.flatnonzero(np.isin(datamart.counts.patients, cohort.counts.patients))
    assert len(rows) == 500
    assert cohort.counts.values.sum() == datamart.counts.values[rows].sum()


@pytest.mark.shared
def test_phecap_is_read(shared_data):
    data = phecap_set(shared_data / "ehr_phecap")
    assert data.counts.values.shape == (10_000, 586)
    assert len(data.signs) == 181
    assert (data.signs > 0).sum() == 119


def test_another_folder_is_refused(tmp_path):
    with pytest.raises(ModelError, match=r"lacks features.csv.gz or truth.csv"):
        phecap_set(tmp_path)
