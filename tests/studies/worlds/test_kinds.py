"""Every kind of world keeps the promise of its docstring; several worlds of each."""

from itertools import combinations

import numpy as np
import pytest

from studies.worlds import hard, simulated, tables, trained, unseen, voters
from studies.worlds.kinds import (
    FIRST_SEED,
    KINDS,
    NUMBERS,
    TABLES,
    WORDS,
    Place,
    draw_world,
    list_places,
    seed_place,
)
from studies.worth.runs import SEEN_WORLDS

PLACES = [Place(part, kind, 0) for part in KINDS for kind in KINDS[part]]
ALL_TABLES = {**tables.CHOOSING, **tables.REPORTING}


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def draw(kind, n_worlds, *n_classes):
    """Return some worlds of a kind, of so many classes where the kind asks for them."""
    return [kind(np.random.default_rng([5, seed]), *n_classes) for seed in range(n_worlds)]


def right(world):
    """Which votes are right: items x voters."""
    return world.votes == world.truth[:, None]


def accuracies(world):
    return right(world).sum(axis=0) / np.maximum((world.votes != 0).sum(axis=0), 1)


def agreement(votes):
    """How often each pair of voters who both voted agree: voters x voters."""
    both = (votes[:, :, None] != 0) & (votes[:, None, :] != 0)
    same = (votes[:, :, None] == votes[:, None, :]) & both
    return same.sum(axis=0) / np.maximum(both.sum(axis=0), 1)


def pairs(table):
    """Return what a table of voters x voters has below its diagonal."""
    return table[np.tril_indices(len(table), -1)]


def halves(world):
    """The accuracies of both halves of the items: halves x voters."""
    parts = np.array_split(np.arange(len(world.truth)), 2)
    return np.array(
        [
            right(world)[rows].sum(axis=0) / np.maximum((world.votes[rows] != 0).sum(axis=0), 1)
            for rows in parts
        ]
    )


@pytest.mark.parametrize("place", PLACES, ids=lambda place: f"{place.part}-{place.kind}")
def test_a_world_is_coded_and_comes_again_from_its_seed(place):
    world, again = draw_world(place), draw_world(place)
    assert world.votes.dtype == world.truth.dtype == np.int8
    assert world.votes.shape[0] == len(world.truth) >= 30
    assert world.votes.shape[1] >= 3
    codes = set(world.codes.tolist())
    assert set(np.unique(world.votes)) <= {0, *codes}
    assert set(world.truth) == codes
    assert np.array_equal(world.votes, again.votes)
    assert np.array_equal(world.truth, again.truth)


def test_numbers_and_parts_give_other_worlds_of_hidden_labels():
    one, two = (draw_world(Place("choosing", "tilted", number)) for number in (0, 1))
    elsewhere = draw_world(Place("reporting", "tilted", 0))
    for other in (two, elsewhere):
        assert not np.array_equal(one.votes[:300, 0], other.votes[:300, 0])
    for seed in range(10):
        split = trained.draw_split(np.random.default_rng(seed), tables.CHOOSING)
        assert 20 <= len(split.labels) < 60
        assert min(np.sum(split.labels > 0), np.sum(split.labels < 0)) >= 4
        assert len(split.items) == len(split.truth)
        both = np.concatenate([split.learned, split.items])
        assert np.allclose(both.mean(axis=0), 0, atol=1e-9)


def test_parts_share_no_seed_table_or_world():
    numbers = range(1000)
    seeds = {
        part: {tuple(seed_place(place)) for place in list_places(part, KINDS[part], numbers)}
        for part in FIRST_SEED
    }
    firsts = {part: {seed for seed, _ in seeds[part]} for part in seeds}
    for one, two in combinations(FIRST_SEED, 2):
        assert not firsts[one] & firsts[two]
    assert len(seeds["reporting"]) == 1000 * len(KINDS["reporting"])
    assert not set(TABLES["choosing"]) & set(TABLES["reporting"])
    for part, used in TABLES.items():
        kinds = {x: d.keywords["tables"] for x, d in KINDS[part].items() if hasattr(d, "keywords")}
        assert set(kinds) == {"classifiers", "forest", "stumps", "neighbors"}
        assert all(mine is used for mine in kinds.values())
    # nor drawn by the study of voters, which takes worlds 40 to 43 of the reporting part
    only = set(KINDS["reporting"]) - set(KINDS["choosing"])
    assert only == {"copied_expert", "nested_families", "two_topics", "drifting_crowd"}
    assert set(WORDS) == {name for kinds in KINDS.values() for name in kinds}
    assert all(words.endswith(".") for words in WORDS.values())
    assert min(NUMBERS["reporting"]) > max(*range(40), *SEEN_WORLDS)
    assert {len(numbers) for numbers in NUMBERS.values()} == {20}
    assert KINDS["hard-choosing"].keys() == KINDS["hard-reporting"].keys()


