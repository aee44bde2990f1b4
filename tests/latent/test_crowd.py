import numpy as np

from latent.worlds import class_crowd, crowd_of, plain_crowd
from unelisa.latent.crowd import LEAST_ITEMS, draw_items


def test_a_crowd_counts_its_votes():
    values, _ = plain_crowd(0, n_items=50, n_voters=7, votes_per_item=3)
    values[:, 4] = 0  # silent: not a pair with anybody
    crowd = crowd_of(values)
    assert crowd.votes.tolist() == np.count_nonzero(values, axis=0).tolist()
    assert crowd.cast[:, 1].tolist() == (values > 0).sum(axis=0).tolist()
    counts = np.count_nonzero(values, axis=1)
    assert crowd.common == (counts * (counts - 1)).sum() / (6 * 5)


def test_votes_are_counted_by_class():
    values, _ = class_crowd(0, n_items=80, n_classes=3)
    crowd = crowd_of(values, 3)
    assert crowd.cast.T.tolist() == [(values == k).sum(axis=0).tolist() for k in (1, 2, 3)]


def test_who_varies_gave_two_answers_and_copies_nobody():
    values, _ = plain_crowd(2, n_items=200, n_voters=4, votes_per_item=4)
    beside = np.stack([values[:, 1], np.ones(200), np.zeros(200)], axis=1)
    crowd = crowd_of(np.hstack([values, beside]).astype(np.int8))
    assert crowd.heads.tolist() == [0, 1, 2, 3, 1, 5, 6]
    assert np.flatnonzero(~crowd.distinct).tolist() == [4]
    assert crowd.varied.tolist() == [0, 1, 2, 3]


def test_a_sample_has_some_items_the_same_ones_every_time():
    values, _ = plain_crowd(0, n_items=50, n_voters=7, votes_per_item=3)
    one, other = (crowd_of(values).draw(20) for _ in range(2))
    assert (one.ballots.n_items, one.blocks.n_items, one.n_voters) == (20, 20, 7)
    assert np.array_equal(one.tabulate(), other.tabulate())
    assert np.array_equal(one.tabulate(), values[draw_items(50, 20)])
    assert np.array_equal(crowd_of(values).draw(50).tabulate(), values)
    assert one.pairs is one.pairs


def test_a_sample_of_votes_holds_about_as_many_as_wanted_on_items_enough():
    values, _ = plain_crowd(0, n_items=1000, n_voters=7, votes_per_item=3)
    assert np.count_nonzero(crowd_of(values).draw_votes(1800).tabulate()) == 1800
    assert crowd_of(values).draw_votes(60).ballots.n_items == LEAST_ITEMS
    assert crowd_of(values[:300]).draw_votes(60).ballots.n_items == 300


def test_correlations_of_a_sample_are_those_of_residuals():
    values, _ = plain_crowd(1, n_voters=8, votes_per_item=8)
    sample = crowd_of(values).draw(300)
    expected = np.corrcoef(values, rowvar=False)[sample.pairs.first, sample.pairs.second]
    assert np.allclose(sample.correlations, expected, atol=1e-5)
