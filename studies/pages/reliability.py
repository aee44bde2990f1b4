"""docs/reliability.md, from the results of benchmarks/reliability.py and docs/study/real.json."""

from collections.abc import Callable
from typing import Any

import numpy as np

from studies.chances import SHARE
from studies.markdown import group_by, join_blocks, markdown_table, share
from studies.records import Json

LIMIT = 0.02
_HEAD = """# Reliability: what was tried, and what failed

Every number on this page is written by `python benchmarks/reliability.py page` from what its other
parts measured, and from `docs/study/real.json`, which `unelisa reproduce real` fills; `SECURITY.md`
lists the promises and the test behind each of them."""
_REAL_VOTES = """## Calibration on real votes

Means over the sets of [the comparison](comparison.md) and over panels of LLM judges with two
labels. Log loss is that of the true labels (lower is better); the calibration error (ECE) has ten
bins; the stated confidence is the mean of max(P, 1 - P), which should equal the accuracy. Only
items with a known truth count. **The method was developed while looking at these votes.**
`unelisa reproduce rows real --out real.csv` writes every set."""


def render_reliability(results: Json, real: Json) -> str:
    """Return the page with the parts that were measured; `real` is the archive on real votes."""
    parts = [render(results[name]) for name, render in PARTS.items() if name in results]
    return join_blocks(_HEAD, *parts, _real_calibration(real))


def _tests(found: Json) -> str:
    rows = [
        [
            kind,
            f"`{row['file']}`",
            f"{row['tests'] - row['skipped']:,}",
            row["examples"] or "",
            row["failures"] + row["errors"],
        ]
        for kind, row in found["kinds"].items()
    ]
    header = ["kind", "tests", "cases", "generated examples", "failures"]
    return join_blocks(
        "## Cases tried",
        markdown_table(header, rows),
        f"The storage test also reads {found['damaged_files']:,} damaged versions of one model "
        "file: every byte flipped, and the file cut at every byte. Each one is rejected with a "
        "one-sentence message.",
    )


def _attacks(found: Json) -> str:
    failed = sum(len(row["failures"]) for row in found["kinds"].values())
    kinds = ", ".join(found["kinds"])
    total = sum(row["attacks"] for row in found["kinds"].values())
    asked = f"--seed {found['seed']}" + (f" --most {found['most']}" if found["most"] else "")
    return join_blocks(
        "## Attacks",
        f"`python benchmarks/attacks {asked}` made {total:,} attacks. One has failed if a command "
        "ends in anything but success or exit code 2 with one sentence, changes an input, leaves "
        "part of a file, prints control characters, does not end within five minutes, or kills the "
        "process; or if an update, another spelling of items, a damaged journal or log of judges "
        "gives other answers without an error, or a message repeats an item.",
        f"Failures: {failed}. What was tried: {kinds} (`benchmarks/attacks`).",
    )


def _kills(found: Json) -> str:
    return join_blocks(
        "## Killed while writing",
        "A process that keeps writing the four outputs of a fit was killed (`kill -9`) "
        f"{found['killed']} times at random moments. Incomplete files found under their final "
        f"names: {found['broken']}.",
    )


def _fuzz(found: Json) -> str:
    return join_blocks(
        "## Fuzzing",
        "`fuzz/read_votes.py` (atheris, coverage-guided) gave the readers "
        f"{found['executions']:,} files in {found['seconds']:,} seconds: {found['crashes']} "
        "crashes.",
    )


def _load(found: Json) -> str:
    sizes = found["megabytes"]
    return join_blocks(
        "## Sustained load",
        f"Votes of {found['voters']:,} voters on {found['items']:,} items were fitted "
        f"{found['fits']} times in {found['seconds']:.0f} seconds in one process. Resident memory "
        f"was {sizes[1]:,.0f} MB after the second fit and at most {max(sizes[1:]):,.0f} MB later: "
        f"growth {found['growth']:.1%}.",
    )


def _noise(found: Json) -> str:
    rows = [[kind, f"{share:.1%}"] for kind, share in found["flagged"].items()]
    spam = ""
    if "hitspam_flagged" in found:
        flagged = "flagged" if found["hitspam_flagged"] else "not flagged"
        spam = f" The votes of hitspam, which carry no information on the truth, are {flagged}."
    return join_blocks(
        "## Votes without a signal",
        "`reliable_` says whether the votes can identify a truth at all. Uninformative voters, "
        f"{found['noise_sets']} sets of each kind:",
        markdown_table(["noise", "flagged"], rows),
        f"Of {found['crowds']} crowds drawn from the paper's designs, {found['false_alarms']} were "
        f"flagged by mistake; the weakest was {found['weakest_crowd']:.0f} standard deviations "
        f"beyond chance.{spam}",
    )


def _calibration(found: Any) -> str:
    errors = [row["error"] for row in found]
    worst = max(found, key=lambda row: row["error"])["cell"]
    large = [row["cell"] for row in found if row["error"] >= LIMIT]
    named = f" ({', '.join(large)})" if large else ""
    crowds, flagged = (sum(row[key] for row in found) for key in ("crowds", "flagged"))
    return join_blocks(
        "## Calibration",
        "Expected calibration error (ten bins) of `LatentIsing` on votes drawn from its own model "
        "at the paper's sizes, with the sign taken from the truth.",
        f"The mean error is {np.mean(errors):.4f}, the largest {max(errors):.4f} ({worst}). "
        f"The error is {LIMIT} or more in {len(large)} of {len(found)} designs{named}. The fitted "
        f"model flagged {flagged} of these {crowds} crowds as unreliable.",
    )


_COMPARED = ("latent-ising", SHARE, "dawid-skene")
_COLUMNS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "log_loss": "log loss",
    "ece": "ECE",
    "confidence": "stated confidence",
}


def _real_calibration(real: Json) -> str:
    """Return the means over the sets, then those over the panels of judges."""
    rows = _calibration_rows(real["rows"], "sets")
    rows += _calibration_rows(real.get("panels", {}).get("rows", ()), "panels")
    if not rows:
        return ""
    return join_blocks(_REAL_VOTES, markdown_table(["votes", "method", *_COLUMNS.values()], rows))


def _calibration_rows(rows: Any, what: str) -> list[list[str]]:
    """Return a line per method: means over the sets on which all three methods stated chances."""
    found = []
    for mine in group_by(rows, "set").values():
        figures = {row["method"]: row["figures"] for row in mine}
        if all(_COLUMNS.keys() <= figures.get(method, {}).keys() for method in _COMPARED):
            found.append([[figures[method][key][0] for key in _COLUMNS] for method in _COMPARED])
    if not found:
        return []
    means = np.mean(found, axis=0).tolist()
    title = f"{len(found)} {what}"
    return [[title, method, *map(share, x)] for method, x in zip(_COMPARED, means, strict=True)]


PARTS: dict[str, Callable[[Any], str]] = {
    "tests": _tests,
    "attacks": _attacks,
    "kills": _kills,
    "fuzz": _fuzz,
    "load": _load,
    "evidence": _noise,
    "calibration": _calibration,
}
