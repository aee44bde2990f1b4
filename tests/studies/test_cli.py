import errno
import json
import os
import shutil
from pathlib import Path

import pandas as pd
import pytest

from studies import cli
from studies.paper import trials
from studies.paper.trials import read_results
from studies.rate import runs as rate_runs
from studies.real.sets import VARIABLE

DOCS = Path(__file__).resolve().parents[2] / "docs"
TWO = ("--cells", "high-25-log,low-25-log", "--trials", 2, "--jobs", 1)
# studies with stored results: one that has not been run yet has neither archive nor page
RUN = [x for x in cli.STUDIES.values() if (DOCS / "study" / f"{x.name}.json").is_file()]
CHEAP = ("--methods", "unelisa,majority-vote,oracle")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "results"


@pytest.fixture
def docs(tmp_path):
    """A copy of the stored archives and their pages."""
    (tmp_path / "docs" / "study").mkdir(parents=True)
    for study in RUN:
        for name in (study.page, f"study/{study.name}.json"):
            shutil.copy(DOCS / name, tmp_path / "docs" / name)
    return tmp_path / "docs"


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_papers_numbers_stand_beside_ours(run, folder):
    names = ",".join(name for name in trials.METHODS if name != "latent-ising")  # it is slow
    asked = ("tables", *TWO, "--methods", names, "--results", folder)
    result = run(*asked)
    assert result.exit_code == 0, result.output
    assert "Table 5.1, high SNR; paper sampler, half graph; majority sign" in result.stdout
    assert ".986  .987  .942  .946  .647  .581  .513  .607" in result.stdout
    assert "Mean absolute error against the 2 published cells: hit " in result.stdout
    assert "CPU time per trial" in result.stdout
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    records = read_results(folder / "paper-half.jsonl")
    assert len(records) == 4
    again = json.loads(run(*asked, "--json", "-").stdout)
    assert [cell["cell"] for cell in again["cells"]] == ["high-25-log", "low-25-log"]
    assert read_results(folder / "paper-half.jsonl") == records


def test_samplers_graphs_and_methods_are_chosen(run, folder):
    chosen = ("--sampler", "mixed", "--graph", "tree", "--methods", "majority-vote,oracle")
    result = run("tables", *TWO, *chosen, "--results", folder, "--up-to-sign")
    assert "mixed sampler, tree graph; up to a global sign" in result.stdout
    records = read_results(folder / "mixed-tree.jsonl")
    assert {tuple(record["scores"]) for record in records.values()} == {("majority-vote", "oracle")}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--sampler", "honest"), "--sampler must be one of paper, mixed, found 'honest'"),
        (("--graph", "dense"), "--graph must be one of half, full, tree"),
        (("--cells", "low-82"), "no cell matches"),
        (("--methods", "tarot"), "the study has no method 'tarot'"),
        (("--json", "absent/x.json"), "there is no folder absent"),
        (("--trials", "0"), "Invalid value for '--trials'"),
    ],
)
def test_bad_choices_are_one_sentence(refused, folder, arguments, sentence):
    assert sentence in refused("tables", *arguments, "--results", folder)
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
        sentence = refused("tables", *TWO, *CHEAP, "--results", folder)
    assert sentence == "Error: cannot write paper-half.jsonl: No space left on device"
    assert len(read_results(folder / "paper-half.jsonl")) == 2
    assert run("tables", *TWO, *CHEAP, "--results", folder).exit_code == 0


