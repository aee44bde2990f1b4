"""Documents say nothing that the repository does not support."""

import ast
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import unelisa
from unelisa import errors

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PARTS = ("learn", "how_to", "reference", "why")
PAGES = [*ROOT.glob("*.md"), *DOCS.glob("*.md"), *(p for x in PARTS for p in (DOCS / x).glob("*"))]


def test_every_test_named_in_the_paper_notes_exists():
    notes = (ROOT / "docs" / "paper_notes.md").read_text(encoding="utf-8")
    sources = "\n".join(
        path.read_text(encoding="utf-8") for path in Path(__file__).parent.rglob("*.py")
    )
    files = {path.stem for path in Path(__file__).parent.rglob("test_*.py")}
    named = set(re.findall(r"\btest_\w+", notes)) - files
    assert len(named) > 25
    assert [name for name in sorted(named) if f"def {name}(" not in sources] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_to_files_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#\s]+)", text):
        if "://" not in link:
            assert (page.parent / link).exists(), f"{page.name} links to {link}"


def test_every_page_hangs_on_one_of_the_four_parts():
    listed = {DOCS / "index.md"}
    for part in PARTS:
        index = DOCS / part / "index.md"
        trees = re.findall(r"```{toctree}\n(.*?)```", index.read_text(encoding="utf-8"), re.DOTALL)
        names = [line for tree in trees for line in tree.splitlines() if line and line[0] != ":"]
        listed |= {index, *((index.parent / f"{name}.md").resolve() for name in names)}
    assert set(DOCS.rglob("*.md")) - listed <= set((DOCS / "_build").rglob("*.md")) | set(
        (DOCS / "generated").rglob("*.md")
    )


def test_every_public_name_is_in_the_reference():
    page = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   (\w+)$", page, re.MULTILINE))
    assert set(unelisa.__all__) - {"AGGREGATORS"} <= listed
    assert _error_classes() <= listed


def _error_classes():
    own = [
        x for x in vars(errors).values() if isinstance(x, type) and x.__module__ == errors.__name__
    ]
    named = {x.__name__ for x in own if issubclass(x, Exception)}
    return {name for name in named if not name.startswith("_")}


def test_the_guide_to_warnings_has_every_class_and_every_message_as_the_source_says_it():
    page = (DOCS / "how_to" / "warnings.md").read_text(encoding="utf-8")
    headings = set(re.findall(r"^### (\w+)$", page, re.MULTILINE))
    assert _error_classes() - {"UnelisaError"} <= headings
    quoted = re.findall(r"^\| `([^`]*)` \|", page, re.MULTILINE)
    assert len(quoted) > 20
    package = Path(unelisa.__file__).parent
    messages = set(_warned(package))
    said = "\n".join([*_texts(package), *messages])
    pieces = [[piece.strip(": ") for piece in quote.split("…")] for quote in quoted]
    assert sorted({piece for parts in pieces for piece in parts if piece not in said}) == []
    assert len(messages) > 30
    told = [any(all(x in message for x in p) for p in pieces) for message in messages]
    assert sorted(m for m, is_told in zip(messages, told, strict=True) if not is_told) == []


def _texts(package):
    """Every text of the source as it is written there, … for what is filled in."""
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = node.values
                yield "".join(x.value if isinstance(x, ast.Constant) else "…" for x in parts)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


SPOKEN = ("warn_user", "Caution", "noting", "doubting")  # their first argument is a message
FEWEST_LETTERS = 16  # a message of fewer is put together elsewhere


