"""Findings as shapes: where bars, curves, voters and lines go, in the units of a drawing.

Pure geometry for SVG, the page's script and matplotlib. The truth is in the center, the voters that
count around it, the others outside. The unit is a pixel at zoom 1; y points down.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.analysis.judged import HARD, SURE
from unelisa.paper.ising import Edge
from unelisa.report.voters import MOST_LINKS, Network
from unelisa.report.wording import FAMILY_COLORS, OUTSIDE, SHORT_NAME, show_name

Floats = NDArray[np.float64]
Point = tuple[float, float]

INNER = 130.0  # radius of the first ring, which leaves room for the truth and its label
HUB_RING, HUB_SHARE = 84.0, 0.55  # radius of families, or this share of the nearest voter's
HUB_INNER = 160.0  # radius of the first ring around them
ARC_STEP = 0.1  # radians between points of an arc
GAP = 74.0  # between rings, room for a node and its label
OUTER_GAP = 96.0  # between the last expert and the first pruned voter
SPACING, OUTER_SPACING = 74.0, 52.0  # along a ring
PASSES = 3  # how many links away from an expert a voter is still drawn toward it
# a ring may grow by this factor before a second one is opened
STRETCH, HUB_STRETCH, OUTER_STRETCH = 2.2, 3.0, 1.3


class Panel(NamedTuple):
    """A small chart: the whole drawing, and the frame inside it that holds the data."""

    width: float = 360.0
    height: float = 250.0
    left: float = 48.0
    right: float = 22.0
    top: float = 26.0  # room for the unit
    bottom: float = 46.0

    def at(self, x: float, y: float) -> Point:
        """Return the point for x and y between 0 and 1, y upwards."""
        across = self.width - self.left - self.right
        up = self.height - self.top - self.bottom
        return round(self.left + x * across, 1), round(self.height - self.bottom - y * up, 1)


PANEL = Panel()
DIGIT = 8.3  # the widest digits of common fonts, at the panels' font size
FIGURES = 56.0  # room for the numbers beside bars
BAR = 26.0  # height of a class's row
SQUARES, LEAST_CELL, LARGEST_CELL = 300.0, 20.0, 64.0  # sides of a picture of confusions, of cells
DARKEST = 0.5  # opacity of a cell
MOST_WRITTEN = 12  # classes: numbers in more cells cannot be read
TRUTH_SIZE, HUB_SIZE, PRUNED_SIZE, REST_SIZE = 58, 16, 13, 46
EXPERT_SIZES, TIE_WIDTHS, LINK_WIDTHS = (20.0, 38.0), (1.5, 7.0), (0.5, 4.0)
CROWDED = 120  # more links than this are drawn thinner
EDGE_OF_PICTURE = 46.0  # room for labels beside the outermost voters


def fit_panel(label: str) -> Panel:
    """Return a panel whose left margin holds the longest label of its vertical axis."""
    return PANEL._replace(left=max(PANEL.left, round(len(label) * DIGIT + 10, 1)))


def draw_bars(histogram: dict[str, Any], panel: Panel = PANEL) -> list[dict[str, Any]]:
    """Return the histogram's bars; `sure` marks decided items, or those that are not hard."""
    counts, edges, kind = histogram["counts"], histogram["edges"], histogram["kind"]
    tallest, span = max(counts) or 1, edges[-1] - edges[0]
    bound = {"probability": SURE, "confidence": SURE, "ease": HARD}.get(kind, np.inf) - 1e-9
    bars = []
    for count, low, high in zip(counts, edges[:-1], edges[1:], strict=True):
        # one item among thousands must still be seen
        height = max(count / tallest, 0.008) if count else 0.0
        start, stop = ((edge - edges[0]) / span for edge in (low, high))
        (x, y), (end, floor) = panel.at(start, height), panel.at(stop, 0.0)
        sure = low >= bound or (kind == "probability" and 1 - high >= bound)
        place = {"x": round(x + 0.8, 1), "y": y}
        size = {"width": round(end - x - 1.6, 1), "height": round(floor - y, 1)}
        bars.append({**place, **size, "count": count, "low": low, "high": high, "sure": sure})
    return bars