def test_ctrl_c_says_that_work_is_kept(run, folder, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(trials, "run_trial", interrupted)
    result = run("tables", *TWO, "--results", folder)
    assert result.exit_code == 130
    assert "finished work is kept" in result.stderr
    assert "Traceback" not in result.output


def test_help_without_a_command(run):
    result = run()
    assert result.exit_code == 0
    for name in ("tables", "figures", "page", "real", "ehr", "worlds"):
        assert name in result.stdout


def test_figures_are_drawn_from_trials_and_series_and_named(run, tmp_path, folder, monkeypatch):
    monkeypatch.setattr("studies.cli.CELLS", ())
    monkeypatch.setattr("studies.paper.cells.SERIES_FACTORS", (4,))
    images = tmp_path / "images"

    def draw(study, series, out, suffix):
        assert (len(study), len(series), out, suffix) == (0, 3, images, "paper-half")
        return [images / "figure.svg"]

    monkeypatch.setattr("studies.cli.draw_all", draw)
    arguments = ("--trials", 1, "--jobs", 1, "--results", folder)
    result = run("figures", *arguments, "--out", images, "--json", "-")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == [str(images / "figure.svg")]


@pytest.mark.parametrize("study", RUN, ids=lambda study: study.name)
def test_pages_say_what_their_archives_hold_and_whether_it_is_stale(run, docs, study):
    (docs / study.page).write_text("an old page")
    archive = docs / "study" / f"{study.name}.json"
    drawn = {path: path.read_bytes() for path in docs.rglob("*.json")}
    command = ("page",) if study.name == "tables" else (study.name, "--from", archive)
    result = run(*command, "--out", docs)
    assert result.exit_code == 0, result.output
    assert {path: path.read_bytes() for path in docs.rglob("*.json")} == drawn
    again, mark = study.again.format(name=study.name), " ".join(map(str, command))
    assert (docs / study.page).read_text() == (DOCS / study.page).read_text(), (
        f"{study.page} is not what its archive and the present code say: "
        f"compute its numbers again with `{again}`, or write the page, which then says what is "
        f"stale, with `unelisa reproduce {mark} --out docs`"
    )


def test_stale_rows_are_counted_and_rows_written_as_a_table(run, docs, tmp_path):
    found = json.loads(run("stale", "--out", docs, "--json", "-").stdout)
    counted = {row["study"]: row for row in found}
    archive = json.loads((docs / "study" / "rate.json").read_text())
    assert counted["rate"]["rows"] == len(archive["sets"]) + len(archive["models"])
    archive["sets"][0]["code"] = "of other code"
    for row in archive["sets"][1:]:
        row["code"] = rate_runs.STAMP(row)
    for row in archive["models"]:
        row["code"] = rate_runs.SIMULATED_STAMP(row)
    (docs / "study" / "rate.json").write_text(json.dumps(archive))
    (docs / "rate.md").write_text("an old page")
    result = run("stale", "--out", docs, "--mark")
    (line,) = [line.split() for line in result.stdout.splitlines() if line.startswith("rate ")]
    assert line == ["rate", str(counted["rate"]["rows"]), "1"]
    assert "unelisa reproduce rate --out docs" in result.stdout
    marked = (docs / "rate.md").read_text()
    assert "**Stale.** Numbers on this page" in marked
    assert "an old page" not in marked
    assert run("rows", "rate", "--docs", docs, "--out", tmp_path / "rows.csv").exit_code == 0
    table = pd.read_csv(tmp_path / "rows.csv")
    assert len(table) == counted["rate"]["rows"]
    assert {"set", "coverage.0", "code"} <= set(table.columns)


def test_nothing_is_replaced_before_the_work_has_succeeded(run, refused, docs, folder, monkeypatch):
    """A fresh clone has no results: the stored archive and page stay as they are."""
    before = contents(docs)
    folder.mkdir()
    sentence = refused("page", "--out", docs, "--results", folder)
    assert "holds no finished trials: run unelisa reproduce tables first" in sentence
    run("tables", *TWO, *CHEAP, "--results", folder)
    monkeypatch.setattr(cli, "TABLES", cli.TABLES._replace(render=lambda _: 1 / 0))
    assert run("page", "--out", docs, "--results", folder).exit_code == 1
    for name in ("real", "ehr", "worlds"):
        stored = ("--from", docs / "study" / f"{name}.json")
        broken = getattr(cli, name.upper())._replace(render=lambda _: 1 / 0)
        monkeypatch.setattr(cli, name.upper(), broken)
        assert run(name, "--out", docs, *stored).exit_code == 1
    assert contents(docs) == before


def test_results_that_are_too_few_for_a_page_name_what_to_run(run, refused, folder, tmp_path):
    run("tables", *TWO, *CHEAP, "--results", folder)
    sentence = refused("page", "--results", folder, "--out", tmp_path / "docs")
    assert "run unelisa reproduce tables --sampler paper" in sentence
    assert not (tmp_path / "docs").exists()
    assert "tables.json is not an archive" in refused("page", "--out", tmp_path / "docs")


@pytest.fixture
def data(tmp_path, crowd):
    votes, truth = crowd
    place = tmp_path / "data" / "crowd"
    place.mkdir(parents=True)
    header = ",".join(["item", *(f"w{s}" for s in range(9))])
    rows = [f"i{i}," + ",".join(map(str, row)) for i, row in enumerate(votes.values)]
    (place / "votes_wide.csv").write_text("\n".join([header, *rows, ""]))
    labels = [f"i{i},{sign}" for i, sign in enumerate(truth)]
    (place / "truth.csv").write_text("\n".join(["item,label", *labels, ""]))
    return place.parent


def test_real_votes_give_rows_page_and_archive(run, data, tmp_path):
    out, results = tmp_path / "docs", tmp_path / "results"
    asked = ["--data", data, "--results", results, "--no-supervised"]
    methods = ("--methods", "wawa,DawidSkene,unelisa-intercepts")
    result = run("real", *asked, *methods, "--out", out)
    assert result.exit_code == 0, result.output
    assert "Mean ranks over 1 sets" in result.stdout
    assert "| crowd | dawid-skene |" in (out / "comparison.md").read_text()
    archive = json.loads((out / "study" / "real.json").read_text())
    assert [row["method"] for row in archive["rows"]] == [
        *("dawid-skene", "wawa", "unelisa-intercepts")
    ]
    again = run("real", *asked, *methods, "--json", "-")
    assert json.loads(again.stdout) == archive
    more = ("--results", tmp_path / "others", "--methods", "majority-vote", "--out", out)
    run("real", *asked[:2], "--no-supervised", *more)
    added = json.loads((out / "study" / "real.json").read_text())  # what was there stays
    assert len(added["rows"]) == 4


def test_folders_and_files_of_another_kind_are_refused(refused, data, tmp_path):
    sentence = refused("real", "--data", tmp_path / "data" / "crowd", "--results", tmp_path / "r")
    assert "holds votes.csv and truth.csv" in sentence
    votes = data / "crowd" / "votes_wide.csv"
    for command in ("real", "ehr", "worlds"):
        assert "not an archive of this study" in refused(command, "--from", votes)


@pytest.fixture
def asked(tmp_path, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)  # nothing lies beside it
    return ("--patients", 1500, "--splits", 2, "--no-rare", "--results", tmp_path / "results")


def test_health_records_give_table_page_figure_and_archive(run, asked, tmp_path):
    out = tmp_path / "docs"
    result = run("ehr", "--seeds", "3", *asked, "--out", out)
    assert result.exit_code == 0, result.output
    assert "ra-3" in result.stdout
    assert "### Seed 3" in (out / "phenotyping_study.md").read_text()
    assert (out / "images" / "ehr-ra-3.svg").stat().st_size > 1000
    archive = json.loads((out / "study" / "ehr.json").read_text())
    assert [facts["set"] for facts in archive["sets"]] == ["ra-3"]
    again = run("ehr", "--seeds", "3", *asked, "--json", "-")
    assert json.loads(again.stdout) == archive


def test_bad_seeds_and_folders_are_refused_before_anything_runs(refused, asked, tmp_path):
    for seeds in ("a", "1,1", "-2"):
        assert "distinct nonnegative integers" in refused("ehr", f"--seeds={seeds}", *asked)
    sentence = refused("ehr", "--seeds", "3", *asked, "--data", tmp_path)
    assert "lacks features.csv.gz or truth.csv" in sentence
    (tmp_path / "taken").write_text("")
    assert "folder" in refused("ehr", *asked, "--out", tmp_path / "taken")
    assert not list((tmp_path / "results").iterdir())


def test_worlds_give_table_page_figure_and_archive(run, tmp_path):
    out, results = tmp_path / "docs", tmp_path / "results"
    asked = ("worlds", "--seeds", "0-1", "--kinds", "independent,copies", "--results", results)
    methods = ("--methods", "latent-ising,majority-vote,dawid-skene")
    result = run(*asked, *methods, "--out", out)
    assert result.exit_code == 0, result.output
    assert "Choosing part, 4 worlds" in result.stdout
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    assert "## Choosing part" in (out / "worlds.md").read_text()
    assert (out / "images" / "worlds-choosing.svg").stat().st_size > 1000
    archive = json.loads((out / "study" / "worlds.json").read_text())
    assert [(row["kind"], row["worlds"]) for row in archive["kinds"]] == [
        *(("copies", 2), ("independent", 2))
    ]
    assert json.loads(run(*asked, *methods, "--json", "-").stdout) == archive


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("--part", "all"),
            "--part must be one of choosing, reporting, hard-choosing, hard-reporting, found 'all'",
        ),
        (("--kinds", "two_topics"), "the choosing part has no kind 'two_topics'"),
        (("--seeds", "2-1"), "distinct nonnegative integers"),
        (("--methods", "oracle"), "the study has no method 'oracle'"),
    ],
)
def test_bad_choices_of_worlds_are_one_sentence(refused, folder, arguments, sentence):
    assert sentence in refused("worlds", *arguments, "--results", folder)
    assert not folder.exists()
