"""`unelisa reproduce`: every study from its votes to its page, again, and from its archive."""

import errno
import json
import os
import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from studies import cli
from studies.commands import Study
from studies.jury import estimates
from studies.jury import runs as jury_runs
from studies.paper import trials
from studies.paper.trials import read_results
from studies.prior.runs import FITTED
from studies.rate import runs as rate_runs
from studies.real.sets import VARIABLE
from studies.records import format_archive, make_archive
from studies.rules import runs as rules_runs
from studies.worth import runs as worth_runs
from unelisa.ehr.rules.evaluation import QUANTITIES
from unelisa.latent import prior

DOCS = Path(__file__).resolve().parents[2] / "docs"
TWO = ("--cells", "high-25-log,low-25-log", "--trials", 2, "--jobs", 1)
# studies with stored results: one that has not been run yet has neither archive nor page
RUN = [x for x in cli.STUDIES.values() if (DOCS / "study" / f"{x.name}.json").is_file()]
CHEAP = ("--methods", "unelisa,majority-vote,oracle")


class Case(NamedTuple):
    """How a study is run small, what its page and its screen then say, and how many rows it has."""

    options: tuple
    page: str
    screen: str
    rows: int
    needs_sets: bool = True


CASES = {
    "real": Case(
        ("--methods", "wawa,DawidSkene,unelisa-intercepts", "--no-supervised"),
        *("| llm_judges | ", "Mean ranks over 2 sets", 6),
    ),
    "classes": Case(
        ("--methods", "majority-vote,dawid-skene"),
        *("| birds | 3 | no | 90 | 80 | 6 |", "Means over 1 sets", 2),
    ),
    "rate": Case(("--draws", 4), "on 3 sets of votes, 4 times 40 random items", "llm_judges", 4),
    "worth": Case((), "| Real votes | 3 |", "few voters", 7),
    "review": Case(("--draws", 1), "| birds | 3 | 40 |", "llm_judges", 3),
    "certify": Case(("--draws", 4), "| birds |", "birds", 3),
    "jury": Case(("--draws", 3), "| llm_judges | 2 | 80 | 7 |", "llm_judges", 1),
    "prior": Case(("--no-trials",), "| birds | park | 3 |", "birds", 3),
    "rules": Case(
        ("--part", "reporting", "--seeds", "0-1"),
        *('arthritis,22%,0,".000, 1.00 (6 of 6)"', "diabetes", 18, False),
    ),
    "worlds": Case(
        (
            *("--seeds", "0-1", "--kinds", "independent,copies"),
            *("--methods", "latent-ising,majority-vote,dawid-skene"),
        ),
        *("## Choosing part", "Choosing part, 4 worlds", 2, False),
    ),
    "ehr": Case(
        ("--seeds", "3", "--patients", 1500, "--splits", 2, "--no-rare"),
        *("**Phenotyper**,none", "ra-3", 23, False),
    ),
}


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "results"


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Let the studies do less than their options can ask for, with nothing beside the folder."""
    monkeypatch.setattr(rate_runs, "simulate_models", lambda draws: [SIMULATED])
    monkeypatch.setattr(jury_runs, "TIMES", (2,))
    monkeypatch.setattr(jury_runs, "list_crowd_kit", tuple)  # whose import takes seconds
    monkeypatch.setattr(jury_runs, "run_simulated", lambda *_: None)
    monkeypatch.setattr(estimates, "PANEL_RESAMPLES", 5)
    monkeypatch.setattr(worth_runs, "CROWDS", range(100, 101))
    monkeypatch.setattr(worth_runs, "SEEN_WORLDS", range(0))
    monkeypatch.setattr(worth_runs, "KINDS", {"few voters": ""})
    monkeypatch.setattr(rules_runs, "run_world", _state_world)
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)


SIMULATED = {"model": "useless", "share": 0.5, "labels": 5} | {
    f"{alone}{figure}": 0.5 for alone in ("", "alone_") for figure in ("coverage", "width", "error")
}


def _state_world(place, patients):
    table = [[0.5, 0.6, 0.7]] * len(QUANTITIES)
    ways = {"truth": table, "agreement": table, "records": [table] * 3, "charts": [table] * 3}
    judged = {"ppv": [0.9, 0.8, 1.0, 0.9], "error": 0.1, "platt": 0.1}
    labels = {n: {**judged, "flagged": 20, "drawn": 60} for n in ("none", "50", "100")}
    labels["silent"] = [0.1, 0.1]
    sets = [{"rules": "3 separate", **ways}]
    return {**place._asdict(), "reliable": True, "labels": labels, "sets": sets}


@pytest.mark.parametrize("name", CASES)
def test_a_study_runs_once_writes_its_page_and_is_shown_again(
    run, small, listed_sets, folder, tmp_path, name
):
    case, study, docs = CASES[name], cli.STUDIES[name], tmp_path / "docs"
    results = () if name == "prior" else ("--results", folder)
    asked = (name, *case.options, *results) + (("--data", listed_sets) if case.needs_sets else ())
    result = run(*asked, "--out", docs, "--json", tmp_path / "a.json")
    assert result.exit_code == 0, result.output
    assert case.screen in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    page = (docs / study.page).read_text(encoding="utf-8")
    tables = [x.read_text(encoding="utf-8") for x in (docs / "study").glob("*.csv")]
    assert case.page in "".join([page, *tables])
    archive = json.loads((docs / "study" / f"{name}.json").read_text())
    assert archive == json.loads((tmp_path / "a.json").read_text())
    assert len(study.list_rows(archive)) == case.rows
    assert study.list_stale(archive) == []  # it is what the present code makes
    done = contents(folder)
    again = run(*asked, "--json", "-")
    assert (contents(folder), json.loads(again.stdout)) == (done, archive)
    (docs / study.page).unlink()
    stored = docs / "study" / f"{name}.json"
    assert run(name, "--from", stored, "--out", docs).exit_code == 0
    assert (docs / study.page).read_text(encoding="utf-8") == page
    assert stored.read_text() == format_archive(archive, *study.keys)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("tables", "--sampler", "honest"), "must be one of paper, mixed, found 'honest'"),
        (("tables", "--graph", "dense"), "--graph must be one of half, full, tree"),
        (("tables", "--cells", "low-82"), "no cell matches"),
        (("tables", "--methods", "tarot"), "the study has no method 'tarot'"),
        (("tables", "--json", "absent/x.json"), "there is no folder absent"),
        (("tables", "--trials", "0"), "Invalid value for '--trials'"),
        (("worlds", "--part", "all"), "--part must be one of choosing, reporting, hard-choosing,"),
        (("worlds", "--kinds", "two_topics"), "the choosing part has no kind 'two_topics'"),
        (("worlds", "--seeds", "2-1"), "distinct nonnegative integers"),
        (("worlds", "--methods", "oracle"), "the study has no method 'oracle'"),
        (("rules", "--part", "showing"), "--part must be one of choosing, reporting"),
        (("ehr", "--seeds=1,1"), "distinct nonnegative integers"),
        (("ehr", "--seeds", "3", "--data", "."), "lacks features.csv.gz or truth.csv"),
        (("prior", "--data", "."), "sources.csv"),
        (("replay", "--data", "."), "name the folder of data and data_k"),
        *(((name, "--data", "none"), "is not a folder") for name in ("rate", "jury", "classes")),
        *(((name,), "name their folder with --data") for name in ("review", "worth", "certify")),
    ],
)
def test_bad_choices_are_one_sentence(refused, small, folder, arguments, sentence):
    results = () if arguments[0] == "prior" else ("--results", folder)
    assert sentence in refused(*arguments, *results)
    assert not list(folder.glob("*"))


def test_files_of_another_kind_are_refused(refused, listed_sets, tmp_path):
    other = tmp_path / "other.json"
    other.write_text(json.dumps(make_archive(votes=[])))
    for name in CASES:
        assert "is not an archive of this study" in refused(name, "--from", other)
    asked = ("prior", "--data", listed_sets, "--sets")
    assert "fewer than 3 sources" in refused(*asked, "coins,birds")
    assert "found 'shells'" in refused(*asked, "shells")
    (tmp_path / "taken").write_text("")
    assert "folder" in refused("ehr", "--out", tmp_path / "taken")


def test_the_numbers_in_use_are_those_that_were_fitted():
    """Rounded as they are written; what is fitted anew may differ in the second place."""
    stored = DOCS / "study" / "prior.json"
    if not stored.is_file():
        pytest.skip("docs/study/prior.json is not there: run unelisa reproduce prior --out docs")
    fitted = json.loads(stored.read_text(encoding="utf-8"))["fitted"]
    assert set(fitted) == set(FITTED)
    for name, value in fitted.items():
        np.testing.assert_allclose(getattr(prior, name), value, atol=0.02, err_msg=name)


def test_replays_are_run_drawn_and_shown_again(run, folder, tmp_path):
    data, docs = tmp_path / "shared", tmp_path / "docs"
    for place, name, labels in (
        *(("data", x, "-1,1") for x in ("bluebirds", "llm_judges", "magic_ensemble")),
        *(("data_k", x, "a,b") for x in ("care_civilcomments", "triviaqa_judges_v1")),
        ("data_k", "dog", "a,b,c"),
    ):
        said = labels.split(",")
        (data / place / name).mkdir(parents=True)
        truth = "".join(f"{i},{said[i % len(said)]}\n" for i in range(12))
        (data / place / name / "truth.csv").write_text(f"item,label\n{truth}")
        (data / place / name / ("votes.csv" if place == "data" else "votes.csv.gz")).touch()
    some = ("--sets", "copies", "--policies", "random", "--seeds", "0", "--results", folder)
    result = run("replay", "--data", data, *some, "--json", "-")
    (row,) = json.loads(result.stdout)["replays"]
    assert (row["set"], row["policy"]) == ("copies", "random")
    assert row["curve"][0][0] == row["items"] <= 500
    better = {**row, "policy": "ours", "curve": [[n, x + 0.05, y] for n, x, y in row["curve"]]}
    stored = tmp_path / "replay.json"
    stored.write_text(format_archive(make_archive(replays=[better, row]), "set"))
    shown = run("replay", "--from", stored, "--out", docs)
    assert "+0.0500" in shown.stdout
    assert "rank 1 of 2" in (docs / "replay.md").read_text()
    assert (docs / "images" / "replay.svg").is_file()
    assert (docs / "study" / "replay.json").read_text() == stored.read_text()


@pytest.fixture
def docs(tmp_path):
    """A copy of the stored archives and their pages."""
    shutil.copytree(DOCS / "study", tmp_path / "docs" / "study", dirs_exist_ok=True)
    for study in RUN:
        shutil.copy(DOCS / study.page, tmp_path / "docs" / study.page)
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


def test_ctrl_c_says_that_work_is_kept_and_help_names_the_studies(run, folder, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(trials, "run_trial", interrupted)
    result = run("tables", *TWO, "--results", folder)
    assert result.exit_code == 130
    assert "finished work is kept" in result.stderr
    assert "Traceback" not in result.output
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
    drawn = contents(docs / "study")
    command = ("page",) if study.name == "tables" else (study.name, "--from", archive)
    result = run(*command, "--out", docs)
    assert result.exit_code == 0, result.output
    assert contents(docs / "study") == drawn  # archives, and the long tables of the page
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
    assert "**Stale.** Other code than this release's" in marked
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
    monkeypatch.setattr(Study, "write", lambda *_: 1 / 0)
    assert run("page", "--out", docs, "--results", folder).exit_code == 1
    for name in ("real", "ehr", "worlds"):
        stored = ("--from", docs / "study" / f"{name}.json")
        assert run(name, "--out", docs, *stored).exit_code == 1
    assert contents(docs) == before
