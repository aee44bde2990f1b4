"""Pictures by their structure: how many marks, where, in which color; never by pixels."""

import builtins
from functools import partial

import numpy as np
import pytest
from matplotlib import colors, pyplot
from matplotlib.colors import to_hex

from report.judging import family_model
from unelisa.aggregators import AGGREGATORS, DawidSkene, MajorityVote, UnElisa
from unelisa.analysis.comparison import ClassMethodScore, MethodScore
from unelisa.analysis.stability import bootstrap
from unelisa.errors import MissingExtraError, ModelError
from unelisa.paper.experts import ExpertSelector
from unelisa.paper.ising import Ising
from unelisa.paper.neighborhood import select_neighborhoods
from unelisa.report import plots
from unelisa.report.plots import FAMILIES, SKY, color_family, draw_network
from unelisa.report.voters import Network
from unelisa.simulation.designs import figure_2_1, simulate_classes
from unelisa.votes import Votes


@pytest.fixture(autouse=True)
def _close():
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


@pytest.fixture
def model(crowd):
    return UnElisa(random_state=0).fit(crowd[0])


def _solid(axes):
    return [line for line in axes.lines if line.get_linestyle() == "-"]


def _dashed(axes):
    return [line for line in axes.lines if line.get_linestyle() == "--"]


@pytest.mark.parametrize("name", AGGREGATORS)
@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_every_method_has_a_graph_and_bars(name, crowd):
    model = AGGREGATORS[name]().fit(crowd[0])
    axes = plots.graph(model)
    assert len(_solid(axes)) == len(model.experts_)
    assert len(axes.texts) == 10
    assert len(plots.voters(model).patches) == 9
    bars = plots.voters(model, most=4)
    widths = [abs(bar.get_width()) for bar in bars.patches]
    assert widths == sorted(widths, reverse=True)
    assert len(widths) == len(bars.get_yticklabels()) == 4
    axes.figure.draw_without_rendering()


def test_the_graph_of_figure_2_1_has_its_ties_and_contrarians_are_red(model):
    axes = plots.graph(figure_2_1())
    assert (len(_solid(axes)), len(_dashed(axes))) == (5, 16)
    assert {text.get_text() for text in axes.texts} == {"truth", *(f"f{s}" for s in range(1, 19))}
    assert all(line.get_color() == plots.BLUE for line in axes.lines)
    for line in _solid(axes):
        assert line.get_xydata()[0].tolist() == [0, 0]
    axes = plots.graph(model)
    sides = [line.get_color() for line in _solid(axes)]
    assert sides.count(plots.RED) == (model.polarity_[model.experts_] < 0).sum() > 0
    faces = [colors.to_hex(dots.get_facecolor()[0]).upper() for dots in axes.collections]
    assert faces.count(plots.RED) == 1


def test_names_are_no_formulas_and_histograms_count_every_item(crowd, model):
    names = np.array(["$x^$", "n" * 10_000, "", "\u202eevil", *"abcde"], dtype=object)
    votes = Votes.of_values(crowd[0].values, crowd[0].items, names)
    model = UnElisa(random_state=0).fit(votes)
    for axes in (plots.graph(model), plots.voters(model)):
        axes.figure.draw_without_rendering()
    shown = {text.get_text() for text in plots.graph(model).texts}
    assert max(map(len, shown)) <= 20
    assert r"\$x^\$" in shown
    assert "(no name)" in shown
    axes = plots.posterior(model, crowd[0])
    assert sum(bar.get_height() for bar in axes.patches) == 600
    assert axes.get_xlabel() == f"probability of “{model.classes_[1]}”"
    assert axes._ipython_display_() is None  # a notebook has no line of text beside the figure
    dark = [bar for bar in axes.patches if colors.to_hex(bar.get_facecolor()).upper() == plots.BLUE]
    assert len(dark) == 2
    assert "score" in plots.posterior(MajorityVote().fit(crowd[0]), crowd[0]).get_xlabel()
    model, votes = family_model()
    axes = plots.ease(model, votes)
    assert sum(bar.get_height() for bar in axes.patches) == votes.n_items


def test_calibration_lies_near_the_diagonal_for_an_honest_model(crowd):
    votes, truth = crowd
    axes = plots.calibration(DawidSkene(random_state=0).fit(votes), votes, truth)
    diagonal, points = axes.lines[0], axes.lines[1]
    assert diagonal.get_xydata().tolist() == [[0, 0], [1, 1]]
    x, y = points.get_data()
    assert abs(x[0] - y[0]) < 0.05 and abs(x[-1] - y[-1]) < 0.05  # noqa: PT018


@pytest.mark.parametrize(("metric", "best"), [("accuracy", 0), ("log_loss", 1)])
def test_the_best_method_is_blue(metric, best):
    rows = [
        MethodScore("a", accuracy=0.9, log_loss=0.4),
        MethodScore("b", accuracy=0.8, log_loss=0.3),
        MethodScore("refused"),
    ]
    axes = plots.comparison(rows, metric=metric)
    dots = axes.collections[-1]
    blue = [colors.to_hex(face).upper() == plots.BLUE for face in dots.get_facecolor()]
    assert blue == [k == best for k in range(2)]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]


def test_links_appear_as_the_penalty_falls(model, crowd):
    axes = plots.lambda_path(crowd[0], experts=model.experts_, n_penalties=5)
    paths = [line for line in axes.lines if len(line.get_xdata()) == 5]
    alive = np.array([np.asarray(line.get_ydata()) != 0 for line in paths]).sum(axis=0)
    assert alive[0] < alive[-1]
    assert axes.xaxis_inverted()
    strong = [line for line in paths if line.get_linewidth() > 1]
    d0 = len(model.experts_)
    assert len(strong) == d0 * (d0 - 1) / 2


