"""The report's pictures for notebooks: each function draws on matplotlib axes and returns them.

Colours are Okabe and Ito's: blue agrees with the truth, orange-red contradicts it, grey does not
count. Contrarians also differ by shape. The numbers are those of the report.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unelisa.aggregators import Aggregator
from unelisa.aggregators.known import read_gold
from unelisa.errors import ModelError, missing_extra
from unelisa.graph import VoterGraph
from unelisa.ising import Ising
from unelisa.neighborhood import select_neighborhoods, theory_penalty
from unelisa.report.charts import draw_graph
from unelisa.report.items import SURE, Judged, count_scores
from unelisa.report.layout import place_voters
from unelisa.report.network import MOST_LINKS, Network
from unelisa.report.reference import Reference, bin_calibration
from unelisa.report.voters import rank_voters
from unelisa.report.wording import SHORT_NAME, show_name
from unelisa.stability import Stability
from unelisa.votes import Votes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, RED, GREY, PALE = "#0072B2", "#D55E00", "#9aa0a6", "#9cc9e3"
INK, SOFT = "#202124", "#5f6368"
LONGEST_NAME = 24


def graph(model: Aggregator | Ising, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the truth, its voters and their links.

    Parameters
    ----------
    model
        A fitted aggregator, or an `Ising` model, whose voters are then f1, f2, ...
    ax
        Where to draw; new axes by default.

    Examples
    --------
    >>> from unelisa.simulation import figure_2_1
    >>> axes = graph(figure_2_1())
    >>> len(axes.texts)  # the truth and 18 voters
    19
    """
    axes = _axes(ax)
    network = Network.of_ising(model) if isinstance(model, Ising) else Network.of_model(model)
    places = place_voters(network)
    drawn = draw_graph(
        {
            "places": places.tolist(),
            "ties": network.weights.tolist(),
            "counted": network.counted.tolist(),
            "links": [list(link) for link in network.links[:MOST_LINKS]],
        }
    )
    _draw_lines(axes, drawn, places)
    _draw_nodes(axes, drawn, network.names)
    axes.set_aspect("equal")
    axes.invert_yaxis()  # layouts are made for screens, where y points down
    axes.set_axis_off()
    axes.margins(0.08)
    return axes


def voters(model: Aggregator, *, most: int = 30, ax: "Axes | None" = None) -> "Axes":
    """Draw the voters' weights, the heaviest on top.

    Parameters
    ----------
    model
        A fitted aggregator.
    most
        How many voters to show.
    ax
        Where to draw; new axes by default.

    Examples
    --------
    >>> import unelisa as ue
    >>> axes = voters(ue.MajorityVote().fit([[1, 1, -1], [-1, -1, 1]]))
    >>> [float(bar.get_width()) for bar in axes.patches]
    [1.0, 1.0, 1.0]
    """
    axes, shown = _axes(ax), rank_voters(model)[:most]
    weights = model.weights_[shown]
    names = [_label(model.voter_names_[s], LONGEST_NAME) for s in shown]
    rows = np.arange(len(shown))
    axes.barh(rows, weights, color=np.where(weights < 0, RED, BLUE), height=0.7)
    axes.plot(np.zeros(len(rows)), rows, ".", color=GREY, markersize=3)  # pruned: a bare dot
    axes.set_yticks(rows, names)
    axes.invert_yaxis()
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.set_xlabel("weight: how much a yes raises the score")
    return axes


