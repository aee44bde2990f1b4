import json
import zipfile

import pytest

from unelisa.sources.files import MAX_UNPACKED


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


def test_a_zip_file_of_something_else_is_named(tmp_path, log, refuse):
    path = pack(tmp_path / "other.zip", samples(log))
    assert "not a log of Inspect" in refuse(path.read_bytes(), "other.eval")


def test_a_truncated_archive_is_named(tmp_path, log, refuse):
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
