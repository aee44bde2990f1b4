import numpy as np
import pandas as pd
import pytest

import unelisa as ue
from places import crowd
from unelisa.errors import ModelError, VotesError
from unelisa.report.label_files import label_file, plan_files
from unelisa.sources import parquet


@pytest.fixture
def model():
    return ue.UnElisa(fit_intercept=True, random_state=0).fit(frame_of(crowd()))


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
    pairs = plan_files([tmp_path / "votes"], tmp_path / "out")
    assert [label_file(model, pair, "pm1") for pair in pairs] == [700, 450]
    for name, frame in frames.items():
        labels = pd.read_parquet(tmp_path / "out" / name)
        assert list(labels) == ["item", "label", "probability"]
        assert labels.item.tolist() == frame.item.tolist()
        assert labels.label.tolist() == model.predict(frame).tolist()
        assert labels.probability.to_numpy() == pytest.approx(model.predict_proba(frame)[:, 1])


def test_methods_without_probability_and_items_without_names(tmp_path):
    model = ue.MajorityVote().fit(crowd())
    pd.DataFrame(crowd(50), columns=[f"v{s}" for s in range(12)]).to_parquet(tmp_path / "v.parquet")
    label_file(model, (tmp_path / "v.parquet", tmp_path / "labels.parquet"), "pm1")
    labels = pd.read_parquet(tmp_path / "labels.parquet")
    assert list(labels) == ["row", "label"]
    assert labels.row.tolist() == list(range(1, 51))


def test_a_broken_file_leaves_no_labels(model, tmp_path):
    frame = frame_of(crowd(700))
    frame["rater 3"] = frame["rater 3"].astype(object).where(np.arange(700) < 650, "perhaps")
    frame["rater 3"] = frame["rater 3"].astype(str)
    frame.to_parquet(tmp_path / "votes.parquet")
    with pytest.raises(VotesError):
        label_file(model, (tmp_path / "votes.parquet", tmp_path / "out" / "l.parquet"), "pm1")
    assert list((tmp_path / "out").iterdir()) == []


def test_plans_that_would_go_wrong_are_refused(tmp_path):
    votes = tmp_path / "a" / "v.parquet"
    (tmp_path / "b").mkdir()
    votes.parent.mkdir()
    frame_of(crowd(20)).to_parquet(votes)
    frame_of(crowd(20)).to_parquet(tmp_path / "b" / "v.parquet")
    (tmp_path / "votes.csv").write_text("item,a,b\n1,1,-1\n")
    with pytest.raises(VotesError, match="there is no file w.parquet"):
        plan_files([tmp_path / "w.parquet"], tmp_path / "out")
    with pytest.raises(VotesError, match="need votes in Parquet files"):
        plan_files([votes, tmp_path / "votes.csv"], tmp_path / "out")
    with pytest.raises(ModelError, match="same name"):
        plan_files([votes, tmp_path / "b" / "v.parquet"], tmp_path / "out")
    with pytest.raises(ModelError, match="replace the votes"):
        plan_files([votes], tmp_path / "a")


def test_long_files_are_refused(model, tmp_path):
    long = frame_of(crowd(30)).melt("item", var_name="voter", value_name="vote")
    long.to_parquet(tmp_path / "long.parquet")
    with pytest.raises(VotesError, match="one row per vote"):
        label_file(model, (tmp_path / "long.parquet", tmp_path / "out.parquet"), "pm1")