def draw_curve(points: Sequence[Point]) -> str:
    """Return a curve through points between 0 and 1, as the points of a polyline."""
    return " ".join(f"{x},{y}" for x, y in (PANEL.at(*point) for point in points))


def draw_calibration(bins: Sequence[dict[str, float]]) -> list[dict[str, Any]]:
    """Return the calibration's points with the ends of their intervals."""
    drawn = []
    for one in bins:
        x, y = PANEL.at(one["mean"], one["share"])
        low, high = PANEL.at(0, one["low"])[1], PANEL.at(0, one["high"])[1]
        above = high - 5  # of the interval, or below it at the top
        count = above if above > PANEL.top + 8 else low + 12
        drawn.append({"x": x, "y": y, "low": low, "high": high, "count": count, "bin": one})
    return drawn


def draw_shares(shares: Sequence[dict[str, Any]], n_items: int | None) -> dict[str, Any]:
    """Return a bar for every class: the share of items labeled so, or else its estimated share."""
    marked = [one["prevalence"] for one in shares]
    filled = [one["labeled"] / n_items for one in shares] if n_items else marked
    largest = max((x for x in (*filled, *marked) if x is not None), default=0.0) or 1.0
    left = _leave_room([one["label"] for one in shares])
    across = PANEL.width - left - FIGURES
    bars = [
        {
            "label": one["label"],
            "y": k * BAR,
            "share": share,
            "width": round(across * (share or 0.0) / largest, 1),
            "mark": None if mark is None else round(left + across * mark / largest, 1),
            "estimate": mark,
        }
        for k, (one, share, mark) in enumerate(zip(shares, filled, marked, strict=True))
    ]
    return {"bars": bars, "left": left, "width": PANEL.width, "height": BAR * len(bars), "bar": BAR}


def draw_confusion(rows: Sequence[Sequence[float]], names: Sequence[Any]) -> dict[str, Any]:
    """Return a cell for every class (row) and answer (column), shaded by the root of its share."""
    n, edge = len(names), _leave_room(names)
    size = round(min(max(SQUARES / n, LEAST_CELL), LARGEST_CELL), 1)
    totals = [sum(row) or 1 for row in rows]
    cells = [
        {
            "x": round(edge + c * size, 1),
            "y": round(edge + k * size, 1),
            "meant": names[k],
            "said": names[c],
            "wrong": k != c,
            "value": row[c],
            "share": row[c] / total,
            "shade": round(DARKEST * (row[c] / total) ** 0.5, 3),
        }
        for k, (row, total) in enumerate(zip(rows, totals, strict=True))
        for c in range(n)
    ]
    labels = [(name, round(edge + (k + 0.5) * size, 1)) for k, name in enumerate(names)]
    looks = {"size": size, "side": edge + n * size + 4, "edge": edge, "written": n <= MOST_WRITTEN}
    return {"cells": cells, "labels": labels, **looks}


def _leave_room(names: Sequence[Any]) -> float:
    return 14 + DIGIT * max(len(show_name(name, SHORT_NAME)) for name in names)


def draw_prevalence(found: dict[str, Any], share: dict[str, Any]) -> dict[str, Any]:
    """Return the curve of labels by prevalence: its points, its axes, and the estimate's place."""
    end, rows = found["end"], found["rows"]
    top = end if all(row["share"] <= end for row in rows) else 1.0
    reach = None
    if share["low"] is not None:
        low, high = (PANEL.at(min(share[key] / end, 1), 0)[0] for key in ("low", "high"))
        reach = {"x": low, "width": round(high - low, 1)}
    return {
        "curve": draw_curve([(row["prevalence"] / end, row["share"] / top) for row in rows]),
        "even": draw_curve([(0, 0), (1, end / top)]),
        "mark": PANEL.at(min(share["share"] / end, 1), 0)[0],
        "reach": reach,
        "ticks_x": [f"{100 * x:.0f}%" for x in (0, end / 2, end)],
        "ticks_y": [f"{100 * y:.0f}%" for y in (0, top / 2, top)],
    }


