import socket
import threading

import pandas as pd
import pytest

from review.reviewing import Browser, answer_to
from unelisa.cli.phenotype_reviews import read_charts
from unelisa.review.server import ReviewServer

CHARTS = "person_id,label,probability,drawn\n7,,0.9,0.5\n8,,0.2,0.25\n"


@pytest.fixture
def answering(run, monkeypatch):
    """Run the command, answer some items over the network, and stop it."""

    def call(*arguments, labels):
        told, serve = [], ReviewServer.run

        def serve_and_answer(server):
            # a browser of other tests may have an event loop in this thread
            thread = threading.Thread(target=serve, args=(server,))
            thread.start()
            try:
                browser = Browser(server)
                for label in labels:
                    shown = browser.json("/question")[1]["question"]
                    told.append(shown["name"])
                    browser.json("/answer", answer_to(shown, label))
            finally:
                server.stop()
                thread.join()

        with monkeypatch.context() as patch:
            patch.setattr(ReviewServer, "run", serve_and_answer)
            result = run("review", *arguments)
        assert result.exit_code == 0, result.output
        return told, result.stdout

    return call


def test_answers_of_a_model_are_gold_labels_of_every_command(answering, run, refused, files):
    model, gold = files.folder / "model.npz", files.folder / "gold.csv"
    fitted = run("fit", files.votes, "--method", "dawid-skene", "--save", model)
    assert fitted.exit_code == 0
    arguments = (model, files.votes, "--gold", gold, "--reviewer")
    _, told = answering(*arguments, "ann", labels=[1, 0, None])
    assert "127.0.0.1" in told
    assert f"3 answers in {gold}" in told.replace("\n", "")
    answering(*arguments, "bob", "--aim", "rate", labels=[1] * 2)
    assert pd.read_csv(gold)["reviewer"].tolist() == ["ann"] * 3 + ["bob"] * 2
    assert run("fit", files.votes, "--method", "dawid-skene", "--gold", gold).exit_code == 0
    rated = run("rate", model, files.votes, "--gold", gold)
    assert "2 with a gold label" in rated.stdout  # those that were drawn at random
    gold.write_text("".join(gold.read_text().splitlines(keepends=True)[:4]))
    assert "not drawn at random" in refused("rate", model, files.votes, "--gold", gold)


def test_a_model_that_kept_its_votes_needs_no_others(answering, run, refused, files):
    model, gold = files.folder / "model.npz", files.folder / "gold.csv"
    assert run("fit", files.votes, "--save", model, "--keep-votes").exit_code == 0
    asked, _ = answering(model, "--gold", gold, labels=[1])
    assert pd.read_csv(gold)["item"].tolist() == asked
    assert run("fit", files.votes, "--save", model).exit_code == 0
    assert "was saved without its votes" in refused("review", model, "--gold", gold)


def test_charts_of_a_phenotype_are_reviewed(answering, tmp_path):
    charts, gold = tmp_path / "charts.csv", tmp_path / "reviewed.csv"
    charts.write_text(CHARTS)
    notes = tmp_path / "notes.csv"
    notes.write_text("person_id,text\n7,a note\n8,another\n")
    asked, _ = answering(charts, "--gold", gold, "--items", notes, labels=[1, 0])
    read = read_charts(gold)
    assert read.loc[asked, "label"].tolist() == [1, 0]
    assert read.loc[["7", "8"], "drawn"].tolist() == [0.5, 0.25]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["votes.csv", "--aim", "gold"],
            "--aim must be one of labels, rate, certify, found 'gold'",
        ),
        (["votes.csv", "--gold", "votes.csv"], "votes.csv is an input of this command"),
        (["model.npz"], "model.npz cannot be read"),
        (["votes.csv", "votes.csv"], "votes.csv is not a model; name the votes alone"),
        (["votes.csv", "--reviewer", " "], "a reviewer's name must have 1 to 60 characters"),
        (["votes.csv", "--aim", "certify", "--loss", "far"], "needs more than two ordered classes"),
        (
            ["votes.csv", "--aim", "certify", "--per", "item"],
            "per must be file, automatic or class",
        ),
        (["votes.csv", "--aim", "certify", "--weights", "truth.csv"], "columns item and weight"),
    ],
)
def test_bad_arguments_are_refused(refused, files, monkeypatch, arguments, sentence):
    monkeypatch.chdir(files.folder)
    assert sentence in refused("review", *arguments)
    assert not (files.folder / "gold.csv").exists()


def test_a_port_in_use_is_refused_and_charts_have_no_labels_to_certify(refused, tmp_path):
    charts = tmp_path / "charts.csv"
    charts.write_text(CHARTS)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = refused("review", charts, "--gold", tmp_path / "gold.csv", "--port", port)
    assert f"cannot listen on port {port}" in told
    charts.write_text("person_id,label,probability,drawn\n1,,0.4,0.5\n2,,0.7,0.5\n")
    told = refused("review", charts, "--aim", "certify", "--gold", tmp_path / "gold.csv")
    assert "--aim certify is for votes" in told
