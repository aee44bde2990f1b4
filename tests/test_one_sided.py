import numpy as np

from latent.worlds import plain_crowd, rules
from unelisa.one_sided import read_silence


def silence_of(values):
    counts = np.count_nonzero(values, axis=0), (values > 0).sum(axis=0)
    return read_silence(*(count.astype(float) for count in counts), len(values))


def test_silence_speaks_only_where_most_votes_are_one_sided():
    values, _ = rules(0)
    assert silence_of(values).tolist() == [-1, 1] * 5
    crowd, _ = plain_crowd(0)
    crowd[:100, 0] = 1  # one such voter in a crowd
    crowd[100:, 0] = 0
    assert not silence_of(crowd).any()


def test_voters_of_a_rare_class_are_no_rules_and_who_answers_everything_is_never_silent():
    rng = np.random.default_rng(0)
    truth = np.where(rng.random((1000, 1)) < 0.01, 1, -1)
    votes = np.where(rng.random((1000, 8)) < 0.995, truth, -truth)
    rare = np.where(rng.random(votes.shape) < 0.4, votes, 0).astype(np.int8)
    assert np.all((rare > 0).mean(axis=0) < 0.02)
    assert not silence_of(rare).any()
    values, _ = rules(0)
    assert silence_of(np.where(values > 0, 1, 0)[:, ::2]).tolist() == [-1] * 5  # no other vote
    assert not silence_of(np.where(values == 0, np.array([1, -1] * 5), values)).any()
