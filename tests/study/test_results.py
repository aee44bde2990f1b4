import errno
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest

from unelisa.errors import ModelError
from unelisa.study import results
from unelisa.study.cells import CELLS, list_trials
from unelisa.study.results import (
    join_records,
    missing_methods,
    name_trial,
    open_results,
    read_results,
    run_trials,
)
from unelisa.study.tables import tabulate_study

TRIALS = list_trials(CELLS[:2], 4)
CHEAP = ("majority-vote", "oracle")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "paper-half.jsonl"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Eight trials of two cells, run without a break."""
    path = tmp_path_factory.mktemp("whole") / "paper-half.jsonl"
    return run_trials(TRIALS, path), path


def table_of(records):
    table = tabulate_study(records, "paper", "half")
    return json.dumps({key: table[key] for key in table if key != "seconds"})


def test_every_trial_is_a_line_and_reads_back(whole):
    records, path = whole
    assert path.read_text().count("\n") == 8
    assert read_results(path) == records
    assert [name_trial(record) for record in records.values()] == TRIALS


def test_the_numbers_do_not_depend_on_jobs(whole, path):
    assert table_of(run_trials(TRIALS, path, n_jobs=2)) == table_of(whole[0])


def test_what_is_there_is_not_run_again(whole, path, monkeypatch):
    path.write_bytes(whole[1].read_bytes())
    monkeypatch.setattr(results, "run_trial", lambda *_: pytest.fail("ran again"))
    calls = []
    assert run_trials(TRIALS, path, done=calls.append) == whole[0]
    assert calls == [8]


def test_a_torn_last_line_is_dropped_and_run_again(whole, path):
    path.write_bytes(whole[1].read_bytes()[:-40])
    assert len(read_results(path)) == 7
    calls = []
    assert table_of(run_trials(TRIALS, path, done=calls.append)) == table_of(whole[0])
    assert calls == [7, 1]
    assert path.read_bytes().count(b"\n") == 8


def test_a_trial_written_twice_counts_once(whole, path):
    path.write_bytes(whole[1].read_bytes() * 2)
    assert read_results(path) == whole[0]


def test_other_lines_are_refused_with_their_number(whole, path):
    for stranger in (b"{}\n", b"[1]\n", b"hello\n", b'{"cell": "high-25-log", "trial": 1}\n'):
        path.write_bytes(whole[1].read_bytes() + stranger)
        with pytest.raises(ModelError, match="line 9 of paper-half.jsonl is no trial"):
            read_results(path)


def test_a_method_that_joins_later_adds_its_scores(path):
    first = run_trials(TRIALS[:2], path, CHEAP[:1])
    both = run_trials(TRIALS[:2], path, CHEAP)
    assert path.read_text().count("\n") == 4
    for trial in TRIALS[:2]:
        assert set(both[trial]["scores"]) == set(CHEAP)
        assert both[trial]["scores"][CHEAP[0]] == first[trial]["scores"][CHEAP[0]]


def test_joining_keeps_the_first_of_two_scores():
    first = {"n": 3, "scores": {"a": 1}, "seconds": {"sampler": 1}}
    later = {"n": 3, "scores": {"a": 2, "b": 3}, "seconds": {"sampler": 9, "b": 1}}
    joined = join_records(first, later)
    assert joined["scores"] == {"a": 1, "b": 3}
    assert joined["seconds"] == {"sampler": 1, "b": 1}


def test_missing_methods():
    assert missing_methods(None, CHEAP) == CHEAP
    assert missing_methods({"seconds": {"sampler": 1, "oracle": 1}}, CHEAP) == ("majority-vote",)


@pytest.mark.parametrize("written", [0, 10])
def test_a_full_disk_leaves_the_file_as_it_was(path, monkeypatch, written):
    record = run_trials(TRIALS[:1], path, CHEAP)[TRIALS[0]]
    before, write = path.read_bytes(), os.write

    def full(handle, line):
        if not written:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, line[:written])

    with open_results(path) as file, monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left") as caught:
            file.append(record)
    assert caught.value.filename == str(path)
    assert path.read_bytes() == before


def test_ctrl_c_keeps_what_has_ended(path, whole, monkeypatch):
    run, seen = results.run_trial, []

    def interrupted(*arguments):
        if len(seen) == 3:
            raise KeyboardInterrupt
        seen.append(arguments)
        return run(*arguments)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(results, "run_trial", interrupted)
        run_trials(TRIALS, path)
    assert len(read_results(path)) == 3
    assert table_of(run_trials(TRIALS, path)) == table_of(whole[0])


def _hold(path, ready, leave):
    with open_results(path):
        ready.set()
        leave.wait(30)


@pytest.mark.skipif(sys.platform == "win32", reason="no flock")
def test_two_runs_at_once_are_refused(path):
    context = multiprocessing.get_context("spawn")
    ready, leave = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(path, ready, leave))
    other.start()
    try:
        assert ready.wait(30)
        with pytest.raises(ModelError, match="another run is writing"), open_results(path):
            pass
    finally:
        leave.set()
        other.join()
    with open_results(path):  # the end of the other run gives the file back
        pass


SLOWLY = """
import sys, time
from pathlib import Path
from unelisa.study import results
from unelisa.study.cells import CELLS, list_trials
run = results.run_trial
def slowly(*arguments):
    time.sleep(.1)
    return run(*arguments)
results.run_trial = slowly
results.run_trials(list_trials(CELLS[:2], 4), Path(sys.argv[1]), n_jobs=int(sys.argv[2]))
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_kill_9_in_the_middle_changes_nothing(path, whole, jobs):
    """Two cells, four trials each: the table after a kill is bit-identical."""
    child = subprocess.Popen([sys.executable, "-c", SLOWLY, str(path), str(jobs)])
    deadline = time.monotonic() + 120
    while not (path.exists() and path.read_bytes().count(b"\n") >= 2):
        assert child.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    there = len(read_results(path))
    assert 2 <= there < 8
    path.write_bytes(path.read_bytes() + b'{"cell": "high-25-l')  # as if torn within a line
    assert table_of(run_trials(TRIALS, path, n_jobs=2)) == table_of(whole[0])
    assert path.read_bytes().count(b"\n") == 8