def _warned(package):
    """Every message that users are warned with, … for what is filled in."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in package.rglob("*.py")]
    public = _named_texts([node for tree in trees for node in tree.body])
    for tree in trees:
        named = public | _named_texts(ast.walk(tree))
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in SPOKEN:
                for argument in node.args[:1]:
                    for text in _read(argument, named):
                        if sum(letter.isalpha() for letter in text) >= FEWEST_LETTERS:
                            yield text


def _named_texts(nodes):
    """Name -> the nodes that are assigned to it."""
    found = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found.setdefault(node.targets[0].id, []).append(node.value)
    return found


def _read(node, named):
    """The texts that an expression may be."""
    if isinstance(node, ast.FormattedValue):
        node = node.value
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [re.sub(r"\{[^}]*\}", "…", node.value)]
    if isinstance(node, ast.JoinedStr):
        return ["".join(_read(part, named)[0] for part in node.values)]
    if isinstance(node, ast.IfExp):
        return _read(node.body, named) + _read(node.orelse, named)
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".format"):
        return _read(node.func.value, named)
    if isinstance(node, ast.Name) and node.id in named:
        others = {name: values for name, values in named.items() if name != node.id}
        return [text for value in named[node.id] for text in _read(value, others)]
    return ["…"]


def test_the_readme_repeats_what_the_comparison_found():
    told = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    archive = json.loads((DOCS / "study" / "real.json").read_text(encoding="utf-8"))
    peers = {row["method"] for row in archive["rows"] if row["kind"] == "peers"}
    assert f"{len(peers)} from other programs, on {len(archive['sets'])} sets of real votes" in told


def test_the_readme_says_from_how_many_sets_the_prior_was_learned():
    stored = DOCS / "study" / "prior.json"
    if not stored.is_file():
        pytest.skip("docs/study/prior.json is not there: run unelisa reproduce prior --out docs")
    rows = json.loads(stored.read_text(encoding="utf-8"))["sets"]
    sets, sources = (len({row[part] for row in rows}) for part in ("set", "source"))
    words = "more than (\\d+) sets of votes with known truth,? from more than (\\d+) sources"
    for page in ("README.md", "CHANGELOG.md"):
        told = " ".join((ROOT / page).read_text(encoding="utf-8").split())
        least = re.search(words, told)
        assert int(least[1]) < sets < int(least[1]) + 10, page
        assert int(least[2]) < sources < int(least[2]) + 10, page


def test_the_guide_to_judges_repeats_the_table_of_gold_labels():
    table = (DOCS / "model_tables.md").read_text(encoding="utf-8")
    row = re.search(
        r"^\| llm_judges_hard \| (\.\d{3}) \| \.\d{3} \| (\.\d{3}) \|", table, re.MULTILINE
    )
    without, with_gold = (f"{float(share):.2f}".removeprefix("0") for share in row.groups())
    told = " ".join((DOCS / "how_to" / "llm_judges.md").read_text(encoding="utf-8").split())
    assert f"rises from {without} to {with_gold}" in told


def test_the_table_of_the_gpu_is_what_was_measured():
    told = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    found = json.loads((ROOT / "benchmarks" / "results" / "gpu.json").read_text(encoding="utf-8"))
    lines = [_gpu_line(size) for size in found["sizes"]]
    for line in lines:
        assert line in told
    apart = max(size["largest_difference"] for size in found["sizes"] if size["processor"])
    for words in (
        f"one {found['machine']['gpu']} (torch {found['machine']['torch']})",
        f"the {found['machine']['cores']} cores beside it",
        f"needs {found['start_seconds']:.1f} s until torch",
        f"differ by at most {apart:.0e}",
    ):
        assert words in " ".join(told.split())


def _gpu_line(size):
    """One size as the page shows it."""
    gpu = size["gpu"]
    cells = (
        f"{size['items']:,} x {size['voters']:,}" + ", rare" * size.get("rare", False),
        f"{gpu['seconds']:.3f} s",
        str(gpu["left_to_processor"]),
        f"{gpu['send_seconds']:.3f} s",
        f"{gpu['peak_gb']:.1f} GB",
        *([f"{one['seconds']:.2f} s" for one in size["processor"]] or ["-", "-"]),
        size["date"],
    )
    return f"| {' | '.join(cells)} |"


def test_every_constraint_is_one_version():
    """So that pip-audit can check what was tested."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) > 50
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.+!-]+", line)] == []
    report = re.search(r"jinja2>=([\d.]+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert tuple(map(int, report[1].split("."))) >= (3, 1, 6)


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
