"""Documents say nothing that the repository does not hold."""

import json
import re
import runpy
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]


def test_every_test_named_in_the_paper_notes_exists():
    notes = (ROOT / "docs" / "paper_notes.md").read_text(encoding="utf-8")
    sources = "\n".join(
        path.read_text(encoding="utf-8") for path in Path(__file__).parent.rglob("*.py")
    )
    files = {path.stem for path in Path(__file__).parent.rglob("test_*.py")}
    named = set(re.findall(r"\btest_\w+", notes)) - files
    assert len(named) > 25
    assert [name for name in sorted(named) if f"def {name}(" not in sources] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_files_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#\s]+)", text):
        if "://" not in link:
            assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_the_readme_counts_the_other_programs_and_sets_that_were_run():
    told = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    archive = json.loads((ROOT / "docs" / "study" / "real.json").read_text(encoding="utf-8"))
    peers = {row["method"] for row in archive["rows"] if row["kind"] == "peers"}
    said = f"{len(peers)} of other programs, on {len(archive['sets'])} sets of real votes"
    assert said in told


def test_the_table_of_the_gpu_is_what_was_measured():
    told = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    found = json.loads((ROOT / "benchmarks" / "results" / "gpu.json").read_text(encoding="utf-8"))
    lines = [_gpu_line(size) for size in found["sizes"]]
    assert told.split("## On a GPU")[1].count("lambda | ") == len(lines)
    for line in lines:
        assert line in told
    first = max(size["gpu"]["first"] for size in found["sizes"])
    apart = max(size["largest_difference"] for size in found["sizes"])
    for words in (
        f"one {found['machine']['gpu']} (torch {found['machine']['torch']})",
        f"the {found['machine']['cores']} cores beside it",
        f"needs {found['start_seconds']:.1f} s until torch",
        f"The first solve of a process took {first:.1f} s",
        f"differ by at most {apart:.0e}",
    ):
        assert words in " ".join(told.split())


def _gpu_line(size):
    """One size as the page shows it."""
    gpu, (one, many) = size["gpu"], size["processor"]
    cells = (
        f"{size['items']:,} x {size['voters']:,}",
        f"{gpu['seconds']:.3f} s",
        f"{gpu['send_seconds']:.3f} s",
        f"{gpu['fetch_seconds']:.3f} s",
        f"{gpu['passes_mean']:.1f}",
        f"{gpu['peak_gb']:.1f} GB",
        f"{gpu['kkt_float64']:.1e} lambda",
        f"{one['seconds']:.2f} s",
        f"{many['seconds']:.2f} s",
    )
    return f"| {' | '.join(cells)} |"


def test_the_page_on_reliability_is_what_was_measured(tmp_path):
    benchmarks = ROOT / "benchmarks"
    found = json.loads((benchmarks / "results" / "reliability.json").read_text(encoding="utf-8"))
    runpy.run_path(str(benchmarks / "reliability_page.py"))["write_page"](found, tmp_path / "page")
    told = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    assert told == (tmp_path / "page").read_text(encoding="utf-8")


def test_the_page_on_reliability_counts_the_cases_that_there_are():
    found = json.loads((ROOT / "benchmarks/results/reliability.json").read_text(encoding="utf-8"))
    kinds = found["tests"]["kinds"]
    files = [row["file"] for row in kinds.values()]
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    counts = Counter(line.split("::")[0] for line in listed.stdout.splitlines() if "::" in line)
    stale = [kind for kind, row in kinds.items() if row["tests"] != counts[row["file"]]]
    assert not stale, f"run: python benchmarks/reliability.py tests --kinds {stale}, then page"
