"""Where voters stand in a picture: the truth in the middle, experts around it, the rest outside.

Rings, not forces: the same crowd gives the same picture every time, nobody covers anybody, and who
counts is seen by where it stands. The unit is a pixel at zoom 1; y points down, as on screens.
"""

import numpy as np
from numpy.typing import NDArray

from unelisa.report.network import Link, Network

Floats = NDArray[np.float64]

INNER = 130.0  # radius of the first ring, which leaves room for the truth and its label
GAP = 74.0  # between rings, room for a node and its label
OUTER_GAP = 96.0  # between the last expert and the first pruned voter
SPACING, OUTER_SPACING = 74.0, 52.0  # along a ring
PASSES = 3  # how far from an expert a link still says where to stand
# a single ring may grow by this much before a second one is opened
STRETCH, OUTER_STRETCH = 2.2, 1.3


def place_voters(network: Network) -> Floats:
    """Return the place of every voter, voters x 2; the truth is at (0, 0).

    Experts go clockwise from the top: those who agree with the truth by falling weight, then the
    contrarians. Each of the others goes as near as the ring allows to the voters it is linked to.

    Examples
    --------
    >>> import numpy as np
    >>> pair = Network(["a", "b"], np.array([1.0, 0.0]), np.array([True, False]), [])
    >>> place_voters(pair).round().tolist()
    [[0.0, -130.0], [0.0, -226.0]]
    """
    places = np.zeros((len(network.names), 2))
    experts, others = np.flatnonzero(network.counted), np.flatnonzero(~network.counted)
    weights = network.weights[experts]
    order = experts[np.lexsort((experts, -np.abs(weights), weights < 0))]
    rings = share_rings(len(order), INNER, GAP, SPACING, STRETCH)
    places[order] = _stand(rings)
    start = rings[-1][0] + OUTER_GAP if rings else INNER
    wanted = _wanted_angles(network.links, places, network.counted)
    order = others[np.lexsort((others, wanted[others]))]
    outer = share_rings(len(order), start, GAP * 0.7, OUTER_SPACING, OUTER_STRETCH)
    places[order] = _stand(outer, wanted[order])
    return places


def share_rings(
    n: int, radius: float, gap: float, spacing: float, stretch: float
) -> list[tuple[float, int]]:
    """Return (radius, number of voters) of the rings that hold n voters, from the inside.

    Examples
    --------
    >>> share_rings(4, 100, 50, 60, 1.5), share_rings(40, 100, 50, 60, 1.5)
    ([(100, 4)], [(100, 9), (150, 13), (200, 18)])
    """
    if n == 0:
        return []
    snug = n * spacing / (2 * np.pi)
    if snug <= stretch * radius:
        return [(max(radius, round(snug, 1)), n)]
    rooms: list[int] = []
    while sum(rooms) < n:
        rooms.append(int(2 * np.pi * (radius + gap * len(rooms)) / spacing))
    # equal crowding on all rings, so that none holds a lonely voter
    held = np.diff(np.round(np.cumsum([0, *rooms]) * n / sum(rooms)).astype(int))
    return [(radius + gap * k, int(size)) for k, size in enumerate(held)]


def _stand(rings: list[tuple[float, int]], wanted: Floats | None = None) -> Floats:
    """Return places on rings for voters in the order in which they go around."""
    n = sum(size for _, size in rings)
    pace = np.array([(k + j / len(rings)) / m for j, (_, m) in enumerate(rings) for k in range(m)])
    order = np.argsort(pace, kind="stable")  # all rings fill at the same pace
    radii = np.repeat([radius for radius, _ in rings], [size for _, size in rings])[order]
    # by pace alone a tie to the truth may run through another voter, by rank alone two voters of
    # one ring may touch; halfway neither happens
    angles = np.pi * (pace[order] + np.arange(n) / max(n, 1))
    if wanted is not None and np.isfinite(wanted).any():
        known = np.isfinite(wanted)
        # turn the ring as a whole to where most want to stand
        angles += np.angle(np.exp(1j * (wanted[known] - angles[known])).sum())
    return np.column_stack([radii * np.sin(angles), -radii * np.cos(angles)]).round(1)


def _wanted_angles(links: list[Link], places: Floats, placed: NDArray[np.bool_]) -> Floats:
    """Return for each voter who is not placed the direction of its neighbors; NaN where none.

    First those linked to experts, then those linked to them, and once more.
    """
    directions, known = places / INNER, placed.copy()
    for _ in range(PASSES):
        pull = np.zeros_like(places)
        for s, t, weight in links:
            for here, there in ((s, t), (t, s)):
                if known[there] and not known[here]:
                    pull[here] += abs(weight) * directions[there]
        found = np.abs(pull).sum(axis=1) > 1e-9
        directions[found] = pull[found] / np.linalg.norm(pull[found], axis=1, keepdims=True)
        known |= found
    angles = np.mod(np.arctan2(directions[:, 0], -directions[:, 1]), 2 * np.pi)
    return np.where(known, angles, np.nan)
