"""The report's pictures for notebooks: each function draws on matplotlib axes and returns them.

`model` is a fitted aggregator, `X` are votes, `y` true labels. Colors are Okabe and Ito's: blue
agrees with the truth, orange-red contradicts it, gray does not count.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unelisa.aggregators import Aggregator
from unelisa.aggregators.known import read_gold
from unelisa.analysis.judged import Judged, Reference, count_ease, count_scores, score_reference
from unelisa.analysis.stability import Stability
from unelisa.errors import ModelError, missing_extra
from unelisa.paper.ising import Ising, VoterGraph
from unelisa.paper.neighborhood import select_neighborhoods, theory_penalty
from unelisa.report.drawing import describe_graph, draw_bars, draw_graph
from unelisa.report.voters import Network, find_families, rank_voters
from unelisa.report.wording import LOWER, MEASURES, OUTSIDE, SHORT_NAME, quote, show_name
from unelisa.votes import Votes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, SKY, RED, GRAY, PALE = "#0072B2", "#4b9fd0", "#D55E00", "#9aa0a6", "#9cc9e3"
INK, SOFT = "#202124", "#5f6368"
FAMILIES = ("#009E73", "#CC79A7", "#E69F00", "#6a3d9a", "#56B4E9", "#8c6d1f", "#7f7f7f")
LONGEST_NAME = 24


def graph(model: Aggregator | Ising, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the truth, the voters, their families and their edges.

    The voters of an `Ising` model are named f1, f2, ...

    Examples
    --------
    >>> from unelisa.simulation.designs import figure_2_1
    >>> axes = graph(figure_2_1())
    >>> len(axes.texts)  # the truth and 18 voters
    19
    """
    axes = _axes(ax)
    network = Network.of_ising(model) if isinstance(model, Ising) else Network.of_model(model)
    draw_network(axes, network)
    axes.set_aspect("equal")
    axes.invert_yaxis()  # layouts are made for screens, where y points down
    axes.set_axis_off()
    axes.margins(0.08)
    return axes


def voters(model: Aggregator, *, most: int = 30, ax: "Axes | None" = None) -> "Axes":
    """Draw the weights of the voters, the `most` largest ones, largest on top.

    A stripe at the left in one color joins voters who repeat each other.

    Examples
    --------
    >>> import unelisa as ue
    >>> axes = voters(ue.MajorityVote().fit([[1, 1, -1], [-1, -1, 1]]))
    >>> [float(bar.get_width()) for bar in axes.patches]
    [1.0, 1.0, 1.0]
    """
    axes, shown = _axes(ax), rank_voters(model)[:most]
    weights, names = model.weights_[shown], [model.voter_names_[s] for s in shown]
    sides = np.where(weights < 0, RED, BLUE)
    _draw_bars(axes, names, weights, np.where(Network.of_model(model).counted[shown], sides, GRAY))
    axes.plot(np.zeros(len(shown)), np.arange(len(shown)), ".", color=GRAY, markersize=3)  # pruned
    axes.axvline(0, color=INK, linewidth=0.8)
    left: dict[str, Any] = {"transform": axes.get_yaxis_transform(), "clip_on": False}
    for c, kin in enumerate(find_families(model)):
        rows = [k for k, s in enumerate(shown) if s in kin]
        axes.scatter(np.full(len(rows), 0.01), rows, s=22, marker="s", c=color_family(c), **left)
    vote = f"a vote for {_name_positive(model)}" if len(model.classes_) == 2 else "its vote"
    axes.set_xlabel(f"weight: how much {vote} raises the score")
    return axes


