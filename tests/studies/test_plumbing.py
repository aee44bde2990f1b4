"""What the studies share: results on disk, fingerprints, options, Markdown, scores."""

import doctest
import errno
import json
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from studies import fingerprints, records
from studies.chances import rate_honesty, share_of_votes, share_of_yes
from studies.commands import read_seeds
from studies.markdown import fill_marks, has_mark, join_blocks, markdown_table, store_tables
from studies.names import pick_names
from unelisa.aggregators import AGGREGATORS, DawidSkene, LatentIsing, MajorityVote
from unelisa.errors import ModelError
from unelisa.sources.labels import KnownLabels
from unelisa.votes import Votes


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A clone with one commit whose studies are those that are run."""
    monkeypatch.setattr(records, "__file__", str(tmp_path / "studies" / "records.py"))
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "records.py").write_text("")
    author = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    for told in (("init",), ("add", "."), (*author, "commit", "-m", "one")):
        subprocess.run(["git", "-C", tmp_path, *told], check=True, capture_output=True)
    records.find_commit.cache_clear()
    yield tmp_path
    records.find_commit.cache_clear()


def test_the_commit_is_that_of_the_code(clone):
    (clone / "README.md").write_text("not code")
    commit = records.find_commit()
    assert re.fullmatch("[0-9a-f]{12}", commit)
    (clone / "studies" / "records.py").write_text("changed")
    records.find_commit.cache_clear()
    assert records.find_commit() == f"{commit}+"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rows.jsonl"


def test_lines_read_back_a_torn_last_one_is_dropped_and_other_text_refused(path):
    assert records.read_lines(path) == []
    with records.open_results(path) as file:
        file.append({"a": 1})
    path.write_bytes(path.read_bytes() + b'{"a": ')  # a kill in the middle of a line
    assert records.read_lines(path) == [{"a": 1}]
    with records.open_results(path) as file:
        file.append({"a": 2})
    assert records.read_lines(path) == [{"a": 1}, {"a": 2}]
    path.write_text('{"a": 1}\nnonsense\n')
    with pytest.raises(ModelError, match="line 2 of rows.jsonl is not JSON"):
        records.read_lines(path)


@pytest.mark.parametrize("written", [0, 10])
def test_a_full_disk_leaves_the_file_as_it_was(path, monkeypatch, written):
    with records.open_results(path) as file:
        file.append({"a": 1})
    before, write = path.read_bytes(), os.write

    def full(handle, line):
        if not written:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, line[:written])

    with records.open_results(path) as file, monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left") as caught:
            file.append({"a": "a longer row"})
    assert caught.value.filename == str(path)
    assert path.read_bytes() == before


@pytest.mark.skipif(sys.platform == "win32", reason="no flock")
def test_two_runs_at_once_are_refused(path):
    with (
        records.open_results(path),
        pytest.raises(ModelError, match="another run is writing"),
        records.open_results(path),
    ):
        pass
    with records.open_results(path):  # the end of the first run releases the file
        pass


def test_archives_and_rows_are_flat(tmp_path):
    archive, path = records.make_archive(rows=[{"set": 1}, {"set": 2}]), tmp_path / "rows.json"
    path.write_text(records.format_archive(archive, "set"))
    assert records.read_archive(path, "rows", "a command") == archive
    assert path.read_text().count("\n") == 3
    row = {"set": "a", "figures": {"auc": [0.9, 0.8]}, "curve": [[1, 2]]}
    assert records.flatten_row(row) == {
        "set": "a",
        "figures.auc.0": 0.9,
        "figures.auc.1": 0.8,
        "curve.0.0": 1,
        "curve.0.1": 2,
    }
    assert records.list_rows({"panels": {"rows": [row]}}, "panels.rows") == [row]
    assert records.list_rows({}, "panels.rows") == []


@pytest.mark.parametrize(
    "content", [None, "", "[]", "{}", json.dumps({"format": 99, "rows": []}), '{"format": 1}']
)
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "rows.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ModelError, match="rows.json is not an archive of this study: create it"):
        records.read_archive(path, "rows", "a command")


def test_sets_are_run_again_by_other_code_only(path, known):
    told = []

    def run(known, name):
        return {"set": name, "items": known.votes.n_items}

    def note(*done):
        told.append(done)

    records.run_sets({"b": lambda: known}, run, path, lambda _: "old", note)
    records.run_sets({"b": lambda: 1 / 0, "a": lambda: known}, run, path, lambda _: "old", note)
    assert [(row["set"], row["code"]) for row in records.read_lines(path)] == [
        ("b", "old"),
        ("a", "old"),
    ]
    assert told == [("b", 1), ("b", 1), ("a", 1)]
    records.run_sets({"b": lambda: known}, run, path, lambda _: "new", note)
    rows = records.merge_sets([{"set": "c"}], records.read_lines(path))
    codes = [(row["set"], row.get("code")) for row in rows]
    assert codes == [("a", "old"), ("b", "new"), ("c", None)]
    assert rows[0]["data"] == rows[1]["data"] == fingerprints.hash_data(known)


@pytest.mark.parametrize("text", ["", "a", "1,1", "0-3,2", "-2", "3-1", "1-2-5"])
def test_other_seeds_are_refused(text):
    with pytest.raises(ModelError, match="distinct nonnegative integers, such as 0,1,2 or 0-19"):
        read_seeds(text)


KNOWN = ("a", "b", "c")


def test_an_unknown_name_is_refused_with_those_there_are():
    with pytest.raises(ModelError, match="there is no 'd'; choose from a, b, c"):
        pick_names("a,d", KNOWN, "there is no")


def test_shares_and_their_confidence_by_hand():
    values = np.array([[1] * 8, [-1] * 8, [0] * 8, [1, -1, *[0] * 6]], dtype=np.int8)
    assert share_of_yes(values).tolist() == [0.9, 0.1, 0.5, 0.5]
    values = np.array([[1, 1, 0], [-1, 1, 1], [-1, 0, 0]], dtype=np.int8)
    shares = share_of_votes(Votes.of(values, coding="pm1"))
    assert shares.sum(axis=1) == pytest.approx(1)
    assert shares[:, 1] == pytest.approx(share_of_yes(values))
    truth = np.array([1, 1, -1, 0], dtype=np.int8)
    found = rate_honesty(truth, np.array([0.95, 0.05, 0.05, 0.5]))
    assert found["confidence"] == pytest.approx(0.95)
    # one of the two items at .05 is positive
    assert found["ece"] == pytest.approx((0.05 + 2 * 0.45) / 3)


def test_pages_are_filled_between_marks_and_long_tables_beside(tmp_path):
    rows = [[k, r"a\|b" if k else "a|b"] for k in range(40)]
    short, long = markdown_table(["n"], [[1]]), markdown_table(["n", "x, y"], rows)
    page = join_blocks("# Page", short, "## All sets, one by one", long, long, "The end.")
    shown, files = store_tables(page, "real")
    assert list(files) == ["real-all-sets-one-by.csv", "real-all-sets-one-by-1.csv"]
    assert files["real-all-sets-one-by.csv"].splitlines()[:2] == ['n,"x, y"', "0,a|b"]
    assert short in shown
    assert ":file: study/real-all-sets-one-by.csv\n" in shown
    assert shown.endswith("\n\nThe end.\n")
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- x -->\nold\n<!-- end x -->\nafter\n")
    assert has_mark(page, "x")
    assert not has_mark(page, "y")
    fill_marks(page, {"x": "new"})
    assert page.read_text() == "before\n<!-- x -->\nnew\n<!-- end x -->\nafter\n"


ROOT = Path(__file__).resolve().parents[2]

MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for path in sorted((ROOT / "studies").rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    found = doctest.testmod(import_module(name))
    assert found.attempted
    assert not found.failed


KERNEL = """
from toy.numbers import HALF, OTHER


