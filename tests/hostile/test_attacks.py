"""The campaign of benchmarks/attacks runs: a few of its attacks, which are all withstood."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

OTHERS = ("names of rules", "update", "identity", "journal", "readers", "privacy")
PROGRAM = Path(__file__).parents[2] / "benchmarks" / "attacks"


@pytest.mark.skipif(sys.platform != "linux", reason="the campaign needs fork and /proc")
def test_a_few_attacks_are_counted_and_withstood(tmp_path):
    results, kinds = tmp_path / "attacks.json", ["inputs", "outputs", *OTHERS]
    asked = ["--most", "3", "--results", results, "--kinds", *kinds]
    subprocess.run([sys.executable, PROGRAM, *asked], check=True, timeout=300)
    counted = json.loads(results.read_text())["kinds"]
    assert list(counted) == kinds
    for row in counted.values():
        assert (row["attacks"], row["failures"]) == (3, [])