def test_voters_answer_repeat_and_fall_silent_at_the_rates_asked_for(rng):
    truth = voters.draw_truth(rng, 20_000, 0.3)
    votes = voters.answer(rng, truth, 0.9, 0.6)
    silent = voters.lose(rng, votes, 0.4)
    found = {
        0.3: np.mean(truth > 0),
        0.9: np.mean(votes[truth > 0] > 0),
        0.6: np.mean(votes[truth < 0] < 0),
        0.95: np.mean(voters.repeat(rng, votes, 0.95) == votes),
        0.4: np.mean(silent == 0),
        1 / (1 + np.exp(-1)): np.mean(voters.respond(rng, np.full(20_000, 0.5)) > 0),  # half logit
    }
    assert list(found.values()) == pytest.approx(list(found), abs=0.02)
    assert np.array_equal(voters.repeat(rng, silent, 0.9) == 0, silent == 0)
    world = voters.join_voters([truth[:50], -truth[:50]], truth[:50])
    assert np.array_equal(world.votes[:, 1], -world.truth)
    seated = voters.seat_crowd(rng, 500, 40, 5)
    assert set(seated.sum(axis=1)) == {5}
    assert np.sort(seated.sum(axis=0))[-4:].sum() > 2 * 500 * 5 * 4 / 40  # a few are busy


