"""Which worlds there are: their kinds, parts and seeds.

The choosing parts are for development: anything may be looked at and chosen on them. The reporting
parts have other seeds, and of the first kinds other tables and some kinds more; nothing is chosen
on them.
"""

import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from studies.names import pick_names
from studies.worlds import hard, simulated, tables, trained, unseen
from studies.worlds.voters import Rng, World

Part = Literal["choosing", "reporting", "hard-choosing", "hard-reporting"]
Draw = Callable[[Rng], World]

# The seed of a world is its number plus that of its part: no world is in two.
FIRST_SEED: dict[Part, int] = {
    "choosing": 0,
    "reporting": 1_000_000,
    "hard-choosing": 2_000_000,
    "hard-reporting": 3_000_000,
}
# Worlds 0 to 39 of the reporting part were looked at before.
NUMBERS: dict[Part, range] = {part: range(20) for part in FIRST_SEED} | {
    "reporting": range(100, 120)
}
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
    if part not in TABLES:
        hard_kinds = hard.HARD.items()
        return {x: partial(hard.draw_hard, draw=draw, classes=n) for x, (draw, n) in hard_kinds}
    kinds: dict[str, Draw] = {draw.__name__: draw for draw in _SIMULATED}
    if part == "reporting":
        kinds |= {draw.__name__: draw for draw in _REPORTING_ONLY}
    return kinds | {draw.__name__: partial(draw, tables=TABLES[part]) for draw in _TRAINED}


KINDS: dict[Part, dict[str, Draw]] = {part: _list_kinds(part) for part in FIRST_SEED}


def _tell(draw: Callable[..., World]) -> str:
    return (draw.__doc__ or "").partition("\n")[0].removeprefix("Return ")


WORDS = {draw.__name__: _tell(draw) for draw in (*_SIMULATED, *_REPORTING_ONLY, *_TRAINED)} | {
    name: _tell(draw) + (" Three to six classes." if most > 2 else "")
    for name, (draw, (_, most)) in hard.HARD.items()
}


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
