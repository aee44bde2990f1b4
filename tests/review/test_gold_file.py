import os
import subprocess
import sys

import numpy as np
import pytest

from unelisa.errors import ModelError
from unelisa.review import gold_file
from unelisa.review.gold_file import Answer, clean_name, clean_note, open_gold
from unelisa.sources.labels import read_labels
from unelisa.votes import Votes

ITEMS = np.array(["a", "=b", "c,d"], dtype=object)
CLASSES = ("-no", "yes")
HEADER = ("item", "label", "reviewer", "chosen", "note")
ANSWERS = [
    Answer(1, 0, "ann", "useful", "why, \"though\""),
    Answer(2, 1, "ann", "useful"),
    Answer(0, None, "ann", "useful", "unreadable"),
]  # fmt: skip


@pytest.fixture
def path(tmp_path):
    return tmp_path / "gold.csv"


def write(path, answers):
    with open_gold(path, ITEMS, CLASSES, HEADER) as gold, gold.turn():
        for answer in answers:
            gold.add(answer)
        return gold.answers


def test_answers_read_back_and_every_command_reads_them(path):
    write(path, ANSWERS[:2])
    assert write(path, ANSWERS[2:]) == ANSWERS
    votes = Votes.of_values(np.ones((3, 1), dtype=np.int8), ITEMS, np.array(["v"]), CLASSES)
    assert read_labels(path, votes).as_gold().tolist() == [None, "-no", "yes"]


@pytest.mark.parametrize("cut", range(2, 12))
def test_a_torn_last_line_is_cut_off_and_nothing_else(path, cut):
    write(path, ANSWERS[:2])
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])  # a kill in the middle of a write
    assert write(path, [ANSWERS[1]]) == ANSWERS[:2]
    assert path.read_bytes() == whole


def test_a_whole_last_row_without_its_line_feed_stays(path):
    """An editor may have left it so; a row that is torn elsewhere is no answer."""
    write(path, ANSWERS)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    assert write(path, []) == ANSWERS
    assert path.read_bytes() == whole
    for header in (",".join(HEADER), "item,lab"):  # a torn one is written again
        path.write_text(header)
        assert write(path, ANSWERS) == ANSWERS
    for torn in ("c,d,yes,ann,useful,", "nobody,yes,ann,useful,", 'a,yes,ann,useful,"half', "a,y"):
        path.write_bytes(whole + torn.encode())
        assert write(path, []) == ANSWERS
        assert path.read_bytes() == whole


def replace_by_rename(path, text):
    other = path.with_name("other")
    other.write_bytes(text)
    other.replace(path)


def link_to_another(path, text):
    other = path.with_name("other")
    other.write_bytes(text)
    path.unlink()
    path.symlink_to(other)


def move_the_folder(path, text):
    path.parent.rename(path.parent.with_name("elsewhere"))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (replace_by_rename, "was replaced"),
        (link_to_another, "was replaced"),
        (lambda path, text: path.unlink(), "was moved or deleted"),
        (move_the_folder, "was moved or deleted"),
        (lambda path, text: path.write_bytes(text[:-1]), "was edited"),  # lines would be joined
        (lambda path, text: path.write_bytes(text.replace(b"yes", b"-no")), "was edited"),
        (lambda path, text: path.write_bytes(b""), "was edited"),
        (lambda path, text: path.write_bytes(b"\n" + text), "was edited"),
    ],
)
def test_no_answer_goes_into_a_file_that_is_not_the_one_that_was_read(tmp_path, change, told):
    path = tmp_path / "review" / "gold.csv"
    path.parent.mkdir()
    write(path, ANSWERS[:2])
    with open_gold(path, ITEMS, CLASSES, HEADER) as gold:
        with gold.turn():
            pass
        change(path, path.read_bytes())
        left = path.read_bytes() if path.exists() else None
        for _ in range(2):  # it is not forgotten
            refused = pytest.raises(ModelError, match=f"gold.csv {told} while .* start this review")
            with refused, gold.turn():
                gold.add(ANSWERS[2])
        assert gold.answers == ANSWERS[:2]
        assert (path.read_bytes() if path.exists() else None) == left


