from io import StringIO

import pytest
from rich.console import Console

from studies.paper.cells import find_cells, list_trials
from studies.paper.tables import tabulate_study
from studies.screens import short, show_errors, show_seconds, study_tables


@pytest.fixture
def table(make_record):
    """Two cells with two trials each."""
    asked = list_trials(find_cells("high-25-log,low-25-log"), 2)
    return tabulate_study({trial: make_record(trial) for trial in asked}, "paper", "half")


def show(*parts):
    screen = Console(file=StringIO(), width=80)
    for part in parts:
        screen.print(part)
    return screen.file.getvalue()


def test_a_table_fits_80_columns_and_marks_where_ours_lies(table):
    text = show(*study_tables(table))
    assert "…" not in text
    lines = text.splitlines()
    assert lines[0].startswith("Table 5.1, high SNR; paper sampler, half graph; majority sign")
    assert lines[1].split() == [
        *("p/d0", "hit", "prec", "Bayes", "AMV", "SML", "SML-L", "DS", "MV", "Lat", "best"),
        "truth",
    ]
    assert lines[3].split()[:4] == ["25/4", "ours", ".500-", ".750-"]
    assert [line.split()[:2] for line in lines[4:6]] == [["s.e.", ".000"], ["T=2", "paper"]]


def test_up_to_a_sign_has_no_published_accuracies(table):
    paper = show(*study_tables(table, up_to_sign=True)).splitlines()[5]
    assert paper.split() == ["T=2", "paper", ".986", ".987"]


@pytest.mark.parametrize(
    ("error", "words"), [(0.0612, "hit .061 (<= .07)"), (0.08, "hit .080 (> .07)")]
)
def test_errors_name_their_bounds_for_the_faithful_study_of_all_cells(table, error, words):
    errors = {"hit_rate": error, "majority-vote": 0.1}
    whole = {**table, "cells": [table["cells"][0]] * 27, "errors": errors}
    text = " ".join(show(show_errors(whole)).split())
    assert f"27 published cells: {words}, MV .100" in text
    for part in (table, {**whole, "sampler": "mixed"}, {**whole, "graph": "tree"}):
        assert ".07)" not in show(show_errors(part))


def test_the_cost_is_shown_by_part(table):
    changed = {**table, "seconds": {"unelisa": 0.01, "sampler": 0.03}}
    assert show_seconds(changed) == "CPU time per trial 40 ms: sampler 30.0, unelisa 10.0"


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(0.1234, 3, ".123"), (1, 3, "1.00"), (0.99996, 3, "1.00"), (0, 3, ".000"), (0.5, 2, ".50")],
)
def test_shares_are_short(value, digits, text):
    assert short(value, digits) == text
