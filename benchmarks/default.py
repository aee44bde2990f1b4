"""The default beside Dawid and Skene's EM, ours and crowd-kit's, and how its cost grows with votes.

    python benchmarks/default.py                     every part, into results/default.json and
                                                     docs/scaling.md
    python benchmarks/default.py --parts growth      one part

peers   LatentIsing and DawidSkene beside crowd-kit's DawidSkene, on the same votes
jobs    wall seconds of a fit with one thread and with two
growth  LatentIsing and DawidSkene from 10,000 to 100,000,000 votes

Votes are drawn from the model of Dawid and Skene: ten on each item, of one voter for 2,000 votes,
at least 50. A fit has a process of its own and one thread (but for jobs), which has fitted a few
votes before, so that nothing is compiled. Seconds are of the processor, the least of the rounds,
in which the programs take turns.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from scaling import describe_machine

from studies.markdown import fill_marks
from studies.pages.scaling import DEFAULT_PARTS

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "default.json"
PEERS = [(92_000, 2), (1_900_000, 2), (10_000_000, 2), (92_000, 10)]
GROWTH = [10**k for k in range(4, 9)]
JOBS = 10_000_000
PROGRAMS = ("crowd-kit", "LatentIsing", "DawidSkene")
SHORT = 20_000  # votes on which kernels are loaded before anything is measured


def draw_cells(n_votes, n_classes, seed=0):
    """Items, voters and answers of the votes."""
    rng = np.random.default_rng(seed)
    n_items, n_voters = n_votes // 10, max(50, n_votes // 2_000) // 10 * 10
    truth = rng.integers(n_classes, size=n_items, dtype=np.int8)
    apart = np.arange(10, dtype=np.int32) * (n_voters // 10)  # ten different voters on each item
    voters = apart + rng.integers(n_voters // 10, size=(n_items, 10), dtype=np.int32)
    right = rng.random((n_items, 10), dtype=np.float32) < rng.uniform(0.5, 0.95, n_voters)[voters]
    shift = rng.integers(1, n_classes, size=(n_items, 10), dtype=np.int8)
    said = np.where(right, truth[:, None], (truth[:, None] + shift) % n_classes)
    return n_items, n_voters, voters.ravel(), said.ravel()


def draw_votes(n_votes, n_classes):
    import unelisa as ue  # noqa: PLC0415 - the parent does without

    n_items, n_voters, voters, said = draw_cells(n_votes, n_classes)
    codes = (2 * said - 1 if n_classes == 2 else said + 1).astype(np.int8)
    table = codes, voters, np.arange(0, n_votes + 1, 10)
    return ue.Votes.of(sp.csr_array(table, shape=(n_items, n_voters)))


def draw_frame(n_votes, n_classes):
    import pandas as pd  # noqa: PLC0415

    n_items, _, voters, said = draw_cells(n_votes, n_classes)
    items = np.repeat(np.arange(n_items), 10)
    return pd.DataFrame({"task": items, "worker": voters, "label": said})


def measure(program, n_votes, n_classes, n_jobs):
    """Processor and wall seconds of one fit."""
    warnings.simplefilter("ignore")
    if program == "crowd-kit":
        from crowdkit.aggregation import DawidSkene  # noqa: PLC0415

        votes, work = draw_frame(n_votes, n_classes), DawidSkene().fit
        DawidSkene().fit(draw_frame(SHORT, n_classes))
    else:
        import unelisa as ue  # noqa: PLC0415

        kind = getattr(ue, program)
        votes, work = draw_votes(n_votes, n_classes), kind(n_jobs=n_jobs).fit
        kind(n_jobs=n_jobs).fit(draw_votes(SHORT, n_classes))
    wall, cpu = time.perf_counter(), time.process_time()
    work(votes)
    return {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}


def run(program, n_votes, n_classes, n_jobs=1):
    """The same in a process of its own."""
    asked = json.dumps([program, n_votes, n_classes, n_jobs])
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    call = [sys.executable, __file__, "--measure", asked]
    done = subprocess.run(
        call, capture_output=True, text=True, env=os.environ | threads, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    found = json.loads(done.stdout.splitlines()[-1])
    print(asked, json.dumps(found), flush=True)
    return found


def take_turns(settings, rounds, field):
    """The least seconds of each setting, by what it is."""
    found = {key: [] for key in settings}
    for _ in range(rounds):
        for key, asked in settings.items():
            found[key].append(run(*asked)[field])
    return {key: min(seconds) for key, seconds in found.items()}


def run_peers(rounds):
    return [
        {"votes": n, "classes": k, **take_turns({p: (p, n, k) for p in PROGRAMS}, rounds, "cpu")}
        for n, k in PEERS
    ]


def run_jobs(rounds):
    jobs = {str(n): ("LatentIsing", JOBS, 2, n) for n in (1, 2)}
    return {"votes": JOBS, "wall": take_turns(jobs, rounds, "wall")}


def run_growth(rounds):
    found = {}
    for program in PROGRAMS[1:]:
        seconds = [
            take_turns({n: (program, n, 2)}, rounds if n <= JOBS else 1, "cpu")[n] for n in GROWTH
        ]
        found[program] = seconds
    return {"votes": GROWTH, "seconds": found}


PARTS = {"peers": run_peers, "jobs": run_jobs, "growth": run_growth}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure")
    asked = parser.parse_args()
    if asked.measure:
        print(json.dumps(measure(*json.loads(asked.measure))))
        return
    report = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for part in asked.parts:
        report[part] = {"machine": describe_machine(), "found": PARTS[part](asked.rounds)}
        RESULTS.write_text(json.dumps(report, indent=2) + "\n")
    if {"peers", "growth"} <= set(report):
        parts = {name: table(report) for name, table in DEFAULT_PARTS.items()}
        fill_marks(HERE.parent / "docs" / "scaling.md", parts)


if __name__ == "__main__":
    main()
