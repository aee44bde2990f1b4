"""`read_jury` itself: which format a file has, and what it never says."""

import gzip
import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from jury.mutants import mutate
from unelisa import LatentIsing, Votes
from unelisa.errors import ModelError, UnelisaError, VotesError, VotesWarning
from unelisa.jury import SOURCES, read_jury, read_logs, read_scores

SECRET = "Xylophon7"  # noqa: S105 - stands for the text of an item


EXPECTED = {
    "argilla-2.8.json": "argilla",
    "argilla-flat-2.8.json": "argilla",
    "argilla-server-2.8.jsonl": "argilla",
    "inspect-log-v2.json": "inspect",
    "inspect-samples_df-0.3.csv": "inspect",
    "judgepanel-0.1.jsonl": "long",
    "label-studio-1.20.json": "label-studio",
    "langsmith-feedback-v1.jsonl": "langsmith",
    "langsmith-feedback-0.14.jsonl": "langsmith",
    "mlflow-traces-3.17.jsonl": "mlflow",
    "openai-evals-3.0.jsonl": "openai-evals",
    "openai-evals-3.0-choices.jsonl": "openai-evals",
    "openai-evals-output-items-v1.jsonl": "openai-evals",
    "opik-test-results-1.9.json": "opik",
    "opik-traces-1.9.json": "opik",
    "prodigy-1.18.jsonl": "prodigy",
    "promptfoo-0.121.20.json": "promptfoo",
    "promptfoo-results-v3.json": "promptfoo",
}


ARCHIVES = {
    "inspect-0.3.285-panel-edited.eval",
    "inspect-0.3.285-role.eval",
    "inspect-0.3.285-collect.eval",
}


MINIMAL = {"label-studio-min-1.20.json"}  # so flat that it is also read as records, if declared
CRITERIA = {"openai-evals-1.0.2-criteria.jsonl"}  # of which one has to be declared
PAIRS = {
    "argilla-server-ranking-2.8.jsonl": "argilla",
    "langsmith-pairwise-0.14.jsonl": "langsmith",
    "mt-bench-2023.jsonl": "pairs",
    "mt-bench-pairs-2023.jsonl": "pairs",
    "prodigy-compare-1.18.jsonl": "prodigy",
    "prodigy-tournament-1.18.jsonl": "prodigy",
}


@pytest.mark.filterwarnings("ignore::unelisa.errors.VotesWarning")
def test_every_example_is_recognized_by_its_content(logs, tmp_path):
    names = {*EXPECTED, *ARCHIVES, *PAIRS, *MINIMAL, *CRITERIA}
    assert {path.name for path in logs.iterdir()} == names
    assert {*EXPECTED.values(), "pairs"} == set(SOURCES)
    for name, source in EXPECTED.items():
        copy = tmp_path / "log"  # no extension
        shutil.copy(logs / name, copy)
        jury = read_jury(copy)
        assert isinstance(jury, Votes)
        assert jury.source == source
        assert read_jury(copy, source=source).source == source
    for name, source in PAIRS.items():
        assert read_logs(shutil.copy(logs / name, tmp_path / "log")).source == source


@pytest.mark.filterwarnings("ignore::unelisa.errors.VotesWarning")
@pytest.mark.parametrize("name", EXPECTED)
def test_every_example_truncated_anywhere_gives_one_sentence(name, logs, refuse):
    whole = (logs / name).read_bytes()
    for share in (0.2, 0.5, 0.9):
        try:
            refuse(whole[: int(len(whole) * share)].rstrip(b"\n") + b'{"', name)
        except pytest.fail.Exception:  # a table may end anywhere
            assert name.endswith(".csv")


@pytest.mark.parametrize("name", [name for name in EXPECTED if not name.endswith(".csv")])
def test_every_example_read_as_another_format_gives_one_sentence_or_votes(name, logs, refuse):
    content = (logs / name).read_bytes()
    for source in SOURCES.keys() - {EXPECTED[name]}:
        told = refuse(content, name, source=source)
        assert name in told or "no verdicts" in told


