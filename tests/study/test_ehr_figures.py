import pytest

from unelisa.study.ehr import FIGURES, NONE, OURS
from unelisa.study.ehr_figures import BOXES, TITLES, draw_splits
from unelisa.study.figures import drawing


@pytest.fixture
def figure(splits):
    with drawing():
        return draw_splits(splits, "ra-7")


def diamonds(axes):
    return [
        (line.get_xdata()[0], line.get_ydata()[0])
        for line in axes.lines
        if line.get_marker() == "D"
    ]


def test_every_figure_has_a_panel_and_every_way_a_line(figure):
    assert [axes.get_title() for axes in figure.axes] == [TITLES[key] for key in FIGURES]
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == [label for label, _ in BOXES.values()]
    assert figure.axes[0].get_yticks().tolist() == [5, 4, 3, 2, 1, 0]


def test_boxes_hold_the_splits_of_the_ways_that_were_run(figure):
    axes = figure.axes[0]
    assert len(axes.patches) == 3
    heights = {round(box.get_path().vertices[:, 1].mean()): box for box in axes.patches}
    assert set(heights) == {5, 4, 0}
    ours = heights[0].get_path().vertices[:, 0]
    # the middle half of .90 and .92
    assert (ours.min(), ours.max()) == pytest.approx((0.905, 0.915))


def test_diamonds_are_the_published_means_beside_the_leaking_ways(figure):
    assert diamonds(figure.axes[0]) == [(0.904, 5), (0.907, 4)]
    assert diamonds(figure.axes[FIGURES.index("accuracy")]) == []  # the paper has none


def test_other_sets_are_left_out_and_have_no_diamonds(splits):
    other = [{**row, "set": "ehr_phecap"} for row in splits if row["method"] == OURS]
    with drawing():
        figure = draw_splits([*splits, *other], "ehr_phecap")
    assert len(figure.axes[0].patches) == 1
    assert not any(diamonds(axes) for axes in figure.axes)


def test_a_figure_that_is_not_defined_has_no_box(splits):
    for row in splits:
        if row["protocol"] == NONE:
            row["figures"]["ppv"] = None
    with drawing():
        figure = draw_splits(splits, "ra-7")
    assert [len(axes.patches) for axes in figure.axes] == [
        2 if key == "ppv" else 3 for key in FIGURES
    ]
