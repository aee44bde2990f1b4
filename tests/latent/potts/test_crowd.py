import numpy as np

from latent.worlds import ballots_of, class_crowd, class_rules
from unelisa.latent.potts.crowd import ClassCrowd, code_silence, count_answers, find_rules


def test_answers_are_counted_per_voter_and_class():
    values, _ = class_crowd(0)
    (counts,) = ballots_of(values).sum(count_answers, 12, 4)
    for s, k in ((0, 0), (5, 3)):
        assert counts[s, k] == np.count_nonzero(values[:, s] == k + 1)


def test_the_silence_of_rules_is_one_more_answer():
    values, _ = class_rules(0)
    crowd = ClassCrowd.of(ballots_of(values), 3)
    assert crowd.silence.all()
    spoken, filled = crowd.draw_votes(10_000)
    heard = spoken.ballots.counts > 0
    assert (filled.ballots.counts[heard] == values.shape[1]).all()
    assert filled.ballots.votes.max() == 4


def test_a_crowd_has_no_rules():
    values, _ = class_crowd(1)
    crowd = ClassCrowd.of(ballots_of(values), 4)
    assert not crowd.silence.any()
    assert crowd.ballots is crowd.spoken


def test_who_always_says_the_same_is_not_read():
    values, _ = class_crowd(2)
    values[:, 3] = np.where(values[:, 3] == 0, 0, 2)
    crowd = ClassCrowd.of(ballots_of(values), 4)
    assert crowd.kept.tolist() == [s != 3 for s in range(12)]
    assert crowd.votes[3] == 0


def test_a_common_class_makes_nobody_a_rule():
    counts = np.array([[40.0, 0, 0], [50, 0, 0], [39, 1, 1]])
    assert not find_rules(counts, 100).any()


def test_the_code_of_silence_wraps_as_votes_do():
    assert code_silence(np.array([0, 1], dtype=np.int8), 199).view(np.uint8).tolist() == [0, 200]
