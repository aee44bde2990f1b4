import numpy as np
import pytest

from unelisa.ehr.counts import read_counts
from unelisa.ehr.phenotype import SHARED_JUDGES, Judges


def test_the_first_judge_counts_those_whom_the_anchors_show_and_others_lie_around_it(
    datamart, model
):
    judges = model._judges
    assert judges.patients.tolist() == datamart.counts.index.tolist()
    chances = model.predict_proba(datamart.counts)[:, 1]
    assert judges.chances[0].sum() < chances.sum() < judges.chances[2].sum()
    strict, generous, halved = judges.chances[1:4]
    assert len(judges.chances) == 6 + len(model.anchors)
    shared, least = judges.chances[SHARED_JUDGES]
    assert least.sum() == pytest.approx(shared.sum())
    smaller = least[least < judges.chances[0]]
    assert (smaller > 0).sum() <= 1  # the patients with the error are no cases, the others stay
    assert (shared <= judges.chances[0]).all()
    assert (generous >= judges.chances[0]).all()
    assert (halved <= strict).all()
    case = datamart.truth.to_numpy() > 0
    assert halved.sum() < case.sum() < generous.sum()


def test_judges_of_other_patients_need_their_counts_only(datamart, model):
    some = datamart.counts.iloc[:500]
    found = Judges.of(model._phenotype, read_counts(some, "note_count"))
    assert np.allclose(found.chances[0], model._judges.chances[0][:500])
