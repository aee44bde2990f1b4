import gzip
import json
import subprocess
import sys

import pytest

from unelisa.sources.files import MAX_UNPACKED
from unelisa.sources.jury.documents import read_documents

RECORD = {"item": "a", "judge": "x", "label": "good"}


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(RECORD),
        "\n\n" + json.dumps(RECORD) + "\n\n",
        json.dumps([RECORD]),
        json.dumps(RECORD, indent=2),
        "\ufeff" + json.dumps(RECORD),
    ],
)
def test_objects_lists_and_lines(content, tmp_path):
    path = tmp_path / "log.json"
    path.write_text(content, encoding="utf-8")
    assert list(read_documents(path)) == [RECORD]
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert list(read_documents(path)) == [RECORD]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"item": "Xylophon7"', "not valid JSON"),
        (json.dumps(RECORD) + '\n{"item": "Xylophon7', "line 2, is not valid JSON"),
        (json.dumps(RECORD) + '\n["Xylophon7"]', "line 2, must be an object, found a list"),
        ('["Xylophon7"]', "record 1, must be an object, found text"),
        ("[]", "holds no records"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": ' * 100_000, "nested too deeply"),
        ('{"item": ' + "9" * 5000 + "}", "not valid JSON"),
        (b'{"item": "\xff\xfe"}', "not valid JSON"),
        ("", "is empty"),
        ("  \n ", "is empty"),
    ],
)
def test_what_is_not_json_is_refused_in_a_sentence(content, words, refuse):
    assert words in refuse(content)


def test_truncated_and_endless_gzip_data(refuse):
    packed = gzip.compress(json.dumps([RECORD] * 1000).encode())
    assert "cannot be unpacked" in refuse(packed[: len(packed) // 2], "log.json")
    first = gzip.compress(json.dumps(RECORD).encode() + b"\n")
    one = gzip.compress(b'{"item": "a", "judge": "x", "label": "b"}\n' + bytes(1 << 20))
    blank = gzip.compress((b" " * (1 << 20) + b"\n") * (MAX_UNPACKED >> 20))
    assert "500 times its size" in refuse(first + blank, "log.json")
    assert "not valid JSON" in refuse(one, "log.json")


def test_a_document_beyond_the_memory_limit_is_refused(refuse):
    whole = json.dumps([{**RECORD, "text": "Xylophon7" * 100}] * 9000, indent=1)
    assert "more than the limit" in refuse(whole, memory="70MB")


MEASURE = """
import resource, sys
from unelisa.sources.jury import read_jury
read_jury(sys.argv[2])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
jury = read_jury(sys.argv[1])
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(jury.n_items, jury.n_voters, (after - before) // 1024)
"""


def test_a_hundred_megabytes_of_lines_are_not_held_in_memory(tmp_path):
    large, small = tmp_path / "large.jsonl", tmp_path / "small.jsonl"
    text = "Xylophon7" * 1100
    with large.open("w") as file:
        for i in range(10_500):
            record = {"item": i // 3, "judge": f"j{i % 3}", "label": "pass", "text": text}
            file.write(json.dumps(record) + "\n")
    assert large.stat().st_size > 100e6
    small.write_text('{"item": 1, "judge": "a", "label": "pass"}\n')
    told = subprocess.run(
        [sys.executable, "-c", MEASURE, large, small], capture_output=True, text=True, check=True
    )
    n_items, n_judges, megabytes = map(int, told.stdout.split())
    assert (n_items, n_judges) == (3500, 3)
    assert megabytes < 30
