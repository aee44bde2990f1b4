import builtins
import json
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest

import unelisa as ue
from unelisa.analysis.rate import estimate_rate
from unelisa.outputs import holding
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
    assert "correct the model's errors, if they are a random sample" in result.stdout


def test_rates_without_gold_rest_on_the_model_or_cannot_be_told(run, files, model):
    result = run("rate", model, files.votes, "--json", "-")
    told = json.loads(result.stdout)
    assert told["gold"] == 0
    assert np.isclose(sum(row["share"] for row in told["rates"]), 1)
    for _ in range(2):  # its own file is replaced
        assert run("rate", model, files.votes, "--json", files.folder / "a.json").exit_code == 0
    shown = run("rate", model, files.votes).stdout
    assert "The intervals rest on the model" in shown
    assert "600 items\n" in shown
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


@pytest.fixture
def gapped(run, files):
    """A model of votes of which a third is missing, which the file of votes then lacks too."""
    table = pd.read_csv(files.votes, index_col="item")
    gaps = [[(i + 2 * s) % 3 == 0 for s in range(table.shape[1])] for i in range(len(table))]
    table.mask(pd.DataFrame(gaps, table.index, table.columns)).to_csv(files.votes)
    path = files.folder / "model.npz"
    assert run("fit", files.votes, "--method", "dawid-skene", "--save", path).exit_code == 0
    return path


def test_the_file_holds_what_the_function_returns_or_stdout(run, files, gapped):
    out = files.folder / "ask.csv"
    result = run("suggest", gapped, files.votes, "--n", 10, "--out", out)
    assert result.exit_code == 0, result.output
    found = pd.read_csv(out)
    expected = ue.suggest_votes(ue.load(gapped), ue.read_votes(files.votes), n=10)
    pd.testing.assert_frame_equal(found, expected, check_dtype=False)
    assert "10 votes on" in result.stdout
    assert f"the next batch {expected.attrs['stop']:.2f}" in result.stdout
    assert run("suggest", gapped, files.votes, "--n", 5, "--out", out).exit_code == 0
    assert len(pd.read_csv(out)) == 5
    facts = files.folder / "facts.json"
    result = run("suggest", gapped, files.votes, "--n", 3, "--json", facts)
    assert result.stdout.startswith("item,voter,gain,cost,chance_now\n")
    assert result.stdout.count("\n") == 4
    asked = [line.split(",")[:2] for line in result.stdout.splitlines()[1:]]
    told = json.loads(facts.read_text())
    assert [[row["item"], row["voter"]] for row in told["votes"]] == asked


def test_costs_voters_and_a_human_are_taken_and_bad_options_refused(run, files, gapped, refused):
    costs, out = files.folder / "costs.csv", files.folder / "ask.csv"
    costs.write_text("voter,cost\nw1,2.5\n")
    asked = ("--voters", "w1,w2", "--cost", costs, "--out", out)
    assert run("suggest", gapped, files.votes, *asked).exit_code == 0
    found = pd.read_csv(out)
    assert set(found["voter"]) <= {"w1", "w2"}
    assert set(found.loc[found["voter"] == "w1", "cost"]) <= {2.5}
    run("suggest", gapped, files.votes, "--gold-cost", 0.1, "--n", 5, "--out", out)
    assert set(pd.read_csv(out)["voter"]) == {"human"}
    ask = ("suggest", gapped, files.votes)
    assert "--voters names 'zoe'" in refused(*ask, "--voters", "w1,zoe")
    assert "n must be a whole number" in refused(*ask, "--n", 0)
    assert "gold_cost must be a positive number" in refused(*ask, "--gold-cost", -1)
    assert "criterion must be one of" in refused(*ask, "--criterion", "luck")
    absent = files.folder / "absent.csv"
    assert "there is no file absent.csv" in refused(*ask, "--cost", absent)


def test_nothing_worth_buying_is_said(run, files, gapped):
    sure = ue.read_votes(files.votes)
    fitted = ue.load(gapped)
    chances = fitted.predict_proba(sure).max(axis=1)
    table = pd.read_csv(files.votes)
    worst = fitted.voters_.sort_values("weight", key=abs)["voter"].iloc[0]
    table[chances > 0.99].to_csv(files.votes, index=False)
    out = files.folder / "ask.csv"
    result = run("suggest", gapped, files.votes, "--voters", worst, "--out", out)
    assert "nothing worth buying" in result.stdout
    assert out.read_text() == "item,voter,gain,cost,chance_now\n"