def test_a_record_that_fits_two_formats_must_be_declared(refuse, tmp_path):
    both = '{"item": "a", "judge": "x", "run_id": "r", "key": "k", "score": 0}'
    assert refuse(both).endswith("pass source='langsmith', or source='long'")
    (tmp_path / "both.jsonl").write_text(both)
    assert read_jury(tmp_path / "both.jsonl", source="long").items.tolist() == ["a"]
    assert read_jury(tmp_path / "both.jsonl", source="langsmith").items.tolist() == ["r"]


def test_unknown_content_and_sources_are_refused(refuse, logs):
    assert "none of the known formats" in refuse('{"Xylophon7": 1}')
    with pytest.raises(ModelError, match="there is no source 'csv'"):
        read_jury(logs / "judgepanel-0.1.jsonl", source="csv")
    with pytest.raises(ModelError, match="cut must be a finite number"):
        read_jury(logs / "judgepanel-0.1.jsonl", cut=float("nan"))
    with pytest.raises(VotesError, match="name at least one file"):
        read_jury([])
    with pytest.raises(VotesError, match="there is no file"):
        read_jury("nothing.jsonl")


def test_an_unknown_record_says_which_fields_it_has(refuse):
    told = refuse('{"prompt": 1, "answer_text": 2, "Xylophon7": 3}')
    assert "it has the fields answer_text, prompt and 1 other" in told


def test_a_folder_of_several_kinds_is_refused_and_csv_beside_logs_is_said(logs, tmp_path):
    shutil.copy(logs / "prodigy-1.18.jsonl", tmp_path / "a.jsonl")
    (tmp_path / "gold.csv").write_text("item,label\n1,pass\n")
    with pytest.warns(VotesWarning, match=r"1 of the files in .* not read \(.csv\)"):
        assert read_jury(tmp_path).source == "prodigy"
    (tmp_path / "b.parquet").write_bytes(b"PAR1")
    with pytest.raises(VotesError, match="several kinds, 1 of Parquet and 1 of JSON"):
        read_jury(tmp_path)


def test_an_object_with_one_key_twice_is_refused(refuse):
    for text in ('{"item": 1, "judge": "x", "label": 1, "label": 0}', '[{"a": 1, "a": 2}]'):
        assert "one key twice" in refuse(text)


def test_judges_can_be_chosen(logs, refuse):
    log = logs / "inspect-log-v2.json"
    assert read_jury(log, judges=["kind"]).voters.tolist() == ["kind"]
    assert "the logs have 'kind', 'strict'" in refuse(log.read_bytes(), judges=["Kind"])
    assert "no verdicts of 'Kind'" in refuse(log.read_bytes(), judges=["kind", "Kind"])
    assert "no such question" in refuse(log.read_bytes(), question="tone")


def test_a_folder_is_read_whole(logs, tmp_path, said):
    with pytest.raises(VotesError, match="folder without logs"):
        read_jury(tmp_path)
    for name in ("langsmith-feedback-v1.jsonl", "prodigy-1.18.jsonl"):
        shutil.copy(logs / name, tmp_path / name)
    jury = read_jury(tmp_path)
    assert jury.source == "langsmith, prodigy"
    assert jury.n_items == 4


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_a_jury_is_votes_that_a_model_takes_with_its_gold(logs):
    jury = read_jury(logs / "label-studio-1.20.json")
    model = LatentIsing().fit(jury, jury.gold)
    assert model.predict_proba(jury).shape == (2, 2)


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
@pytest.mark.parametrize("name", [name for name in EXPECTED if not name.endswith(".csv")])
def test_parts_of_another_kind_anywhere_give_votes_or_one_sentence(name, logs, tmp_path):
    rng = np.random.default_rng(0)
    content, path, told = (logs / name).read_text(), tmp_path / "log", []
    for _ in range(150):
        path.write_text(mutate(content, name.endswith(".jsonl"), rng), encoding="utf-8")
        try:
            assert read_jury(path).n_voters > 0
        except UnelisaError as error:
            told.append(str(error))
    assert 0 < len(told) < 150
    assert not any("\n" in sentence or SECRET in sentence for sentence in told)


