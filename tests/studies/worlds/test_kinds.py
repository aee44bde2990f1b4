from itertools import combinations

import numpy as np
import pytest

from studies.worlds import tables
from studies.worlds.kinds import (
    FIRST_SEED,
    KINDS,
    NUMBERS,
    TABLES,
    WORDS,
    Place,
    draw_world,
    find_kinds,
    list_places,
    seed_place,
)
from studies.worth.runs import SEEN_WORLDS
from unelisa.errors import ModelError

PLACES = [Place(part, kind, 0) for part in KINDS for kind in KINDS[part]]


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


def test_numbers_and_parts_give_other_worlds():
    one, two = (draw_world(Place("choosing", "tilted", number)) for number in (0, 1))
    elsewhere = draw_world(Place("reporting", "tilted", 0))
    for other in (two, elsewhere):
        assert not np.array_equal(one.votes[:300, 0], other.votes[:300, 0])


def test_the_parts_share_no_seed_and_no_table():
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
    for part in TABLES:
        kinds = KINDS[part].items()
        drawn = {name: draw.keywords["tables"] for name, draw in kinds if is_trained(draw)}
        assert set(drawn) == {"classifiers", "forest", "stumps", "neighbors"}
        assert all(used is TABLES[part] for used in drawn.values())
    assert TABLES["choosing"] is tables.CHOOSING


def is_trained(draw):
    return hasattr(draw, "keywords")


def test_some_kinds_are_reported_only():
    only = set(KINDS["reporting"]) - set(KINDS["choosing"])
    assert only == {"copied_expert", "nested_families", "two_topics", "drifting_crowd"}
    assert set(WORDS) == {name for kinds in KINDS.values() for name in kinds}
    assert all(words.endswith(".") for words in WORDS.values())


def test_no_reported_world_was_looked_at_before():
    """Nor drawn by the study of voters, which takes worlds 40 to 43 of the reporting part."""
    assert min(NUMBERS["reporting"]) > max(*range(40), *SEEN_WORLDS)
    assert {len(numbers) for numbers in NUMBERS.values()} == {20}
    assert KINDS["hard-choosing"].keys() == KINDS["hard-reporting"].keys()


def test_kinds_are_found_by_name():
    assert find_kinds("reporting", None) == tuple(KINDS["reporting"])
    with pytest.raises(ModelError, match="the choosing part has no kind 'two_topics'"):
        find_kinds("choosing", "copies,two_topics")


def test_every_kind_has_its_first_world_early():
    places = list_places("choosing", ["copies", "rules"], [4, 5])
    assert [(place.kind, place.number) for place in places] == [
        *(("copies", 4), ("rules", 4), ("copies", 5), ("rules", 5))
    ]
