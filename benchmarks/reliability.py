"""Reliability, in numbers.

    python benchmarks/reliability.py tests        tests of bad input, crashes, privacy, ...
    python benchmarks/reliability.py kills        kill -9 while outputs are written, 50 times
    python benchmarks/reliability.py evidence     how often noise and simulated crowds are flagged
    python benchmarks/reliability.py calibration  how well probabilities are calibrated
    python benchmarks/reliability.py load         memory over repeated fits of 46,568 x 1,400 votes
    python benchmarks/reliability.py fuzz LOG     the executions in the log of fuzz/read_votes.py
    python benchmarks/reliability.py page         docs/reliability.md, from what was measured

The page also has the counts of `python benchmarks/attacks`. Each part is written as it finishes and
replaces its earlier results.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from solver_votes import stored_votes

import unelisa as ue
from studies.markdown import write_page
from studies.pages.reliability import render_reliability
from studies.paper.cells import CELLS
from studies.records import read_archive
from unelisa.aggregators.identifiability import check_identifiability
from unelisa.analysis.scoring import calibration_error
from unelisa.errors import UnelisaWarning

HERE = Path(__file__).parent
ROOT = HERE.parent
RESULTS = HERE / "results" / "reliability.json"
ATTACKS = HERE / "results" / "attacks.json"
KINDS = {
    "bad files": "tests/hostile/test_files.py",
    "bad commands": "tests/hostile/test_commands.py",
    "generated files": "tests/hostile/test_generated.py",
    "degenerate votes": "tests/test_degenerate.py",
    "statistical honesty": "tests/aggregators/test_identifiability.py",
    "damaged model files": "tests/test_storage.py",
    "determinism": "tests/test_determinism.py",
    "privacy": "tests/test_privacy.py",
    "interruptions and full disks": "tests/test_main.py",
    "wheel and sdist": "tests/test_build.py",
}
NOISE = ("balanced", "unbalanced", "missing", "unbalanced and missing")
LOAD = (46_568, 1_400)


def count_tests(kinds: list[str], before: dict[str, Any]) -> dict[str, Any]:
    """Run these kinds' tests; count cases, generated examples, failures and skips."""
    counted = dict(before)
    for kind in kinds:
        file = KINDS[kind]
        with tempfile.TemporaryDirectory() as folder:
            record = Path(folder) / "record.xml"
            command = [
                sys.executable,
                "-m",
                "pytest",
                file,
                f"--junitxml={record}",
                "--timeout=900",
            ]
            done = subprocess.run(
                [*command, "--hypothesis-show-statistics"],
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=False,
            )
            suite = ElementTree.parse(record).getroot()[0]  # noqa: S314 - our own file
        examples = sum(map(int, re.findall(r"(\d+) passing(?: examples)?,", done.stdout)))
        counts = {
            name: int(suite.get(name, 0)) for name in ("tests", "failures", "errors", "skipped")
        }
        counted[kind] = {"file": file, "examples": examples, **counts}
        print(kind, counted[kind], flush=True)
    return counted


def count_flips() -> int:
    """Return how many damaged versions of a model file the storage test tries."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.npz"
        ue.save(ue.MajorityVote().fit([[1, -1], [-1, 1]]), file)
        return 2 * file.stat().st_size


def count_kills(tries: int = 50) -> dict[str, int]:
    """Kill a writing process again and again; count what was found broken."""
    with tempfile.TemporaryDirectory() as folder:
        program = ROOT / "tests" / "hostile" / "killed.py"
        command = [sys.executable, program, folder, str(tries)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    return {"tries": tries, "killed": found["killed"], "broken": len(found["broken"])}


def draw_noise(rng: np.random.Generator, kind: str) -> ue.Votes:
    """Votes of uninformative voters, with or without individual biases."""
    n_items, n_voters = int(rng.integers(30, 5000)), int(rng.integers(2, 82))
    yes = rng.beta(1, 3, n_voters) if "unbalanced" in kind else np.full(n_voters, 0.5)
    values = np.where(rng.random((n_items, n_voters)) < yes, 1, -1).astype(np.int8)
    if "missing" in kind:
        values[rng.random(values.shape) < rng.uniform(0.1, 0.95)] = 0
    names = np.array([f"v{s}" for s in range(n_voters)], dtype=object)
    return ue.Votes.of_values(np.asfortranarray(values), np.arange(n_items), names)


def rate_evidence(seed: int, sets: int, repeats: int) -> dict[str, object]:
    """Rates of flagged noise and of simulated crowds flagged by mistake."""
    rng = np.random.default_rng(seed)
    flagged = {
        kind: sum(not check_identifiability(draw_noise(rng, kind)).reliable for _ in range(sets))
        / sets
        for kind in NOISE
    }
    alarms, weakest = 0, np.inf
    for cell in CELLS:
        for repeat in range(repeats):
            drawn = ue.simulate_votes(
                cell.n_voters, cell.size, cell.snr, random_state=seed + repeat
            )
            verdict = check_identifiability(drawn.votes)
            alarms += not verdict.reliable
            weakest = min(weakest, max(verdict.agreement, verdict.dependence))
    crowds = len(CELLS) * repeats
    found = {"seed": seed, "noise_sets": sets, "flagged": flagged, "crowds": crowds}
    hitspam = ROOT.parent / "shared" / "data" / "hitspam" / "votes.csv.gz"
    if hitspam.exists():
        found["hitspam_flagged"] = not check_identifiability(ue.read_votes(hitspam)).reliable
    return {**found, "false_alarms": alarms, "weakest_crowd": float(weakest)}


def rate_calibration(seed: int, repeats: int) -> list[dict[str, object]]:
    """Expected calibration error at the paper's sizes, the sign taken from the truth."""
    rows = []
    for cell in CELLS:
        chances, truths, flagged = [], [], 0
        for repeat in range(repeats):
            drawn = ue.simulate_votes(
                cell.n_voters, cell.size, cell.snr, random_state=seed + repeat
            )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnelisaWarning)
                model = ue.LatentIsing(random_state=0).fit(drawn.votes)
            flagged += not model.reliable_
            positive = model.predict_proba(drawn.votes)[:, 1]
            right = np.mean((positive >= 0.5) == (drawn.truth > 0))
            chances.append(positive if right >= 0.5 else 1 - positive)
            truths.append(drawn.truth)
        error = calibration_error(np.concatenate(truths), np.concatenate(chances))
        counts = {"items": sum(map(len, truths)), "crowds": repeats, "flagged": flagged}
        rows.append({"cell": cell.name, **counts, "error": float(error)})
        print(rows[-1], flush=True)
    return rows


