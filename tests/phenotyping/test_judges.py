import numpy as np
from scipy.special import expit

from unelisa.phenotyping.counts import read_counts
from unelisa.phenotyping.judges import Judges, _judge_strictly


def test_the_first_judge_is_the_posterior_and_others_lie_around_it(datamart, model):
    judges = model._judges
    assert judges.patients.tolist() == datamart.counts.index.tolist()
    assert np.allclose(judges.chances[0], model.predict_proba(datamart.counts)[:, 1])
    strict, generous, halved = judges.chances[1:4]
    assert len(judges.chances) == 4 + len(model.anchors)
    assert (generous >= judges.chances[0]).all()
    assert (halved <= strict).all()
    case = datamart.truth.to_numpy() > 0
    assert halved.sum() < case.sum() < generous.sum()


def test_judges_of_other_patients_need_their_counts_only(datamart, model):
    some = datamart.counts.iloc[:500]
    found = Judges.of(model._phenotype, read_counts(some, "note_count"))
    assert np.allclose(found.chances[0], model._judges.chances[0][:500])


def test_false_ones_among_the_shown_are_bounded_by_the_other_features():
    rng = np.random.default_rng(0)
    shown = np.repeat([0.0, 1.0], [20_000, 4000])
    false = np.repeat([True, False], [21_000, 3000])  # 1,000 of the 4,000 shown
    others = rng.normal(np.where(false, 0, 4), 1)
    strict, doubtful = _judge_strictly(shown, others)
    assert 0.2 < doubtful < 0.3
    assert abs(strict.sum() - 3000) < 250
    assert strict[false & (shown > 0)].mean() < 0.2
    assert strict[~false].mean() > 0.9


def test_without_other_features_nothing_is_sure():
    shown = expit(np.linspace(-8, 8, 1000))
    strict, doubtful = _judge_strictly(shown, np.zeros(1000))
    assert doubtful == 1
    assert np.allclose(strict, 0)
