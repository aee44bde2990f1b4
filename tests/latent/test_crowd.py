import numpy as np

from latent.worlds import ballots_of, plain_crowd, rules
from unelisa.latent.crowd import Crowd


def crowd_of(values, seed=0):
    return Crowd.of(ballots_of(values), np.random.default_rng(seed))


def test_a_crowd_counts_its_votes():
    values, _ = plain_crowd(0, n_items=50, n_voters=7, votes_per_item=3)
    values[:, 2] = np.abs(values[:, 2])
    crowd = crowd_of(values)
    assert crowd.votes.tolist() == np.count_nonzero(values, axis=0).tolist()
    assert crowd.yes.tolist() == (values > 0).sum(axis=0).tolist()
    assert crowd.common == 50 * 3 * 2 / (7 * 6)
    assert crowd.varied.tolist() == [0, 1, 3, 4, 5, 6]
    assert not crowd.silence.any()


def test_silence_is_filled_in_where_it_is_an_answer():
    values, _ = rules(0)
    crowd = crowd_of(values)
    assert crowd.silence.all()
    assert set(crowd.votes) == {np.count_nonzero(values.any(axis=1))}


def test_a_sample_has_some_items_and_the_same_seed_draws_the_same():
    values, _ = plain_crowd(0, n_items=50, n_voters=7, votes_per_item=3)
    one, other = (crowd_of(values).draw(20) for _ in range(2))
    assert (one.ballots.n_items, one.blocks.n_items, one.n_voters) == (20, 20, 7)
    assert np.array_equal(one.tabulate(), other.tabulate())
    rows = {tuple(row) for row in values.tolist()}
    assert all(tuple(row) in rows for row in one.tabulate().tolist())
    assert np.array_equal(crowd_of(values).draw(50).tabulate(), values)
    assert one.pairs is one.pairs
