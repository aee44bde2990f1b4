import numpy as np
import pytest

from studies.worlds import tables, trained

KINDS = (trained.classifiers, trained.forest, trained.stumps, trained.neighbors)


def test_a_split_has_labels_of_both_classes_and_hides_the_rest():
    for seed in range(10):
        split = trained.draw_split(np.random.default_rng(seed), tables.CHOOSING)
        assert 20 <= len(split.labels) < 60
        assert min(np.sum(split.labels > 0), np.sum(split.labels < 0)) >= 4
        assert len(split.items) == len(split.truth)
        both = np.concatenate([split.learned, split.items])
        assert np.allclose(both.mean(axis=0), 0, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_trained_voters_vote_on_everything_and_are_better_than_chance(kind):
    only = {"breast_cancer": tables.breast_cancer}
    for seed in range(2):
        world = kind(np.random.default_rng(seed), only)
        assert world.votes.all()
        assert world.votes.dtype == np.int8
        assert 7 <= world.votes.shape[1] <= 24
        assert len(world.truth) < 569
        assert (world.votes == world.truth[:, None]).mean() > 0.7


def test_a_table_of_few_features_has_as_many_stumps():
    world = trained.stumps(np.random.default_rng(0), {"iris": tables.iris})
    assert world.votes.shape[1] == 4
