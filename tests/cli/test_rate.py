import json

import numpy as np
import pandas as pd
import pytest

from unelisa.analysis.rate import estimate_rate
from unelisa.sources.tables import read_votes
from unelisa.storage import load


@pytest.fixture
def model(run, files):
    path = files.folder / "model.npz"
    run("fit", files.votes, "--method", "dawid-skene", "--save", path)
    return path


@pytest.fixture
def gold(files):
    """Forty gold labels of random items."""
    path = files.folder / "gold.csv"
    pd.read_csv(files.truth).sample(40, random_state=0).to_csv(path, index=False)
    return path


def test_rates_are_those_of_the_public_function(run, files, model, gold):
    out, table = files.folder / "rates.json", files.folder / "rates.csv"
    written = ("--json", out, "--out", table)
    result = run("rate", model, files.votes, "--gold", gold, "--level", "0.9", *written)
    assert result.exit_code == 0, result.output
    known = pd.read_csv(gold).set_index("item")["label"]
    expected = estimate_rate(load(model), read_votes(files.votes), known, 0.9)
    told = json.loads(out.read_text())
    assert (told["items"], told["gold"], told["level"]) == (600, 40, 0.9)
    assert [row["class"] for row in told["rates"]] == ["no", "yes"]
    for row in told["rates"]:
        assert [row[key] for key in ("share", "low", "high")] == expected.loc[row["class"]].tolist()
    rates = pd.read_csv(table, index_col="class")
    assert rates["low"].to_numpy() == pytest.approx(expected["low"].to_numpy(), rel=1e-5)
    assert run("rate", model, files.votes, "--out", table).exit_code == 0  # its own file
    low, high = expected.loc["yes", "low"], expected.loc["yes", "high"]
    assert "600 items, 40 with a gold label" in result.stdout
    assert f"{low:.1%} to {high:.1%}" in result.stdout
    assert "90% interval" in result.stdout
    assert "whatever the model's quality, if the gold labels are a random sample" in result.stdout


def test_without_gold_the_intervals_rest_on_the_model(run, files, model):
    result = run("rate", model, files.votes, "--json", "-")
    told = json.loads(result.stdout)
    assert told["gold"] == 0
    assert np.isclose(sum(row["share"] for row in told["rates"]), 1)
    for _ in range(2):  # its own file is replaced
        assert run("rate", model, files.votes, "--json", files.folder / "a.json").exit_code == 0
    shown = run("rate", model, files.votes).stdout
    assert "The intervals rest on the model" in shown
    assert "600 items\n" in shown


def test_votes_that_cannot_tell_are_said_to_be(run, files):
    frame = pd.read_csv(files.votes)[["item", "w0", "w1"]]
    frame.to_csv(files.votes, index=False)
    model = files.folder / "two.npz"
    run("fit", files.votes, "--method", "dawid-skene", "--save", model)
    result = run("rate", model, files.votes, "--json", files.folder / "a.json")
    assert result.exit_code == 0
    assert "the votes do not show the share of each class" in result.stderr
    assert "unknown" in result.stdout
    assert "pass it with --gold" in result.stdout
    told = json.loads((files.folder / "a.json").read_text())
    assert {row["low"] for row in told["rates"]} == {None}


def test_bad_input_is_one_sentence(refused, files, model, gold):
    assert "level must lie between 0 and 1" in refused("rate", model, files.votes, "--level", "95")
    assert "not an unelisa model" in refused("rate", files.votes, files.votes)
    frame = pd.read_csv(gold)
    more = pd.concat([frame, pd.DataFrame({"item": ["i999"], "label": ["yes"]})])
    more.to_csv(gold, index=False)
    told = refused("rate", model, files.votes, "--gold", gold)
    assert "gold.csv labels 1 items that are not among the votes" in told
    frame.assign(label="maybe").to_csv(gold, index=False)
    assert "gold.csv cannot be used" in refused("rate", model, files.votes, "--gold", gold)
    frame.assign(label="").to_csv(gold, index=False)
    assert "no label" in refused("rate", model, files.votes, "--gold", gold)
    assert "is an input" in refused("rate", model, files.votes, "--json", files.votes)
