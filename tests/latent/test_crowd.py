import numpy as np

from latent.worlds import ballots_of, plain_crowd, rules
from unelisa.latent.crowd import LEAST_ITEMS, Crowd


def crowd_of(values):
    return Crowd.of(ballots_of(values))


def test_a_crowd_counts_its_votes():
    values, _ = plain_crowd(0, n_items=50, n_voters=7, votes_per_item=3)
    crowd = crowd_of(values)
    assert crowd.votes.tolist() == np.count_nonzero(values, axis=0).tolist()
    assert crowd.yes.tolist() == (values > 0).sum(axis=0).tolist()
    assert crowd.common == 50 * 3 * 2 / (7 * 6)
    assert crowd.varied.tolist() == list(range(7))
    assert not crowd.silence.any()


def test_silence_is_filled_in_where_it_is_an_answer():
    values, _ = rules(0)
    crowd = crowd_of(values)
    assert crowd.silence.all()
    assert set(crowd.votes) == {np.count_nonzero(values.any(axis=1))}


def test_a_sample_has_some_items_the_same_ones_every_time():
    values, _ = plain_crowd(0, n_items=50, n_voters=7, votes_per_item=3)
    one, other = (crowd_of(values).draw(20) for _ in range(2))
    assert (one.ballots.n_items, one.blocks.n_items, one.n_voters) == (20, 20, 7)
    assert np.array_equal(one.tabulate(), other.tabulate())
    rows = {tuple(row) for row in values.tolist()}
    assert all(tuple(row) in rows for row in one.tabulate().tolist())
    assert np.array_equal(crowd_of(values).draw(50).tabulate(), values)
    assert one.pairs is one.pairs


def test_a_sample_of_votes_holds_about_as_many_as_wanted():
    values, _ = plain_crowd(0, n_items=1000, n_voters=7, votes_per_item=3)
    spoken, filled = crowd_of(values).draw_votes(1800)
    assert spoken is filled
    assert np.count_nonzero(spoken.tabulate()) == 1800


def test_a_sample_of_votes_has_items_enough_to_tell_relatives_however_many_the_voters():
    values, _ = plain_crowd(0, n_items=1000, n_voters=7, votes_per_item=3)
    assert crowd_of(values).draw_votes(60)[0].ballots.n_items == LEAST_ITEMS
    assert crowd_of(values[:300]).draw_votes(60)[0].ballots.n_items == 300


def test_a_sample_of_rules_votes_comes_with_their_silence():
    values, _ = rules(0)
    crowd = crowd_of(values)
    spoken, filled = crowd.draw_votes(100_000)
    assert np.array_equal(spoken.tabulate(), values)
    heard = values.any(axis=1)
    expected = np.where((values == 0) & heard[:, None], crowd.silence, values)
    assert np.array_equal(filled.tabulate(), expected)


def test_correlations_of_a_sample_are_those_of_residuals():
    values, _ = plain_crowd(1, n_voters=8, votes_per_item=8)
    sample = crowd_of(values).draw(300)
    expected = np.corrcoef(values, rowvar=False)[sample.pairs.first, sample.pairs.second]
    assert np.allclose(sample.correlations, expected, atol=1e-5)


def test_who_always_says_the_same_is_not_read():
    values, _ = plain_crowd(2, n_items=200, n_voters=8, votes_per_item=8)
    crowd = crowd_of(np.hstack([values, np.ones((200, 2), dtype=np.int8)]))
    alone = crowd_of(values)
    assert crowd.kept.tolist() == [True] * 8 + [False] * 2
    assert crowd.votes.tolist() == [*alone.votes, 0, 0]
    assert crowd.common == alone.common
    assert not crowd.silence.any()
    assert crowd_of(np.ones((20, 3), dtype=np.int8)).kept.all()  # there is nobody else
    assert crowd_of(rules(0)[0]).kept.all()  # their silence is their other answer
