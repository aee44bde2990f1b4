import builtins
import json

import pandas as pd
import pytest


@pytest.fixture
def model(run, files):
    path = files.folder / "model.npz"
    run("fit", files.votes, "--save", path)
    return path


def test_a_stored_model_has_a_page_on_its_voters(run, files, model):
    out = files.folder / "page.html"
    result = run("report", model, "--out", out)
    assert result.exit_code == 0, result.output
    page = out.read_text()
    assert "of 9 voters are experts" in page
    assert "items labeled" not in page


def test_with_a_truth_the_page_compares_and_names_items_if_asked(run, files, model):
    out = files.folder / "page.html"
    result = run("report", model, files.votes, "--truth", files.truth, "--show-items", "--out", out)
    assert result.exit_code == 0, result.output
    assert "Calibration" in out.read_text()
    assert "Items whose label is the least certain" in out.read_text()


def test_machines_get_the_findings(run, files, model):
    out = files.folder / "page.html"
    result = run("report", model, files.votes, "--out", out, "--json", "-")
    assert json.loads(result.stdout)["items"]["n"] == 600
    assert out.exists()


def test_a_truth_without_votes_is_refused(refused, files, model):
    assert "votes" in refused("report", model, "--truth", files.truth)


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


def test_the_page_opens_with_a_certificate_of_the_same_votes(run, refused, files, model):
    gold, facts = files.folder / "gold.csv", files.folder / "certificate.json"
    pd.read_csv(files.truth).sample(300, random_state=0).to_csv(gold, index=False)
    made = run("certify", files.votes, "--gold", gold, "--error", "20%", "--certificate", facts)
    assert made.exit_code == 0, made.output
    out = files.folder / "page.html"
    result = run("report", model, files.votes, "--certificate", facts, "--out", out, "--json", "-")
    assert result.exit_code == 0, result.output
    stated = json.loads(facts.read_text())
    assert json.loads(result.stdout)["certificate"] == stated
    page = out.read_text()
    assert page.index("Guaranteed</h2>") < page.index('class="answer"')
    assert stated["guarantee"][1:] in page
    arguments = "report", model, files.votes, "--out", files.folder / "other.html"
    assert "needs the votes" in refused("report", model, "--certificate", facts)
    for text, told in (("{}", "was not written by"), ("[", "was not written by")):
        facts.write_text(text)
        assert told in refused(*arguments, "--certificate", facts)
    facts.write_text(json.dumps({**stated, "votes_sha256": "0"}))
    assert "certificate of other votes" in refused(*arguments, "--certificate", facts)
