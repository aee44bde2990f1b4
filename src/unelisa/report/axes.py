"""The graph of the voters on matplotlib axes, with the colors of all plots."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unelisa.report.drawing import describe_graph, draw_graph
from unelisa.report.voters import Network
from unelisa.report.wording import FAMILY_COLORS, OUTSIDE, SHORT_NAME, show_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, SKY, RED, GRAY, PALE = "#0072B2", "#4b9fd0", "#D55E00", "#9aa0a6", "#9cc9e3"
INK, SOFT = "#202124", "#5f6368"
FAMILIES = ("#009E73", "#CC79A7", "#E69F00", "#6a3d9a", "#56B4E9", "#8c6d1f", "#7f7f7f")


def draw_network(axes: "Axes", network: Network) -> None:
    """Draw the truth, the voters, their families and their edges."""
    described = describe_graph(network, range(len(network.names)))
    places, drawn = np.array(described["places"]), draw_graph(described)
    _draw_lines(axes, drawn, places)
    _draw_families(axes, drawn, places)
    _draw_nodes(axes, drawn, network)


def _draw_lines(axes: "Axes", drawn: dict[str, Any], places: NDArray[np.float64]) -> None:
    sides = {1: BLUE, -1: RED}
    for s, t, width, sign in drawn["links"]:
        faded = drawn["nodes"][s][3] in OUTSIDE or drawn["nodes"][t][3] in OUTSIDE
        look: dict[str, Any] = {"alpha": 0.35 if faded else 0.6, "linewidth": 0.8 * width}
        axes.plot(*places[[s, t]].T, "--", color=sides[sign], zorder=1, **look)
    for k, width, sign in drawn["ties"]:
        end = places[k]
        axes.plot([0, end[0]], [0, end[1]], color=sides[sign], linewidth=0.6 * width, zorder=2)


def _draw_families(axes: "Axes", drawn: dict[str, Any], places: NDArray[np.float64]) -> None:
    """Draw each family's tie to the truth, its arc, and the stems to its voters."""
    for family in drawn["families"]:
        color = color_family(family["number"])
        look: dict[str, Any] = {"color": color, "linewidth": 1.3, "zorder": 2}
        (x, y), side = family["hub"], RED if family["sign"] < 0 else BLUE
        axes.plot([0, x], [0, y], color=side, linewidth=0.6 * family["width"], zorder=2)
        axes.plot(*zip(*family["arc"], strict=True), **look)
        for k, *foot in family["stems"]:
            axes.plot(*np.array([foot, places[k]]).T, **look)
        axes.scatter([x], [y], s=30, c=color, zorder=3)


def _draw_nodes(axes: "Axes", drawn: dict[str, Any], network: Network) -> None:
    family = {s: color_family(c) for c, kin in enumerate(network.families) for s in kin}
    named = [
        (*node, label_text(network.names[s], SHORT_NAME), family.get(s))
        for s, node in enumerate(drawn["nodes"])
        if node
    ]
    if rest := drawn["rest"]:
        (x, y), size = rest["place"], rest["size"]
        axes.plot([0, x], [0, y], color=BLUE, linewidth=0.6 * rest["width"], zorder=2)
        named.append((x, y, size, "counted", rest["label"], None))
    for x, y, size, role, name, kin in named:
        color = {"contrarian": RED, "expert": BLUE}.get(role, GRAY if role in OUTSIDE else SKY)
        dot: dict[str, Any] = {"c": color, "edgecolors": kin or color, "linewidths": 1.5}
        turned = role == "contrarian"
        axes.scatter([x], [y], s=0.25 * size**2, marker="D" if turned else "o", zorder=3, **dot)
        halo = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.6}
        look: dict[str, Any] = {
            "ha": "center",
            "va": "top",
            "color": SOFT if role in OUTSIDE else INK,
        }
        look |= {"bbox": halo, "fontsize": 7, "zorder": 4, "textcoords": "offset points"}
        axes.annotate(name, (x, y), (0, -4 - 0.25 * size * (1.4 if turned else 1.0)), **look)
    axes.scatter([0], [0], s=900, c="white", edgecolors=INK, linewidths=1.5, zorder=3)
    axes.text(0, 0, "truth", ha="center", va="center", fontsize=8, zorder=4)


def color_family(family: int) -> str:
    """Return the color of a family."""
    return FAMILIES[family % FAMILY_COLORS]


def label_text(name: Any, longest: int = 100) -> str:
    """Return a name as text for matplotlib, which would read $ as the start of a formula."""
    return show_name(name, longest).replace("$", r"\$")
