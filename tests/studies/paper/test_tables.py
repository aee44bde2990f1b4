import json
import math
from copy import deepcopy

import numpy as np
import pytest

from studies.paper.cells import CELLS, PUBLISHED, Trial, list_trials
from studies.paper.tables import (
    collect_archive,
    find_figure,
    find_study,
    mean_errors,
    summarize,
    tabulate_cell,
    tabulate_sizes,
    tabulate_study,
)
from studies.paper.trials import FIRST_TRIALS, results_path
from studies.records import open_results
from unelisa.errors import ModelError


@pytest.fixture
def results(make_record):
    trials = list_trials(CELLS, 2)
    return {trial: make_record(trial, accuracy=(0.8, 0.9)[trial.number]) for trial in trials}


def test_means_errors_and_quantiles():
    values = np.array([0.2, 0.4, 0.9])
    figure = summarize(values, 0.5)
    assert figure["mean"] == 0.5
    assert figure["standard_error"] == round(values.std(ddof=1) / math.sqrt(3), 6)
    assert figure["quantiles"] == [0.22, 0.3, 0.4, 0.65, 0.85]


@pytest.mark.parametrize(
    ("published", "mark"),
    [(0.9, "within"), (0.981, "within"), (0.983, "below"), (0.817, "above"), (None, None)],
)
def test_marks(published, mark):
    """The standard error of these four is .0408; the paper prints three digits."""
    assert summarize(np.array([0.9, 1.0, 0.8, 0.9]), published)["mark"] == mark


def test_a_single_trial_has_no_error_and_no_mark():
    figure = summarize(np.array([0.9]), 0.5)
    assert (figure["standard_error"], figure["mark"]) == (None, None)


def test_the_table_does_not_depend_on_the_order_of_trials(results):
    table = tabulate_study(results, "paper", "half")
    turned = dict(reversed(list(results.items())))
    assert json.dumps(tabulate_study(turned, "paper", "half")) == json.dumps(table)
    assert json.loads(json.dumps(table, allow_nan=False)) == table


def test_the_table_has_all_cells_with_their_place_in_the_paper(results):
    table = tabulate_study(results, "paper", "half")
    assert [cell["cell"] for cell in table["cells"]] == [cell.name for cell in CELLS]
    last = table["cells"][-1]
    assert (last["table"], last["row"], last["trials"], last["flips"]) == ("5.3", 9, 2, 7)
    assert last["accuracy"]["spectral-meta-learner"]["published"] == 0.0
    assert last["accuracy"]["oracle"]["published"] is None
    assert last["experts"]["unelisa"]["hit_rate"]["published"] == 0.112
    assert table["seconds"] == {"sampler": 1.0, "unelisa": 2.0, "latent-ising": 3.0}


def test_other_samplers_graphs_and_sizes_stay_out(results, make_record):
    table = tabulate_study(results, "paper", "half")
    for other in (
        Trial(CELLS[0], 0, "mixed"),
        Trial(CELLS[0], 0, graph="full"),
        Trial(CELLS[0], 0, factor=60),
    ):
        results[other] = make_record(other, accuracy=0.0)
    assert tabulate_study(results, "paper", "half") == table


def test_errors_are_means_over_the_cells(results):
    errors = tabulate_study(results, "paper", "half")["errors"]
    gaps = [abs(0.85 - row.figures["unelisa-bayes"]) for row in PUBLISHED.values()]
    assert errors["unelisa-bayes"] == pytest.approx(np.mean(gaps), abs=1e-6)
    gaps = [abs(0.5 - row.figures["hit_rate"]) for row in PUBLISHED.values()]
    assert errors["hit_rate"] == pytest.approx(np.mean(gaps), abs=1e-6)


def test_up_to_a_sign_means_trial_by_trial(make_record):
    records = [make_record(Trial(CELLS[0], k), accuracy=a) for k, a in enumerate((0.1, 0.9))]
    cell = tabulate_cell(CELLS[0], records)
    assert cell["accuracy"]["dawid-skene"]["mean"] == 0.5
    assert cell["up_to_sign"]["dawid-skene"]["mean"] == 0.9
    assert cell["up_to_sign"]["dawid-skene"]["published"] is None


