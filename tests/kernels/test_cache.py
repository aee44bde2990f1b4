"""Compiled kernels are cached where only this user can write, or not at all."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import unelisa.kernels
from unelisa.kernels.caching import cache_folder

POSIX = pytest.mark.skipif(os.name != "posix", reason="file modes")
SOURCE = Path(unelisa.kernels.__file__).parents[1]

USE = """
import numpy as np
from unelisa.kernels.caching import cache_folder
from unelisa.kernels.tally import widen_votes
out = np.empty((1, 3), np.float32)
widen_votes(np.ones((1, 3), np.int8), np.arange(1), 0, 3, out)
assert out.sum() == 3
hits = sum(widen_votes.compiled.stats.cache_hits.values())
print(cache_folder(), hits)
"""


def run(code=USE, package=SOURCE.parent, **environment):
    """Run code in a fresh interpreter that imports unelisa from `package`."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "XDG", "PYTHON"))}
    kept |= {"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"} | environment
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=kept,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.fixture
def asked(monkeypatch):
    """Ask where the cache would be, with a given XDG folder."""

    def ask(folder):
        monkeypatch.setattr(unelisa.kernels.caching.config, "CACHE_DIR", "")
        monkeypatch.setattr(unelisa.kernels.caching.sys, "platform", "linux")
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
        return cache_folder.__wrapped__()

    return ask


def test_a_second_process_finds_the_first_ones_code(tmp_path):
    folder, hits = run(XDG_CACHE_HOME=str(tmp_path))
    assert Path(folder).is_relative_to(tmp_path)
    assert hits == "0"
    assert run(XDG_CACHE_HOME=str(tmp_path)) == [folder, "1"]
    folder, _ = run(NUMBA_CACHE_DIR=str(tmp_path))
    assert Path(folder).is_relative_to(tmp_path)
    assert list(Path(folder).glob("*.nbi"))


def test_a_read_only_installation_works_and_is_left_alone(tmp_path):
    package = tmp_path / "installed"
    shutil.copytree(SOURCE, package / "unelisa", ignore=shutil.ignore_patterns("__pycache__"))
    for path in [package, *package.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = sorted(package.rglob("*"))
    try:
        folder, _ = run(package=package, XDG_CACHE_HOME=str(tmp_path / "cache"))
        assert Path(folder).is_relative_to(tmp_path / "cache")
        assert sorted(package.rglob("*")) == before
    finally:
        for path in [package, *package.rglob("*")]:
            path.chmod(0o755)


def test_without_a_folder_kernels_still_run(tmp_path, asked):
    nowhere = tmp_path / "file"
    nowhere.write_text("not a folder")
    assert run(XDG_CACHE_HOME=str(nowhere)) == ["None", "0"]
    assert asked("cache") is None


@POSIX
def test_a_folder_that_others_can_write_is_not_used(asked, tmp_path):
    folder = asked(tmp_path)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    folder = asked(tmp_path)
    folder.chmod(0o777)
    assert asked(tmp_path) is None
    folder.chmod(0o770)
    assert asked(tmp_path) is None
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    assert asked(shared / "cache") is None
    shared.chmod(0o1777)  # sticky, as /tmp: nobody can rename what is mine
    assert asked(shared / "cache") is not None
    folder = asked(tmp_path)
    folder.rmdir()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    assert asked(tmp_path) is None


def test_broken_cache_files_mean_compiling(tmp_path):
    folder, _ = run(XDG_CACHE_HOME=str(tmp_path))
    for file in Path(folder).iterdir():
        file.write_bytes(b"")
    assert run(XDG_CACHE_HOME=str(tmp_path)) == [folder, "0"]


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_a_damaged_cache_is_rebuilt(ending, tmp_path):
    """A flipped bit in an index or in machine code: neither an error nor a crash, once."""
    folder, _ = run(XDG_CACHE_HOME=str(tmp_path))
    for file in Path(folder).glob(f"*.{ending}"):
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 0x10
        file.write_bytes(content)
    assert run(XDG_CACHE_HOME=str(tmp_path)) == [folder, "0"]
    assert run(XDG_CACHE_HOME=str(tmp_path)) == [folder, "1"]


def test_importing_compiles_nothing_and_does_not_even_load_numba(tmp_path):
    code = "import sys, unelisa.paper.solvers; print('numba' in sys.modules)"
    assert run(code, XDG_CACHE_HOME=str(tmp_path)) == ["False"]