@pytest.mark.parametrize(
    ("costs", "told"),
    [
        ("voter,cost\nw1,-2\n", "the cost of w1 must be a positive number"),
        ("voter,cost\nw1,much\n", "the cost in row 2 of costs.csv is not a number"),
        ("voter,cost\nzoe,1\n", "costs.csv names 'zoe', a voter unknown to the model"),
        ("who,price\nw1,1\n", "costs.csv must have columns voter and cost"),
        ("", "costs.csv is empty"),
        (f'voter,cost\nw1,"{"9" * 200_000}x"\n', "row 2 of costs.csv is not a number"),
        ("voter,cost\nw1,1\0\n", "null bytes"),
    ],
)
def test_bad_costs_are_one_sentence(refused, files, gapped, costs, told):
    path = files.folder / "costs.csv"
    path.write_text(costs)
    assert told in refused("suggest", gapped, files.votes, "--cost", path)


@pytest.fixture
def reported(run, files):
    path = files.folder / "model.npz"
    run("fit", files.votes, "--save", path)
    return path


def test_a_stored_model_has_a_page_with_a_truth_or_without(run, files, reported, refused):
    out = files.folder / "page.html"
    result = run("report", reported, "--out", out)
    assert result.exit_code == 0, result.output
    page = out.read_text()
    assert "of 9 voters are experts" in page
    assert "items labeled" not in page
    result = run("report", reported, files.votes, "--out", out, "--json", "-")
    assert json.loads(result.stdout)["items"]["n"] == 600
    assert out.exists()
    assert "votes" in refused("report", reported, "--truth", files.truth)
    result = run(
        "report", reported, files.votes, "--truth", files.truth, "--show-items", "--out", out
    )
    assert result.exit_code == 0, result.output
    assert "Calibration" in out.read_text()
    assert "Items whose label is the least certain" in out.read_text()


def test_without_jinja_the_extra_is_named_before_any_work(refused, files, monkeypatch):
    real = builtins.__import__

    def missing(name, *more):
        if name == "jinja2":
            raise ImportError
        return real(name, *more)

    monkeypatch.setattr(builtins, "__import__", missing)
    out = files.folder / "labels.csv"
    told = refused("fit", files.votes, "--out", out, "--report", files.folder / "page.html")
    assert 'pip install "unelisa[report]", or in a clone pip install ".[report]"' in told
    assert not out.exists()


def test_the_page_opens_with_a_certificate_of_the_same_votes(run, refused, files, reported):
    gold, facts = files.folder / "gold.csv", files.folder / "certificate.json"
    pd.read_csv(files.truth).sample(300, random_state=0).to_csv(gold, index=False)
    made = run("certify", files.votes, "--gold", gold, "--error", "20%", "--certificate", facts)
    assert made.exit_code == 0, made.output
    out = files.folder / "page.html"
    result = run(
        "report", reported, files.votes, "--certificate", facts, "--out", out, "--json", "-"
    )
    assert result.exit_code == 0, result.output
    stated = json.loads(facts.read_text())
    assert json.loads(result.stdout)["certificate"] == stated
    page = out.read_text()
    assert page.index("Guaranteed</h2>") < page.index('class="answer"')
    assert stated["guarantee"][1:] in page
    arguments = "report", reported, files.votes, "--out", files.folder / "other.html"
    assert "needs the votes" in refused("report", reported, "--certificate", facts)
    for text, told in (("{}", "was not written by"), ("[", "was not written by")):
        facts.write_text(text)
        assert told in refused(*arguments, "--certificate", facts)
    facts.write_text(json.dumps({**stated, "votes_sha256": "0"}))
    assert "certificate of other votes" in refused(*arguments, "--certificate", facts)


@pytest.fixture
def fitted(run, files):
    path = files.folder / "model.npz"
    method = ("--method", "dawid-skene")
    run("fit", files.votes, *method, "--save", path, "--out", files.folder / "fitted.csv")
    return path


