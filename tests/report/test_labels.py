import base64
import csv
import zlib
from io import StringIO

import numpy as np
import pandas as pd
import pytest

import unelisa as ue
from places import crowd
from report.judging import divided_crowd, divided_model, fit_quietly
from unelisa.aggregators import DawidSkene, LatentIsing, MajorityVote, UnElisa
from unelisa.analysis.judged import Judged
from unelisa.errors import ModelError, VotesError
from unelisa.outputs import write_table
from unelisa.report import labels
from unelisa.report.findings import collect_findings
from unelisa.sources import arrow as parquet
from unelisa.votes import Votes


def unpack(download):
    return zlib.decompress(base64.b64decode(download.packed)).decode("utf-8")


@pytest.fixture
def named(crowd):
    items = np.array([f"=patient {i}" for i in range(600)], dtype=object)
    return Votes(crowd[0].blocks, items, crowd[0].voters, ("no", "yes"))


def test_shown_items_give_the_labels_of_the_command_line_and_hidden_ones_numbered_rows(named):
    judged = Judged.of(UnElisa(random_state=0).fit(named), named)
    file = StringIO()
    write_table(file, labels.label_columns(judged), labels.label_rows(judged))
    shown, hidden = (labels.pack_labels(judged, show_items) for show_items in (True, False))
    assert (shown.name, hidden.name) == ("labels.csv", "labels-by-row.csv")
    assert unpack(shown) == file.getvalue()
    assert "patient" not in unpack(hidden)
    full, rows = (list(csv.reader(StringIO(unpack(one)))) for one in (shown, hidden))
    assert rows[0] == ["row", "label", "probability", "status", "expected_accuracy"]
    assert full[1][0] == "'=patient 0"
    assert [row[0] for row in rows[1:]] == [str(k) for k in range(1, 601)]
    assert [row[1:] for row in rows] == [row[1:] for row in full]


def test_items_without_names_have_nothing_to_hide_and_too_many_labels_stay_out(crowd, monkeypatch):
    judged = Judged.of(MajorityVote().fit(crowd[0]), crowd[0])
    assert labels.pack_labels(judged, show_items=False).name == "labels.csv"
    monkeypatch.setattr(labels, "LARGEST", 100)
    assert labels.pack_labels(judged, show_items=False) is None


def test_the_voters_table_is_safe_for_spreadsheets_whole_and_names_families(crowd):
    hostile = ["=cmd|' /C calc'!A0", "@x", "n" * 10_000, "a,b", 'q"q', "l\nl", "", "-1", "+x"]
    votes = Votes(crowd[0].blocks, crowd[0].items, np.array(hostile, dtype=object))
    findings = collect_findings(UnElisa(random_state=0).fit(votes))
    rows = list(csv.DictReader(StringIO(unpack(labels.pack_voters(findings["voters"])))))
    assert len(rows) == 9
    names = {row["voter"] for row in rows}
    assert names == {f"'{name}" if name[:1] in ("=", "@", "+") else name for name in hostile}
    assert not any(row["depends on"].startswith(("=", "@", "+")) for row in rows)
    assert {row["verdict"] for row in rows} == {"expert", "contrarian", "pruned"}
    written = [float(row["weight"]) for row in rows]
    digits = [f"{voter['weight']:.6g}" for voter in findings["voters"]]
    assert written == [float(weight) for weight in digits]
    voters = collect_findings(divided_model())["voters"]
    rows = list(csv.DictReader(StringIO(unpack(labels.pack_voters(voters)))))
    assert [row["family"] for row in rows] == [voter["family"] for voter in voters]
    assert sum(bool(row["family"]) for row in rows) == 6


@pytest.fixture
def model():
    return ue.UnElisa(fit_intercept=True, random_state=0).fit(
        ue.Votes.of(frame_of(crowd()), coding="pm1")
    )


def frame_of(votes, first=0):
    frame = pd.DataFrame(votes, columns=[f"rater {s}" for s in range(votes.shape[1])])
    frame.insert(0, "item", [f"x{first + i}" for i in range(len(frame))])
    return frame


def test_a_file_of_labels_for_each_file_of_votes(model, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "ROWS", 300)
    (tmp_path / "votes" / "march").mkdir(parents=True)
    frames = {"a.parquet": frame_of(crowd(700)), "march/b.parquet": frame_of(crowd(450, seed=1))}
    for name, frame in frames.items():
        frame.to_parquet(tmp_path / "votes" / name)
    pairs = labels.plan_files([tmp_path / "votes"], tmp_path / "out")
    assert [labels.label_file(model, pair, "pm1") for pair in pairs] == [700, 450]
    for name, frame in frames.items():
        told = pd.read_parquet(tmp_path / "out" / name)
        assert list(told) == ["item", "label", "probability", "status", "expected_accuracy"]
        assert told.item.tolist() == frame.item.tolist()
        assert told.label.tolist() == model.predict(frame).tolist()
        assert told.probability.to_numpy() == pytest.approx(model.predict_proba(frame)[:, 1])


