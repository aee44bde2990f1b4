import numpy as np

from unelisa.latent import prior


def test_no_more_than_25_numbers_decide_and_they_are_what_they_stand_for():
    numbers = {name: value for name, value in vars(prior).items() if name.isupper()}
    assert sum(np.size(value) for value in numbers.values()) <= 25
    assert np.all(np.diff(prior.EASE) > 0)
    assert prior.EASE[0] > 0
    for spread in (prior.WEIGHT_SPREAD, prior.BIAS_SPREAD, prior.RAMP, prior.GOLD_SPREAD):
        assert spread > 0
    for share in (
        prior.COHERENT,
        prior.SURELY_COHERENT,
        prior.LEAST_CHANCE,
        prior.UNHEARD,
        prior.REPEATS + prior.RAMP,
    ):
        assert 0 < share < 1
    assert min(prior.MODEL_POWER, prior.SHARE_POWER) > 0
