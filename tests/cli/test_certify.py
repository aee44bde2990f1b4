"""`unelisa certify`."""

import gzip
import json

import pandas as pd
import pytest


@pytest.fixture
def gold(files):
    """Labels of three hundred random items."""
    path = files.folder / "gold.csv"
    pd.read_csv(files.truth).sample(300, random_state=0).to_csv(path, index=False)
    return path


def test_certified_labels_and_their_certificate(run, files, gold):
    labels, facts = files.folder / "labels.csv", files.folder / "certificate.json"
    asked = "--gold", gold, "--error", "20%", "--out", labels, "--certificate", facts
    result = run("certify", files.votes, *asked)
    assert result.exit_code == 0, result.output
    table, stated = pd.read_csv(labels), json.loads(facts.read_text())
    assert list(table.columns) == ["item", "label", "probability", "status"]
    counts = table["status"].value_counts()
    assert (counts["certified"], counts["gold"]) == (stated["n_certified"], 300)
    truth = pd.read_csv(files.truth).set_index("item")["label"]
    given = table[table["status"] != "look"].set_index("item")["label"]
    assert (given != truth[given.index]).mean() <= 0.2
    assert stated["guarantee"] in " ".join(result.stdout.split())
    assert run("certify", labels, "--check", facts).exit_code == 0
    table.loc[table["status"] == "certified", "label"] = table["label"].iloc[0]
    table.to_csv(labels, index=False)
    changed = run("certify", labels, "--check", facts)
    assert changed.exit_code == 3
    assert "was changed" in changed.stdout


def test_a_model_with_or_without_its_votes(run, files, gold):
    bare, kept = files.folder / "bare.npz", files.folder / "kept.npz"
    run("fit", files.votes, "--save", bare)
    run("fit", files.votes, "--save", kept, "--keep-votes")
    asked = "--gold", gold, "--error", ".2", "--json", "-"
    found = [
        json.loads(run("certify", *given, *asked).stdout)
        for given in ([bare, files.votes], [kept], [files.votes])
    ]
    assert found[0] == found[1] == found[2]
    refused = run("certify", bare, *asked)
    assert refused.exit_code == 2
    assert "was saved without its votes" in refused.stderr


def test_without_gold_there_is_a_plan(run, files):
    result = run("certify", files.votes, "--error", "20%", "--json", "-")
    plan = json.loads(result.stdout)["plan"]
    assert plan[-1]["certified"] > 0.2
    assert "random answers" in run("certify", files.votes, "--error", "20%").stdout


def test_require_exits_with_3_where_nothing_is_certified(run, files, gold):
    asked = "--gold", gold, "--error", "0.01%"
    assert run("certify", files.votes, *asked).exit_code == 0
    result = run("certify", files.votes, *asked, "--require")
    assert result.exit_code == 3
    assert "is out of reach" in result.stdout


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--error", "few"], "--error takes a share such as .05 or 5%"),
        (["--gold-drawn", "by-hand"], "say nothing about the other items"),
        (["--per", "item"], "per must be file, automatic or class"),
        (["--loss", "far"], "needs more than two ordered classes"),
    ],
)
def test_bad_requests_end_in_a_sentence(run, files, gold, options, sentence):
    result = run("certify", files.votes, "--gold", gold, *options)
    assert result.exit_code == 2
    assert sentence in " ".join(result.stderr.split())


def test_what_is_no_certificate_or_cut_off_is_refused(run, files, gold):
    result = run("certify", files.truth, "--check", files.truth)
    assert result.exit_code == 2
    assert "was not written by `unelisa certify --certificate`" in " ".join(result.stderr.split())
    facts, labels = files.folder / "facts.json", files.folder / "labels.csv.gz"
    run("certify", files.votes, "--gold", gold, "--certificate", facts)
    labels.write_bytes(gzip.compress(b"item,label,status\n" * 9)[:-6])
    result = run("certify", labels, "--check", facts)
    assert result.exit_code == 2
    assert "cannot be read as a CSV file of labels" in " ".join(result.stderr.split())


