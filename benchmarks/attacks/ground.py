"""What is attacked: every command with its files, and what an attack may not do."""

import json
import re
import shutil
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from typer.testing import CliRunner

import unelisa as ue
from unelisa.cli import app
from unelisa.ehr.datamart import simulate_ehr
from unelisa.ehr.omop.datamart import write_datamart

PAYLOADS = json.loads((Path(__file__).parent / "payloads.json").read_text(encoding="utf-8"))
DEADLINE = 300  # seconds that an attack may take, also where the machine is busy
# no text on a screen: C0 but line feeds and tabs, DEL, C1, and marks that turn the direction
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
ANCHORS = ["ICD:714.0", "NLP:rheumatoid arthritis"]
RECORDS = f"""
[records]
features = ["ICD:714.%", "NLP:joint swelling", "NLP:synovitis", "NLP:morning stiffness"]
utilization = "note_count"
[phenotype]
anchors = {json.dumps(ANCHORS)}
"""
RULES = '[rules]\n"one code" = "ICD:714.0"\n"two codes" = "ICD:714.0 >= 2"\n'


class In(NamedTuple):
    """An input of a command: a file or a folder."""

    name: str


class Out(NamedTuple):
    """An output of a command."""

    name: str


LABELS, PAGE, MODEL, FACTS = Out("new.csv"), Out("new.html"), Out("new.npz"), Out("new.json")
VOTES, TRUTH, FITTED = In("votes.csv"), In("truth.csv"), In("model.npz")
COMMANDS: dict[str, list[Any]] = {
    "fit": ["fit", VOTES, "--method", "majority-vote", "--truth", TRUTH, "--out", LABELS,
            "--report", PAGE, "--save", MODEL, "--json", FACTS],
    "fit with gold": ["fit", VOTES, "--method", "dawid-skene", "--gold", In("gold.csv"),
                      "--out", LABELS],
    "fit a folder": ["fit", In("parts"), "--method", "majority-vote", "--out", LABELS],
    "predict": ["predict", FITTED, VOTES, "--out", LABELS],
    "report": ["report", FITTED, VOTES, "--truth", TRUTH, "--out", PAGE, "--json", FACTS],
    "compare": ["compare", VOTES, "--truth", TRUTH, "--methods", "majority-vote", "--json", FACTS],
    "rate": ["rate", FITTED, VOTES, "--gold", In("gold.csv"), "--json", FACTS],
    "suggest": ["suggest", FITTED, VOTES, "--n", 5, "--cost", In("costs.csv"), "--out", LABELS],
    "update": ["update", FITTED, In("late.csv"), "--earlier", VOTES, "--save", MODEL,
               "--out", LABELS, "--json", FACTS],
    "jury": ["jury", In("log.jsonl"), "--gold", In("gold.csv"), "--out", LABELS, "--report", PAGE,
             "--json", FACTS],
    "pattern tables": ["rules", "--pattern-table", In("site.csv"), In("other.csv"),
                       "--out", LABELS, "--json", FACTS],
    "phenotype": ["phenotype", In("ra.duckdb"), "--config", In("ra.toml"), "--gold",
                  In("charts.csv"), "--out", LABELS, "--report", PAGE, "--cohort",
                  Out("cohort.csv"), "--save", MODEL, "--json", FACTS],
    "rules": ["rules", In("ra.duckdb"), "--config", In("rules.toml"), "--charts", In("charts.csv"),
              "--out", LABELS, "--review", Out("review.csv"), "--json", FACTS],
    "review": ["review", FITTED, VOTES, "--items", In("texts.csv"), "--gold", Out("answers.csv")],
}  # fmt: skip
QUICK = [name for name in COMMANDS if name not in ("phenotype", "rules", "review")]


