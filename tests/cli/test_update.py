import json
import subprocess
import sys
import threading

import pandas as pd
import pytest

import unelisa as ue
from unelisa.outputs import holding


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


def test_what_cannot_be_updated_is_one_sentence(run, refused, files, days):
    early, late, _ = days
    model = files.folder / "model.npz"
    refused("fit", early, "--method", "wawa", "--save", model, "--keep-votes")
    assert run("fit", early, "--method", "wawa", "--save", model).exit_code == 0
    assert "only latent-ising is updated, found Wawa" in refused("update", model, late)


def test_no_other_output_replaces_the_model(run, refused, files, days):
    early, late, _ = days
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
