"""docs/reliability.md from results/reliability.json: what was tried, how often, what failed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

LIMIT = 0.02
HEAD = """# Reliability: what was tried, and what failed

Every number on this page is written by `python benchmarks/reliability.py page` from what its other
parts measured; `SECURITY.md` says what is promised and which test holds each promise.
"""


def write_page(results: Mapping[str, Any], path: Path) -> None:
    """Write the page with the parts that were measured."""
    writers = {
        "tests": _tests,
        "kills": _kills,
        "fuzz": _fuzz,
        "load": _load,
        "evidence": _evidence,
        "calibration": _calibration,
    }
    parts = [write(results[name]) for name, write in writers.items() if name in results]
    path.write_text("\n".join([HEAD, *parts]), encoding="utf-8")


def _tests(found: Mapping[str, Any]) -> str:
    rows = [
        f"| {kind} | `{row['file']}` | {row['tests'] - row['skipped']:,} "
        f"| {row['examples'] or ''} | {row['failures'] + row['errors']} |"
        for kind, row in found["kinds"].items()
    ]
    table = "\n".join(rows)
    return f"""## Cases tried

| kind | tests | cases | generated examples | failures |
|---|---|---|---|---|
{table}

The storage test also reads {found["damaged_files"]:,} damaged versions of one model file: every
byte flipped, and the file cut at every byte. Every one is refused in a sentence.
"""


def _kills(found: Mapping[str, Any]) -> str:
    return f"""## Killed while writing

A process that writes the four outputs of a fit over and over was killed (`kill -9`)
{found["killed"]} times at random moments. Files found partial under their names: {found["broken"]}.
"""


def _fuzz(found: Mapping[str, Any]) -> str:
    return f"""## Fuzzing

`fuzz/read_votes.py` (atheris, coverage-guided) gave the readers {found["executions"]:,} files in
{found["seconds"]:,} seconds: {found["crashes"]} crashes.
"""


def _load(found: Mapping[str, Any]) -> str:
    sizes = found["megabytes"]
    return f"""## Load held

Votes of {found["voters"]:,} voters on {found["items"]:,} items were fitted {found["fits"]} times in
{found["seconds"]:.0f} seconds in one process. Resident memory after the second fit
{sizes[1]:,.0f} MB, at most {max(sizes[1:]):,.0f} MB later: growth {found["growth"]:.1%}.
"""


def _evidence(found: Mapping[str, Any]) -> str:
    rows = "\n".join(f"| {kind} | {share:.1%} |" for kind, share in found["flagged"].items())
    spam = ""
    if "hitspam_flagged" in found:
        verdict = "flagged" if found["hitspam_flagged"] else "not flagged"
        spam = f" The votes of hitspam, which say nothing of their truth, are {verdict}."
    return f"""## Votes that cannot be believed

`reliable_` says whether votes can tell of a truth at all (`unelisa/identifiability.py`). Voters who know
nothing, {found["noise_sets"]} sets of each kind:

| noise | flagged |
|---|---|
{rows}

Of {found["crowds"]} crowds drawn from the paper's designs, {found["false_alarms"]} were flagged
by mistake; the weakest lay {found["weakest_crowd"]:.0f} standard deviations beyond chance.{spam}
"""


def _calibration(found: list[Mapping[str, Any]]) -> str:
    rows = "\n".join(f"| {row['cell']} | {row['items']:,} | {row['error']:.4f} |" for row in found)
    wrong = [row["cell"] for row in found if row["error"] >= LIMIT]
    named = f", {', '.join(wrong)}" if wrong else ""
    crowds, flagged = (sum(row[key] for row in found) for key in ("crowds", "flagged"))
    return f"""## Calibration

Expected calibration error (ten bins) of `LatentIsing` on votes drawn from its own model at the
paper's sizes, with the side taken from the truth:

| design | items | error |
|---|---|---|
{rows}

The error reaches {LIMIT} in {len(wrong)} of {len(found)} designs{named}. Of these {crowds} crowds,
{flagged} were flagged as unreliable by the fitted model.
"""
