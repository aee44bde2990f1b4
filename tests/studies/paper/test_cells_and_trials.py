"""The paper's cells and how their trials are drawn, scored and kept."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from studies.paper import trials
from studies.paper.cells import CELLS, PUBLISHED, Trial, find_cell, list_trials, seed_trial
from studies.paper.tables import tabulate_study
from unelisa.aggregators import UnElisa
from unelisa.errors import ExpertsWarning, ModelError
from unelisa.votes import Votes

PAPER = Path(__file__).resolve().parents[4] / "shared" / "paper" / "unelisa.tex"


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


@pytest.mark.shared
def test_the_published_numbers_are_those_of_the_paper():
    if not PAPER.exists():
        pytest.skip("the paper (../shared/paper) is not beside this checkout")
    row = re.compile(r"\$\s*(?:\\log p|\\sqrt\{p\}|p/4)\s*\$\s*&([^\\]+)\\\\")
    printed = [[float(x) for x in line.split("&")] for line in row.findall(PAPER.read_text())]
    assert printed == [list(row.figures.values()) for row in PUBLISHED.values()]


SMALL = find_cell("medium-25-sqrt")

EIGHT = list_trials(CELLS[:2], 4)

CHEAP = ("majority-vote", "oracle")


@pytest.fixture(scope="module")
def record():
    return trials.run_trial(Trial(SMALL, 3))


def test_a_trial_scores_every_method(record):
    assert tuple(record["scores"]) == trials.COLUMNS
    assert set(trials.COLUMNS) <= set(trials.LABELS)
    assert set(record["seconds"]) == {"sampler", *trials.METHODS}
    assert record["scores"]["oracle"]["accuracy"] > 0.97
    for name in ("unelisa-bayes", "unelisa-intercepts"):
        assert record["scores"][name]["hit_rate"] == 1.0
    assert "hit_rate" not in record["scores"]["majority-vote"]
    assert record["scores"]["latent-ising"]["reliable"] in (0.0, 1.0)
    assert record["n"] in (580, 676)
    assert 0 < record["flips"] < record["n"]
    assert json.loads(json.dumps(record, allow_nan=False)) == record


def test_trials_score_every_method_and_both_rules_alike():
    trial = Trial(SMALL, 4)
    drawn, seed = trials.draw_trial(trial), seed_trial(trial).methods
    answers = trials.run_unelisa(drawn, seed)
    for rule, column in (("bayes", "unelisa-bayes"), ("majority", "unelisa-amv")):
        model = UnElisa(rule=rule, random_state=seed).fit(drawn.votes)
        assert np.array_equal(answers[column].experts, model.experts_)
        assert np.array_equal(answers[column].scores, model.decision_function(drawn.votes))
    rng = np.random.default_rng(0)
    values = rng.choice(np.array([-1, 1], dtype=np.int8), (200, 6))
    model = trials.draw_trial(Trial(SMALL, 0)).model
    drawn = trials.Drawn(Votes.of(values, coding="pm1"), values[:, 0], model, 0)
    with pytest.warns(ExpertsWarning):
        answers = trials.run_unelisa(drawn, 0)
    for answer in answers.values():
        assert np.array_equal(np.sign(answer.scores), np.sign(values.sum(axis=1)))
    assert trials.score_answer(answers["unelisa-amv"], drawn)["precision"] is None
    assert trials.score_answer(answers["unelisa-amv"], drawn)["hit_rate"] == 0.0
    ties = trials.Answer(np.zeros(drawn.votes.n_items))
    assert trials.score_answer(ties, drawn) == {"accuracy": 0.5}


def test_the_samplers_share_graphs_and_only_one_of_them_mixes():
    stuck, mixed = (
        trials.draw_trial(Trial(find_cell("high-49-quarter"), 0, s)) for s in ("paper", "mixed")
    )
    assert np.array_equal(stuck.model.edges, mixed.model.edges)
    assert stuck.flips < 0.1 * stuck.votes.n_items
    assert mixed.flips > 0.4 * mixed.votes.n_items


def test_a_trial_lacks_what_joined_later(path):
    first, late = Trial(CELLS[0], 0), Trial(CELLS[0], trials.FIRST_TRIALS["latent-ising"])
    names = ("latent-ising", "oracle")
    assert trials.missing_methods(first, None, names) == names
    assert trials.missing_methods(late, None, names) == ("oracle",)
    record = {"seconds": {"oracle": 1, "latent-ising": 1}}
    made = record | {"code": trials.stamp_trial(record)}
    assert trials.missing_methods(first, made, names) == ()
    made["code"]["latent-ising"] = "of other code"
    assert trials.missing_methods(first, made, names) == ("latent-ising",)
    assert trials.missing_methods(first, record, names) == names  # nobody knows which code
    first = trials.run_trials(EIGHT[:2], path, CHEAP[:1])
    both = trials.run_trials(EIGHT[:2], path, CHEAP)
    assert path.read_text().count("\n") == 4
    for trial in EIGHT[:2]:
        assert set(both[trial]["scores"]) == set(CHEAP)
        assert both[trial]["scores"][CHEAP[0]] == first[trial]["scores"][CHEAP[0]]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "paper-half.jsonl"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Eight trials of two cells, run without a break."""
    path = tmp_path_factory.mktemp("whole") / "paper-half.jsonl"
    return trials.run_trials(EIGHT, path, CHEAP), path


def table_of(records):
    table = tabulate_study(records, "paper", "half")
    return json.dumps({key: table[key] for key in table if key != "seconds"})


def test_every_trial_is_a_line_and_other_lines_are_refused(whole, path, monkeypatch):
    records, written = whole
    assert written.read_text().count("\n") == 8
    assert list(records) == EIGHT
    path.write_bytes(written.read_bytes() * 2)  # a trial written twice counts once
    monkeypatch.setattr(trials, "run_trial", lambda *_: pytest.fail("ran again"))
    calls = []
    assert trials.run_trials(EIGHT, path, CHEAP, done=calls.append) == records
    assert calls == [8]
    for stranger in (b"{}\n", b"[1]\n", b'{"cell": "high-25-log", "trial": 1}\n'):
        path.write_bytes(whole[1].read_bytes() + stranger)
        with pytest.raises(ModelError, match="line 9 of paper-half.jsonl is not a trial"):
            trials.read_results(path)


SLOWLY = """
import sys, time
from pathlib import Path
from studies.paper import trials
from studies.paper.cells import CELLS, list_trials
run = trials.run_trial
def slowly(*arguments):
    time.sleep(.1)
    return run(*arguments)
trials.run_trial = slowly
methods = ("majority-vote", "oracle")
trials.run_trials(list_trials(CELLS[:2], 4), Path(sys.argv[1]), methods, n_jobs=2)
"""


def test_kill_9_in_the_middle_changes_nothing(path, whole):
    """Two cells, four trials each, two at a time: the table after a kill is bit-identical."""
    child = subprocess.Popen([sys.executable, "-c", SLOWLY, str(path)])
    deadline = time.monotonic() + 120
    while not (path.exists() and path.read_bytes().count(b"\n") >= 2):
        assert child.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert 2 <= len(trials.read_results(path)) < 8
    path.write_bytes(path.read_bytes() + b'{"cell": "high-25-l')  # as if torn within a line
    calls = []
    done = trials.run_trials(EIGHT, path, CHEAP, n_jobs=2, done=calls.append)
    assert table_of(done) == table_of(whole[0])
    assert path.read_bytes().count(b"\n") == 8
    assert sum(calls) == 8
