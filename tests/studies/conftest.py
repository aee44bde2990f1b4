"""Results of the studies with stated scores, without running them, and a command line to call."""

import numpy as np
import pytest
from typer.testing import CliRunner

from studies.ehr.rare import HELPS, summarize_rare
from studies.ehr.sets import simulated_set
from studies.ehr.splits import FIGURES, NONE, OURS, PAPER, PENLOG, UNELISA
from studies.paper.cells import CELLS, list_series, list_trials
from studies.paper.tables import collect_archive
from studies.paper.trials import COLUMNS, results_path
from studies.records import open_results
from studies.sets import LIST
from unelisa.cli import app
from unelisa.sources.labels import KnownLabels
from unelisa.votes import Votes


@pytest.fixture
def run():
    """Call the command line in this process."""

    def call(*arguments):
        return CliRunner().invoke(app, ["reproduce", *map(str, arguments)])

    return call


def _make_record(trial, accuracy=0.9, hit=0.5, precision=0.75, methods=COLUMNS):
    scores = {name: {"accuracy": accuracy} for name in methods}
    selecting = {"unelisa-bayes", "unelisa-amv", "latent-ising", "unelisa-intercepts"}
    for name in selecting & set(methods):
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
    with open_results(results_path(folder, "mixed", "half", series=True)) as file:
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


def _make_split(split, protocol, method, value):
    return {
        "set": "ra-7",
        "split": split,
        "protocol": protocol,
        "method": method,
        "figures": dict.fromkeys(FIGURES, value),
    }


@pytest.fixture
def splits():
    """Two splits of three methods: every figure .02 better on the second."""
    ways = ((PAPER, UNELISA, 0.7), (PAPER, PENLOG, 0.8), (NONE, OURS, 0.9))
    return [_make_split(n, *way[:2], way[2] + 0.02 * n) for n in (0, 1) for way in ways]


@pytest.fixture
def rare():
    """Two cohorts of each help: one found within the factor and covered, one not."""
    row = {"set": "ra-7 rare 0", "true_prevalence": 0.03, "auc": 0.9, "true_ppv": 0.8}
    found = [
        {**row, "told": told, "charts": charts, "prevalence": p, "ppv": [0.9, low, 0.95]}
        for told, charts in HELPS
        for p, low in ((0.03, 0.7), (0.05, 0.85))
    ]
    return summarize_rare(found)


@pytest.fixture
def known():
    """Five voters on 120 items, of which 80 have a known truth, and one item without votes."""
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(120) < 0.4, 1, -1).astype(np.int8)
    right = rng.random((120, 5)) < 0.8
    values = np.where(right, truth[:, None], -truth[:, None]).astype(np.int8)
    signs = np.where(np.arange(120) < 80, truth, 0).astype(np.int8)
    return KnownLabels(
        Votes.of(values), signs, np.array(["alone"], dtype=object), np.array([1], dtype=np.int8)
    )


HEADER = "set,folder,source,kind,classes,ordered,with_truth\n"
# set, source, number of classes, share of right votes
SETS = (("coins", "mint", 2, 0.8), ("llm_judges", "post", 2, 0.7), ("birds", "park", 3, 0.75))


def _write_set(place, n_classes, right, rng, copied, n_items=90, n_voters=6):
    """Write the votes of independent voters, who skip a fifth of the items, and the truth.

    If `copied`, one more voter is an exact copy of the first.
    """
    place.mkdir(parents=True)
    names = ("-1", "1") if n_classes == 2 else tuple("abc")
    truth = rng.integers(0, n_classes, n_items)
    wrong = (truth[:, None] + rng.integers(1, n_classes, (n_items, n_voters))) % n_classes
    levels = np.linspace(right - 0.12, right + 0.12, n_voters)
    said = np.where(rng.random((n_items, n_voters)) < levels, truth[:, None], wrong)
    cast = np.argwhere(rng.random((n_items, n_voters)) < 0.8).tolist()
    votes = [f"i{i},v{s},{names[said[i, s]]}\n" for i, s in cast]
    if copied:
        votes += [f"i{i},copy,{names[said[i, s]]}\n" for i, s in cast if s == 0]
    labels = [f"i{i},{names[k]}\n" for i, k in enumerate(truth.tolist()) if i % 9]
    (place / "votes.csv").write_text("".join(["item,voter,vote\n", *votes]))
    (place / "truth.csv").write_text("".join(["item,label\n", *labels]))


@pytest.fixture(scope="session")
def listed_sets(tmp_path_factory):
    """Three made-up sets of three sources, in folders as the list of sources describes them."""
    folder = tmp_path_factory.mktemp("sets")
    rng = np.random.default_rng(0)
    rows = [
        f"{name},own,{source},{'llm judges' if name == 'llm_judges' else 'crowd'},{k},no,80\n"
        for name, source, k, _ in SETS
    ]
    (folder / LIST).write_text("".join([HEADER, *rows]))
    for name, _, n_classes, right in SETS:
        _write_set(folder / "own" / name, n_classes, right, rng, copied=name == "llm_judges")
    return folder