def lay_out(folder: Path) -> None:
    """Write every file that the commands read."""
    rng = np.random.default_rng(0)
    truth = rng.random(60) < 0.5
    votes = np.where(rng.random((60, 6)) < 0.8, truth[:, None], ~truth[:, None])
    items = [f"i{i}" for i in range(60)]
    table = pd.DataFrame(np.where(votes, "yes", "no"), items, [f"w{s}" for s in range(6)])
    table = table.mask(rng.random(table.shape) < 0.2).rename_axis("item")
    table[:50].to_csv(folder / "votes.csv")
    table[50:].to_csv(folder / "late.csv")
    (folder / "parts").mkdir()
    table.reset_index().to_parquet(folder / "parts" / "a.parquet")
    labels = pd.DataFrame({"item": items, "label": np.where(truth, "yes", "no")})
    labels.to_csv(folder / "truth.csv", index=False)
    labels[:10].to_csv(folder / "gold.csv", index=False)
    labels.assign(text="some text").drop(columns="label").to_csv(folder / "texts.csv", index=False)
    (folder / "costs.csv").write_text("voter,cost\nw1,2.5\n")
    ue.save(ue.LatentIsing().fit(ue.read_votes(folder / "votes.csv")), folder / "model.npz")
    with (folder / "log.jsonl").open("w") as log:
        for (item, judge), label in table.stack().items():
            log.write(json.dumps({"item": item, "judge": judge, "label": label}) + "\n")
    for name in ("site.csv", "other.csv"):
        counts = rng.integers(20, 500, 8)
        rows = [f"{k >> 2},{k >> 1 & 1},{k & 1},{n}" for k, n in enumerate(counts)]
        (folder / name).write_text("\n".join(["a,b,c,patients", *rows, ""]))
    drawn = simulate_ehr(300, random_state=8)
    write_datamart(drawn, folder / "ra.duckdb")
    (folder / "ra.toml").write_text(f'title = "Rheumatoid arthritis"\n{RECORDS}')
    (folder / "rules.toml").write_text(f'title = "Rheumatoid arthritis"\n{RULES}{RECORDS}')
    charts = pd.DataFrame({"person_id": drawn.counts.index[:40], "label": [0, 1] * 20})
    charts.to_csv(folder / "charts.csv", index=False)


@contextmanager
def fresh(ground: Path, place: Path) -> Iterator[Path]:
    """Give a copy of all files."""
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(ground, place)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def spell(command: str, folder: Path, **instead: Any) -> list[str]:
    """Return the arguments of a command; files may be replaced, by their names."""

    def spell_one(part: Any) -> str:
        return str(
            instead.get(part.name, folder / part.name) if isinstance(part, In | Out) else part
        )

    return [spell_one(part) for part in COMMANDS[command]]


def list_files(command: str, kind: type) -> list[Any]:
    """Return the inputs or the outputs of a command."""
    return [part for part in COMMANDS[command] if isinstance(part, kind)]


class TooLongError(BaseException):
    """Raised where a command does not end by itself."""


def run(arguments: list[str]) -> Any:
    """Call the command line in this process, at most for some time."""
    signal.alarm(DEADLINE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return CliRunner().invoke(app, arguments)
    except TooLongError:
        return SimpleNamespace(exit_code=124, output="", stderr=f"more than {DEADLINE} s")
    finally:
        signal.alarm(0)


def blame(result: Any, *, must_refuse: bool = False) -> str:
    """Return what is wrong with how a command ended; nothing if it worked or refused."""
    if CONTROLS.search(result.output):
        return "control characters on the screen"
    if result.exit_code == 0:
        return "not refused" if must_refuse else ""
    errors = [line for line in result.stderr.splitlines() if line.startswith("Error: ")]
    if result.exit_code != 2 or len(errors) != 1 or "Traceback" in result.output:
        return f"exit {result.exit_code}: {result.stderr[-300:]}"
    return ""


def look_at(folder: Path) -> dict[str, Any]:
    """Return the content of every file, without following links."""
    return {
        str(path): path.read_bytes()
        if path.is_file() and not path.is_symlink()
        else path.lstat().st_mode
        for path in folder.rglob("*")
        if path.lstat().st_size < 1 << 30
    }