@pytest.mark.filterwarnings("ignore::unelisa.errors.VotesWarning")
def test_logs_of_three_frameworks_in_one_folder_are_one_panel(logs, tmp_path):
    names = ("inspect-log-v2.json", "promptfoo-0.121.20.json", "openai-evals-3.0.jsonl")
    alone = [read_jury(shutil.copy(logs / name, tmp_path)) for name in names]
    jury = read_jury(tmp_path)
    assert jury.source == "inspect, openai-evals, promptfoo"
    assert set(jury.voters) == {voter for one in alone for voter in one.voters}
    assert jury.n_items == sum(one.n_items for one in alone)
    assert np.count_nonzero(jury.values) == sum(np.count_nonzero(one.values) for one in alone)
    assert jury.failures == {k: n for one in alone for k, n in one.failures.items()}


def write_rows(path, judge, label, **more):
    rows = [{"item": i, "judge": judge, "label": label(i), **more} for i in range(4)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_files_that_name_items_alike_are_said_unless_names_are_declared(tmp_path):
    one = write_rows(tmp_path / "one.jsonl", "ann", lambda i: i % 2)
    two = write_rows(tmp_path / "two.jsonl", "bob", lambda _: 1)
    with pytest.warns(VotesWarning, match=r"one.jsonl and two.jsonl hold items of the same names"):
        assert read_jury([one, two]).shape == (4, 2)
    assert read_jury([one, two], item="item").shape == (4, 2)
    again = write_rows(two, "ann", lambda _: 1)
    with (
        pytest.warns(VotesWarning, match="one.jsonl and two.jsonl"),
        pytest.raises(VotesError, match=r"different votes.*one.jsonl and two.jsonl.*'system'"),
    ):
        read_jury([one, again])


@pytest.mark.parametrize(("field", "items"), [("system", 8), ("dataset", 8), ("note", 4)])
def test_systems_and_data_sets_in_two_files_are_told_apart(field, items, tmp_path):
    names = ("one", "two")
    paths = [
        write_rows(
            tmp_path / f"{name}.jsonl", f"j {name * (field == 'note')}", int, **{field: name}
        )
        for name in names
    ]
    if field == "note":
        with pytest.warns(VotesWarning, match="items of the same names"):
            jury = read_jury(paths, coding=("0", "1", "2", "3"))
    else:
        jury = read_jury(paths, coding=("0", "1", "2", "3"))
    assert jury.n_items == items
    assert len(set(jury.questions.values())) == (8 if field == "dataset" else 4)


def test_scores_of_one_file_read_twice_count_once_and_others_are_refused(tmp_path):
    one = write_rows(tmp_path / "one.jsonl", "ann", lambda i: 10.5 * i)
    two = write_rows(tmp_path / "two.jsonl", "ann", lambda i: 10.5 * i)
    with pytest.warns(VotesWarning, match="4 scores repeat one of the same judge"):
        assert len(read_scores([one, two], item="item").values) == 4
    write_rows(two, "ann", lambda i: 11.5 * i)
    with pytest.raises(VotesError, match="one answer different scores"):
        read_scores([one, two], item="item")


def test_a_score_that_may_stand_for_a_failure_is_said(tmp_path):
    path = write_rows(tmp_path / "log.jsonl", "ann", lambda i: 30 * i - 1)
    with pytest.warns(VotesWarning, match="the score -1 is apart from all others"):
        read_scores(path)


def test_an_option_that_does_not_exist_is_refused():
    with pytest.raises(TypeError, match="no option 'cutt'; choose source, cut"):
        read_jury("log.json", cutt=3)


ROWS = {
    "item": ["a", "a", "b", "b"],
    "text": ["Xylophon7"] * 4,
    "annotator": ["x", "y", "x", "y"],
    "label": ["good", "bad", "bad", None],
}


VOTES = {("a", "x"): "good", ("a", "y"): "bad", ("b", "x"): "bad"}


@pytest.fixture
def table():
    """A table as the library datasets has it, with a column of messages."""
    messages = [[{"role": "user", "content": "Xylophon7"}]] * 4
    return pa.table({**ROWS, "messages": messages})


def test_parquet_with_nested_columns_that_nobody_needs(table, tmp_path, said):
    pq.write_table(table, tmp_path / "train.parquet")
    assert said(tmp_path / "train.parquet") == VOTES


def test_arrow_as_a_file_and_as_a_stream_in_a_folder(table, tmp_path, said):
    plain = table.drop_columns(["messages"])
    feather.write_feather(plain, tmp_path / "panel.feather")
    assert said(tmp_path / "panel.feather") == VOTES
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / "state.json").write_text("{}")
    with pa.ipc.new_stream(folder / "data-00000-of-00001.arrow", plain.schema) as stream:
        stream.write_table(plain)
    assert said(folder) == VOTES