@pytest.mark.parametrize("name", ALL_TABLES)
def test_a_table_has_two_classes_and_comes_again_from_its_seed(name):
    first, again, other = (ALL_TABLES[name](np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert first.features.shape[0] == len(first.truth) >= 100
    assert first.features.shape[1] >= 4
    assert set(first.truth) == {-1, 1}
    assert 0.2 < np.mean(first.truth > 0) < 0.8
    assert np.isfinite(first.features).all()
    assert np.array_equal(first.features, again.features)
    assert np.array_equal(first.truth, again.truth)
    fixed = {"breast_cancer", "wine", "digits_parity", "diabetes", "one_digit_of_three"}
    assert name in fixed or not np.array_equal(first.features, other.features)


@pytest.mark.parametrize("name", ["classifiers", "forest", "stumps", "neighbors"])
def test_trained_voters_vote_on_everything_and_are_better_than_chance(name):
    for seed in range(2):
        only = {"breast_cancer": tables.breast_cancer}
        world = getattr(trained, name)(np.random.default_rng(seed), only)
        assert world.votes.all()
        assert 7 <= world.votes.shape[1] <= 24
        assert len(world.truth) < 569
        assert right(world).mean() > 0.7
    few = trained.stumps(np.random.default_rng(0), {"iris": tables.iris})
    assert few.votes.shape[1] == 4  # as many as the table has features


# what each world of a kind keeps; of two classes
PROMISES = {
    "copies": lambda world: np.sum(pairs(agreement(world.votes)) == 1) in {1, 3, 6},
    "near_copies": lambda world: 0.88 < pairs(agreement(world.votes)).max() < 1,
    "two_prompts": lambda world: np.sort(pairs(agreement(world.votes)))[-1] > 0.87,
    "bad_clique": lambda world: (
        0.48 < np.sort(accuracies(world))[:4].mean() < 0.66
        and np.sort(accuracies(world))[5:].min() > 0.6
        and np.sum(pairs(agreement(world.votes)) > 0.8) in {6, 10}  # among four or five
    ),
    "lenient_families": lambda world: pairs(agreement(world.votes)).max() > 0.75,
    "incomplete_panel": lambda world: (
        3 <= np.count_nonzero(world.votes, axis=1).max() <= 6
        and np.ptp(np.mean(world.votes != 0, axis=0)) < 0.2  # everybody is asked equally often
    ),
    "rare_class": lambda world: 0.015 < np.mean(world.truth > 0) < 0.16,
    "rules": lambda world: all(
        len({*column} - {0}) == 1  # one-sided, and better than chance
        and np.mean(world.truth[column != 0] == column[column != 0])
        > np.mean(world.truth == column[column != 0][0])
        for column in world.votes.T
    ),
    "thresholds": lambda world: (
        sum(
            (world.votes[:, s] <= world.votes[:, t]).all()
            for s in range(world.votes.shape[1])
            for t in range(world.votes.shape[1])
            if s != t
        )
        >= 3
    ),
    "contrarians": lambda world: 0 < np.mean(accuracies(world) < 0.5) <= 0.3,
    "spammers": lambda world: (
        np.abs(
            np.subtract(
                *(
                    (world.votes[world.truth == side, 1::2] > 0).sum(axis=0)
                    / (world.votes[world.truth == side, 1::2] != 0).sum(axis=0)
                    for side in (-1, 1)
                )
            )
        ).mean()
        < 0.15
    ),
    "sparse_crowd": lambda world: (
        3 <= np.unique((world.votes != 0).sum(axis=1))[0] == (world.votes != 0).sum(axis=1).max()
    ),
    "independent": lambda world: accuracies(world).min() > 0.5,
    "paper": lambda world: world.votes.shape[1] == 25 and world.votes.all(),
}


@pytest.mark.parametrize("kind", PROMISES)
def test_a_kind_keeps_its_promise(kind):
    worlds = draw(getattr(simulated, kind), 2 if kind == "paper" else 6)
    assert all(PROMISES[kind](world) for world in worlds)


def test_kinds_of_both_parts_are_as_they_say():
    lenient = draw(simulated.lenient_families, 6)
    assert np.mean([(w.votes > 0).mean() - (w.truth > 0).mean() for w in lenient]) > 0
    ruled = draw(simulated.rules, 6)
    assert np.mean([np.mean(~world.votes.any(axis=1)) for world in ruled]) > 0.1  # silent items
    for world in draw(simulated.uneven_ease, 6):  # right votes vary more than independent ones
        table = right(world)[(world.votes != 0).all(axis=1)]
        alone = (table.mean(axis=0) * (1 - table.mean(axis=0))).sum()
        assert len(table) <= 200 or table.sum(axis=1).var() > 1.2 * alone
    for world in draw(simulated.tilted, 6):  # voters err together
        means = [world.votes[world.truth == side].mean(axis=0) for side in (1, -1)]
        rest = world.votes - np.where(world.truth[:, None] > 0, *means)
        assert pairs(np.corrcoef(rest, rowvar=False)).mean() > 0.03
    # by their shapes and rates alone: no method is run on them
    for world in draw(unseen.copied_expert, 4):
        assert world.votes.shape[1] in {11, 12, 13}
        assert 0.25 < np.mean(world.votes == 0) < 0.65
        assert agreement(world.votes)[0, 1] > 0.87
    for world in draw(unseen.nested_families, 4):
        found = pairs(np.corrcoef(world.votes, rowvar=False))
        assert found.max() > 0.7
        assert found.min() < 0.4
    for world in draw(unseen.two_topics, 4):  # voters of one topic are right together
        margins = world.votes * world.truth[:, None]
        teams = margins[:, ::2].sum(axis=1), margins[:, 1::2].sum(axis=1)
        assert np.corrcoef(*teams)[0, 1] < -0.1
    for world in draw(unseen.drifting_crowd, 4):
        counts = (world.votes != 0).sum(axis=1)
        assert 5 <= counts.min() == counts.max() <= 9
        busy = (world.votes != 0).sum(axis=0) > 60
        assert np.abs(np.subtract(*halves(world)))[busy].mean() > 0.03


@pytest.mark.parametrize("name", hard.HARD)
def test_a_hard_world_has_its_classes_and_the_promised_size(name, rng):
    kind, (least, most) = hard.HARD[name]
    for _ in range(3):
        world = hard.draw_hard(rng, kind, (least, most))
        assert least <= world.n_classes <= most
        assert 200 <= len(world.truth) <= 3000
        assert 3 <= world.votes.shape[1] <= 60
        assert world.votes.any(axis=1).mean() > 0.95
        shares = (world.truth[:, None] == world.codes).mean(axis=0)
        assert shares.min() > 0.25 / world.n_classes
        assert (world.enter().ordered, world.enter().n_classes) == (world.ordered, world.n_classes)


def test_what_is_not_meant_comes_from_the_confusions(rng):
    meant = np.repeat([0, 1, 2], 20_000)
    taken = np.array([[0, 0.9, 0.1], [0.5, 0, 0.5], [1.0, 0, 0]])
    said = hard.say(rng, meant, 0.7, taken)
    found = np.array([[np.mean(said[meant == k] == c) for c in range(3)] for k in range(3)])
    assert found == pytest.approx(0.7 * np.eye(3) + 0.3 * taken, abs=0.02)
    for n_classes in (2, 3, 6):  # a look-alike, or a neighbor
        for taken in (hard.draw_confusion(rng, n_classes), hard.draw_steps(rng, n_classes)):
            assert np.diag(taken).max() == 0
            assert taken.sum(axis=1) == pytest.approx(1)
        assert hard.draw_confusion(rng, n_classes).max(axis=1).min() >= 0.5


@pytest.mark.parametrize("n_classes", [2, 4])
def test_hard_kinds_differ_in_the_mean_as_they_say(n_classes):
    falls = [-np.diff(halves(world).mean(axis=1)) for world in draw(hard.drifting, 12, n_classes)]
    assert 0.03 < np.mean(falls) < 0.2
    schools = []
    for world in draw(hard.two_schools, 12, n_classes):
        n_voters = world.votes.shape[1]
        second, first = int(0.25 * n_voters) + 1, int(0.55 * n_voters)  # the least of each
        found = accuracies(world)
        schools.append(found[-first:].mean() - found[:second].mean())
    assert np.mean(schools) > 0.05
    together = []  # errors of independent judges are not correlated, given the truth
    for world in draw(hard.position_bias, 12, n_classes):
        wrong = (~right(world) & (world.votes != 0)).astype(float)
        together.append(pairs(np.corrcoef(wrong, rowvar=False)).mean())
    assert np.mean(together) > 0.02
    severe, near = [], []
    for world in draw(hard.severity, 12, n_classes):
        assert world.ordered == (n_classes > 2)
        steps = (world.votes.astype(float) - world.truth[:, None])[world.votes != 0]
        severe.append(steps.mean())
        near.append(np.mean(np.abs(steps[steps != 0]) == (2 if n_classes == 2 else 1)))
    assert np.mean(near) > 0.6
    assert np.ptp(severe) > 0.1  # some crowds are lenient, some strict


@pytest.mark.parametrize("n_classes", [2, 4])
def test_bots_rings_and_illusions(n_classes):
    for world in draw(hard.sybils, 12, n_classes):
        bots = slice(int(0.25 * world.votes.shape[1]))
        counts = (world.votes[:, bots] != 0).sum(axis=0)
        assert pairs(agreement(world.votes[:, bots])).max() > 0.85
        known = np.average(accuracies(world)[bots], weights=counts)
        assert known == pytest.approx(1 / n_classes, abs=0.12)
        assert 3 <= (world.votes != 0).sum(axis=1).max() <= 7
    for world in draw(hard.adversaries, 12, n_classes):
        ring = max(1, int(0.15 * world.votes.shape[1]))
        assert accuracies(world)[:ring].max() < 0.85
        assert ring == 1 or agreement(world.votes[:, :ring])[0, 1] > 0.75
    for world in draw(hard.illusions, 12, n_classes):  # on some items most voters are wrong
        share = right(world).sum(axis=1) / (world.votes != 0).sum(axis=1)
        assert 0.02 < np.mean(share < 0.5) < 0.3


@pytest.mark.parametrize("n_classes", [3, 6])
def test_panels_and_crowds_of_more_classes(n_classes):
    for kind in (hard.look_alikes, hard.steps):
        for world in draw(kind, 12, n_classes):
            assert 4 <= world.votes.shape[1] <= 9
            assert 0.25 < accuracies(world).mean() < 0.85
    gaps = []
    for kind in (hard.class_crowd, hard.step_crowd):
        for world in draw(kind, 12, n_classes):
            assert set((world.votes != 0).sum(axis=1)) <= set(range(3, 8))
            found = [
                np.mean(right(world)[:, x][world.votes[:, x] != 0])
                for x in (slice(2), slice(15, None))  # the first are spammers
            ]
            gaps.append(found[1] - found[0])
    assert np.mean(gaps) > 0.15
    for world in draw(hard.class_families, 12, n_classes):
        assert pairs(agreement(world.votes)).max() > 0.6