def halve(x):
    \"\"\"Return a half.\"\"\"
    if x is None:
        raise ValueError("there is no x")
    return HALF * x  # of x


def unused(x):
    return OTHER * x
"""

NUMBERS = "HALF = 0.5\nOTHER = 3\n"


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """Two modules; returns how they are written and `halve` is hashed."""
    monkeypatch.setitem(fingerprints._PLACES, "toy", tmp_path)
    (tmp_path / "toy").mkdir()

    def write(kernel=KERNEL, numbers=NUMBERS):
        (tmp_path / "toy" / "kernel.py").write_text(kernel)
        (tmp_path / "toy" / "numbers.py").write_text(numbers)
        for cached in (fingerprints.hash_code, fingerprints._read_module):
            cached.cache_clear()
        return fingerprints.hash_code("toy.kernel:halve")

    yield write
    fingerprints.hash_code.cache_clear()
    fingerprints._read_module.cache_clear()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Return a half.", "Return x / 2."),
        ("# of x", "# a comment"),
        ("there is no x", "x is missing: give one"),
        ("def halve(x):", "def halve(x: float) -> float:"),
        ("OTHER * x", "OTHER + x"),
    ],
)
def test_words_annotations_and_other_functions_do_not_count(repository, old, new):
    assert old in KERNEL
    assert repository(KERNEL.replace(old, new)) == repository()


@pytest.mark.parametrize(("old", "new"), [("HALF * x", "HALF + x"), ("is None", "== 0")])
def test_code_counts(repository, old, new):
    assert repository(KERNEL.replace(old, new)) != repository()


def test_what_is_imported_counts_wherever_it_stands(repository):
    before = repository()
    assert repository(numbers=NUMBERS.replace("0.5", "0.25")) != before
    assert repository(numbers=NUMBERS.replace("3", "4")) == before
    moved = KERNEL.replace("from toy.numbers import HALF, OTHER", "HALF = 0.5\nOTHER = 3")
    assert repository(moved) == before
    by_module = KERNEL.replace("HALF * x", "numbers.HALF * x")
    by_module = by_module.replace("from toy.numbers import HALF, OTHER", "from toy import numbers")
    ahead = repository(by_module, NUMBERS)
    assert repository(by_module, NUMBERS.replace("0.5", "0.25")) != ahead
    assert repository(by_module, NUMBERS.replace("3", "4")) == ahead


def test_code_counts_wherever_it_stands_but_not_the_report():
    codes = {
        name: fingerprints.hash_code(fingerprints.root_of(cls)) for name, cls in AGGREGATORS.items()
    }
    assert len(set(codes.values())) == len(AGGREGATORS)
    with pytest.raises(LookupError, match="no 'missing'"):
        fingerprints.hash_code("unelisa.aggregators.majority:missing")

    def reach(cls):
        found, waiting = set(), [(cls.__module__, cls.__name__)]
        while waiting:
            here = waiting.pop()
            if here not in found:
                found.add(here)
                waiting += fingerprints._follow(*here)
        return {module for module, name in found if fingerprints._define(module, name)}

    ours, plain = reach(LatentIsing), reach(MajorityVote)
    assert {"unelisa.latent.prior", "unelisa.kernels.consensus", "unelisa.votes.blocks"} <= ours
    assert "unelisa.latent.prior" not in plain | reach(DawidSkene)
    assert not any(module.startswith(("unelisa.report", "unelisa.cli")) for module in ours)


def test_rows_of_other_code_or_other_data_are_stale(known):
    stamp = fingerprints.stamp_with(fingerprints.root_of(MajorityVote))
    fresh, other = {"code": stamp({})}, {"code": "of other code"}
    assert [fingerprints.is_stale(row, stamp) for row in (fresh, other, {})] == [False, True, True]
    assert fingerprints.drop_stale([fresh, other], stamp) == [fresh]
    assert not fingerprints.is_stale({}, lambda _: None)  # computed elsewhere
    assert fingerprints.common_code([fresh, fresh]) == stamp({})
    assert fingerprints.common_code([fresh, other]) is None
    votes, signs = known.votes, known.signs
    fewer = KnownLabels(votes, -signs, known.unvoted_items, known.unvoted_signs)
    assert fingerprints.hash_data(fewer) != fingerprints.hash_data(known)
    one = KnownLabels(votes.take_items([0]), signs[:1], known.unvoted_items, known.unvoted_signs)
    assert fingerprints.hash_data(one) not in {
        fingerprints.hash_data(known),
        fingerprints.hash_data(fewer),
    }
