"""Fixtures that several test folders use."""

import csv
import gzip
import re
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from typer.testing import CliRunner

from unelisa.cli import app
from unelisa.ehr.datamart import SimulatedEhr
from unelisa.ehr.omop.datamart import write_datamart
from unelisa.kernels import compilation
from unelisa.votes import Votes

# kernels compile within the first example; the same examples every time keep failures repeatable
settings.register_profile("unelisa", deadline=None, derandomize=True)
settings.load_profile("unelisa")

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(autouse=True)
def _compile_silently(monkeypatch):
    """A command says on stderr that it compiles, once in the life of a cache: not in tests."""
    monkeypatch.setattr(compilation, "on_compilation", lambda _: nullcontext())


@pytest.fixture
def shared_data() -> Path:
    """The folder of real votes, which is not part of the project."""
    if not SHARED.is_dir():
        pytest.skip("the development data (../shared/data) is not beside this checkout")
    return SHARED


@pytest.fixture(scope="session")
def store_datamart(tmp_path_factory) -> Callable[[SimulatedEhr], Path]:
    """Write simulated health records to a DuckDB file of their own."""

    def store(drawn: SimulatedEhr) -> Path:
        file = tmp_path_factory.mktemp("datamart") / "ra.duckdb"
        write_datamart(drawn, file)
        return file

    return store


@pytest.fixture
def crowd() -> tuple[Votes, np.ndarray]:
    """Nine voters of stated accuracy on 600 items, conditionally independent, and the truth."""
    rng = np.random.default_rng(7)
    truth = rng.choice(np.array([-1, 1], dtype=np.int8), 600)
    accuracy = np.array([0.9, 0.85, 0.8, 0.8, 0.75, 0.5, 0.5, 0.2, 0.15])
    right = rng.random((600, 9)) < accuracy
    values = np.where(right, truth[:, None], -truth[:, None]).astype(np.int8)
    return Votes.of(values), truth


@pytest.fixture
def refused(run) -> Callable[..., str]:
    """Call the command line, expect exit code 2 and one sentence, and return the sentence."""

    def call(*arguments: object) -> str:
        result = run(*arguments)
        assert result.exit_code == 2, result.output
        assert result.stderr.startswith("Error: ")
        assert result.stderr.count("\n") == 1
        assert "Traceback" not in result.output
        return result.stderr.strip()

    return call


def read_truth(path: Path) -> dict[str, int]:
    """Item -> -1 / +1 of a truth file."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt") as file:
        return {row["item"]: int(row["label"]) for row in csv.DictReader(file)}


ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory) -> Path:
    """A folder in which the commands of `make demo` have run, as in a clone; found.json beside."""
    folder = tmp_path_factory.mktemp("clone")
    for line in re.findall(r"\$\(BIN\)/unelisa (.+)", (ROOT / "Makefile").read_text("utf-8")):
        words = [str(folder / word) if word.startswith("demo/") else word for word in line.split()]
        if words[0] == "demo":
            words[1:] = ["--out", str(folder / "demo"), "--json", str(folder / "found.json")]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
        if words[0] == "demo":
            (folder / "shown.txt").write_text(result.stdout, encoding="utf-8")
    (folder / "examples").symlink_to(ROOT / "examples")
    return folder
