import json

import pytest

from studies.drawing import drawing
from studies.ehr.splits import FIGURES, NONE, OURS, PAPER, PENLOG, UNELISA
from studies.ehr.tables import (
    BOXES,
    PUBLISHED,
    TITLES,
    collect_ehr,
    draw_splits,
    summarize_splits,
)


def test_means_and_deviations(splits):
    found = {row["method"]: row for row in summarize_splits(splits)}
    assert found[OURS]["figures"]["auc"] == [0.91, 0.0141]  # .02 / sqrt 2
    assert found[OURS]["splits"] == 2
    assert [row["method"] for row in summarize_splits(splits)] == [UNELISA, PENLOG, OURS]
    assert [row["protocol"] for row in summarize_splits(splits)] == [PAPER, PAPER, NONE]


def test_a_figure_that_is_not_defined_is_left_out_of_its_mean(splits):
    splits[-1]["figures"]["ppv"] = None
    assert summarize_splits(splits)[-1]["figures"]["ppv"] == [0.9, 0.0]
    splits[2]["figures"]["ppv"] = None
    figures = summarize_splits(splits)[-1]["figures"]
    assert figures.keys() == set(FIGURES) - {"ppv"}


def test_no_split_counts_twice_and_the_later_row_counts(splits):
    again = {**splits[-1], "figures": dict.fromkeys(FIGURES, 0.96)}
    found = summarize_splits([*splits, *splits, again])[-1]
    assert found["splits"] == 2
    assert found["figures"]["auc"] == [0.93, 0.0424]


def test_sets_are_kept_apart(splits):
    other = [{**row, "set": "ra-8"} for row in splits]
    found = summarize_splits(splits + other)
    assert [row["set"] for row in found] == ["ra-7"] * 3 + ["ra-8"] * 3
    assert all(row["splits"] == 2 for row in found)


def test_nothing_sums_up_to_nothing():
    assert summarize_splits([]) == []


def test_a_folder_is_collected_with_its_sets_by_name_and_their_last_word(splits, tmp_path):
    facts = [{"set": "ra-8", "cases": 1}, {"set": "ra-7", "cases": 2}, {"set": "ra-8", "cases": 3}]
    _write(tmp_path / "ehr_sets.jsonl", facts)
    _write(tmp_path / "ehr.jsonl", [{"rows": splits[:3]}, {"rows": splits[3:]}])
    found = collect_ehr(tmp_path)
    assert found["rare"] == []
    assert found["sets"] == [{"set": "ra-7", "cases": 2}, {"set": "ra-8", "cases": 3}]
    assert found["methods"] == summarize_splits(splits)


def _write(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def test_results_are_added_to_a_stored_archive(splits, tmp_path, ehr_archive):
    _write(tmp_path / "ehr_sets.jsonl", [{"set": "ra-8", "cases": 1}])
    _write(tmp_path / "ehr.jsonl", [{"rows": [{**row, "set": "ra-8"} for row in splits]}])
    found = collect_ehr(tmp_path, ehr_archive)
    assert [fact["set"] for fact in found["sets"]] == ["ehr_phecap", "ra-7", "ra-8"]
    assert [row["set"] for row in found["methods"]] == ["ra-7"] * 3 + ["ra-8"] * 3
    assert found["rare"] == ehr_archive["rare"]


def test_the_published_f_is_about_the_harmonic_mean_of_the_published_ppv_and_npv():
    """Means over splits of each: not the same, but near."""
    for figures in PUBLISHED.values():
        ppv, npv = figures["ppv"][0], figures["npv"][0]
        assert abs(2 * ppv * npv / (ppv + npv) - figures["f_score"][0]) < 0.005


def diamonds(axes):
    return [
        (line.get_xdata()[0], line.get_ydata()[0])
        for line in axes.lines
        if line.get_marker() == "D"
    ]


def test_figure_5_1_has_a_panel_per_figure_and_a_box_per_way_that_was_run(splits):
    for row in splits:
        if row["protocol"] == NONE:
            row["figures"]["ppv"] = None
    with drawing():
        figure = draw_splits(splits, "ra-7")
    assert [axes.get_title() for axes in figure.axes] == [TITLES[key] for key in FIGURES]
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert labels == [label for label, _ in BOXES.values()]
    counts = [2 if key == "ppv" else 3 for key in FIGURES]  # undefined: no box
    assert [len(axes.patches) for axes in figure.axes] == counts
    boxes = {
        round(box.get_path().vertices[:, 1].mean()): box.get_path().vertices[:, 0]
        for box in figure.axes[0].patches
    }
    assert set(boxes) == {5, 4, 0}
    # the central half of .90 and .92
    assert (boxes[0].min(), boxes[0].max()) == pytest.approx((0.905, 0.915))


def test_diamonds_are_the_published_means_for_the_papers_disease_alone(splits):
    other = [{**row, "set": "ehr_phecap"} for row in splits if row["method"] == OURS]
    with drawing():
        ours, others = (draw_splits([*splits, *other], name) for name in ("ra-7", "ehr_phecap"))
    assert diamonds(ours.axes[0]) == [(0.904, 5), (0.907, 4)]
    assert diamonds(ours.axes[FIGURES.index("accuracy")]) == []  # the paper has none
    assert len(others.axes[0].patches) == 1
    assert not any(diamonds(axes) for axes in others.axes)