def test_a_file_of_a_review_gives_only_the_items_drawn_with_equal_chances(run, files, gold):
    drawn = pd.read_csv(gold).assign(reviewer="ann", chosen="drawn", note="")
    useful = pd.read_csv(files.truth).head(50).assign(reviewer="ann", chosen="useful", note="")
    mixed = files.folder / "mixed.csv"
    rows = pd.concat([drawn, useful[~useful["item"].isin(drawn["item"])]])
    rows.to_csv(mixed, index=False)
    found = [
        json.loads(
            run("certify", files.votes, "--gold", one, "--error", ".2", "--json", "-").stdout
        )
        for one in (gold, mixed)
    ]
    assert found[0] == found[1]
    useful.to_csv(mixed, index=False)
    refused = run("certify", files.votes, "--gold", mixed)
    assert refused.exit_code == 2
    assert "not drawn at random" in " ".join(refused.stderr.split())


def test_items_are_drawn_filled_in_and_certified(run, files):
    drawn, labels = files.folder / "drawn.csv", files.folder / "labels.csv"
    asked = files.votes, "--error", "20%", "--share", "50%"
    result = run("certify", *asked, "--draw", drawn, "--seed", 4)
    assert result.exit_code == 0, result.output
    rows = pd.read_csv(drawn)
    assert list(rows.columns) == ["item", "label", "chosen"]
    assert rows["label"].isna().all()
    assert rows["chosen"].nunique() == 1
    truth = pd.read_csv(files.truth).set_index("item")["label"]
    rows["label"] = truth[rows["item"]].to_numpy()
    rows.loc[50:, "label"] = None  # the rest is not answered
    rows.to_csv(drawn, index=False)
    given = "--gold", drawn, "--error", "20%"
    found = run("certify", files.votes, *given, "--out", labels, "--json", "-")
    stated = json.loads(found.stdout)
    assert (stated["seed"], stated["n_gold"], stated["n_unanswered"]) == (4, 50, 0)
    assert stated["n_certified"] + 50 >= len(truth) / 2
    rows.loc[:20, "chosen"] = rows.loc[0, "chosen"].replace("seed=4", "seed=5")
    rows.to_csv(drawn, index=False)
    mixed = run("certify", files.votes, *given)
    assert mixed.exit_code == 2
    assert "holds items of 2 draws" in " ".join(mixed.stderr.split())


def test_items_are_drawn_and_certified_by_weight(run, files):
    drawn, weights = files.folder / "drawn.csv", files.folder / "weights.csv"
    truth = pd.read_csv(files.truth).set_index("item")["label"]
    heavy = [1 + 9 * (k % 10 == 0) for k in range(len(truth))]
    pd.DataFrame({"item": truth.index, "weight": heavy}).to_csv(weights, index=False)
    asked = files.votes, "--error", "20%", "--weights", weights
    assert run("certify", *asked, "--draw", drawn).exit_code == 0
    rows = pd.read_csv(drawn)
    rows["label"] = truth[rows["item"]].to_numpy()
    rows.to_csv(drawn, index=False)
    found = run("certify", *asked, "--gold", drawn, "--json", "-")
    assert found.exit_code == 0, found.stderr
    facts = json.loads(found.stdout)
    assert facts["certified_weight"] > 0.1
    assert "by weight" in facts["guarantee"]
    other = run("certify", *asked[:3], "--gold", drawn)
    assert other.exit_code == 2
    assert "were drawn with other weights" in " ".join(other.stderr.split())


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ("item,weight\nx1,much\n", "the weight in row 2 of weights.csv is not a number"),
        ("item,weight\nx1,1\nx1,2\n", "row 3 of weights.csv names an item again"),
        ("item,price\nx1,1\n", "weights.csv must have columns item and weight"),
        ("item,weight\nx1,1\n", "weights has no value for"),
    ],
)
def test_weights_that_cannot_be_read_are_refused(run, files, table, sentence):
    weights = files.folder / "weights.csv"
    weights.write_text(table)
    result = run("certify", files.votes, "--weights", weights)
    assert result.exit_code == 2
    assert sentence in " ".join(result.stderr.split())


def test_chances_may_differ_between_strata(run, files, gold):
    strata = files.folder / "strata.csv"
    items = pd.read_csv(files.truth)["item"]
    pd.DataFrame({"item": items, "stratum": ["a", "b"] * (len(items) // 2)}).to_csv(
        strata, index=False
    )
    asked = "--gold", gold, "--error", "20%", "--json", "-"
    facts = json.loads(run("certify", files.votes, *asked, "--strata", strata).stdout)
    pooled = json.loads(run("certify", files.votes, *asked).stdout)
    assert facts["n_strata"] == 2
    assert 0 < facts["n_certified"] <= pooled["n_certified"]
