import json

import pandas as pd
import pytest


@pytest.fixture
def model(run, files):
    path = files.folder / "model.npz"
    method = ("--method", "dawid-skene")
    run("fit", files.votes, *method, "--save", path, "--out", files.folder / "fitted.csv")
    return path


def test_a_stored_model_gives_the_same_labels_and_warns_of_strangers(run, files, model):
    out = files.folder / "labels.csv"
    result = run("predict", model, files.votes, "--out", out)
    assert "600 items labeled" in result.stdout
    assert out.read_text() == (files.folder / "fitted.csv").read_text()
    facts = json.loads(run("predict", model, files.votes, "--out", out, "--json", "-").stdout)
    assert (facts["items"], facts["reliable"]) == (600, True)
    result = run("predict", model, files.votes)
    assert result.stdout == (files.folder / "fitted.csv").read_text()
    assert result.stderr == ""
    pd.read_csv(files.votes).assign(stranger="yes").to_csv(files.votes, index=False)
    result = run("predict", model, files.votes)
    assert result.exit_code == 0
    assert result.stderr == ("Warning: 1 voter unknown to the model and ignored: 'stranger'\n")


def test_snorkels_codes_are_read_as_at_the_fit(run, tmp_path):
    votes, model = tmp_path / "votes.csv", tmp_path / "model.npz"
    rows = [("1,1,-1", "1"), ("0,-1,0", "0"), ("-1,1,1", "1"), ("0,0,1", "0")] * 9
    lines = [f"x{i:02d},{said}" for i, (said, _) in enumerate(rows)]
    votes.write_text("\n".join(["item,ann,bob,cat", *lines, ""]))
    run("fit", votes, "--coding", "snorkel", "--method", "majority-vote", "--save", model)
    result = run("predict", model, votes)
    assert result.exit_code == 0, result.stderr
    labels = [line.split(",")[1] for line in result.stdout.splitlines()[1:]]
    assert labels == [label for _, label in rows]


def test_bad_models_votes_and_labels_are_refused(refused, files, model):
    told = refused("predict", model, files.votes, "--labels", "yes,no")
    assert "other labels" in told
    codes = files.folder / "codes.csv"
    codes.write_text("item,w0,w1\na,1,0\nb,0,1\n")
    refused("predict", model, codes)
    assert "other labels" in refused("predict", model, codes, "--coding", "01")
    assert "not an unelisa model" in refused("predict", files.votes, files.votes)
    assert "cannot be read" in refused("predict", files.folder / "none.npz", files.votes)
    model.write_bytes(model.read_bytes()[:-100])
    assert "damaged" in refused("predict", model, files.votes)


def test_many_files_become_many_files(run, refused, files, model, tmp_path):
    wide = pd.read_csv(files.votes)
    for k in range(2):
        wide.to_parquet(tmp_path / f"v{k}.parquet")
    out = tmp_path / "labels"
    result = run("predict", model, tmp_path / "v0.parquet", tmp_path / "v1.parquet", "--out", out)
    assert result.exit_code == 0, result.output
    assert f"{2 * len(wide):,} items labeled" in result.stdout
    one, two = (pd.read_parquet(out / f"v{k}.parquet") for k in range(2))
    assert one.equals(two)
    run("predict", model, files.votes, "--out", tmp_path / "labels.csv")
    known = pd.read_csv(tmp_path / "labels.csv", dtype=str).set_index("item")
    assert one.label.astype(str).tolist() == known.label[one.item.astype(str)].tolist()
    message = refused("predict", model, tmp_path / "v0.parquet", tmp_path / "v1.parquet")
    assert "--out FOLDER" in message
