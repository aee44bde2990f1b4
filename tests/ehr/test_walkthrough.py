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


def test_the_configuration_and_the_number_of_patients_are_those_told(tmp_path):
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
    assert f"--patients {PATIENTS} is the default" in PAGE


def load(name):
    return json.loads((ROOT / "benchmarks" / "results" / name).read_text(encoding="utf-8"))


def test_the_figures_are_those_of_the_benchmark():
    found = load("ehr.json")
    near, far = found["duckdb"], found["postgres"]
    cpu = near["counting"]["cpu"] + near["posterior"]["cpu"]
    told = (
        f"From a DuckDB file with {found['patients']:,} simulated patients to the posterior of "
        f"every patient takes {cpu:.1f} s of CPU and {near['peak_mb'] / 1000:.1f} GB, on "
        f"PostgreSQL {far['load_to_posterior_seconds']:.0f} s on the clock with the load of all "
        "tables"
    )
    assert told in " ".join(PAGE.split())
    drawn, run = (load("site.json")[part] for part in ("draw", "phenotype"))
    kept, codes = (sum(one[name] for one in run["rare"]) for name in ("kept", "found"))
    told = (
        f"{drawn['patients']:,} patients with {codes:,} codes, of which {kept} features are "
        f"frequent enough, {run['cpu']:.0f} s of CPU and {run['peak_mb'] / 1000:.1f} GB (`python "
        f"benchmarks/site.py`). A table of all features would need "
        f"{4 * drawn['patients'] * codes / 1e9:.1f} GB and is refused."
    )
    assert told in " ".join(PAGE.split())


def test_the_figures_of_the_phenotype_library_are_those_of_the_benchmark():
    found = load("phenotype_library.json")
    told = (
        f"Of the {found['definitions']:,} definitions of OHDSI's PhenotypeLibrary "
        f"{found['accepted']:,} are read, and {found['equal']:,} find exactly the patients that "
        f"Circe's own SQL finds in databases whose {found['patients']} patients"
    )
    page = (ROOT / "docs" / "how_to" / "rules.md").read_text(encoding="utf-8")
    assert told in " ".join(page.split())
