import gzip
import json
import subprocess
import sys
import zipfile

import pytest

from unelisa.errors import VotesError
from unelisa.jury import documents
from unelisa.jury.documents import (
    check_object,
    read_documents,
    require,
    take_first,
    take_list,
    take_object,
    take_objects,
)
from unelisa.sources.files import MAX_UNPACKED

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
    assert "damaged or truncated" in refuse(packed[: len(packed) // 2], "log.json")
    first = gzip.compress(json.dumps(RECORD).encode() + b"\n")
    one = gzip.compress(b'{"item": "a", "judge": "x", "label": "b"}\n' + bytes(1 << 20))
    blank = gzip.compress((b" " * (1 << 20) + b"\n") * (MAX_UNPACKED >> 20))
    assert "500 times its size" in refuse(first + blank, "log.json")
    assert "not valid JSON" in refuse(one, "log.json")


def test_a_document_beyond_the_memory_limit_is_refused(refuse):
    lists = "[" + "[]," * 700_000 + "[]]"  # 2 MB, and 50 MB once they are lists
    for content in (
        f'{{\n"records": {lists}}}',
        f'[{json.dumps(RECORD)}, {{"text": {lists}}}]',
        f'{json.dumps(RECORD)}\n{{"text": {lists}}}',
        f'{{"text": {lists}}}\n',
        json.dumps([RECORD, {**RECORD, "text": "Xylophon7\U0001f600" * 700_000}]),
    ):
        assert "more than the limit" in refuse(content, memory="70MB")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
def test_a_list_is_the_same_however_it_is_cut(size, tmp_path, monkeypatch):
    monkeypatch.setattr(documents, "_PIECE", size)
    odd = {"a": -12.5e3, "b": [True, None, '\U0001f600 \\ "x" \u00e4'], "c": {"d": [[]]}}
    records = [RECORD, odd, {}, {**odd, "e": "y" * 100}]
    path = tmp_path / "log.json"
    for indent in (None, 1):
        path.write_text("\ufeff \n" + json.dumps(records, indent=indent) + " \n", encoding="utf-8")
        assert list(read_documents(path)) == records


@pytest.mark.parametrize("end", ["", ",", "]]", "] {}", "]x", '{"item": "b"}]', ",]", ", nul]"])
def test_a_list_with_a_bad_end_is_refused(end, refuse):
    assert "not valid JSON" in refuse("[" + json.dumps(RECORD) + end)


MEASURE = """
import resource, sys
from unelisa.jury import read_jury
read_jury(sys.argv[1])
for path in sys.argv[2:]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    jury = read_jury(path)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(jury.n_items, jury.n_voters, (after - before) // 1024)
"""


LARGE = 20_000_000  # bytes


TEXT = "Xylophon7" * 1100


def write_lines(path):
    with path.open("w") as file:
        for i in range(2100):
            record = {"item": i // 3, "judge": f"j{i % 3}", "label": "pass", "text": TEXT}
            file.write(json.dumps(record) + "\n")


def write_list(path):
    """Tasks of Label Studio, three annotations each."""
    with path.open("w") as file:
        for i in range(700):
            result = [{"from_name": "q", "value": {"choices": ["pass"]}, "note": TEXT}]
            annotations = [{"completed_by": f"j{k}", "result": result} for k in range(3)]
            record = {"id": i, "data": {}, "annotations": annotations}
            file.write(("," if i else "[") + json.dumps(record, indent=1))
        file.write("]")


def write_archive(path):
    """A log of Inspect, whose samples are parts of their own."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps({"eval": {"model": "m"}}))
        for i in range(700):
            scores = {f"j{k}": {"value": "C", "explanation": TEXT} for k in range(3)}
            sample = {"id": i, "epoch": 1, "scores": scores}
            archive.writestr(f"samples/{i}_epoch_1.json", json.dumps(sample))


def write_table(path):
    with path.open("w") as file:
        file.write("item,judge,label,text\n")
        file.writelines(f"{i // 3},j{i % 3},pass,{TEXT}\n" for i in range(2100))


def test_large_files_of_every_kind_are_not_held_in_memory(tmp_path):
    """The bound does not grow with the file: 20 MB stand for any size."""
    small, paths = tmp_path / "small.jsonl", []
    small.write_text('{"item": 1, "judge": "a", "label": "pass"}\n')
    for name, write in {
        "lines.jsonl": write_lines,
        "list.json": write_list,
        "log.eval": write_archive,
        "table.csv": write_table,
    }.items():
        write(tmp_path / name)
        assert (tmp_path / name).stat().st_size > LARGE
        paths.append(tmp_path / name)
    told = subprocess.run(
        [sys.executable, "-c", MEASURE, small, *paths], capture_output=True, text=True, check=True
    )
    for line in told.stdout.splitlines():
        n_items, n_judges, megabytes = map(int, line.split())
        assert (n_items, n_judges) == (700, 3)
        assert megabytes < 15
    assert len(told.stdout.splitlines()) == len(paths)


@pytest.mark.parametrize("form", ["{0}\n{0}\n", "[{0}, {0}]"])
def test_lines_and_records_have_a_limit(tmp_path, monkeypatch, form):
    monkeypatch.setattr(documents, "LONGEST", 100)
    path = tmp_path / "log.json"
    path.write_text(form.format(json.dumps(RECORD)))
    assert len(list(read_documents(path))) == 2
    monkeypatch.setattr(documents, "_PIECE", 50)
    path.write_text(form.format(json.dumps(RECORD)).replace("]", f', {{"item": "{"x" * 300}"}}]'))
    if form.startswith("{"):
        path.write_text(f'{json.dumps(RECORD)}\n{{"item": "{"x" * 300}"}}\n')
    with pytest.raises(VotesError, match="of more than 64 MB"):
        list(read_documents(path))


@pytest.fixture
def log(logs):
    return json.loads((logs / "inspect-log-v2.json").read_text())


def pack(path, parts):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, json.dumps(content))
    return path


def header(log):
    return {key: part for key, part in log.items() if key != "samples"}


def samples(log):
    return {f"samples/{x['id']}_epoch_{x['epoch']}.json": x for x in log["samples"]}


def test_an_archive_says_what_its_log_says(log, logs, said, tmp_path):
    votes = said(logs / "inspect-log-v2.json")
    start = {"_journal/start.json": header(log)}
    finished = {"header.json": header(log), **samples(log)}
    for parts in (
        finished,
        {**finished, "summaries.json": log["samples"]},
        {**start, "_journal/summaries/1.json": log["samples"], **samples(log)},
    ):
        assert said(pack(tmp_path / "log.eval", parts)) == votes


def test_archives_that_are_truncated_or_of_something_else_are_named(tmp_path, log, refuse):
    path = pack(tmp_path / "other.zip", samples(log))
    assert "not a log of Inspect" in refuse(path.read_bytes(), "other.eval")
    path = pack(tmp_path / "log.eval", {"header.json": header(log), **samples(log)})
    whole = path.read_bytes()
    assert "damaged or truncated" in refuse(whole[: len(whole) // 2], "half.eval")
    middle = len(whole) // 3
    bent = whole[:middle] + bytes(64) + whole[middle + 64 :]
    assert "bent.eval" in refuse(bent, "bent.eval")


def test_a_part_that_is_not_json_is_named(tmp_path, log, refuse):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps(header(log)))
        archive.writestr("samples/1_epoch_1.json", '{"id": "Xylophon7')
    assert "not valid JSON" in refuse(path.read_bytes(), "log.eval")


def test_a_bomb_is_not_unpacked(tmp_path, log, refuse):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(header(log)))
        with archive.open("samples/1_epoch_1.json", "w", force_zip64=True) as part:
            for _ in range(MAX_UNPACKED // (1 << 20) + 1):
                part.write(bytes(1 << 20))
    assert "500 times its size" in refuse(path.read_bytes(), "bomb.eval")


def test_a_part_beyond_the_memory_limit_is_refused(tmp_path, log, refuse):
    log["samples"][0]["input"] = [[]] * 700_000
    path = pack(tmp_path / "log.eval", {"header.json": header(log), **samples(log)})
    assert "more than the limit" in refuse(path.read_bytes(), "large.eval", memory="70MB")


def test_what_is_absent_or_null_is_empty():
    for record in ({}, {"a": None}):
        assert take_object(record, "a") == {}
        assert take_list(record, "a") == []
        assert take_objects(record, "a") == []
        assert take_first(record, ("a", "b")) is None


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: take_object({"a": [1]}, "a"), "'a' must be an object, found a list"),
        (lambda: take_list({"a": "Smith"}, "a"), "'a' must be a list, found text"),
        (lambda: take_objects({"a": [True]}, "a"), "every part of 'a' must be an object"),
        (lambda: check_object(7, "line 1"), "line 1 must be an object, found a number"),
        (lambda: require({"a": None}, ("a", "b")), "it has no 'a' or 'b'"),
    ],
)
def test_other_kinds_are_named_but_not_quoted(call, words):
    with pytest.raises(VotesError, match=words) as caught:
        call()
    assert "Smith" not in str(caught.value)
