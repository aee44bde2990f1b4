"""Votes that the command line keeps in a file."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from report.judging import divided_crowd, divided_model
from unelisa.aggregators import AGGREGATORS
from unelisa.cli import app
from unelisa.storage import load


def test_labels_have_a_probability_of_the_positive_class(run, files):
    out = files.folder / "labels.csv"
    run("fit", files.votes, "--out", out)
    labels = pd.read_csv(out)
    assert list(labels) == ["item", "label", "probability", "status", "expected_accuracy", "ease"]
    assert labels.ease.isna().all()  # unknown in a graph
    right = np.maximum(labels.probability, 1 - labels.probability)
    assert labels.expected_accuracy.to_numpy() == pytest.approx(right, abs=1e-6)
    assert labels.probability.between(0, 1).all()
    assert ((labels.probability >= 0.5) == (labels.label == "yes")).all()
    truth = pd.read_csv(files.truth)
    merged = labels.merge(truth, on="item", validate="1:1")
    assert len(merged) == 600
    assert (merged.label_x == merged.label_y).mean() > 0.9


def test_a_label_says_what_it_rests_on(run, files):
    out, gold = files.folder / "labels.csv", files.folder / "gold.csv"
    files.votes.write_text("item,a,b\nz,yes,yes\nm,yes,no\nb,no,no\na,,\n")
    method = ("--method", "majority-vote")
    assert run("fit", files.votes, *method, "--out", out).exit_code == 0
    labels = pd.read_csv(out)
    assert list(labels.columns) == ["item", "label", "probability", "status"]
    assert labels.probability.isna().all()  # a share of votes is none
    assert labels["item"].tolist() == list("zmba")  # in the order of the file
    assert labels.status.tolist() == ["model", "tie", "model", "no votes"]
    gold.write_text("item,label\nm,no\n")
    known = ("--method", "dawid-skene", "--gold", gold, "--force")
    assert run("fit", files.votes, *known, "--out", out).exit_code == 0
    assert pd.read_csv(out).status.tolist() == ["model", "gold", "model", "no votes"]


def test_every_output_at_once(run, files):
    names = ("labels.csv", "page.html", "model.npz", "findings.json")
    paths = [files.folder / name for name in names]
    pairs = zip(("--out", "--report", "--save", "--json"), paths, strict=True)
    options = [part for pair in pairs for part in pair]
    result = run("fit", files.votes, "--truth", files.truth, *options)
    assert result.exit_code == 0, result.output
    assert all(path.stat().st_size > 0 for path in paths)
    assert result.stdout.split("\n")[0].count(" of 600 items labeled “") == 1
    assert "Against the known truth" in result.stdout
    assert "Against the known truth" in paths[1].read_text()
    assert list(files.folder.glob(".*")) == []
    findings = json.loads(paths[3].read_text())
    assert findings["items"]["n"] == 600
    assert findings["comparison"][0]["accuracy"] > 0.9
    methods = [row["method"] for row in findings["comparison"]]
    assert methods[0] == findings["method"]
    assert sorted(methods) == sorted(AGGREGATORS)
    assert findings["truth"]["n"] == 600


def test_votes_come_from_standard_input_and_labels_go_to_stdout(files, run):
    result = CliRunner().invoke(
        app, ["fit", "-", "--method", "wawa", "--json", "-"], input=files.votes.read_bytes()
    )
    assert json.loads(result.stdout)["items"]["n"] == 600
    told = run("fit", files.votes, "--out", "-").stdout
    rows = list(csv.DictReader(told.splitlines()))
    assert len(rows) == 600
    assert max(len(row["probability"]) for row in rows) <= len("0.123456")


def test_items_are_named_only_with_show_items_and_labels_declared(run, files):
    page = files.folder / "page.html"
    plain = ("fit", files.votes, "--method", "wawa", "--report", page)
    run(*plain)
    assert "<bdi>i" not in page.read_text()
    run(*plain, "--show-items")
    assert page.read_text().count("<bdi>i") > 200
    out = files.folder / "labels.csv"
    method = ("--method", "wawa")
    result = run("fit", files.votes, "--labels", "yes,no", "--json", "-", "--out", out, *method)
    assert json.loads(result.stdout)["classes"] == ["yes", "no"]


def test_an_anchor_or_gold_turns_the_sides(run, files):
    plain, turned, gold = (files.folder / f"{name}.csv" for name in ("plain", "turned", "gold"))
    run("fit", files.votes, "--out", plain)
    run("fit", files.votes, "--out", turned, "--orient", "w8")
    assert (pd.read_csv(plain).label != pd.read_csv(turned).label).all()
    truth = pd.read_csv(files.truth)
    opposite = truth.assign(label=truth.label.map({"yes": "no", "no": "yes"})).head(50)
    opposite.to_csv(gold, index=False)
    run("fit", files.votes, "--out", turned, "--gold", gold)
    # the labels are data too, and move a few items
    assert (pd.read_csv(plain).label != pd.read_csv(turned).label).mean() > 0.98


def test_stability_is_a_column_everywhere(run, files):
    page, findings, model = (files.folder / name for name in ("p.html", "f.json", "m.npz"))
    outputs = ("--report", page, "--json", findings, "--save", model)
    plain = ("fit", files.votes, "--method", "unelisa")
    result = run(*plain, "--stability", 10, "--jobs", 2, *outputs)
    assert result.exit_code == 0, result.output
    assert "stability" in result.stdout
    assert "Stability" in page.read_text()
    told = {
        voter["voter"]: voter["stability"] for voter in json.loads(findings.read_text())["voters"]
    }
    kept = load(model).voters_.set_index("voter")["stability"]
    assert told == kept.to_dict()
    assert kept.max() > 0.5
    again = run(*plain, "--stability", 10, "--jobs", 1, "--json", "-")
    assert {v["voter"]: v["stability"] for v in json.loads(again.stdout)["voters"]} == told
    without = run(*plain, "--json", "-")
    assert "stability" not in json.loads(without.stdout)["voters"][0]


def test_warnings_are_one_line_each(run, files):
    frame = pd.read_csv(files.votes).assign(silent=None, stuck="yes")
    frame.to_csv(files.votes, index=False)
    result = run("fit", files.votes, "--method", "wawa")
    lines = result.stderr.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("Warning: 1 voter ") for line in lines)
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nope.csv"], "there is no file nope.csv"),
        (["votes.csv", "--method", "guess"], "choose latent-ising, unelisa"),
        (
            ["votes.csv", "--method", "wawa", "--report", "/proc/page.html", "--out", "a.csv"],
            "cannot write page.html",
        ),
        (["votes.csv", "--prevalence", "rare"], "takes a share such as .05"),
        (["votes.csv", "--prevalence", ".1-.2-.3"], "found '.1-.2-.3'"),
        (["votes.csv", "--prevalence", "5"], "a share between 0 and 1"),
        (["votes.csv", "--prevalence", ".3-.1"], "a share between 0 and 1"),
        (["votes.csv", "--prevalence", "maybe=.1"], "a class that the votes do not have"),
        (["votes.csv", "--prevalence", ".1", "--prevalence", ".2"], "name each class once"),
        (["votes.csv", "--prevalence", ".1", "--method", "wawa"], "wawa takes no prevalence"),
        (["votes.csv", "--prevalence", ".1", "--stability", "2"], "omit --stability or"),
        (["votes.csv", "--orient", "nobody"], "not among the voters"),
        (["votes.csv", "--orient", "w1", "--method", "majority-vote"], "--orient"),
        (["votes.csv", "--labels", "no,yes", "--coding", "01"], "not both"),
        (["votes.csv", "--coding", "01"], "coding '01' allows"),
        (["votes.csv", "--coding", "roman"], "unknown coding"),
        (["votes.csv", "--truth", "codes.csv"], "codes.csv cannot be used as labels"),
        (["votes.csv", "--truth", "others.csv"], "none of the items"),
        (["votes.csv", "--gold", "nope.csv"], "there is no file nope.csv"),
        (["votes.csv", "--gold", "truth.csv", "--method", "majority-vote"], "omit --gold"),
        (["codes.csv"], "--coding"),
        (["votes.csv", "--seed", "-1"], "--seed"),
        (["votes.csv", "--jobs", "0"], "n_jobs"),
        (["votes.csv", "--memory", "much"], "500MB"),
        ([], "VOTES"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(refused, files, monkeypatch, arguments, sentence):
    monkeypatch.chdir(files.folder)
    (files.folder / "codes.csv").write_text("item,label\ni0,-1\ni1,0\ni2,1\n")
    (files.folder / "others.csv").write_text("item,label\nzz,yes\n")
    before = sorted(path.name for path in files.folder.iterdir())
    told = refused("fit", *arguments)
    assert sentence in told
    assert "'yes'" not in told
    assert "i0" not in told
    assert sorted(path.name for path in files.folder.iterdir()) == before


def test_settings_of_the_method_can_be_given(run, refused, files):
    model = files.folder / "model.npz"
    settings = ("--set", "fit_intercept=true", "--set", "penalty=0.1", "--set", "rule=majority")
    paper = ("--method", "unelisa")
    assert run("fit", files.votes, "--save", model, *paper, *settings).exit_code == 0
    fitted = load(model)
    assert (fitted.fit_intercept, fitted.penalty, fitted.rule) == (True, 0.1, "majority")
    wrong = refused("fit", files.votes, *paper, "--set", "intercept=true")
    assert "unelisa has no setting 'intercept'; it has edge_rule, fit_intercept" in wrong
    wrong = refused("fit", files.votes, *paper, "--set", "penalty=abc")
    assert "penalty" in wrong
    assert "'abc'" in wrong


def test_votes_of_no_truth_are_called_so_without_a_number(run, files):
    """Noise and copies: the label file is written, but nobody can miss that it says nothing."""
    rng = np.random.default_rng(4)
    noise = pd.DataFrame(rng.choice(["yes", "no"], (300, 6)), columns=list("abcdef"))
    copies = pd.DataFrame(np.repeat(rng.choice(["yes", "no"], (300, 1)), 6, axis=1))
    for frame, reason in ((noise, "no more than independent"), (copies, "copy one source")):
        frame.to_csv(files.votes, index_label="item")
        model, page = files.folder / "model.npz", files.folder / "page.html"
        arguments = ("--method", "dawid-skene", "--save", model, "--report", page, "--json", "-")
        result = run("fit", files.votes, *arguments)
        assert "Warning: the labels cannot be relied on: " in result.stderr
        assert reason in result.stderr
        found = json.loads(result.stdout)
        assert found["reliable"] is False
        assert "cannot be relied on" in found["warnings"][0]
        assert "cannot be relied on" in page.read_text(encoding="utf-8")
        assert "cannot be relied on" in run("predict", model, files.votes).stderr
    noise = pd.DataFrame(np.random.default_rng(4).choice(["yes", "no"], (300, 6)))
    noise.to_csv(files.votes, index_label="item")
    told = run("fit", files.votes, "--json", "-").stdout
    assert json.loads(told)["expected_accuracy"] == {"share": None, "low": None, "high": None}
    shown = run("fit", files.votes).stdout
    assert "expected accuracy cannot be estimated" in shown


def test_the_answer_is_that_of_a_table_in_memory(run, files):
    pd.read_csv(files.votes).to_parquet(files.folder / "votes.parquet")
    outputs = []
    for memory in ("1GB", "1KB"):
        out, told = files.folder / f"{memory}.csv", files.folder / f"{memory}.json"
        asked = ("--memory", memory, "--out", out, "--json", told)
        result = run("fit", files.folder / "votes.parquet", *asked, "--truth", files.truth)
        assert result.exit_code == 0, result.output
        outputs.append((out.read_text(), json.loads(told.read_text())["answer"]))
    assert outputs[0] == outputs[1]


@pytest.fixture
def divided(tmp_path):
    """A crowd with a family and two readings, as a file."""
    votes = divided_crowd()
    frame = pd.DataFrame(np.where(votes.values > 0, "yes", "no"), votes.items, votes.voters)
    frame.to_csv(tmp_path / "divided.csv", index_label="item")
    return tmp_path / "divided.csv"


def test_how_far_labels_can_be_trusted_is_printed(run, divided):
    result = run("fit", divided, "--out", divided.parent / "labels.csv")
    model, told = divided_model(), " ".join(result.stdout.split())
    low, high = model.expected_accuracy_interval_
    expected = f"{model.expected_accuracy_:.1%} (90% interval {low:.1%} to {high:.1%})"
    doubt = "Trust: these labels cannot be relied on, see the warnings; expected accuracy"
    assert f"{doubt} {expected} Worst voters: " in told
    low, high = model.prevalence_interval_
    share = f"{model.prevalence_:.1%} (90% interval {low:.1%} to {high:.1%})"
    assert f"Estimated share of yes {share}." in told
    assert f"12 voters worth {model.effective_voters_:.1f} independent ones." in told
    family = next(line for line in result.stdout.splitlines() if line.startswith("Family: "))
    assert set(family[8:-1].split(", ")) == set(model.families_[0])
    assert "Readings of the votes" in told
    doubt = "the labels cannot be relied on: "
    others = [one for one in model.cautions_ if one not in model.reliability_reason_]
    warned = [f"Warning: {one}" for one in (*others, f"{doubt}{model.reliability_reason_}")]
    assert result.stderr.splitlines() == warned
    assert len(others) < len(model.cautions_)
    labels = pd.read_csv(divided.parent / "labels.csv")
    assert labels.ease.to_numpy() == pytest.approx(model.ease(divided_crowd()), abs=5e-4)


def test_another_reading_can_be_taken_if_it_is_there(run, divided, refused, files):
    out, page, model = (divided.parent / name for name in ("l.csv", "p.html", "m.npz"))
    result = run("fit", divided, "--reading", 1, "--out", out, "--report", page, "--save", model)
    assert result.exit_code == 0, result.output
    other = divided_model().read(1)
    assert pd.read_csv(out).label.tolist() == other.predict(divided_crowd()).tolist()
    assert "Readings of the votes" in result.stdout
    assert "readings of the same votes" in page.read_text(encoding="utf-8")
    labels = run("predict", model, divided).stdout
    assert labels == out.read_text()
    result = run("fit", divided, "--reading", 2, "--out", divided.parent / "labels.csv")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1].startswith("Error: there is no reading 2")
    assert not (divided.parent / "labels.csv").exists()
    wrong = refused("fit", files.votes, "--reading", 1, "--method", "wawa")
    assert "wawa has one reading of the votes; omit --reading" in wrong
    both = refused("fit", divided, "--reading", 1, "--stability", 5)
    assert "omit --stability or --reading" in both


def test_a_quiet_fit_prints_nothing_and_a_strict_one_says_by_its_code_where_labels_are_bad(
    run, files, divided
):
    sound = run("fit", files.votes, "--quiet", "--strict", "--out", files.folder / "labels.csv")
    assert (sound.exit_code, sound.stdout) == (0, "")
    assert run("fit", divided, "--strict").exit_code == 3


@pytest.mark.parametrize(
    ("stated", "low", "high"),
    [((".2",), 0.2, 0.2), ((".1-.25",), 0.1, 0.25), (("no=.7", "yes=.2-.4"), 0.3, 0.3)],
)
def test_a_stated_prevalence_is_that_of_the_labels(run, files, stated, low, high):
    out, told = files.folder / "labels.csv", files.folder / "told.json"
    options = [part for one in stated for part in ("--prevalence", one)]
    result = run("fit", files.votes, *options, "--out", out, "--json", told)
    assert result.exit_code == 0, result.output
    share = pd.read_csv(out)["probability"].mean()
    assert low - 1e-3 <= share <= high + 1e-3
    assert low <= json.loads(told.read_text())["prevalence"]["share"] <= high


def test_gold_items_have_their_label_for_certain_everywhere(run, files):
    truth = pd.read_csv(files.truth)
    turned = truth[:40].replace({"label": {"yes": "no", "no": "yes"}})
    gold, out, page = (files.folder / name for name in ("gold.csv", "labels.csv", "page.html"))
    turned.to_csv(gold, index=False)
    outputs = ("--out", out, "--report", page, "--show-items", "--json", "-")
    result = run("fit", files.votes, "--gold", gold, *outputs)
    assert result.exit_code == 0, result.output
    labels = pd.read_csv(out).set_index("item").loc[turned.item]
    assert labels.label.tolist() == turned.label.tolist()
    assert (labels.probability == (turned.label == "yes").to_numpy()).all()
    assert (labels.expected_accuracy == 1).all()
    found = json.loads(result.stdout)
    for row in found["differing"]:
        if row["item"] in set(turned.item):
            assert row["probability"] in (0.0, 1.0)
            assert row["label"] == labels.label[row["item"]]


@pytest.fixture
def ratings(tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 200)
    said = np.where(rng.random((200, 6)) < 0.8, truth[:, None], rng.integers(0, 3, (200, 6)))
    words = np.array(["poor", "fair", "good"])
    frame = pd.DataFrame(words[said], columns=[f"judge {s}" for s in range(6)])
    frame.insert(0, "item", [f"x{i}" for i in range(200)])
    frame.to_csv(tmp_path / "ratings.csv", index=False)
    known = pd.DataFrame({"item": frame.item[:60], "label": words[truth[:60]]})
    known.to_csv(tmp_path / "gold.csv", index=False)
    return tmp_path / "ratings.csv"


@pytest.mark.parametrize("method", ["latent-ising", "dawid-skene", "majority-vote"])
def test_more_than_two_classes_are_fitted_and_predicted(method, run, ratings):
    folder = ratings.parent
    model, labels, again = (folder / name for name in ("model.npz", "labels.csv", "again.csv"))
    order = ("--order", "poor,fair,good")
    files = ("--out", labels, "--save", model)
    result = run("fit", ratings, "--method", method, *order, *files, "--stability", "2")
    assert result.exit_code == 0, result.output
    assert "200 items labeled in 3 classes" in result.stdout
    assert "Classes: poor, fair, good." in result.stdout
    fitted = load(model)
    assert fitted.ordered_
    table = pd.read_csv(labels)
    if hasattr(fitted, "predict_proba"):
        chances = table[["P(poor)", "P(fair)", "P(good)"]]
        assert chances.sum(axis=1).to_numpy() == pytest.approx(np.ones(200), abs=1e-5)
        assert table.probability.to_numpy() == pytest.approx(chances.max(axis=1), abs=1e-6)
    else:
        assert list(table) == ["item", "label", "probability", "status"]
    assert run("predict", model, ratings, "--out", again).exit_code == 0
    assert again.read_bytes() == labels.read_bytes()
    # the labels are recognized as an earlier version of this output
    assert run("predict", model, ratings, "--out", labels).exit_code == 0


def test_gold_labels_and_prevalences_of_more_classes(run, ratings, refused):
    gold, out = (ratings.parent / name for name in ("gold.csv", "labels.csv"))
    known = pd.read_csv(gold)
    known["label"] = known["label"].replace({"poor": "good", "good": "poor"})
    known.to_csv(gold, index=False)
    assert run("fit", ratings, "--gold", gold, "--out", out).exit_code == 0
    labels = pd.read_csv(out).set_index("item").loc[known.item]
    assert labels.label.tolist() == known.label.tolist()
    assert (labels.probability == 1).all()
    chances = labels[[f"P({label})" for label in ("fair", "good", "poor")]].to_numpy()
    assert (chances.max(axis=1) == 1).all()
    assert chances.sum() == len(known)
    result = run("fit", ratings, "--method", "dawid-skene", "--gold", gold)
    assert result.exit_code == 0, result.output
    gold.write_text("item,label\nx1,excellent\n")
    result = run("fit", ratings, "--method", "dawid-skene", "--gold", gold)
    assert result.exit_code == 2
    assert "nobody ever voted, in data row 1" in result.stderr.replace("\n", " ")
    out = ratings.parent / "labels.csv"
    stated = ("--prevalence", "poor=.5", "--prevalence", "fair=.1-.2")
    assert run("fit", ratings, *stated, "--out", out).exit_code == 0
    shares = pd.read_csv(out).filter(like="P(").mean()
    assert shares["P(poor)"] == pytest.approx(0.5, abs=1e-3)
    assert 0.099 < shares["P(fair)"] < 0.201
    assert "must map classes to their shares" in refused("fit", ratings, "--prevalence", ".5")
    result = run("fit", ratings, "--method", "unelisa")
    assert result.exit_code == 2
    assert "takes two classes, found 3" in result.stderr


def test_several_files_and_duplicates(run, refused, ratings):
    whole = pd.read_csv(ratings)
    parts = [ratings.parent / name for name in ("early.csv", "late.csv")]
    for part, rows in zip(parts, (whole[:120], whole[100:]), strict=True):
        rows.to_csv(part, index=False)
    later = whole[100:].replace({"judge 0": {"poor": "good"}})
    model = ratings.parent / "model.npz"
    result = run(
        "fit", *parts, "--method", "majority-vote", "--save", model, "--duplicates", "first"
    )
    assert result.exit_code == 0, result.output
    assert "200 items labeled" in result.stdout
    later.to_csv(parts[1], index=False)
    sentence = refused("fit", *parts, "--method", "majority-vote")
    assert "different votes of one voter on one item: 'judge 0'" in sentence
    assert "--duplicates last" in sentence
    assert run("predict", model, parts[1]).exit_code == 0


def test_the_page_and_the_terminal_say_the_same_of_what_is_next(run, files, divided):
    for votes in (files.votes, divided):
        page = files.folder / "next.html"
        told = run("fit", votes, "--report", page, "--force").stdout
        said = next(line[6:] for line in told.splitlines() if line.startswith("Next: "))
        shown = page.read_text(encoding="utf-8")
        section = shown[shown.index('id="next-title"') :]
        listed = "most useful votes" in section and "unelisa suggest" in said
        assert listed or said[0].upper() + said[1:] in section
