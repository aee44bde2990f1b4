"""Findings as shapes: where bars, curves, nodes and lines go, in the units of a drawing.

Pure geometry; the templates turn it into SVG, and the page's script into the moving graph.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from unelisa.report.items import SURE

Point = tuple[float, float]


class Panel(NamedTuple):
    """A small chart: the whole drawing, and the frame within it that holds the data."""

    width: float = 360.0
    height: float = 250.0
    left: float = 48.0
    right: float = 16.0
    top: float = 14.0
    bottom: float = 46.0

    def at(self, x: float, y: float) -> Point:
        """Return the point for x and y between 0 and 1, y upwards."""
        across = self.width - self.left - self.right
        up = self.height - self.top - self.bottom
        return round(self.left + x * across, 1), round(self.height - self.bottom - y * up, 1)


PANEL = Panel()
DIGIT = 8.3  # the widest digits of usual fonts, at the panels' size of letters
TRUTH_SIZE, PRUNED_SIZE = 58, 13
EXPERT_SIZES, TIE_WIDTHS, LINK_WIDTHS = (20.0, 38.0), (1.5, 7.0), (0.5, 4.0)
CROWDED = 120  # more links than this are drawn thinner
EDGE_OF_PICTURE = 46.0  # room for labels beside the outermost voters


def fit_panel(label: str) -> Panel:
    """Return a panel whose left margin holds the longest label of its upright axis.

    Examples
    --------
    >>> fit_panel("36").left, fit_panel("1,036,638").left
    (48.0, 84.7)
    """
    return PANEL._replace(left=max(PANEL.left, round(len(label) * DIGIT + 10, 1)))


def draw_bars(histogram: dict[str, Any] | None, panel: Panel = PANEL) -> list[dict[str, Any]]:
    """Return the histogram's bars; those of decided items are marked."""
    if histogram is None:
        return []
    counts, edges = histogram["counts"], histogram["edges"]
    tallest, n = max(counts) or 1, len(counts)
    bars = []
    for k, count in enumerate(counts):
        # one item among thousands must still be seen
        height = max(count / tallest, 0.008) if count else 0.0
        (x, y), (end, floor) = panel.at(k / n, height), panel.at((k + 1) / n, 0.0)
        low, high = edges[k], edges[k + 1]
        sure = histogram["kind"] == "probability" and (
            high <= 1 - SURE + 1e-9 or low >= SURE - 1e-9
        )
        bars.append(
            {
                "x": round(x + 0.8, 1),
                "y": y,
                "width": round(end - x - 1.6, 1),
                "height": round(floor - y, 1),
                "count": count,
                "low": low,
                "high": high,
                "sure": sure,
            }
        )
    return bars


def draw_curve(points: Sequence[Point]) -> str:
    """Return a curve through points between 0 and 1, as the points of a polyline.

    Examples
    --------
    >>> draw_curve([(0, 0), (1, 1)])
    '48.0,204.0 344.0,14.0'
    """
    return " ".join(f"{x},{y}" for x, y in (PANEL.at(*point) for point in points))


def draw_calibration(bins: Sequence[dict[str, float]]) -> list[dict[str, Any]]:
    """Return the calibration's points with the ends of their intervals."""
    drawn = []
    for one in bins:
        x, y = PANEL.at(one["mean"], one["share"])
        low, high = PANEL.at(0, one["low"])[1], PANEL.at(0, one["high"])[1]
        drawn.append({"x": x, "y": y, "low": low, "high": high, **{"bin": one}})
    return drawn


def draw_graph(graph: dict[str, Any]) -> dict[str, Any]:
    """Return the graph's nodes, ties to the truth and links, with sizes, widths and sides.

    Nodes are [x, y, size, role], ties [voter, width, sign], links [voter, voter, width, sign].
    """
    strongest = max((abs(tie) for tie in graph["ties"]), default=0.0) or 1.0
    heaviest = max((abs(w) for _, _, w in graph["links"]), default=0.0) or 1.0
    nodes, ties = [], []
    everybody = zip(graph["places"], graph["ties"], graph["counted"], strict=True)
    for k, ((x, y), tie, counted) in enumerate(everybody):
        role = ("contrarian" if tie < 0 else "expert") if counted else "pruned"
        share = abs(tie) / strongest
        nodes.append([x, y, _between(EXPERT_SIZES, share) if counted else PRUNED_SIZE, role])
        if counted:
            ties.append([k, _between(TIE_WIDTHS, share), 1 if tie >= 0 else -1])
    thin = min(1.0, (CROWDED / max(len(graph["links"]), 1)) ** 0.5)
    links = [
        [s, t, _between(LINK_WIDTHS, thin * abs(w) / heaviest), 1 if w >= 0 else -1]
        for s, t, w in graph["links"]
    ]
    return {"nodes": nodes, "ties": ties, "links": links, "truth": TRUTH_SIZE}


def frame_graph(nodes: Sequence[Sequence[Any]]) -> str:
    """Return the view box that shows all nodes and their labels."""
    reach = max([TRUTH_SIZE, *(max(abs(node[0]), abs(node[1])) for node in nodes)])
    side = round(reach + EDGE_OF_PICTURE, 1)
    return f"{-side} {-side} {2 * side} {2 * side}"


def _between(ends: tuple[float, float], share: float) -> float:
    return round(ends[0] + share * (ends[1] - ends[0]), 1)