def hold_load(seconds: float) -> dict[str, object]:
    """Fit the same large votes over and over; the resident memory after each fit."""
    values = np.load(stored_votes(*LOAD, HERE / ".envs"))
    names = np.array([f"v{s}" for s in range(LOAD[1])], dtype=object)
    votes = ue.Votes.of_values(values, np.arange(LOAD[0]), names)
    start, memory = time.monotonic(), []
    while time.monotonic() - start < seconds or len(memory) < 4:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnelisaWarning)
            ue.UnElisa(random_state=0, n_jobs=-1, fit_intercept=True).fit(votes).predict_proba(
                votes
            )
        memory.append(resident_bytes())
        print(f"{time.monotonic() - start:.0f} s, {memory[-1] / 1e6:.0f} MB", flush=True)
    settled = memory[1:]  # the first fit loads compiled code and workspaces
    return {
        "items": LOAD[0],
        "voters": LOAD[1],
        "seconds": time.monotonic() - start,
        "fits": len(memory),
        "megabytes": [round(size / 1e6, 1) for size in memory],
        "growth": max(settled) / settled[0] - 1,
    }


def resident_bytes() -> int:
    """The process's resident memory now."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return 1024 * int(re.search(r"VmRSS:\s+(\d+)", status)[1])


def read_fuzz(log: Path) -> dict[str, int]:
    """Executions and seconds of a finished fuzzing run, and whether it found a crash."""
    text = log.read_text(encoding="utf-8", errors="replace")
    runs, seconds = map(int, re.search(r"Done (\d+) runs in (\d+) second", text).groups())
    return {"executions": runs, "seconds": seconds, "crashes": text.count("Test unit written")}


def read_results() -> dict[str, Any]:
    """What was measured so far."""
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parts = ("tests", "kills", "evidence", "calibration", "load", "fuzz", "page")
    parser.add_argument("part", choices=parts)
    parser.add_argument("log", nargs="?", type=Path)
    parser.add_argument("--kinds", nargs="+", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--seed", type=int, default=50_000)
    parser.add_argument("--sets", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=600.0)
    chosen = parser.parse_args()
    if chosen.part == "page":
        real = read_archive(ROOT / "docs" / "study" / "real.json", "rows", "unelisa reproduce real")
        results = read_results()
        if ATTACKS.exists():
            results["attacks"] = json.loads(ATTACKS.read_text(encoding="utf-8"))
        write_page(ROOT / "docs" / "reliability.md", render_reliability(results, real))
        return
    kinds = read_results().get("tests", {}).get("kinds", {})
    measured = {
        "tests": lambda: {
            "kinds": count_tests(chosen.kinds, kinds),
            "damaged_files": count_flips(),
        },
        "kills": count_kills,
        "evidence": lambda: rate_evidence(chosen.seed, chosen.sets, chosen.repeats),
        "calibration": lambda: rate_calibration(chosen.seed, chosen.repeats),
        "load": lambda: hold_load(chosen.seconds),
        "fuzz": lambda: read_fuzz(chosen.log),
    }[chosen.part]()
    results = {**read_results(), chosen.part: measured}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(measured)[:2000])


if __name__ == "__main__":
    main()
