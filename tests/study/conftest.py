"""Results of a study with stated scores, without running one."""

import pytest

from unelisa.study.archive import collect_archive
from unelisa.study.cells import CELLS, list_series, list_trials
from unelisa.study.ehr_sets import simulated_set
from unelisa.study.results import open_results, results_path, series_path
from unelisa.study.trial import COLUMNS


def _make_record(trial, accuracy=0.9, hit=0.5, precision=0.75, methods=COLUMNS):
    scores = {name: {"accuracy": accuracy} for name in methods}
    for name in {"unelisa-bayes", "unelisa-amv", "latent-ising"} & set(methods):
        scores[name] |= {"hit_rate": hit, "precision": precision}
    return {
        "cell": trial.cell.name,
        "trial": trial.number,
        "sampler": trial.sampler,
        "graph": trial.graph,
        "factor": trial.factor,
        "n": 100,
        "flips": 7,
        "mean_truth": 0.2,
        "scores": scores,
        "seconds": {"sampler": 1.0, "unelisa": 2.0, "latent-ising": 3.0},
    }


@pytest.fixture(scope="session")
def make_record():
    """A function that returns a trial's record as `run_trial` gives it."""
    return _make_record


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A results folder: both samplers on half graphs, one cell on trees, a short series."""
    folder = tmp_path_factory.mktemp("results")
    for sampler, graph, cells in (
        ("paper", "half", CELLS),
        ("mixed", "half", CELLS),
        ("paper", "tree", CELLS[:1]),
    ):
        with open_results(results_path(folder, sampler, graph)) as file:
            for trial in list_trials(cells, 2, sampler, graph):
                file.append(_make_record(trial, accuracy=(0.95, 0.97)[trial.number]))
    with open_results(series_path(folder, "mixed", "half")) as file:
        for trial in list_series(2, "mixed", "half"):
            file.append(_make_record(trial, methods=("unelisa-bayes",)))
    return folder


@pytest.fixture(scope="session")
def archive(folder):
    return collect_archive(folder)


@pytest.fixture(scope="session")
def datamart():
    """A small simulated datamart with its truth."""
    return simulated_set(0, 4000)