def test_a_stored_model_gives_the_same_labels_and_warns_of_strangers(run, files, fitted):
    out = files.folder / "labels.csv"
    result = run("predict", fitted, files.votes, "--out", out)
    assert "600 items labeled" in result.stdout
    assert out.read_text() == (files.folder / "fitted.csv").read_text()
    facts = json.loads(run("predict", fitted, files.votes, "--out", out, "--json", "-").stdout)
    assert (facts["items"], facts["reliable"]) == (600, True)
    result = run("predict", fitted, files.votes)
    assert result.stdout == (files.folder / "fitted.csv").read_text()
    assert result.stderr == ""
    pd.read_csv(files.votes).assign(stranger="yes").to_csv(files.votes, index=False)
    result = run("predict", fitted, files.votes)
    assert result.exit_code == 0
    assert result.stderr == ("Warning: 1 voter unknown to the model and ignored: 'stranger'\n")


def test_snorkels_codes_are_read_as_at_the_fit(run, tmp_path):
    votes, fitted = tmp_path / "votes.csv", tmp_path / "model.npz"
    rows = [("1,1,-1", "1"), ("0,-1,0", "0"), ("-1,1,1", "1"), ("0,0,1", "0")] * 9
    lines = [f"x{i:02d},{said}" for i, (said, _) in enumerate(rows)]
    votes.write_text("\n".join(["item,ann,bob,cat", *lines, ""]))
    run("fit", votes, "--coding", "snorkel", "--method", "majority-vote", "--save", fitted)
    result = run("predict", fitted, votes)
    assert result.exit_code == 0, result.stderr
    labels = [line.split(",")[1] for line in result.stdout.splitlines()[1:]]
    assert labels == [label for _, label in rows]


def test_bad_models_votes_and_labels_are_refused(refused, files, fitted):
    told = refused("predict", fitted, files.votes, "--labels", "yes,no")
    assert "other labels" in told
    codes = files.folder / "codes.csv"
    codes.write_text("item,w0,w1\na,1,0\nb,0,1\n")
    refused("predict", fitted, codes)
    assert "other labels" in refused("predict", fitted, codes, "--coding", "01")
    assert "not an unelisa model" in refused("predict", files.votes, files.votes)
    assert "cannot be read" in refused("predict", files.folder / "none.npz", files.votes)
    fitted.write_bytes(fitted.read_bytes()[:-100])
    assert "damaged" in refused("predict", fitted, files.votes)


def test_many_files_become_many_files(run, refused, files, fitted, tmp_path):
    wide = pd.read_csv(files.votes)
    for k in range(2):
        wide.to_parquet(tmp_path / f"v{k}.parquet")
    out = tmp_path / "labels"
    result = run("predict", fitted, tmp_path / "v0.parquet", tmp_path / "v1.parquet", "--out", out)
    assert result.exit_code == 0, result.output
    assert f"{2 * len(wide):,} items labeled" in result.stdout
    one, two = (pd.read_parquet(out / f"v{k}.parquet") for k in range(2))
    assert one.equals(two)
    run("predict", fitted, files.votes, "--out", tmp_path / "labels.csv")
    known = pd.read_csv(tmp_path / "labels.csv", dtype=str).set_index("item")
    assert one.label.astype(str).tolist() == known.label[one.item.astype(str)].tolist()
    message = refused("predict", fitted, tmp_path / "v0.parquet", tmp_path / "v1.parquet")
    assert "--out FOLDER" in message


@pytest.fixture
def days(files):
    """All votes but those on the last 20 items, these, and all."""
    table = pd.read_csv(files.votes)
    early, late = files.folder / "early.csv", files.folder / "late.csv"
    table[:-20].to_csv(early, index=False)
    table[-20:].to_csv(late, index=False)
    return early, late, table


def test_a_model_with_its_votes_is_updated_in_place(run, files, days):
    early, late, table = days
    model, labels, facts = (files.folder / x for x in ("model.npz", "labels.csv", "facts.json"))
    assert run("fit", early, "--save", model, "--keep-votes").exit_code == 0
    outputs = ("--save", model, "--out", labels, "--json", facts)
    result = run("update", model, late, *outputs)
    assert result.exit_code == 0, result.output
    assert f"on {len(table)} items by" in result.stdout
    assert "accuracy over time was tested for" in result.stdout
    assert json.loads(facts.read_text())["items"] == len(table)
    assert pd.read_csv(labels)["item"].tolist() == table["item"].tolist()
    again = ue.load(model)
    votes = ue.read_votes(files.votes)
    assert (again.predict(votes) == pd.read_csv(labels)["label"]).all()
    assert run("update", model, late, "--save", model).exit_code == 0