def test_a_file_of_labels_for_each_file_of_votes_or_none(model, tmp_path):
    frame = frame_of(crowd(700))
    frame["rater 3"] = frame["rater 3"].astype(object).where(np.arange(700) < 650, "perhaps")
    frame["rater 3"] = frame["rater 3"].astype(str)
    frame.to_parquet(tmp_path / "votes.parquet")
    with pytest.raises(VotesError):
        labels.label_file(
            model, (tmp_path / "votes.parquet", tmp_path / "out" / "l.parquet"), "pm1"
        )
    assert list((tmp_path / "out").iterdir()) == []
    votes = tmp_path / "a" / "v.parquet"
    (tmp_path / "b").mkdir()
    votes.parent.mkdir()
    frame_of(crowd(20)).to_parquet(votes)
    frame_of(crowd(20)).to_parquet(tmp_path / "b" / "v.parquet")
    (tmp_path / "votes.csv").write_text("item,a,b\n1,1,-1\n")
    with pytest.raises(VotesError, match="there is no file w.parquet"):
        labels.plan_files([tmp_path / "w.parquet"], tmp_path / "out")
    with pytest.raises(VotesError, match="need votes in Parquet files"):
        labels.plan_files([votes, tmp_path / "votes.csv"], tmp_path / "out")
    with pytest.raises(ModelError, match="same name"):
        labels.plan_files([votes, tmp_path / "b" / "v.parquet"], tmp_path / "out")
    long = frame_of(crowd(30)).melt("item", var_name="voter", value_name="vote")
    long.to_parquet(tmp_path / "long.parquet")
    with pytest.raises(VotesError, match="one row per vote"):
        labels.label_file(model, (tmp_path / "long.parquet", tmp_path / "out.parquet"), "pm1")


def three_classes(n_items=40):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, n_items)
    other = rng.integers(0, 3, (n_items, 5))
    said = np.where(rng.random((n_items, 5)) < 0.8, truth[:, None], other)
    frame = pd.DataFrame(np.array(["cat", "=dog", "owl"])[said]).rename(columns=lambda s: f"v{s}")
    return frame.assign(item=[f"x{i}" for i in range(n_items)])


def two_classes(named=True):
    """The divided crowd; nobody votes on the item in row 7."""
    votes = divided_crowd()
    words = np.array(["no", None, "yes"], dtype=object)[votes.values + 1]
    words[7] = None
    frame = pd.DataFrame(words, columns=list(votes.voters))
    return frame.assign(item=votes.items) if named else frame


EACH = ("P(=dog)", "P(cat)", "P(owl)")


@pytest.mark.parametrize(
    ("method", "frame", "more"),
    [
        (LatentIsing, two_classes(), ("expected_accuracy", "ease")),
        (LatentIsing, two_classes(named=False), ("expected_accuracy", "ease")),
        (DawidSkene, two_classes(), ("expected_accuracy",)),
        (MajorityVote, two_classes(), ()),
        (DawidSkene, three_classes(), ("expected_accuracy", *EACH)),
        (LatentIsing, three_classes(), ("expected_accuracy", "ease", *EACH)),
        (MajorityVote, three_classes(), ()),
    ],
)
def test_labels_are_the_same_as_rows_of_text_and_as_a_parquet_file(tmp_path, method, frame, more):
    named, votes = "item" in frame, Votes.of(frame)
    model = fit_quietly(method(), votes)
    judged, chances = Judged.of(model, votes), getattr(model, "predict_proba", None)
    rows = pd.DataFrame(
        labels.label_rows(judged, named), columns=labels.label_columns(judged, named)
    )
    assert list(rows) == ["item" if named else "row", "label", "probability", "status", *more]
    assert rows.iloc[:, 0].tolist() == (list(votes.items) if named else [*range(1, len(votes) + 1)])
    assert rows.label.tolist() == model.predict(votes).tolist()
    numbers = rows[["probability", *more]].replace("", np.nan).astype(float)
    if chances is None:
        assert set(rows.probability) == {""}
    else:
        found, most = chances(votes), chances(votes).max(axis=1)
        side = found[:, 1] if len(model.classes_) == 2 else most
        assert numbers.probability.to_numpy() == pytest.approx(side, abs=1e-6)
        assert numbers.expected_accuracy.to_numpy() == pytest.approx(most, abs=1e-6)
        assert numbers[[x for x in more if x[0] == "P"]].to_numpy() == pytest.approx(
            found if len(model.classes_) > 2 else np.empty((len(found), 0)), abs=1e-6
        )
    if "ease" in more:
        assert numbers.ease.to_numpy() == pytest.approx(model.ease(votes), abs=5e-4, nan_ok=True)
        assert numbers.index[numbers.ease.isna()].tolist() == (
            [7] if len(model.classes_) == 2 else []
        )
    pair = tmp_path / "votes.parquet", tmp_path / "labels.parquet"
    frame.to_parquet(pair[0], index=False)
    assert labels.label_file(model, pair, model.coding_) == len(rows)
    written = pd.read_parquet(pair[1])
    expected = rows.drop(columns=[] if chances else "probability")
    assert list(written) == list(expected)
    words = [name for name in expected if name not in numbers]
    assert written[words].to_numpy().tolist() == expected[words].to_numpy().tolist()
    left = numbers[[name for name in expected if name in numbers]].to_numpy()
    assert written[[x for x in expected if x in numbers]].to_numpy() == pytest.approx(
        left, abs=5e-4, nan_ok=True
    )
