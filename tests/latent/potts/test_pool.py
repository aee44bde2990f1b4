from dataclasses import replace

import numpy as np
import pytest

from latent.worlds import ballots_of, class_crowd, copied_classes, ordered_crowd, run_of, sample_of
from unelisa.latent.potts.contest import weigh_majority
from unelisa.latent.potts.model import order_form
from unelisa.latent.potts.pool import (
    ClassTerms,
    answer_each,
    fit_class_pool,
    mix,
    share_branches,
)

NOBODY = np.full(12, -1, dtype=np.int32)


def pool_of(values, n_classes=4, family=NOBODY, weight=0.1, forms=None, whole=None):
    sample = sample_of(values)
    start = weigh_majority(sample, np.ones(values.shape[1]), n_classes)
    terms = ClassTerms(forms or [np.eye(n_classes)], whole=whole)
    return fit_class_pool((sample, sample), family, start, weight, terms)


def test_probabilities_mix_the_members_and_the_share_of_the_votes():
    values, _ = class_crowd(0)
    pool = pool_of(values)
    assert pool.parts.sum() == pytest.approx(1)
    assert pool.share == 0.1
    each = answer_each(run_of(values), pool, np.zeros(12, dtype=np.int8))
    assert each.shape == (600, 3, 4)
    pooled = mix(each, pool)
    assert pooled == pytest.approx(np.tensordot(each, pool.parts, axes=([1], [0])))
    assert pooled.sum(axis=1) == pytest.approx(1)


def test_the_share_of_the_votes_counts_a_family_once():
    values = np.array([[1, 1, 1, 2], [3, 0, 2, 0]], dtype=np.int8)
    family = np.array([0, 0, 0, -1], dtype=np.int32)
    found = share_branches(run_of(values), family, 3)
    assert found[0] == pytest.approx(np.array([2, 2, 1]) / 5)
    assert found[1] == pytest.approx(np.array([1, 1.5, 1.5]) / 4)


def test_items_without_votes_get_the_classes_shares_in_part():
    values, truth = class_crowd(1)
    values[truth == 3] = 0
    pool = pool_of(values)
    each = answer_each(run_of(values), pool, np.zeros(12, dtype=np.int8))
    assert (each[truth == 3] == pool.unheard).all()
    assert pool.unheard.argmin() == 3
    assert pool.unheard.sum() == pytest.approx(1)


def test_ordered_classes_have_members_of_both_forms():
    values, _ = ordered_crowd(0)
    pool = pool_of(values, 5, forms=[np.eye(5), order_form(5)])
    assert len(pool.members) == 4
    assert pool.weights[:2].sum() == pytest.approx(pool.weights[2:].sum())


def test_rare_voters_are_learned_from_all_votes():
    values, _ = class_crowd(2)
    part = values[:300].copy()
    part[:, 0] = 0
    alone, whole = pool_of(part), pool_of(part, whole=ballots_of(values))
    assert alone.best.weights[0] != pytest.approx(whole.best.weights[0], abs=1e-3)
    assert whole.best.evidence == alone.best.evidence


def test_slope_and_offsets_change_the_probabilities():
    values, _ = class_crowd(3)
    pool = pool_of(values)
    each = answer_each(run_of(values), pool, np.zeros(12, dtype=np.int8))
    flat = replace(pool, slope=0.5)
    assert mix(each, flat).max(axis=1).mean() < mix(each, pool).max(axis=1).mean()
    moved = replace(pool, offsets=np.array([2.0, 0, 0, 0]))
    assert mix(each, moved)[:, 0].mean() > mix(each, pool)[:, 0].mean()


def test_confusions_are_averaged_over_the_members():
    values, _ = copied_classes(0)
    found = pool_of(values).confusions
    assert found.shape == (12, 4, 4)
    assert found.sum(axis=2) == pytest.approx(1)