def test_a_model_without_its_votes_says_what_it_needs(run, refused, files, days):
    early, late, _ = days
    model = files.folder / "model.npz"
    assert run("fit", early, "--save", model).exit_code == 0
    assert "pass them as earlier (--earlier), or save it" in refused("update", model, late)
    result = run("update", model, late, "--earlier", early)
    assert "Nothing was saved; add --save model.npz." in result.stdout
    assert run("update", model, late, "--earlier", early, "--save", model).exit_code == 0
    assert "does not hold the votes" in refused("update", model, late)


def test_what_cannot_be_updated_is_one_sentence_and_replaces_nothing(run, refused, files, days):
    early, late, _ = days
    model = files.folder / "model.npz"
    refused("fit", early, "--method", "wawa", "--save", model, "--keep-votes")
    assert run("fit", early, "--method", "wawa", "--save", model).exit_code == 0
    assert "only latent-ising is updated, found Wawa" in refused("update", model, late)
    model, link = files.folder / "model.npz", files.folder / "link.csv"
    assert run("fit", early, "--save", model, "--keep-votes").exit_code == 0
    link.symlink_to(model)
    before = model.read_bytes()
    for option, path in (("--json", model), ("--out", link)):
        assert "is an input" in refused("update", model, late, option, path, "--force")
    assert model.read_bytes() == before


def test_a_file_that_changed_meanwhile_is_left_as_it_is(run, refused, files, days, monkeypatch):
    early, late, _ = days
    model = files.folder / "model.npz"
    assert run("fit", early, "--save", model, "--keep-votes").exit_code == 0
    fit_more = ue.LatentIsing.update

    def update(self, *given, **named):  # another program saves its own update first
        monkeypatch.setattr(ue.LatentIsing, "update", fit_more)
        assert run("update", model, late, "--save", model).exit_code == 0
        return fit_more(self, *given, **named)

    monkeypatch.setattr(ue.LatentIsing, "update", update)
    assert "was changed by another program" in refused("update", model, late, "--save", model)
    assert ue.load(model).keep_votes().items.tolist() == pd.read_csv(files.votes)["item"].tolist()


def test_of_two_processes_at_once_no_batch_is_lost(run, files, days):
    """Each update is in the file, or was refused and left it as it is."""
    early, _, table = days
    model = files.folder / "model.npz"
    assert run("fit", early, "--save", model, "--keep-votes").exit_code == 0
    batches = [files.folder / f"batch{k}.csv" for k in range(2)]
    for k, batch in enumerate(batches):
        table[-20:].iloc[10 * k : 10 * k + 10].to_csv(batch, index=False)
    command = [sys.executable, "-m", "unelisa", "update", model]
    started = [
        subprocess.Popen([*command, batch, "--save", model], stderr=subprocess.PIPE, text=True)
        for batch in batches
    ]
    said = [process.communicate()[1] for process in started]
    kept = set(ue.load(model).keep_votes().items.tolist())
    for batch, process, text in zip(batches, started, said, strict=True):
        saved = set(pd.read_csv(batch)["item"]) <= kept
        assert saved == (process.returncode == 0), text
        assert saved or "was changed by another program" in text
    assert len(kept) > len(table) - 20


def test_who_holds_a_file_keeps_others_out(tmp_path):
    path, order = tmp_path / "model.npz", []
    path.write_bytes(b"model")

    def wait():
        with holding(path):
            order.append("other")

    with holding(path):
        other = threading.Thread(target=wait)
        other.start()
        other.join(0.2)
        order.append("first")
    other.join(10)
    assert order == ["first", "other"]


def test_gold_labels_are_passed_again(run, refused, files, days):
    early, late, _ = days
    model, gold = files.folder / "model.npz", files.folder / "gold.csv"
    known = pd.read_csv(files.truth).head(12)
    known.to_csv(gold, index=False)
    assert run("fit", early, "--gold", gold, "--save", model).exit_code == 0
    assert "fitted with 12 gold labels" in refused("update", model, late, "--earlier", early)
    assert run("update", model, late, "--earlier", early, "--gold", gold).exit_code == 0