def posterior(model: Aggregator, X: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw how sure the labels are: a histogram of P(positive), or of the score.

    Parameters
    ----------
    model
        A fitted aggregator.
    X
        Votes, as in `predict`.
    ax
        Where to draw; new axes by default.

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = [[1, 1, -1], [-1, -1, 1], [1, 1, 1]]
    >>> axes = posterior(ue.MajorityVote().fit(votes), votes)
    >>> sum(int(bar.get_height()) for bar in axes.patches)
    3
    """
    axes, votes = _axes(ax), Votes.accept(X)
    counted = count_scores(Judged.of(model, votes))
    low, high = np.array(counted["edges"][:-1]), np.array(counted["edges"][1:])
    honest = counted["kind"] == "probability"
    sure = (high <= 1 - SURE + 1e-9) | (low >= SURE - 1e-9) if honest else np.ones(len(low), bool)
    axes.bar(low, counted["counts"], high - low, align="edge", color=np.where(sure, BLUE, PALE))
    axes.set_xlabel("probability of positive" if honest else "score: positive to the right of 0")
    axes.set_ylabel("items")
    return axes


def calibration(model: Aggregator, X: Any, y: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the share of truly positive items at each stated probability.

    Parameters
    ----------
    model
        A fitted aggregator with `predict_proba`.
    X, y
        Votes, and true labels as far as they are known.
    ax
        Where to draw; new axes by default.

    Examples
    --------
    >>> import unelisa as ue
    >>> simulated = ue.simulate_votes(random_state=0)
    >>> model = ue.DawidSkene(random_state=0).fit(simulated.votes)
    >>> calibration(model, simulated.votes, simulated.truth).get_xlabel()
    'stated probability'
    """
    if not hasattr(model, "predict_proba"):
        raise ModelError(f"{type(model).__name__} gives a margin, which has no calibration")
    axes, known = _axes(ax), _known(X, y)
    chances: NDArray[np.float64] = model.predict_proba(known.votes)[:, 1]
    bins = bin_calibration(known.signs > 0, chances)
    means, shares, lows, highs = (
        np.array([one[key] for one in bins]) for key in ("mean", "share", "low", "high")
    )
    axes.plot([0, 1], [0, 1], ":", color=GREY)
    reach = np.maximum([shares - lows, highs - shares], 0)
    axes.errorbar(means, shares, reach, fmt="o-", color=BLUE, capsize=2)
    axes.set(xlabel="stated probability", ylabel="share truly positive")
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    return axes


def comparison(
    rows: Sequence[Any], *, metric: str = "accuracy", ax: "Axes | None" = None
) -> "Axes":
    """Draw the methods side by side.

    Parameters
    ----------
    rows
        What `unelisa.compare_methods` yields.
    metric
        A field of its rows.
    ax
        Where to draw; new axes by default.

    Examples
    --------
    >>> from unelisa.comparison import MethodScore
    >>> axes = comparison([MethodScore("unelisa", 0.9), MethodScore("majority-vote", 0.8)])
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['unelisa', 'majority-vote']
    """
    axes = _axes(ax)
    known = [row for row in rows if getattr(row, metric) is not None]
    if not known:
        raise ModelError(f"no method has a figure for {metric!r}")
    values = np.array([getattr(row, metric) for row in known], dtype=np.float64)
    best = values.min() if metric == "log_loss" else values.max()
    places = np.arange(len(known))
    axes.hlines(places, min(values.min(), 0.5), values, color=GREY, linewidth=1)
    axes.scatter(values, places, c=np.where(values == best, BLUE, GREY), s=60, zorder=3)
    for place, value in zip(places, values, strict=True):
        axes.annotate(f"{value:.3f}", (value, place), (7, -3), textcoords="offset points")
    axes.set_yticks(places, [row.method for row in known])
    axes.invert_yaxis()
    left, right = axes.get_xlim()
    ticks = [tick for tick in axes.get_xticks() if left <= tick <= right]
    axes.set_xticks(ticks)
    axes.set_xlim(left, right + 0.14 * (right - left))  # room for the last figure
    axes.set_xlabel(metric.replace("_", " "))
    return axes


def lambda_path(
    X: Any,
    *,
    experts: ArrayLike = (),
    n_penalties: int = 20,
    fit_intercept: bool = False,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw how the links between voters appear as the penalty falls.

    Parameters
    ----------
    X
        Votes.
    experts
        Voters whose mutual links are drawn strong, such as `model.experts_`; the others fade.
    n_penalties
        How many penalties, from 4 times the theory's to a quarter of it.
    fit_intercept
        As in `select_neighborhoods`.
    ax
        Where to draw; new axes by default.

    Examples
    --------
    >>> import unelisa as ue
    >>> axes = lambda_path(ue.simulate_votes(10, 4, random_state=0).votes, n_penalties=4)
    >>> axes.get_xscale()
    'log'
    """
    axes, votes = _axes(ax), Votes.accept(X)
    theory = float(np.median(theory_penalty(votes)))
    penalties = theory * np.geomspace(4, 0.25, n_penalties)
    weights = np.array([_links(votes, penalty, fit_intercept) for penalty in penalties])
    chosen = np.isin(np.arange(votes.n_voters), experts)
    strong = (chosen[:, None] & chosen[None, :]) | (len(np.atleast_1d(experts)) == 0)
    for s, t in zip(*np.nonzero(np.triu(weights.any(axis=0))), strict=True):
        path = weights[:, s, t]
        color, width = RED if path[-1] < 0 else BLUE, 1.6 if strong[s, t] else 0.7
        alpha = 1.0 if strong[s, t] else 0.4
        axes.plot(penalties, path, color=color, linewidth=width, alpha=alpha)
    axes.axvline(theory, color=INK, linestyle="--", linewidth=1)
    axes.set_xscale("log")
    ticks = theory * np.array([4, 2, 1, 0.5, 0.25])
    axes.set_xticks(ticks, [f"{tick:.2g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.invert_xaxis()
    axes.set(xlabel="penalty (dashed: the theory's)", ylabel="weight of the link")
    return axes


def stable_voters(stability: Stability, *, most: int = 30, ax: "Axes | None" = None) -> "Axes":
    """Draw how often each voter is an expert among the resamples; experts of the fit are blue.

    Parameters
    ----------
    stability
        What `unelisa.bootstrap` returned.
    most
        How many voters to show, the most frequent first.
    ax
        Where to draw; new axes by default.

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = ue.simulate_votes(10, 4, random_state=0).votes
    >>> axes = stable_voters(ue.bootstrap(votes, ue.ExpertSelector(), 20, random_state=0))
    >>> len(axes.patches)
    10
    """
    if stability.voters is None or "frequency" not in stability.voters:
        raise ModelError("this bootstrap was of a fit without experts")
    table = stability.voters.sort_values("frequency", ascending=False, kind="stable")[:most]
    axes, rows = _axes(ax), np.arange(len(table))
    axes.barh(rows, table["frequency"], color=np.where(table["expert"], BLUE, GREY), height=0.7)
    axes.set_yticks(rows, [_label(name, LONGEST_NAME) for name in table["voter"]])
    axes.invert_yaxis()
    axes.set(xlim=(0, 1), xlabel="share of the resamples in which it is an expert")
    return axes


def stable_edges(stability: Stability, *, most: int = 30, ax: "Axes | None" = None) -> "Axes":
    """Draw the edges' weights with their intervals; edges that the fit itself has not are grey.

    Parameters
    ----------
    stability
        What `unelisa.bootstrap` returned.
    most
        How many edges to show, the most frequent among the resamples.
    ax
        Where to draw; new axes by default.

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = ue.simulate_votes(10, 4, random_state=0).votes
    >>> axes = stable_edges(ue.bootstrap(votes, ue.select_neighborhoods, 20, random_state=0))
    >>> axes.get_xlabel()
    'weight of the edge, with its 95% interval'
    """
    if stability.edges is None:
        raise ModelError("this bootstrap was of a fit without graph")
    table = stability.edges[:most].sort_values("weight", ascending=False, kind="stable")
    axes, rows, weights = _axes(ax), np.arange(len(table)), table["weight"].to_numpy()
    colors = np.where(table["edge"], np.where(weights < 0, RED, BLUE), GREY).tolist()
    axes.hlines(rows, table["low"], table["high"], colors=colors, linewidth=2)
    axes.scatter(weights, rows, c=colors, s=18, zorder=3)
    axes.axvline(0, color=INK, linewidth=0.8)
    ends = zip(table["voter"], table["other"], strict=True)
    named = [", ".join(_label(name, SHORT_NAME) for name in pair) for pair in ends]
    axes.set_yticks(rows, named)
    axes.invert_yaxis()
    axes.set_xlabel(f"weight of the edge, with its {stability.level:.0%} interval")
    return axes


def _axes(ax: "Axes | None") -> "Axes":
    """Return the axes to draw on, or say which extra brings matplotlib."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot  # noqa: PLC0415 - an optional package
    except ImportError:
        raise missing_extra("plots need matplotlib", "report") from None
    return pyplot.subplots(layout="constrained")[1]


def _draw_lines(axes: "Axes", drawn: dict[str, Any], places: NDArray[np.float64]) -> None:
    sides = {1: BLUE, -1: RED}
    for s, t, width, sign in drawn["links"]:
        faded = "pruned" in (drawn["nodes"][s][3], drawn["nodes"][t][3])
        look: dict[str, Any] = {"alpha": 0.35 if faded else 0.6, "linewidth": 0.8 * width}
        axes.plot(*places[[s, t]].T, "--", color=sides[sign], zorder=1, **look)
    for k, width, sign in drawn["ties"]:
        end = places[k]
        axes.plot([0, end[0]], [0, end[1]], color=sides[sign], linewidth=0.6 * width, zorder=2)


def _draw_nodes(axes: "Axes", drawn: dict[str, Any], names: Sequence[str]) -> None:
    looks = {"expert": ("o", BLUE, INK), "contrarian": ("D", RED, INK), "pruned": ("o", GREY, SOFT)}
    nodes = drawn["nodes"]
    for role, (marker, color, _) in looks.items():
        chosen = [node for node in nodes if node[3] == role]
        if chosen:
            x, y, sizes, _ = zip(*chosen, strict=True)
            areas = [0.25 * size**2 for size in sizes]
            axes.scatter(x, y, s=areas, c=color, marker=marker, zorder=3)
    for name, (x, y, size, role) in zip(names, nodes, strict=True):
        below = (0, -4 - 0.25 * size * (1.4 if role == "contrarian" else 1.0))
        halo = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.6}
        look: dict[str, Any] = {"ha": "center", "va": "top", "color": looks[role][2], "bbox": halo}
        text = _label(name, SHORT_NAME)
        axes.annotate(text, (x, y), below, textcoords="offset points", fontsize=7, zorder=4, **look)
    axes.scatter([0], [0], s=900, c="white", edgecolors=INK, linewidths=1.5, zorder=3)
    axes.text(0, 0, "truth", ha="center", va="center", fontsize=8, zorder=4)


def _label(name: Any, longest: int) -> str:
    """Return a name as matplotlib shall write it: a name is no formula."""
    return show_name(name, longest).replace("$", r"\$")


def _known(X: Any, y: Any) -> Reference:
    """Return the votes on the items whose truth is known, and their signs."""
    votes = Votes.accept(X)
    signs = read_gold(y, votes)
    items = np.flatnonzero(signs)
    if len(items) == 0:
        raise ModelError("y holds no known label; calibration needs some")
    return Reference(votes.take_items(items), signs[items])


def _links(votes: Votes, penalty: float, fit_intercept: bool) -> NDArray[np.float64]:
    return VoterGraph.of(select_neighborhoods(votes, penalty, fit_intercept).weights).weights