def test_text_tables_and_frames(table, tmp_path, said):
    frame = pd.DataFrame(ROWS)
    frame.to_csv(tmp_path / "panel.csv", index=False)
    assert said(tmp_path / "panel.csv") == VOTES
    (tmp_path / "panel.csv.gz").write_bytes(gzip.compress((tmp_path / "panel.csv").read_bytes()))
    assert said(tmp_path / "panel.csv.gz") == VOTES
    assert said(frame) == VOTES
    assert said(pl.DataFrame(ROWS)) == VOTES
    assert said(table) == VOTES


def test_other_tables_are_refused_in_a_sentence(table, tmp_path, refuse):
    assert "unelisa fit" in refuse("item,x,y\nXylophon7,good,bad\n", "wide.csv")
    assert "only one line" in refuse("hello", "x.csv")
    pq.write_table(table, tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    assert "damaged" in refuse(whole[:-100], "half.parquet")
    assert "damaged" in refuse(b"ARROW1\0\0" + bytes(50), "half.arrow")
    assert "damaged" in refuse(b"\xff\xff\xff\xff" + bytes(50), "half.arrow")
    nested = pa.table({"item": ["a"], "judge": ["x"], "label": [{"a": "Xylophon7"}]})
    pq.write_table(nested, tmp_path / "nested.parquet")
    assert "lists or records" in refuse((tmp_path / "nested.parquet").read_bytes(), "n.parquet")


def test_endings_in_capitals_are_read_and_other_files_are_said(logs, tmp_path):
    shutil.copy(logs / "judgepanel-0.1.jsonl", tmp_path / "A.JSONL")
    shutil.copy(logs / "judgepanel-0.1.jsonl", tmp_path / "b.ndjson")
    (tmp_path / "c.jsonl.zst").write_bytes(b"")
    with pytest.warns(VotesWarning) as caught:
        read_jury(tmp_path)
    said = [str(one.message) for one in caught]
    assert any("1 of the files in" in one and "(.zst)" in one for one in said)
    assert any("rows repeat a vote" in one for one in said)  # those of both files


@pytest.mark.parametrize("paths", [None, 5, b"a", [None], [{"item": 1}]])
def test_what_is_no_log_is_refused(paths):
    with pytest.raises(VotesError, match="a list of them or a data frame, found"):
        read_jury(paths)


@pytest.mark.parametrize("judges", ["large", 5])
def test_judges_are_a_list(logs, judges):
    with pytest.raises(ModelError, match="judges must be a list"):
        read_jury(logs / "judgepanel-0.1.jsonl", judges=judges)


def test_a_folder_that_cannot_be_listed_is_refused(tmp_path, monkeypatch):
    def vanish(*_):
        raise FileNotFoundError

    monkeypatch.setattr(Path, "rglob", vanish)
    with pytest.raises(VotesError, match="cannot be read"):
        read_jury(tmp_path)
