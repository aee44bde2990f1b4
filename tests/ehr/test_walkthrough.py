"""The page docs/how_to/health_records.md does what it says."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pandas as pd
from typer.testing import CliRunner

from unelisa.cli import app
from unelisa.cli.phenotype_config import Schemas, read_config
from unelisa.ehr.datamart import PATIENTS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how_to" / "health_records.md").read_text(encoding="utf-8")


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def test_every_command_and_the_python_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    script = "\n".join(blocks("sh")).replace("\\\n", " ")
    lines = [shlex.split(line, comments=True) for line in script.splitlines()]
    commands = [line[1:] for line in lines if line[:1] == ["unelisa"]]
    assert len(commands) == 4
    for command in commands:
        few = ["--patients", "400"] if command[0] == "simulate" else []
        result = CliRunner().invoke(app, [*command, *few])
        assert result.exit_code == 0, result.output
    (script,) = blocks("python")
    exec(compile(script, "health_records.md", "exec"), {})  # noqa: S102 - the page's own lines
    assert "NLP:rheumatoid arthritis" in capsys.readouterr().out
    made = {"ra.truth.csv", "phenotype.csv", "report.html", "cohort.csv", "ra.npz", "later.csv"}
    assert made <= {file.name for file in tmp_path.iterdir()}
    first, later = (pd.read_csv(name) for name in ("phenotype.csv", "later.csv"))
    pd.testing.assert_frame_equal(first, later)


def test_the_configuration_shown_is_the_example(tmp_path):
    shown, schemas = blocks("toml")
    (tmp_path / "shown.toml").write_text(shown, encoding="utf-8")
    here, example = read_config(tmp_path / "shown.toml"), read_config(ROOT / "examples" / "ra.toml")
    assert (here.title, here.request, here.anchors) == (
        example.title,
        example.request,
        example.anchors,
    )
    (tmp_path / "shown.toml").write_text(f"{shown}\n{schemas}", encoding="utf-8")
    assert read_config(tmp_path / "shown.toml").schemas == Schemas("cdm", "vocab", "results")


def test_the_figures_are_those_of_the_benchmark():
    stored = (ROOT / "benchmarks" / "results" / "ehr.json").read_text(encoding="utf-8")
    found = json.loads(stored)
    near, far = found["duckdb"], found["postgres"]
    cpu = near["counting"]["cpu"] + near["posterior"]["cpu"]
    apart = sum(far[part]["cpu"] for part in ("load", "counting", "posterior"))
    told = (
        f"measures it on {found['patients']:,} simulated patients with "
        f"{found['simulate']['rows']['note_nlp'] / 1e6:.1f} million mentions in notes "
        f"(`benchmarks/results/ehr.json`): from a DuckDB file to the posterior of every patient "
        f"{cpu:.1f} s of CPU and {near['peak_mb'] / 1000:.1f} GB; on PostgreSQL "
        f"{far['load_to_posterior_seconds']:.0f} s on the clock, the load of all tables included "
        f"({apart + far['server_cpu']:.0f} s of CPU, client and server together)."
    )
    assert told in " ".join(PAGE.split())


def test_the_figures_of_a_large_site_are_those_of_the_benchmark():
    stored = (ROOT / "benchmarks" / "results" / "site.json").read_text(encoding="utf-8")
    drawn, run = (json.loads(stored)[part] for part in ("draw", "phenotype"))
    records = sum(drawn["records"].values()) / 1e6
    kept, codes = (sum(one[name] for one in run["rare"]) for name in ("kept", "found"))
    told = (
        f"on {drawn['patients']:,} simulated patients with {records:.1f} "
        f"million records of {codes:,} codes in a DuckDB file (`benchmarks/results/site.json`): "
        f"{kept} features are frequent enough, and it takes {run['cpu']:.0f} s of CPU and "
        f"{run['peak_mb'] / 1000:.1f} GB from the file to the report. A table of all features "
        f"would need {4 * drawn['patients'] * codes / 1e9:.1f} GB and is refused."
    )
    assert told in " ".join(PAGE.split())


def test_the_default_number_of_patients_is_the_one_told():
    assert f"--patients {PATIENTS} is the default" in PAGE
