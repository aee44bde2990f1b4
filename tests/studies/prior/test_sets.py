import numpy as np
import pytest

from studies.prior.sets import fit_set, setting
from unelisa import LatentIsing
from unelisa.latent import prior

# one of the sets has a copy, which the default says
pytestmark = pytest.mark.filterwarnings("ignore:.*repeat each other vote for vote")


def test_classes_are_those_of_the_truth(truths, data):
    for one in truths:
        lines = (data / "own" / one.one.name / "truth.csv").read_text().split()[1:]
        known = dict(line.split(",") for line in lines)
        names = [None if k < 0 else str(one.votes.classes[k]) for k in one.classes.tolist()]
        assert names == [known.get(str(item)) for item in one.votes.items]
        assert one.classes.min() == -1


def test_a_fit_is_that_of_the_default_before_it_is_averaged(truths):
    for one in truths:
        fitted = fit_set(one)
        assert (fitted.name, fitted.source, fitted.told) == (one.one.name, one.one.source, True)
        for chances in (fitted.chances, fitted.shares):
            assert chances.sum(axis=1) == pytest.approx(1)
        logs = prior.MODEL_POWER * np.log(np.maximum(fitted.chances, prior.LEAST_CHANCE))
        logs += prior.SHARE_POWER * np.log(fitted.shares)
        model = LatentIsing().fit(one.votes)
        expected = np.exp(fitted.reading.experience.factor * logs)
        expected /= expected.sum(axis=1, keepdims=True)
        assert model.predict_proba(one.votes) == pytest.approx(expected, abs=1e-9)


def test_values_are_restored_also_after_an_error():
    before = prior.REPEATS, prior.MODEL_POWER
    with setting({"REPEATS": 2.0, "MODEL_POWER": 0.1}):
        assert (prior.REPEATS, prior.MODEL_POWER) == (2.0, 0.1)
    assert before == (prior.REPEATS, prior.MODEL_POWER)
    with pytest.raises(ZeroDivisionError), setting({"REPEATS": 2.0, "MODEL_POWER": 0.1}):
        raise ZeroDivisionError
    assert before == (prior.REPEATS, prior.MODEL_POWER)


def test_only_numbers_of_the_prior_can_be_set():
    with pytest.raises(AttributeError), setting({"REPEATS": 2.0, "NOTHING": 1.0}):
        pass
    assert prior.REPEATS != 2.0
