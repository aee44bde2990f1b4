"""The paper's tables: as data, on the page and on the screen."""

import math
from copy import deepcopy
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from studies.paper import tables
from studies.paper.cells import CELLS, PUBLISHED, Trial, find_cells, list_trials
from studies.paper.trials import FIRST_TRIALS, results_path
from studies.records import open_results
from studies.screens import show_errors, study_tables
from unelisa.errors import ModelError


@pytest.fixture
def results(make_record):
    trials = list_trials(CELLS, 2)
    return {trial: make_record(trial, accuracy=(0.8, 0.9)[trial.number]) for trial in trials}


def test_means_errors_and_quantiles_of_several_trials_or_one():
    values = np.array([0.2, 0.4, 0.9])
    figure = tables.summarize(values, 0.5)
    assert figure["mean"] == 0.5
    assert figure["standard_error"] == round(values.std(ddof=1) / math.sqrt(3), 6)
    assert figure["quantiles"] == [0.22, 0.3, 0.4, 0.65, 0.85]
    figure = tables.summarize(np.array([0.9]), 0.5)
    assert (figure["standard_error"], figure["mark"]) == (None, None)


@pytest.mark.parametrize(
    ("published", "mark"),
    [(0.9, "within"), (0.981, "within"), (0.983, "below"), (0.817, "above"), (None, None)],
)
def test_marks(published, mark):
    """The standard error of these four is .0408; the paper prints three digits."""
    assert tables.summarize(np.array([0.9, 1.0, 0.8, 0.9]), published)["mark"] == mark


def test_the_table_has_all_cells_and_errors_are_means_over_them(results):
    table = tables.tabulate_study(results, "paper", "half")
    assert [cell["cell"] for cell in table["cells"]] == [cell.name for cell in CELLS]
    last = table["cells"][-1]
    assert (last["table"], last["row"], last["trials"], last["flips"]) == ("5.3", 9, 2, 7)
    assert last["accuracy"]["spectral-meta-learner"]["published"] == 0.0
    assert last["accuracy"]["oracle"]["published"] is None
    assert last["experts"]["unelisa"]["hit_rate"]["published"] == 0.112
    assert table["seconds"] == {"sampler": 1.0, "unelisa": 2.0, "latent-ising": 3.0}
    errors = tables.tabulate_study(results, "paper", "half")["errors"]
    gaps = [abs(0.85 - row.figures["unelisa-bayes"]) for row in PUBLISHED.values()]
    assert errors["unelisa-bayes"] == pytest.approx(np.mean(gaps), abs=1e-6)
    gaps = [abs(0.5 - row.figures["hit_rate"]) for row in PUBLISHED.values()]
    assert errors["hit_rate"] == pytest.approx(np.mean(gaps), abs=1e-6)


def test_up_to_a_sign_precision_and_methods_that_joined_late(make_record):
    records = [make_record(Trial(CELLS[0], k), accuracy=a) for k, a in enumerate((0.1, 0.9))]
    cell = tables.tabulate_cell(CELLS[0], records)
    assert cell["accuracy"]["dawid-skene"]["mean"] == 0.5
    assert cell["up_to_sign"]["dawid-skene"]["mean"] == 0.9
    assert cell["up_to_sign"]["dawid-skene"]["published"] is None
    records = [
        make_record(Trial(CELLS[0], 0)),
        make_record(Trial(CELLS[0], 1), hit=0.0, precision=None),
    ]
    experts = tables.tabulate_cell(CELLS[0], records)["experts"]["unelisa"]
    assert experts["precision"]["mean"] == 0.375
    assert experts["none_found"] == 1
    full, part = (
        make_record(Trial(CELLS[0], 0)),
        make_record(Trial(CELLS[0], 1), methods=("oracle",)),
    )
    cell = tables.tabulate_cell(CELLS[0], [full, part])
    assert list(cell["accuracy"]) == ["oracle"]
    assert cell["experts"] == {}
    assert tables.find_figure(cell, "hit_rate") is None
    assert tables.mean_errors([cell]) == {}