def posterior(model: Aggregator, X: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw a histogram of the probabilities or, without any, of the scores.

    With more than two classes, of the label's probability, or of its lead over the next class.

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = [[1, 1, -1], [-1, -1, 1], [1, 1, 1]]
    >>> axes = posterior(ue.MajorityVote().fit(votes), votes)
    >>> sum(int(bar.get_height()) for bar in axes.patches)
    3
    """
    counted, side = count_scores(Judged.of(model, Votes.accept(X))), _name_positive(model)
    words = {"probability": f"probability of {side}", "score": f"score: {side} to the right of 0"}
    return _draw_histogram(ax, counted, words.get(counted["kind"], MEASURES[counted["kind"]]))


def ease(model: Aggregator, X: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw a histogram of the items' ease: 1 for an ordinary item, 0 where every voter guesses.

    Hard items, with an ease below one half, are pale. The model needs an `ease`, such as
    `LatentIsing`.

    Examples
    --------
    >>> import numpy as np, unelisa as ue
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.choice([-1, 1], (200, 1))
    >>> votes = np.where(rng.random((200, 6)) < 0.8, truth, -truth)
    >>> ease(ue.LatentIsing().fit(votes), votes).get_xlabel()
    'ease'
    """
    counted = count_ease(Judged.of(model, Votes.accept(X)))
    if counted is None:
        raise ModelError(f"{type(model).__name__} does not estimate how easy these items are")
    return _draw_histogram(ax, counted, "ease")


def calibration(model: Aggregator, X: Any, y: Any, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the share of truly positive items at each predicted probability.

    With more than two classes, the share of correct labels at each probability of the label. The
    model needs a `predict_proba`.

    Examples
    --------
    >>> import unelisa as ue
    >>> simulated = ue.simulate_votes(random_state=0)
    >>> model = ue.DawidSkene(random_state=0).fit(simulated.votes)
    >>> calibration(model, simulated.votes, simulated.truth).get_xlabel()
    'predicted probability'
    """
    if not hasattr(model, "predict_proba"):
        raise ModelError(
            f"{type(model).__name__} predicts no probabilities, so it has no calibration"
        )
    axes, votes = _axes(ax), Votes.accept(X)
    signs = read_gold(y, votes)
    if not signs.any():
        raise ModelError("y holds no known label; calibration needs some")
    bins = score_reference(Reference.of(model, Judged.of(model, votes), signs))["calibration"]
    means, shares, lows, highs = (
        np.array([one[key] for one in bins]) for key in ("mean", "share", "low", "high")
    )
    axes.plot([0, 1], [0, 1], ":", color=GRAY)
    reach = np.maximum([shares - lows, highs - shares], 0)
    axes.errorbar(means, shares, reach, fmt="o-", color=BLUE, capsize=2)
    two = len(model.classes_) == 2
    axes.set(ylabel=f"share truly {_name_positive(model)}" if two else "share correct")
    axes.set(xlabel="predicted probability", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
    return axes


def comparison(
    rows: Sequence[Any], *, metric: str = "accuracy", ax: "Axes | None" = None
) -> "Axes":
    """Draw one metric of the methods that `unelisa.compare_methods` yields.

    Examples
    --------
    >>> from unelisa.analysis.comparison import MethodScore
    >>> axes = comparison([MethodScore("unelisa", 0.9), MethodScore("majority-vote", 0.8)])
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['unelisa', 'majority-vote']
    """
    axes = _axes(ax)
    known = [row for row in rows if getattr(row, metric) is not None]
    if not known:
        raise ModelError(f"no method has a value of {metric!r}")
    values = np.array([getattr(row, metric) for row in known], dtype=np.float64)
    best = values.min() if metric in LOWER else values.max()
    places = np.arange(len(known))
    axes.hlines(places, min(values.min(), 0.5), values, color=GRAY, linewidth=1)
    axes.scatter(values, places, c=np.where(values == best, BLUE, GRAY), s=60, zorder=3)
    for place, value in zip(places, values, strict=True):
        axes.annotate(f"{value:.3f}", (value, place), (7, -3), textcoords="offset points")
    _name_rows(axes, [row.method for row in known])
    axes.margins(x=0.14)  # room for the last number
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
    """Draw how the edges between voters appear as the penalty falls.

    Parameters
    ----------
    X
        Votes.
    experts
        Voters whose edges to each other stand out, such as `model.experts_`.
    n_penalties
        Number of penalties, from 4 times the theory's to a quarter of it.
    fit_intercept
        As in `select_neighborhoods`.

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
    fits = (select_neighborhoods(votes, penalty, fit_intercept) for penalty in penalties)
    weights = np.array([VoterGraph.of(fit.weights).weights for fit in fits])
    chosen = np.isin(np.arange(votes.n_voters), experts)
    strong = (chosen[:, None] & chosen[None, :]) | (len(np.atleast_1d(experts)) == 0)
    for s, t in zip(*np.nonzero(np.triu(weights.any(axis=0))), strict=True):
        path, (width, alpha) = weights[:, s, t], (1.6, 1.0) if strong[s, t] else (0.7, 0.4)
        color = RED if path[-1] < 0 else BLUE
        axes.plot(penalties, path, color=color, linewidth=width, alpha=alpha)
    axes.axvline(theory, color=INK, linestyle="--", linewidth=1)
    axes.set_xscale("log")
    ticks = theory * np.array([4, 2, 1, 0.5, 0.25])
    axes.set_xticks(ticks, [f"{tick:.2g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.invert_xaxis()
    axes.set(xlabel="penalty (dashed: the theory's)", ylabel="weight of the edge")
    return axes


def stable_voters(stability: Stability, *, most: int = 30, ax: "Axes | None" = None) -> "Axes":
    """Draw how often each voter is an expert in the resamples of `unelisa.bootstrap`.

    The `most` frequent ones are shown; experts of the fit itself are blue.

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
    axes, colors = _axes(ax), np.where(table["expert"], BLUE, GRAY)
    _draw_bars(axes, table["voter"], table["frequency"], colors)
    axes.set(xlim=(0, 1), xlabel="share of the resamples in which it is an expert")
    return axes


def stable_edges(stability: Stability, *, most: int = 30, ax: "Axes | None" = None) -> "Axes":
    """Draw the weights of edges in the resamples of `unelisa.bootstrap`, with their intervals.

    The `most` frequent ones are shown; edges that are not in the fit itself are gray.

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = ue.simulate_votes(10, 4, random_state=0).votes
    >>> axes = stable_edges(ue.bootstrap(votes, ue.select_neighborhoods, 20, random_state=0))
    >>> axes.get_xlabel()
    'weight of the edge, with its 95% interval'
    """
    if stability.edges is None:
        raise ModelError("this bootstrap was of a fit without a graph")
    table = stability.edges[:most].sort_values("weight", ascending=False, kind="stable")
    axes, rows, weights = _axes(ax), np.arange(len(table)), table["weight"].to_numpy()
    colors = np.where(table["edge"], np.where(weights < 0, RED, BLUE), GRAY).tolist()
    axes.hlines(rows, table["low"], table["high"], colors=colors, linewidth=2)
    axes.scatter(weights, rows, c=colors, s=18, zorder=3)
    axes.axvline(0, color=INK, linewidth=0.8)
    ends = zip(table["voter"], table["other"], strict=True)
    _name_rows(axes, [", ".join(label_text(name, SHORT_NAME) for name in pair) for pair in ends])
    axes.set_xlabel(f"weight of the edge, with its {stability.level:.0%} interval")
    return axes


def _axes(ax: "Axes | None") -> "Axes":
    """Return the axes to draw on; without matplotlib the error names the extra to install."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot  # noqa: PLC0415 - an optional package
    except ImportError:
        raise missing_extra("plots need matplotlib", "report") from None
    axes = pyplot.subplots(layout="constrained")[1]
    # notebooks show the figure, without a line of text besides
    axes._ipython_display_ = lambda: None  # type: ignore[attr-defined]
    return axes


def _name_positive(model: Aggregator) -> str:
    return label_text(quote(model.classes_[1]))


def _draw_histogram(ax: "Axes | None", counted: dict[str, Any], label: str) -> "Axes":
    axes, edges = _axes(ax), np.array(counted["edges"])
    dark = [bar["sure"] or counted["kind"] in ("score", "lead") for bar in draw_bars(counted)]
    colors = np.where(dark, BLUE, PALE)
    axes.bar(edges[:-1], counted["counts"], np.diff(edges), align="edge", color=colors)
    axes.set(xlabel=label, ylabel="items")
    return axes


def _draw_bars(axes: "Axes", names: Iterable[Any], lengths: Any, colors: Any) -> None:
    axes.barh(np.arange(len(lengths)), lengths, color=colors, height=0.7)
    _name_rows(axes, [label_text(name, LONGEST_NAME) for name in names])


def _name_rows(axes: "Axes", labels: list[str]) -> None:
    axes.set_yticks(np.arange(len(labels)), labels)
    axes.invert_yaxis()


def draw_network(axes: "Axes", network: Network) -> None:
    """Draw the truth, the voters, their families and their edges."""
    described = describe_graph(network, range(len(network.names)))
    drawn = draw_graph(described)
    for points, look in _list_lines(drawn, np.array(described["places"])):
        axes.plot(*np.array(points).T, **look)
    for family in drawn["families"]:
        (x, y), color = family["hub"], color_family(family["number"])
        axes.scatter([x], [y], s=30, c=color, zorder=3)
    _draw_nodes(axes, drawn, network)
    axes.scatter([0], [0], s=900, c="white", edgecolors=INK, linewidths=1.5, zorder=3)
    axes.text(0, 0, "truth", ha="center", va="center", fontsize=8, zorder=4)


def _list_lines(
    drawn: dict[str, Any], places: NDArray[np.float64]
) -> Iterator[tuple[Any, dict[str, Any]]]:
    sides = {1: BLUE, -1: RED}
    for s, t, width, sign in drawn["links"]:
        faded = drawn["nodes"][s][3] in OUTSIDE or drawn["nodes"][t][3] in OUTSIDE
        look = {"alpha": 0.35 if faded else 0.6, "linewidth": 0.8 * width, "linestyle": "--"}
        yield places[[s, t]], {"color": sides[sign], "zorder": 1, **look}
    ties = [(places[k], width, sign) for k, width, sign in drawn["ties"]]
    ties += [(family["hub"], family["width"], family["sign"]) for family in drawn["families"]]
    if rest := drawn["rest"]:
        ties.append((rest["place"], rest["width"], 1))
    for end, width, sign in ties:
        yield [[0, 0], end], {"color": sides[sign], "linewidth": 0.6 * width, "zorder": 2}
    for family in drawn["families"]:
        stems = [[foot, places[k]] for k, *foot in family["stems"]]
        for points in (family["arc"], *stems):
            yield points, {"color": color_family(family["number"]), "linewidth": 1.3, "zorder": 2}


def _draw_nodes(axes: "Axes", drawn: dict[str, Any], network: Network) -> None:
    family = {s: color_family(c) for c, kin in enumerate(network.families) for s in kin}
    named = [
        (*node, label_text(network.names[s], SHORT_NAME), family.get(s))
        for s, node in enumerate(drawn["nodes"])
        if node
    ]
    if rest := drawn["rest"]:
        named.append((*rest["place"], rest["size"], "counted", rest["label"], None))
    halo = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 0.6}
    text: dict[str, Any] = {"ha": "center", "va": "top", "fontsize": 7, "zorder": 4, "bbox": halo}
    for x, y, size, role, name, kin in named:
        color = {"contrarian": RED, "expert": BLUE}.get(role, GRAY if role in OUTSIDE else SKY)
        shape, stretch = ("D", 1.4) if role == "contrarian" else ("o", 1.0)
        edge: dict[str, Any] = {"edgecolors": kin or color, "linewidths": 1.5, "zorder": 3}
        axes.scatter([x], [y], s=0.25 * size**2, marker=shape, c=color, **edge)
        text["color"], below = SOFT if role in OUTSIDE else INK, -4 - 0.25 * size * stretch
        axes.annotate(name, (x, y), (0, below), textcoords="offset points", **text)


def color_family(family: int) -> str:
    """Return the color of a family."""
    return FAMILIES[family % len(FAMILIES)]


def label_text(name: Any, longest: int = 100) -> str:
    """Return a name as text for matplotlib, which would read $ as the start of a formula."""
    return show_name(name, longest).replace("$", r"\$")