def test_precision_without_experts_counts_as_0_and_is_reported(make_record):
    records = [
        make_record(Trial(CELLS[0], 0)),
        make_record(Trial(CELLS[0], 1), hit=0.0, precision=None),
    ]
    experts = tabulate_cell(CELLS[0], records)["experts"]["unelisa"]
    assert experts["precision"]["mean"] == 0.375
    assert experts["none_found"] == 1


def test_a_method_is_shown_once_every_trial_has_it(make_record):
    full, part = (
        make_record(Trial(CELLS[0], 0)),
        make_record(Trial(CELLS[0], 1), methods=("oracle",)),
    )
    cell = tabulate_cell(CELLS[0], [full, part])
    assert list(cell["accuracy"]) == ["oracle"]
    assert cell["experts"] == {}
    assert find_figure(cell, "hit_rate") is None
    assert mean_errors([cell]) == {}


def test_series_over_n(make_record):
    trials = [Trial(CELLS[k], n, factor=f) for k in (10, 9) for f in (60, 4) for n in (0, 1)]
    points = tabulate_sizes({trial: make_record(trial, hit=0.25) for trial in trials})
    assert [(point["cell"], point["factor"]) for point in points] == [
        (CELLS[k].name, factor) for k in (9, 10) for factor in (4, 60)
    ]
    assert points[0]["hit_rate"]["mean"] == 0.25
    assert points[0]["trials"] == 2


def test_a_method_for_the_first_trials_only_needs_no_others(make_record):
    first, late = Trial(CELLS[0], 0), Trial(CELLS[0], FIRST_TRIALS["latent-ising"])
    records = [make_record(first, accuracy=0.8), make_record(late, accuracy=0.9)]
    records[0]["scores"]["latent-ising"] = {"accuracy": 0.7, "hit_rate": 1.0, "precision": 1.0}
    records[1]["scores"].pop("latent-ising", None)
    cell = tabulate_cell(CELLS[0], records)
    assert cell["accuracy"]["latent-ising"]["trials"] == 1
    assert cell["accuracy"]["oracle"]["trials"] == 2
    assert cell["gaps"]["oracle"]["mean"] == pytest.approx(-0.1)


def test_whole_studies_and_series_are_collected(archive):
    assert [(study["sampler"], study["graph"]) for study in archive["studies"]] == [
        ("paper", "half"),
        ("mixed", "half"),
    ]
    assert [series["sampler"] for series in archive["series"]] == ["mixed"]
    assert {point["trials"] for point in archive["series"][0]["points"]} == {2}
    with pytest.raises(ModelError, match="reproduce tables --sampler paper --graph tree"):
        find_study(archive, "paper", "tree")


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
    joined = collect_archive(tmp_path, stored)
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
        return collect_archive(folder, stored)

    stored = collect(tmp_path / "old", (0, FIRST_TRIALS["latent-ising"]), None, 0.6)
    study = collect(tmp_path / "new", (0,), stored, 0.8)["studies"][0]
    cell = study["cells"][0]
    assert cell["trials"] == cell["accuracy"]["oracle"]["trials"] == 2
    assert cell["accuracy"]["latent-ising"]["mean"] == 0.8
    assert cell["experts"]["latent-ising"]["hit_rate"]["mean"] == 0.8
    assert cell["gaps"]["oracle"]["mean"] == pytest.approx(-0.1)
    assert study["seconds"]["latent-ising"] == 0.8


def test_a_folder_without_trials_is_refused(tmp_path):
    with pytest.raises(ModelError, match="holds no finished trials"):
        collect_archive(tmp_path)


def test_stuck_trials_are_counted(make_record):
    trials = list_trials(CELLS[:1], 4)
    results = {trial: make_record(trial) | {"flips": trial.number // 3} for trial in trials}
    results[trials[0]]["scores"]["latent-ising"]["precision"] = None
    results[trials[1]]["scores"]["latent-ising"]["reliable"] = 1.0
    stuck = tabulate_study(results, "paper", "half")["stuck"]
    assert stuck == {"trials": 3, "claimed": 2, "reliable": 1}
