"""A command line to call, and the crowd of tests/conftest.py as files."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner, Result

from unelisa.cli import app
from unelisa.ehr.datamart import SimulatedEhr, simulate_ehr


class CrowdFiles(NamedTuple):
    votes: Path
    truth: Path
    folder: Path


@pytest.fixture
def run() -> Callable[..., Result]:
    """Call the command line in this process."""

    def call(*arguments: object) -> Result:
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return call


@pytest.fixture(scope="session")
def drawn() -> SimulatedEhr:
    """Simulated health records."""
    return simulate_ehr(1200, random_state=8)


@pytest.fixture(scope="session")
def stored(drawn, store_datamart) -> Path:
    """The simulated health records as a database; copy it to write to it."""
    return store_datamart(drawn)


@pytest.fixture
def files(tmp_path, crowd) -> CrowdFiles:
    """Nine voters named w0..w8 on items i0..i599, as a wide table of yes and no, and the truth."""
    votes, truth = crowd
    words = {-1: "no", 1: "yes"}
    header = ",".join(["item", *(f"w{s}" for s in range(votes.n_voters))])
    rows = [
        ",".join([f"i{i}", *(words[int(vote)] for vote in row)])
        for i, row in enumerate(votes.values)
    ]
    paths = CrowdFiles(tmp_path / "votes.csv", tmp_path / "truth.csv", tmp_path)
    paths.votes.write_text("\n".join([header, *rows, ""]))
    labels = [f"i{i},{words[int(sign)]}" for i, sign in enumerate(truth)]
    paths.truth.write_text("\n".join(["item,label", *labels, ""]))
    return paths
