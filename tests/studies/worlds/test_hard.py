"""Every hard kind keeps the promise of its docstring; several worlds of each."""

import numpy as np
import pytest

from studies.worlds import hard

GROUPS = slice(2), slice(15, None)  # the first are spammers


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def draw():
    """Return a function that gives some worlds of a kind with so many classes."""
    return lambda kind, n_classes: [
        kind(np.random.default_rng([5, seed]), n_classes) for seed in range(12)
    ]


def accuracies(votes, truth):
    right = (votes == truth[:, None]).sum(axis=0)
    return right / np.maximum((votes != 0).sum(axis=0), 1)


def agreement(votes):
    """How often each pair of voters who both voted agree: voters x voters, 0 on the diagonal."""
    both = (votes[:, :, None] != 0) & (votes[:, None, :] != 0)
    same = (votes[:, :, None] == votes[:, None, :]) & both
    found = same.sum(axis=0) / np.maximum(both.sum(axis=0), 1)
    return found * (1 - np.eye(len(found)))


@pytest.mark.parametrize("name", hard.HARD)
def test_a_world_has_its_classes_and_the_promised_size(name, rng):
    kind, (least, most) = hard.HARD[name]
    for _ in range(3):
        world = hard.draw_hard(rng, kind, (least, most))
        assert least <= world.n_classes <= most
        assert set(world.truth) == set(world.codes.tolist())
        assert set(np.unique(world.votes)) <= {0, *world.codes.tolist()}
        assert 200 <= len(world.truth) <= 3000
        assert 3 <= world.votes.shape[1] <= 60
        assert world.votes.any(axis=1).mean() > 0.95
        shares = (world.truth[:, None] == world.codes).mean(axis=0)
        assert shares.min() > 0.25 / world.n_classes
        assert world.enter().ordered == world.ordered
        assert world.enter().n_classes == world.n_classes


def test_what_is_not_meant_comes_from_the_confusions(rng):
    meant = np.repeat([0, 1, 2], 20_000)
    taken = np.array([[0, 0.9, 0.1], [0.5, 0, 0.5], [1.0, 0, 0]])
    said = hard.say(rng, meant, 0.7, taken)
    found = np.array([[np.mean(said[meant == k] == c) for c in range(3)] for k in range(3)])
    assert found == pytest.approx(0.7 * np.eye(3) + 0.3 * taken, abs=0.02)


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_errors_have_a_look_alike_or_a_neighbor(rng, n_classes):
    for taken in (hard.draw_confusion(rng, n_classes), hard.draw_steps(rng, n_classes)):
        assert np.diag(taken).max() == 0
        assert taken.sum(axis=1) == pytest.approx(1)
    assert hard.draw_confusion(rng, n_classes).max(axis=1).min() >= 0.5
    if n_classes > 2:
        assert np.all(np.diff(hard.draw_steps(rng, n_classes)[0, 1:]) < 0)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_accuracies_fall_with_the_items(draw, n_classes):
    falls = []
    for world in draw(hard.drifting, n_classes):
        halves = np.array_split(np.arange(len(world.truth)), 2)
        first, last = (
            np.mean((world.votes[rows] == world.truth[rows, None])[world.votes[rows] != 0])
            for rows in halves
        )
        falls.append(first - last)
    assert 0.03 < np.mean(falls) < 0.2


@pytest.mark.parametrize("n_classes", [2, 4])
def test_two_schools_differ_in_accuracy(draw, n_classes):
    differences = []
    for world in draw(hard.two_schools, n_classes):
        n_voters = world.votes.shape[1]
        second, first = np.ceil(0.25 * n_voters), np.floor(0.55 * n_voters)  # the least of each
        right = accuracies(world.votes, world.truth)
        differences.append(right[-int(first) :].mean() - right[: int(second)].mean())
    assert np.mean(differences) > 0.05


@pytest.mark.parametrize("n_classes", [2, 4])
def test_bots_agree_and_know_nothing(draw, n_classes):
    for world in draw(hard.sybils, n_classes):
        n_voters = world.votes.shape[1]
        bots = world.votes[:, : int(0.25 * n_voters)]
        counts = (bots != 0).sum(axis=0)
        assert agreement(bots).max() > 0.85
        known = accuracies(bots, world.truth)
        assert np.average(known, weights=counts) == pytest.approx(1 / n_classes, abs=0.12)
        assert 3 <= (world.votes != 0).sum(axis=1).max() <= 7


@pytest.mark.parametrize("n_classes", [2, 4])
def test_judges_err_together_where_the_first_option_is_wrong(draw, n_classes):
    """Errors of independent judges are not correlated, given the truth."""
    found = []
    for world in draw(hard.position_bias, n_classes):
        wrong = ((world.votes != world.truth[:, None]) & (world.votes != 0)).astype(float)
        pairs = np.corrcoef(wrong, rowvar=False)
        found.append(pairs[np.tril_indices(len(pairs), -1)].mean())
    assert np.mean(found) > 0.02


@pytest.mark.parametrize("n_classes", [2, 5])
def test_severe_judges_err_between_neighbors(draw, n_classes):
    leans, near = [], []
    for world in draw(hard.severity, n_classes):
        assert world.ordered == (n_classes > 2)
        steps = (world.votes.astype(float) - world.truth[:, None])[world.votes != 0]
        leans.append(steps.mean())
        size = 2 if n_classes == 2 else 1  # -1 and +1 are two apart
        near.append(np.mean(np.abs(steps[steps != 0]) == size))
    assert np.mean(near) > 0.6
    assert np.ptp(leans) > 0.1  # some crowds are lenient, some strict


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_ring_agrees_and_is_wrong(draw, n_classes):
    for world in draw(hard.adversaries, n_classes):
        ring = max(1, int(0.15 * world.votes.shape[1]))
        right = accuracies(world.votes, world.truth)
        assert right[:ring].max() < 0.85
        if ring > 1:
            assert agreement(world.votes[:, :ring])[0, 1] > 0.75


@pytest.mark.parametrize("n_classes", [2, 4])
def test_on_some_items_most_voters_are_wrong(draw, n_classes):
    for world in draw(hard.illusions, n_classes):
        right = (world.votes == world.truth[:, None]).sum(axis=1) / (world.votes != 0).sum(axis=1)
        assert 0.02 < np.mean(right < 0.5) < 0.3


@pytest.mark.parametrize("n_classes", [3, 6])
def test_panels_and_crowds_of_more_classes(draw, n_classes):
    for kind in (hard.look_alikes, hard.steps):
        for world in draw(kind, n_classes):
            assert 4 <= world.votes.shape[1] <= 9
            assert 0.25 < accuracies(world.votes, world.truth).mean() < 0.85
    gaps = []
    for kind in (hard.class_crowd, hard.step_crowd):
        for world in draw(kind, n_classes):
            assert set((world.votes != 0).sum(axis=1)) <= set(range(3, 8))
            right = world.votes == world.truth[:, None]
            spammers, others = (np.mean(right[:, x][world.votes[:, x] != 0]) for x in GROUPS)
            gaps.append(others - spammers)
    assert np.mean(gaps) > 0.15
    for world in draw(hard.class_families, n_classes):
        assert agreement(world.votes).max() > 0.6