def test_whole_studies_are_collected_without_other_samplers(archive, results, make_record):
    assert [(study["sampler"], study["graph"]) for study in archive["studies"]] == [
        ("paper", "half"),
        ("mixed", "half"),
    ]
    assert [series["sampler"] for series in archive["series"]] == ["mixed"]
    assert {point["trials"] for point in archive["series"][0]["points"]} == {2}
    with pytest.raises(ModelError, match="reproduce tables --sampler paper --graph tree"):
        tables.find_study(archive, "paper", "tree")
    table = tables.tabulate_study(results, "paper", "half")
    for other in (
        Trial(CELLS[0], 0, "mixed"),
        Trial(CELLS[0], 0, graph="full"),
        Trial(CELLS[0], 0, factor=60),
    ):
        results[other] = make_record(other, accuracy=0.0)
    assert tables.tabulate_study(results, "paper", "half") == table


def test_results_are_added_to_a_stored_archive(archive, make_record, tmp_path):
    """A method that joins later adds its column; columns with more trials stay."""
    with open_results(results_path(tmp_path, "mixed", "half")) as file:
        for trial in list_trials(CELLS, 1, "mixed"):
            record = make_record(trial, accuracy=0.1, methods=("oracle", "newcomer"))
            record["scores"]["unelisa-intercepts"] = record["scores"].pop("newcomer")
            record["scores"]["unelisa-intercepts"] |= {"hit_rate": 1.0, "precision": 1.0}
            file.append(record)
    stored = deepcopy(archive)
    for cell in stored["studies"][1]["cells"]:
        for part in ("accuracy", "up_to_sign", "experts"):
            del cell[part]["unelisa-intercepts"]
    joined = tables.collect_archive(tmp_path, stored)
    assert joined["studies"][0] == archive["studies"][0]
    assert joined["series"] == archive["series"]
    cell = joined["studies"][1]["cells"][0]
    assert cell["accuracy"]["unelisa-intercepts"]["mean"] == 0.1
    assert cell["accuracy"]["oracle"]["mean"] == 0.96
    assert cell["trials"] == 2


def test_a_method_that_runs_again_replaces_its_column(make_record, tmp_path):
    """A column of the first trials is as new as its latest run, whatever the others have."""

    def collect(folder, numbers, stored, accuracy):
        folder.mkdir()
        with open_results(results_path(folder, "mixed", "half")) as file:
            for trial in (Trial(cell, number, "mixed") for cell in CELLS for number in numbers):
                record = make_record(trial, accuracy=0.9)
                record["scores"]["latent-ising"] |= {"accuracy": accuracy, "hit_rate": accuracy}
                record["seconds"]["latent-ising"] = accuracy
                if trial.number >= FIRST_TRIALS["latent-ising"]:
                    del record["scores"]["latent-ising"]
                file.append(record)
        return tables.collect_archive(folder, stored)

    stored = collect(tmp_path / "old", (0, FIRST_TRIALS["latent-ising"]), None, 0.6)
    study = collect(tmp_path / "new", (0,), stored, 0.8)["studies"][0]
    cell = study["cells"][0]
    assert cell["trials"] == cell["accuracy"]["oracle"]["trials"] == 2
    assert cell["accuracy"]["latent-ising"]["mean"] == 0.8
    assert cell["experts"]["latent-ising"]["hit_rate"]["mean"] == 0.8
    assert cell["gaps"]["oracle"]["mean"] == pytest.approx(-0.1)
    assert study["seconds"]["latent-ising"] == 0.8


def test_stuck_trials_are_counted(make_record):
    trials = list_trials(CELLS[:1], 4)
    results = {trial: make_record(trial) | {"flips": trial.number // 3} for trial in trials}
    results[trials[0]]["scores"]["latent-ising"]["precision"] = None
    results[trials[1]]["scores"]["latent-ising"]["reliable"] = 1.0
    stuck = tables.tabulate_study(results, "paper", "half")["stuck"]
    assert stuck == {"trials": 3, "claimed": 2, "reliable": 1}


@pytest.fixture
def table(make_record):
    """Two cells with two trials each."""
    asked = list_trials(find_cells("high-25-log,low-25-log"), 2)
    return tables.tabulate_study({trial: make_record(trial) for trial in asked}, "paper", "half")


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
