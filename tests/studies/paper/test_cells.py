import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from studies.paper.cells import (
    CELLS,
    PUBLISHED,
    PUBLISHED_COLUMNS,
    SERIES_FACTORS,
    Cell,
    Trial,
    find_cell,
    find_cells,
    list_series,
    list_trials,
    seed_trial,
)
from unelisa.errors import ModelError

PAPER = Path(__file__).resolve().parents[4] / "shared" / "paper" / "unelisa.tex"


def test_the_27_cells_stand_in_the_order_of_the_tables():
    assert len(set(CELLS)) == 27
    assert [cell.name for cell in CELLS[:4]] == [
        "high-25-log",
        "high-25-sqrt",
        "high-25-quarter",
        "high-49-log",
    ]
    assert [cell.n_experts for cell in CELLS[-9:]] == [4, 5, 7, 4, 7, 13, 5, 9, 21]


def test_names_lead_back_to_cells():
    assert all(find_cell(cell.name) is cell for cell in CELLS)
    with pytest.raises(ModelError, match="no cell 'low-82-log'"):
        find_cell("low-82-log")


def test_cells_are_named_by_some_of_their_words():
    assert find_cells("low-81-log") == [CELLS[24]]
    assert find_cells("quarter, high") == [c for c in CELLS if "quarter" in c or "high" in c]
    with pytest.raises(ModelError, match="no cell matches 'lowest'"):
        find_cells("high,lowest")


def test_trials_come_round_by_round():
    trials = list_trials(CELLS[:2], 3, "mixed", "tree")
    assert [(trial.cell.name, trial.number) for trial in trials[:3]] == [
        ("high-25-log", 0),
        ("high-25-sqrt", 0),
        ("high-25-log", 1),
    ]
    assert {trial[2:] for trial in trials} == {("mixed", "tree", 30)}


def test_the_series_has_three_numbers_of_experts_and_no_more_than_50_trials():
    trials = list_series(1000, "paper", "half")
    assert len(trials) == 3 * len(SERIES_FACTORS) * 50
    assert {trial.cell.n_experts for trial in trials} == {4, 7, 13}


def states(trial):
    return seed_trial(trial).states.random(4).tolist()


def test_seeds_follow_from_the_trials_name_alone():
    trial = Trial(CELLS[5], 17)
    assert states(trial) == states(Trial(*trial))
    others = [
        trial,
        trial._replace(number=18),
        trial._replace(cell=CELLS[6]),
        trial._replace(sampler="mixed"),
        trial._replace(graph="full"),
        trial._replace(factor=60),
    ]
    assert all(states(a) != states(b) for a, b in combinations(others, 2))
    assert len({seed_trial(other).methods for other in others}) == len(others)


def test_both_samplers_and_all_sizes_see_the_same_graphs():
    trial = Trial(CELLS[5], 17)
    graphs = [
        seed_trial(other).graph.random(4)
        for other in (trial, trial._replace(sampler="mixed"), trial._replace(factor=4))
    ]
    assert np.ptp(graphs, axis=0).max() == 0
    assert seed_trial(trial._replace(number=18)).graph.random() != graphs[0][0]


def test_every_cell_has_its_published_row():
    assert list(PUBLISHED) == list(CELLS)
    assert [row.table for row in PUBLISHED.values()] == [
        t for t in ("5.1", "5.2", "5.3") for _ in range(9)
    ]
    figures = PUBLISHED[Cell("medium", 81, "sqrt")].figures
    assert tuple(figures) == PUBLISHED_COLUMNS
    assert figures["spectral-meta-learner"] == 0.064


@pytest.mark.shared
def test_the_published_numbers_are_those_of_the_paper():
    if not PAPER.exists():
        pytest.skip("the paper (../shared/paper) is not beside this checkout")
    row = re.compile(r"\$\s*(?:\\log p|\\sqrt\{p\}|p/4)\s*\$\s*&([^\\]+)\\\\")
    printed = [[float(x) for x in line.split("&")] for line in row.findall(PAPER.read_text())]
    assert printed == [list(row.figures.values()) for row in PUBLISHED.values()]
