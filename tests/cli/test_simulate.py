import json

import pandas as pd
import pytest

import unelisa as ue


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "new" / "folder"


def test_votes_truth_and_experts_are_written(run, folder):
    result = run("simulate", "--out", folder, "--items", 50, "--missing", 0.2)
    assert result.exit_code == 0, result.output
    assert "50 items, 25 voters, 5 of them experts" in result.stdout
    votes, truth, experts = (
        pd.read_csv(folder / f"{name}.csv") for name in ("votes", "truth", "experts")
    )
    assert list(votes.columns) == ["item", "voter", "vote"]
    assert 0.7 < len(votes) / (50 * 25) < 0.9
    assert set(votes.vote) == {-1, 1}
    assert truth.shape == (50, 2)
    assert set(experts.voter) <= set(votes.voter)
    assert set(experts.polarity) <= {-1, 1}


def test_long_and_wide_hold_the_same_votes_and_machines_get_what_was_drawn(run, folder):
    run("simulate", "--out", folder / "long", "--items", 40)
    run("simulate", "--out", folder / "wide", "--items", 40, "--wide")
    wide = pd.read_csv(folder / "wide" / "votes.csv").set_index("item")
    tidy = pd.read_csv(folder / "long" / "votes.csv").pivot(
        index="item", columns="voter", values="vote"
    )
    assert (tidy[wide.columns] == wide).all(axis=None)
    result = run("simulate", "--out", folder, "--items", 30, "--experts", 7, "--json", "-")
    found = json.loads(result.stdout)
    truth, experts = (pd.read_csv(folder / f"{name}.csv") for name in ("truth", "experts"))
    assert (found["items"], found["voters"]) == (30, 25)
    assert found["experts"] == experts.voter.tolist()
    assert found["positive"] == (truth.label > 0).sum()
    assert found["files"] == [str(folder / f"{n}.csv") for n in ("votes", "truth", "experts")]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--experts", "many"], "n_experts"),
        (["--experts", "2"], "3 experts"),
        (["--snr", "loud"], "snr"),
        (["--density", "dense"], "density"),
        (["--sampler", "dice"], "sampler"),
        (["--missing", "1.5"], "missing"),
        (["--items", "0"], "n_items"),
        (["--voters", "x"], "--voters"),
    ],
)
def test_bad_designs_are_refused(refused, folder, arguments, sentence):
    assert sentence in refused("simulate", "--out", folder, *arguments)
    assert not folder.exists()


def test_bad_folders_and_crowds_on_two_classes_are_refused(refused, tmp_path, folder):
    assert "n_classes must be from 3" in refused(
        "simulate", "classes", "--out", folder, "--classes", 2
    )
    out = tmp_path / "ra.duckdb"
    assert "at least 20" in refused("simulate", "ehr", "--patients", 3, "--out", out)
    assert not list(tmp_path.iterdir())
    (tmp_path / "taken").write_text("x")
    assert "cannot create the folder" in refused("simulate", "--out", tmp_path / "taken")


def test_a_database_and_its_truth_are_written(run, tmp_path):
    out = tmp_path / "ra.duckdb"
    told = tmp_path / "told.json"
    result = run("simulate", "ehr", "--patients", 60, "--out", out, "--seed", 3, "--json", told)
    assert result.exit_code == 0, result.output
    assert "60 patients" in result.stdout
    names = sorted(file.name for file in tmp_path.iterdir())
    assert names == ["ra.duckdb", "ra.truth.csv", "told.json"]
    drawn = ue.simulate_ehr(60, random_state=3)
    truth = pd.read_csv(tmp_path / "ra.truth.csv", index_col="person_id")
    assert truth["label"].tolist() == drawn.truth.tolist()
    assert truth.index[truth["reviewed"] == 1].tolist() == drawn.reviewed.tolist()
    counts = ue.read_omop(out, ["ICD:714.0", "NLP:synovitis"])
    assert (counts == drawn.counts[counts.columns]).all(axis=None)
    found = json.loads(told.read_text())
    assert (found["patients"], found["cases"]) == (60, (drawn.truth > 0).sum())
    assert found["rows"]["person"] == 60


def test_crowds_on_more_classes_are_written(run, folder):
    arguments = ("--classes", 3, "--items", 60, "--voters", 10, "--copies", 0.2, "--json", "-")
    result = run("simulate", "classes", "--out", folder, *arguments)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["classes"] == ["a", "b", "c"]
    votes, truth, voters = (
        pd.read_csv(folder / f"{name}.csv") for name in ("votes", "truth", "voters")
    )
    assert set(votes.vote) == set(truth.label) == {"a", "b", "c"}
    assert voters.spammer.sum() == 1
    assert voters.copies.notna().sum() == 2
    assert set(voters.copies.dropna()) <= set(voters.voter)