def describe_graph(network: Network, ranking: Sequence[int]) -> dict[str, Any]:
    """Return what is drawn of a crowd, its voters in the order of a ranking."""
    places, row = place_voters(network), {s: k for k, s in enumerate(ranking)}
    links = network.links_between_families()
    return {
        "places": [places[s].tolist() for s in ranking],
        "ties": [float(network.weights[s]) for s in ranking],
        "roles": [network.roles[s] for s in ranking],
        "alone": sorted(row[int(s)] for s in np.flatnonzero(network.alone)),
        "families": [sorted(row[s] for s in kin) for kin in network.families],
        "links": [[row[s], row[t], w] for s, t, w in links[:MOST_LINKS]],
        "n_links": len(links),
    }


def draw_graph(graph: dict[str, Any]) -> dict[str, Any]:
    """Return the graph's nodes, ties to the truth and links, with sizes, widths and signs.

    [x, y, size, role], [voter, width, sign], [voter, voter, width, sign]; families have arcs and
    stems.
    """
    strongest = max((abs(tie) for tie in graph["ties"]), default=0.0) or 1.0
    heaviest = max((abs(w) for _, _, w in graph["links"]), default=0.0) or 1.0
    inside, alone = {k for kin in graph["families"] for k in kin}, set(graph["alone"])
    nodes, ties = list[list[Any] | None](), []
    voters = zip(graph["places"], graph["ties"], graph["roles"], strict=True)
    for k, ((x, y), tie, role) in enumerate(voters):
        share, counted = abs(tie) / strongest, role not in OUTSIDE
        if k in alone:
            nodes.append(None)
            continue
        nodes.append([x, y, _between(EXPERT_SIZES, share) if counted else PRUNED_SIZE, role])
        if counted and k not in inside:
            ties.append([k, _between(TIE_WIDTHS, share), 1 if tie >= 0 else -1])
    thin = min(1.0, (CROWDED / max(len(graph["links"]), 1)) ** 0.5)
    links = [
        [s, t, _between(LINK_WIDTHS, thin * abs(w) / heaviest), 1 if w >= 0 else -1]
        for s, t, w in graph["links"]
    ]
    rest = None
    if alone:  # tied to the truth by their mean weight
        mean = sum(abs(graph["ties"][k]) for k in alone) / len(alone)
        rest = {
            "voters": sorted(alone),
            "place": graph["places"][min(alone)],
            "size": REST_SIZE,
            "width": _between(TIE_WIDTHS, mean / strongest),
            "label": f"{len(alone):,} voters on their own",
        }
    shown = {"nodes": nodes, "ties": ties, "links": links, "rest": rest}
    families = _draw_families(graph, strongest)
    return {**shown, "families": families, "truth": TRUTH_SIZE, "hub": HUB_SIZE}


def _draw_families(graph: dict[str, Any], strongest: float) -> list[dict[str, Any]]:
    """Return the families tied to the truth: an arc before their voters, stems, and a hub on it."""
    tied = [
        (c, kin, max((graph["ties"][k] for k in kin), key=abs))
        for c, kin in enumerate(graph["families"])
        if any(graph["ties"][k] for k in kin)
    ]
    places = np.array(graph["places"], dtype=np.float64)
    nearest = min((float(np.hypot(*places[k])) for _, kin, _ in tied for k in kin), default=0.0)
    radius = max(HUB_RING, HUB_SHARE * nearest)
    families = []
    for c, kin, tie in tied:
        angles = _angles(places[kin])
        low, high = float(angles.min()), float(angles.max())
        along = np.linspace(low, high, 2 + int((high - low) / ARC_STEP))
        line = {"width": _between(TIE_WIDTHS, abs(tie) / strongest), "sign": 1 if tie >= 0 else -1}
        feet = _points(angles, radius).tolist()
        shape = {
            "hub": _points(np.array([(low + high) / 2]), radius)[0].tolist(),
            "arc": _points(along, radius).tolist(),
            "stems": [[k, *foot] for k, foot in zip(kin, feet, strict=True)],
        }
        families.append({"number": c, "color": c % FAMILY_COLORS, **line, **shape})
    return families


