"""Every write, move, flush and allocation of the outputs fails once: all old, or all new.

A trial runs the same work again and again. In round k the k-th call of a system function fails,
until a round has fewer calls than k and succeeds.
"""

import errno
import io
import os

import numpy as np
import pytest

from unelisa.aggregators import DawidSkene, MajorityVote
from unelisa.analysis.judged import Judged
from unelisa.cli.fitting import Outputs, write_outputs
from unelisa.outputs import whole_files
from unelisa.report.findings import collect_findings
from unelisa.storage import load, save
from unelisa.votes import Votes

ROUNDS = 400
CALLS = ("fsync", "replace", "link", "mkdir", "fchmod", "open")


class _Faults:
    """Counts calls, and lets the one with the number `fails` fail."""

    def __init__(self, fails, error):
        self.fails, self.error, self.calls = fails, error, 0

    def count(self):
        self.calls += 1
        if self.calls == self.fails:
            raise self.error

    def wrap(self, function):
        def call(*arguments, **named):
            self.count()
            return function(*arguments, **named)

        return call


class _Failing:
    """A file whose writes are counted."""

    def __init__(self, file, faults):
        self._file, self._faults = file, faults

    def write(self, content):
        self._faults.count()
        return self._file.write(content)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()

    def __getattr__(self, name):
        return getattr(self._file, name)


def _install(monkeypatch, faults):
    for name in CALLS:
        monkeypatch.setattr(os, name, faults.wrap(getattr(os, name)))
    plain = io.open

    def open_file(file, mode="r", *arguments, **named):
        faults.count()
        opened = plain(file, mode, *arguments, **named)
        return _Failing(opened, faults) if set(mode) & set("wax+") else opened

    monkeypatch.setattr(io, "open", open_file)


def fail_once_everywhere(monkeypatch, error, work, check):
    """Run the work with each of its calls failing in turn; return the number of calls."""
    for fails in range(1, ROUNDS):
        faults = _Faults(fails, error)
        with monkeypatch.context() as patch:
            _install(patch, faults)
            try:
                work()
            except type(error):
                failed = True
            else:
                failed = False
        check(failed)
        if faults.calls < fails:
            return faults.calls
    return pytest.fail("the work never succeeds")


DISK = OSError(errno.EIO, "Input/output error")
ERRORS = pytest.mark.parametrize("error", [DISK, MemoryError()], ids=["disk", "memory"])


@ERRORS
@pytest.mark.parametrize("existing", [(), ("a",), ("a", "b", "c")], ids=len)
def test_a_set_of_files_is_all_old_or_all_new(error, existing, monkeypatch, tmp_path):
    names = ("a", "b", "c")

    def work():
        with whole_files() as make_draft:
            for name in names:
                make_draft(tmp_path / name).write_text("new")

    def check(failed):
        found = {path.name: path.read_text() for path in tmp_path.iterdir()}
        old, new = dict.fromkeys(existing, "old"), dict.fromkeys(names, "new")
        assert found in (old if failed else new, new)
        for name in names:
            (tmp_path / name).unlink(missing_ok=True)
            if name in existing:
                (tmp_path / name).write_text("old")

    for name in existing:
        (tmp_path / name).write_text("old")
    assert fail_once_everywhere(monkeypatch, error, work, check) > 10


@ERRORS
def test_a_model_is_the_old_or_the_new_one(error, monkeypatch, tmp_path):
    votes = Votes.of(np.random.default_rng(0).choice([-1, 1], (60, 5)))
    first, second = MajorityVote().fit(votes), DawidSkene(random_state=0).fit(votes)
    path = tmp_path / "model.npz"
    save(first, path)
    before = path.read_bytes()

    def check(failed):
        assert list(tmp_path.iterdir()) == [path]
        if not failed:
            assert isinstance(load(path), DawidSkene)
        assert failed == (path.read_bytes() == before)
        save(first, path)

    assert fail_once_everywhere(monkeypatch, error, lambda: save(second, path), check) > 5


@ERRORS
def test_the_outputs_of_a_command_appear_together(error, monkeypatch, tmp_path):
    votes = Votes.of(np.random.default_rng(0).choice([-1, 1], (60, 5)))
    model = MajorityVote().fit(votes)
    judged = Judged.of(model, votes)
    findings = collect_findings(model, judged)
    names = ("labels.csv", "report.html", "model.npz", "found.json")
    outputs = Outputs(*(tmp_path / name for name in names))

    def check(failed):
        found = sorted(path.name for path in tmp_path.iterdir())
        assert found == ([] if failed else sorted(names))
        clear()

    def work():
        write_outputs(outputs, model, judged, findings)

    def clear():
        for path in tmp_path.iterdir():
            path.unlink()

    work()  # templates are loaded and kernels compiled
    clear()
    assert fail_once_everywhere(monkeypatch, error, work, check) > 20
