import errno
import json
import os

import pytest

from unelisa.study import figures, results
from unelisa.study.results import read_results

TWO = ("--cells", "high-25-log,low-25-log", "--trials", 2, "--jobs", 1)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "results"


def test_the_papers_numbers_stand_beside_ours(run, folder):
    result = run("reproduce", "tables", *TWO, "--results", folder)
    assert result.exit_code == 0, result.output
    assert "Table 5.1, high SNR; paper sampler, half graph; majority sign" in result.stdout
    assert "Table 5.3, low SNR" in result.stdout
    assert ".986  .987  .942  .946  .647  .581  .513  .607" in result.stdout
    assert "Mean absolute error against the 2 published cells: hit " in result.stdout
    assert "ms of processor time" in result.stdout
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    assert len(read_results(folder / "paper-half.jsonl")) == 4


def test_json_holds_both_readings(run, folder):
    first = run("reproduce", "tables", *TWO, "--results", folder, "--json", "-")
    table = json.loads(first.stdout)
    assert [cell["cell"] for cell in table["cells"]] == ["high-25-log", "low-25-log"]
    for cell in table["cells"]:
        assert set(cell["accuracy"]) == set(cell["up_to_sign"])
    again = run("reproduce", "tables", *TWO, "--results", folder, "--json", "-")
    assert json.loads(again.stdout) == table


def test_one_trial_alone_is_the_same_among_others(run, folder, tmp_path):
    alone = ("--cells", "low-25-log", "--trials", 1, "--jobs", 2)
    run("reproduce", "tables", *TWO, "--results", folder)
    run("reproduce", "tables", *alone, "--results", tmp_path / "alone")
    many, one = (read_results(f / "paper-half.jsonl") for f in (folder, tmp_path / "alone"))
    for trial, record in one.items():
        assert record["scores"] == many[trial]["scores"]


def test_samplers_graphs_and_methods_are_chosen(run, folder):
    chosen = ("--sampler", "mixed", "--graph", "tree", "--methods", "majority-vote,oracle")
    result = run("reproduce", "tables", *TWO, *chosen, "--results", folder, "--up-to-sign")
    assert "mixed sampler, tree graph; up to a global sign" in result.stdout
    records = read_results(folder / "mixed-tree.jsonl")
    assert {tuple(record["scores"]) for record in records.values()} == {("majority-vote", "oracle")}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--sampler", "honest"), "--sampler must be one of paper, mixed, found 'honest'"),
        (("--graph", "dense"), "--graph must be one of half, full, tree"),
        (("--cells", "low-82"), "no cell is called"),
        (("--methods", "tarot"), "the study has no method 'tarot'"),
        (("--json", "absent/x.json"), "there is no folder absent"),
        (("--trials", "0"), "Invalid value for '--trials'"),
    ],
)
def test_bad_choices_are_one_sentence(refused, folder, arguments, sentence):
    assert sentence in refused("reproduce", "tables", *arguments, "--results", folder)
    assert not folder.exists()


def test_a_full_disk_is_one_sentence_and_keeps_what_was_done(refused, run, folder, monkeypatch):
    write, lines = os.write, []

    def full(handle, line):
        if line.startswith(b'{"cell"'):
            lines.append(line)
            if len(lines) > 2:
                raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, line)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        sentence = refused("reproduce", "tables", *TWO, "--results", folder)
    assert sentence == "Error: cannot write paper-half.jsonl: No space left on device"
    assert len(read_results(folder / "paper-half.jsonl")) == 2
    assert run("reproduce", "tables", *TWO, "--results", folder).exit_code == 0


def test_ctrl_c_says_that_trials_are_kept(run, folder, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(results, "run_trial", interrupted)
    result = run("reproduce", "tables", *TWO, "--results", folder)
    assert result.exit_code == 130
    assert "finished trials are kept" in result.stderr
    assert "Traceback" not in result.output


def test_help_without_a_command(run):
    result = run("reproduce")
    assert result.exit_code == 0
    assert "tables" in result.stdout
    assert "figures" in result.stdout


def test_figures_and_page(run, refused, tmp_path, folder, monkeypatch):
    monkeypatch.setattr(figures, "_GRID", 3)
    monkeypatch.setattr(figures, "LEVELS", ())
    docs = tmp_path / "docs"
    arguments = ("--trials", 1, "--jobs", 1, "--results", folder)
    result = run("reproduce", "figures", *arguments, "--out", docs / "images", "--json", "-")
    assert result.exit_code == 0, result.output
    assert str(docs / "images" / "figure-2-1.svg") in json.loads(result.stdout)
    assert (docs / "images" / "figure-2-1.svg").exists()
    assert (docs / "images" / "sizes-paper-half.png").exists()
    told = refused("reproduce", "page", "--results", folder, "--out", docs)
    assert "run unelisa reproduce tables --sampler mixed" in told
