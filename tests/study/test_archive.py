import json

import pytest

from unelisa.errors import ModelError
from unelisa.study.archive import collect_archive, find_study, format_archive, read_archive


def test_whole_studies_and_series_are_collected(archive):
    assert [(study["sampler"], study["graph"]) for study in archive["studies"]] == [
        ("paper", "half"),
        ("mixed", "half"),
    ]
    assert [series["sampler"] for series in archive["series"]] == ["mixed"]
    assert {point["trials"] for point in archive["series"][0]["points"]} == {2}


def test_an_archive_reads_back_and_has_a_line_for_each_cell(archive, tmp_path):
    path = tmp_path / "tables.json"
    path.write_text(format_archive(archive), encoding="utf-8")
    assert read_archive(path) == archive
    assert format_archive(archive).count("\n") == 2 * 27 + 3 * 6 + 1


def test_an_empty_folder_is_an_empty_archive(tmp_path):
    archive = collect_archive(tmp_path)
    assert (archive["studies"], archive["series"]) == ([], [])
    with pytest.raises(ModelError, match="reproduce tables --sampler mixed --graph half"):
        find_study(archive, "mixed")


@pytest.mark.parametrize("content", ["", "[]", "{}", json.dumps({"format": 99})])
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "tables.json"
    with pytest.raises(ModelError, match="tables.json is no archive"):
        read_archive(path)
    path.write_text(content)
    with pytest.raises(ModelError, match="tables.json is no archive"):
        read_archive(path)