def test_stable_voters_and_edges_are_those_of_the_tables(crowd):
    found = bootstrap(crowd[0], ExpertSelector(), 10, random_state=0)
    axes = plots.stable_voters(found, most=8)
    widths = [bar.get_width() for bar in axes.patches]
    assert widths == sorted(found.voters["frequency"], reverse=True)[:8]
    names = [label.get_text() for label in axes.get_yticklabels()]
    shares = found.voters.set_index("voter")["frequency"]
    assert shares[names].tolist() == widths
    blue = {
        name
        for name, bar in zip(names, axes.patches, strict=True)
        if colors.to_hex(bar.get_facecolor()).upper() == plots.BLUE
    }
    assert blue == set(found.voters["voter"][found.voters["expert"]]) & set(names)
    found = bootstrap(crowd[0], select_neighborhoods, 10, random_state=0, level=0.9)
    axes = plots.stable_edges(found, most=5)
    intervals, dots = axes.collections
    shown = found.edges.head(5).sort_values("weight", ascending=False)
    ends = [path[:, 0].tolist() for path in intervals.get_segments()]
    assert ends == shown[["low", "high"]].to_numpy().tolist()
    assert dots.get_offsets()[:, 0].tolist() == shown["weight"].tolist()
    assert "90%" in axes.get_xlabel()


@pytest.mark.parametrize("name", ["graph", "voters", "posterior", "calibration"])
def test_pictures_are_drawn_on_the_given_axes(name, model, crowd):
    more = {"posterior": crowd[:1], "calibration": crowd}.get(name, ())
    _, axes = pyplot.subplots()
    assert getattr(plots, name)(model, *more, ax=axes) is axes


def test_without_matplotlib_the_extra_is_named(model, monkeypatch):
    real = builtins.__import__

    def missing(name, *more):
        if name.startswith("matplotlib"):
            raise ImportError
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(MissingExtraError, match="unelisa\\[report\\]"):
        plots.voters(model)


def test_families_hang_on_arcs_and_stronger_ties_are_wider():
    model, _ = family_model()
    axes = plots.graph(model)
    inside, families = sum(map(len, model.families_)), len(model.families_)
    assert color_family(len(FAMILIES)) == color_family(0)
    for c in range(families):
        own = [line for line in axes.lines if line.get_color() == FAMILIES[c]]
        assert len(own) == 1 + len(model.families_[c])
    ties = [line for line in _solid(axes) if line.get_xydata()[0].tolist() == [0, 0]]
    lone = np.count_nonzero(model.voters_["verdict"] != "uninformative") - inside
    assert len(ties) == families + lone
    stripes = plots.voters(model).collections
    assert [len(stripe.get_offsets()) for stripe in stripes] == [len(k) for k in model.families_]
    axes = pyplot.subplots()[1]
    edges = np.zeros((4, 4))
    edges[0, 1:] = edges[1:, 0] = [0.2, 1.0, 0.6]
    draw_network(axes, Network.of_ising(Ising(0.0, edges)))
    assert np.argsort([line.get_linewidth() for line in axes.lines]).tolist() == [0, 2, 1]
    axes, names = pyplot.subplots()[1], [f"v{s}" for s in range(50)]
    network = Network(names, np.full(50, 0.5), ["counted"] * 50, [], [[0, 1, 2]])
    draw_network(axes, network)
    shown = [text.get_text() for text in axes.texts]
    assert shown == ["v0", "v1", "v2", "47 voters on their own", "truth"]
    ties = [line for line in axes.lines if line.get_xydata()[0].tolist() == [0, 0]]
    assert len(ties) == 2  # of the family and of the rest
    assert sum(to_hex(dots.get_facecolor()[0]) == SKY for dots in axes.collections) == 4


def test_what_cannot_be_drawn_is_refused_and_more_classes_by_label(crowd):
    votes, truth = crowd
    majority, labeled = MajorityVote().fit(votes), DawidSkene().fit(votes)
    without = [bootstrap(votes, one, 2, random_state=0) for one in (select_neighborhoods, majority)]
    for draw, given, told in (
        (plots.ease, (majority, votes), "how easy"),
        (plots.calibration, (majority, votes, truth), "no calibration"),
        (plots.calibration, (labeled, votes, np.full(600, np.nan)), "no known label"),
        (partial(plots.comparison, metric="auc"), ([MethodScore("a", accuracy=1.0)],), "auc"),
        (plots.stable_voters, without[:1], "without experts"),
        (plots.stable_edges, without[1:], "without a graph"),
    ):
        with pytest.raises(ModelError, match=told):
            draw(*given)
    drawn = simulate_classes(4, 15, 400, random_state=0)
    model, labels = DawidSkene().fit(drawn.votes), drawn.votes.name_codes(drawn.truth)
    axes = plots.posterior(model, drawn.votes)
    assert axes.get_xlabel() == "probability of the label"
    assert sum(bar.get_height() for bar in axes.patches) == 400
    margin = plots.posterior(MajorityVote().fit(drawn.votes), drawn.votes)
    assert margin.get_xlabel() == "lead over the next class"
    right = plots.calibration(model, drawn.votes, labels)
    assert right.get_ylabel() == "share correct"
    rows = [ClassMethodScore(name, mean_absolute_error=x) for name, x in (("a", 0.2), ("b", 0.1))]
    best = plots.comparison(rows, metric="mean_absolute_error").collections[-1].get_facecolors()
    assert not np.array_equal(best[0], best[1])
