"""Which worlds there are: their kinds, parts and seeds.

The choosing part is for development: anything may be looked at and chosen on it. The reporting part
has other seeds, other tables, and kinds that the choosing part does not have; nothing is chosen on
it.
"""

import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from studies.names import pick_names
from studies.worlds import simulated, tables, trained, unseen
from studies.worlds.voters import Rng, World

Part = Literal["choosing", "reporting"]
Draw = Callable[[Rng], World]

# The seed of a world is its number plus that of its part: no world is in both.
FIRST_SEED: dict[Part, int] = {"choosing": 0, "reporting": 1_000_000}
_SIMULATED = (
    simulated.copies,
    simulated.near_copies,
    simulated.two_prompts,
    simulated.bad_clique,
    simulated.lenient_families,
    simulated.rare_class,
    simulated.rules,
    simulated.thresholds,
    simulated.contrarians,
    simulated.uneven_ease,
    simulated.tilted,
    simulated.spammers,
    simulated.sparse_crowd,
    simulated.incomplete_panel,
    simulated.independent,
    simulated.paper,
)
_REPORTING_ONLY = (
    unseen.copied_expert,
    unseen.nested_families,
    unseen.two_topics,
    unseen.drifting_crowd,
)
_TRAINED = (trained.classifiers, trained.forest, trained.stumps, trained.neighbors)
TABLES: dict[Part, trained.Tables] = {"choosing": tables.CHOOSING, "reporting": tables.REPORTING}


def _list_kinds(part: Part) -> dict[str, Draw]:
    """Return the kinds of worlds of a part, by name."""
    kinds: dict[str, Draw] = {draw.__name__: draw for draw in _SIMULATED}
    if part == "reporting":
        kinds |= {draw.__name__: draw for draw in _REPORTING_ONLY}
    return kinds | {draw.__name__: partial(draw, tables=TABLES[part]) for draw in _TRAINED}


KINDS: dict[Part, dict[str, Draw]] = {part: _list_kinds(part) for part in FIRST_SEED}
WORDS = {
    draw.__name__: (draw.__doc__ or "").partition("\n")[0].removeprefix("Return ")
    for draw in (*_SIMULATED, *_REPORTING_ONLY, *_TRAINED)
}
ONLY_REPORTED = tuple(draw.__name__ for draw in _REPORTING_ONLY)


class Place(NamedTuple):
    """Which world: its part, its kind, and its number among the worlds of that kind."""

    part: Part
    kind: str
    number: int


def list_places(part: Part, kinds: Iterable[str], numbers: Sequence[int]) -> list[Place]:
    """Return the worlds of some kinds, number by number, so that every kind has its first early."""
    wanted = list(kinds)
    return [Place(part, kind, number) for number in numbers for kind in wanted]


def find_kinds(part: Part, names: str | None) -> tuple[str, ...]:
    """Return the kinds in a comma-separated list, in their fixed order; all of them for None.

    Examples
    --------
    >>> find_kinds("choosing", "rules, copies")
    ('copies', 'rules')
    """
    return pick_names(names, KINDS[part], f"the {part} part has no kind")


def seed_place(place: Place) -> list[int]:
    """Return the seed of a world, which no other world has."""
    return [FIRST_SEED[place.part] + place.number, zlib.crc32(place.kind.encode())]


def draw_world(place: Place) -> World:
    """Return the votes and the truth of a world; the voters are in random order.

    Examples
    --------
    >>> world = draw_world(Place("choosing", "two_prompts", 0))
    >>> world.votes.shape[1], len(world.votes) == len(world.truth)
    (8, True)
    """
    rng = np.random.default_rng(seed_place(place))
    world = KINDS[place.part][place.kind](rng)
    return world._replace(votes=world.votes[:, rng.permutation(world.votes.shape[1])])