def _angles(places: Floats) -> Floats:
    return np.asarray(np.mod(np.arctan2(places[:, 0], -places[:, 1]), 2 * np.pi))


def _points(angles: Floats, radius: Any) -> Floats:
    circle = np.column_stack([np.sin(angles), -np.cos(angles)])
    return np.asarray(np.round(circle * np.reshape(radius, (-1, 1)), 1))


def frame_graph(places: Sequence[Sequence[float]]) -> str:
    """Return the view box that shows these places and their labels."""
    reach = max([TRUTH_SIZE, *(abs(x) for place in places for x in place[:2])])
    side = round(reach + EDGE_OF_PICTURE, 1)
    return f"{-side} {-side} {2 * side} {2 * side}"


def _between(ends: tuple[float, float], share: float) -> float:
    return round(ends[0] + share * (ends[1] - ends[0]), 1)


def place_voters(network: Network) -> Floats:
    """Return places, voters x 2, around the truth: who agrees, contrarians, others nearby."""
    places, lead = np.zeros((len(network.names), 2)), np.arange(len(network.names))
    counted, alone = network.counted, network.alone
    for kin in network.families:
        lead[kin] = kin[0]
        counted[kin] = counted[kin].any()  # a family stays together
    inner, others = np.flatnonzero(counted & ~alone), np.flatnonzero(~counted)
    own, first = network.weights[inner], network.weights[lead[inner]]
    order = inner[np.lexsort((inner, -np.abs(own), lead[inner], -np.abs(first), first < 0))]
    families = any(counted[kin].any() for kin in network.families)
    radius, stretch = (HUB_INNER, HUB_STRETCH) if families else (INNER, STRETCH)
    rings = share_rings(len(order) + int(alone.any()), radius, GAP, SPACING, stretch)
    spots = _spread(rings)
    places[order], places[alone] = spots[: len(order)], spots[len(order) :]
    start = rings[-1][0] + OUTER_GAP if rings else INNER
    wanted = _wanted_angles(network.links, places, counted)
    order = others[np.lexsort((others, lead[others], wanted[others]))]
    outer = share_rings(len(order), start, GAP * 0.7, OUTER_SPACING, OUTER_STRETCH)
    places[order] = _spread(outer, wanted[order])
    return places


def share_rings(
    n: int, radius: float, gap: float, spacing: float, stretch: float
) -> list[tuple[float, int]]:
    """Return (radius, number of voters) of the rings that hold n voters, from the inside."""
    if n == 0:
        return []
    snug = n * spacing / (2 * np.pi)
    if snug <= stretch * radius:
        return [(max(radius, round(snug, 1)), n)]
    rooms: list[int] = []
    while sum(rooms) < n:
        rooms.append(int(2 * np.pi * (radius + gap * len(rooms)) / spacing))
    # equal spacing on all rings, so that none holds a single voter
    sizes = np.diff(np.round(np.cumsum([0, *rooms]) * n / sum(rooms)).astype(int))
    return [(radius + gap * k, int(size)) for k, size in enumerate(sizes)]


def _spread(rings: list[tuple[float, int]], wanted: Floats | None = None) -> Floats:
    n = sum(size for _, size in rings)
    pace = np.array([(k + j / len(rings)) / m for j, (_, m) in enumerate(rings) for k in range(m)])
    order = np.argsort(pace, kind="stable")  # all rings fill at the same rate
    radii = np.repeat([radius for radius, _ in rings], [size for _, size in rings])[order]
    # by pace alone a tie to the truth may run through another voter, by rank alone two voters of
    # one ring may touch; halfway neither happens
    angles = np.pi * (pace[order] + np.arange(n) / max(n, 1))
    if wanted is not None and np.isfinite(wanted).any():
        known = np.isfinite(wanted)
        # rotate the ring as a whole toward the wanted angles
        angles += np.angle(np.exp(1j * (wanted[known] - angles[known])).sum())
    return _points(angles, radii)


def _wanted_angles(links: list[Edge], places: Floats, placed: NDArray[np.bool_]) -> Floats:
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
    return np.where(known, _angles(directions), np.nan)