def test_a_lock_of_another_program_is_waited_for_and_then_told(path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    write(path, ANSWERS[:1])
    monkeypatch.setattr(gold_file, "PATIENCE", 0.1)
    with open_gold(path, ITEMS, CLASSES, HEADER) as gold, path.open() as other:
        fcntl.flock(other, fcntl.LOCK_SH)
        with pytest.raises(ModelError, match="is locked by another program"), gold.turn():
            pytest.fail("the turn must not begin")
        fcntl.flock(other, fcntl.LOCK_UN)
        with gold.turn():
            gold.add(ANSWERS[1])
    assert write(path, []) == ANSWERS[:2]


@pytest.mark.parametrize("text", ["item,label\na,yes\n", "something else", "item,label,x\n"])
def test_files_of_others_are_left_alone(path, text):
    path.write_text(text)
    with pytest.raises(ModelError, match=r"gold.csv exists and was not written by a review"):
        write(path, ANSWERS)
    assert path.read_text() == text


def test_another_review_of_other_items_is_refused(path):
    write(path, ANSWERS)
    with (
        pytest.raises(ModelError, match="row 2 of gold.csv has an item or a label"),
        open_gold(path, ITEMS[:1], CLASSES, HEADER),
    ):
        pass


def test_two_reviews_at_once_see_what_the_other_wrote(path):
    with (
        open_gold(path, ITEMS, CLASSES, HEADER) as first,
        open_gold(path, ITEMS, CLASSES, HEADER) as second,
    ):
        with first.turn():
            first.add(ANSWERS[0])
        with second.turn() as others:
            assert others == ANSWERS[:1]
            second.add(ANSWERS[1])
        with second.turn() as others:
            assert others == []
        with path.open("ab") as torn:
            torn.write(b"a,yes,bo")  # a third one was killed
        with first.turn() as others:
            assert others == ANSWERS[1:2]
            first.add(ANSWERS[2])
        assert first.answers == ANSWERS
    assert write(path, []) == ANSWERS


def answer_many(path, reviewer, n):
    """Answer so many items of a thousand, each time the first that nobody has or is asked about."""
    items = np.array([f"item {i}" for i in range(1000)], dtype=object)
    with open_gold(path, items, CLASSES, HEADER) as gold:
        yield
        for _ in range(n):
            with gold.turn():
                done = {answer.item for answer in gold.answers}
            item = next(i for i in range(len(items)) if i not in done and gold.claim(i))
            with gold.turn():
                gold.add(Answer(item, item % 2, reviewer, "useful", "x" * 100))


PROGRAM = """
import sys
from pathlib import Path
from review.test_gold_file import answer_many
answers = answer_many(Path(sys.argv[1]), "bob", 60)
next(answers)
print("ready", flush=True)
list(answers)
"""


def test_two_processes_write_whole_lines_and_ask_about_different_items(path):
    answers = answer_many(path, "ann", 60)
    next(answers)
    program = [sys.executable, "-c", PROGRAM, str(path)]
    places = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True, env=places) as other:
        assert other.stdout.readline() == "ready\n"
        list(answers)
    assert other.returncode == 0
    rows = [line.split(",") for line in path.read_text().splitlines()]
    assert rows[0] == list(HEADER)
    assert {len(row) for row in rows} == {5}
    assert len({row[0] for row in rows[1:]}) == 120
    assert [sum(row[2] == who for row in rows) for who in ("ann", "bob")] == [60, 60]


@pytest.mark.parametrize(
    ("items", "classes"),
    [
        (["=1", "'=1"], CLASSES),
        (["a\rb", "c\nd"], CLASSES),
        (["x" * 200_000, "c"], CLASSES),
        (["a", "b"], ("x\ny", "z")),
        (["a", "b"], ("=x", "'=x")),
    ],
)
def test_names_that_would_break_the_file_are_refused(path, items, classes):
    with (
        pytest.raises(ModelError, match="rename"),
        open_gold(path, np.array(items, dtype=object), classes, HEADER),
    ):
        pass
    assert not path.exists()


def test_names_and_notes_are_cleaned(tmp_path):
    with pytest.raises(ModelError, match="there is no folder"):
        write(tmp_path / "nowhere" / "gold.csv", [])
    with pytest.raises(ModelError, match="1 to 60 characters"):
        clean_name(" ")
    with pytest.raises(ModelError, match="1 to 60 characters"):
        clean_name("\u200b\u2066")  # nobody would see it
    assert clean_name(" =ann\nb ") == "'=ann b"
    assert clean_name("a\udce9n\x07n") == "ann"
    assert clean_note("a\0b\x1b[2J\ud800") == "ab[2J"


@pytest.mark.parametrize(
    "cell", [b"\xe9", b"x" * 200_000, b'"the next row would be a part of this']
)
def test_a_damaged_file_and_a_full_disk_are_one_sentence(path, monkeypatch, cell):
    path.write_bytes(",".join(HEADER).encode() + b"\na,yes,ann,useful," + cell + b"\n")
    with pytest.raises(ModelError, match="is not the UTF-8 text"):
        write(path, [])
    path.unlink()
    monkeypatch.setattr(os, "write", lambda handle, line: 0)
    with pytest.raises(ModelError, match="cannot write gold.csv: No space left"):
        write(path, [])
