"""Other programs on the sets of real votes, each in its own environment.

    python benchmarks/peers.py                     # everything that is missing, then the page
    python benchmarks/peers.py --only snorkel      # peers whose name contains a word
    python benchmarks/peers.py --again --only deem # run these again

The environments are built under benchmarks/.envs, which git ignores, so our tests do not depend on
them. Each peer has its defaults (docs/comparison.md lists the exceptions), one thread, 120 s of CPU
time and 6 GB per set; one that fails or takes longer has a row that says so. Rows go to
results/real/peers.jsonl, or, with --only, to their own file, so that several can run at the same
time; their form is that of `studies.real.runs`. At the end these rows and those of
`unelisa reproduce real`, run where they are missing, are added to docs/study/real.json, and
docs/comparison.md is written from it.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import venv
from functools import cache
from pathlib import Path

import numpy as np
from peer_programs import LIMIT, PROGRAMS

from studies.markdown import store_tables, write_page, write_tables
from studies.real.page import render_real
from studies.real.runs import (
    PEERS,
    collect_real,
    list_tasks,
    make_row,
    read_rows,
    run_real,
    score_answers,
)
from studies.real.sets import find_sets
from studies.records import format_archive, open_results, read_archive
from unelisa.kernels.threads import one_blas_thread

HERE = Path(__file__).parent
ENVIRONMENTS = HERE / ".envs"
LIMIT_BYTES = 6 * 2**30
PATIENCE = 3600  # wall time: a peer that hangs uses no CPU time
# torch by its exact version: plain torch installs gigabytes of GPU libraries.
# crowd-kit's Wawa and ZeroBasedSkill break with newer releases of scikit-learn. flyingsquid
# declares no dependencies; pgmpy 0.1.20 has what it imports, and needs pkg_resources.
TORCH = "torch==2.13.0"
PINS = {
    "crowd-kit": ["crowd-kit==1.4.2", "scikit-learn<1.6"],
    "snorkel": ["snorkel==0.10.0", TORCH],
    "flyingsquid": [
        "flyingsquid==0.0.0a0",
        "pgmpy==0.1.20",
        "tqdm",
        "numpy<2",
        "setuptools<81",
        TORCH,
    ],
    "hyperlm": ["hyperlm==0.0.5", TORCH],
    "deem": ["deem==0.2.0", TORCH],
}


def build_environment(name):
    """Return the Python of a peer's environment, built if it is missing or its pins changed."""
    folder, pins = ENVIRONMENTS / name, "\n".join(PINS[name])
    python, mark = folder / "bin" / "python", folder / "pins.txt"
    if not (mark.exists() and mark.read_text() == pins):
        print(f"building {folder}", flush=True)
        venv.create(folder, clear=True, symlinks=True, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PINS[name]], check=True)
        mark.write_text(pins)
    return python


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))


def run_peer(peer, python, votes_file, folder):
    """Run a peer; return what it wrote, and a note if it wrote nothing."""
    out = folder / "answers.npz"
    out.unlink(missing_ok=True)
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    command = [python, HERE / "peer_programs.py", peer, votes_file, out]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env={**os.environ, **threads, "PYTHONPATH": ""},
            preexec_fn=limit_memory,  # this program has one thread
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, {}, f"did not finish within {PATIENCE} s"
    if done.returncode == -signal.SIGXCPU:
        return None, {}, f"took more than {LIMIT} s"
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        return None, {}, f"failed: {last[0][:120]}"
    return np.load(out), json.loads(done.stdout.splitlines()[-1]), ""


def score_peer(peer, python, name, known, folder):
    scored = known.scored_votes()
    votes_file = folder / "votes.npy"
    np.save(votes_file, scored.values)
    answers, facts, note = run_peer(peer, python, votes_file, folder)
    where = name, peer, PEERS
    if answers is None:
        return make_row(where, {}, note=note)
    scores, chances = answers["scores"], answers["chances"]
    if not np.isfinite(scores).all():
        return make_row(where, {}, note="failed: some scores are not numbers")
    figures = score_answers(known, scores, None if np.isnan(chances).all() else chances)
    return make_row(where, figures, facts["seconds"], f"version {facts['version']}")


def run_peers(sets, results, only, again):
    there = {(row["set"], row["method"]) for row in read_rows(results)}
    word = "".join(letter for letter in only.lower() if letter.isalnum())
    file = results / (f"peers-{word}.jsonl" if word else "peers.jsonl")
    read = cache(lambda name: sets[name]())
    with open_results(file) as rows, tempfile.TemporaryDirectory() as place:
        for peer in PROGRAMS:  # the quick ones come first
            missing = [name for name in sets if again or (name, peer) not in there]
            if only.lower() not in peer.lower() or not missing:
                continue
            python = build_environment(PROGRAMS[peer][0])
            for name in missing:
                row = score_peer(peer, python, name, read(name), Path(place))
                rows.append(row)
                shown = row["figures"].get("accuracy", ["-"])[0]
                print(f"{peer:28} {name:18} {shown} {row['seconds']} {row['note']}", flush=True)


def main():
    root = HERE.parent
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=root.parent / "shared" / "data")
    parser.add_argument("--results", type=Path, default=root / "results" / "real")
    parser.add_argument("--docs", type=Path, default=root / "docs")
    parser.add_argument("--only", default="", help="peers whose name contains this")
    parser.add_argument("--again", action="store_true", help="also run what is there")
    parser.add_argument(
        "--peers-only", action="store_true", help="neither our methods nor the page"
    )
    asked = parser.parse_args()
    asked.results.mkdir(parents=True, exist_ok=True)
    sets = find_sets(asked.data)
    with one_blas_thread():
        run_peers(sets, asked.results, asked.only, asked.again)
    if asked.peers_only:
        return
    run_real(sets, asked.results, list_tasks())
    stored = asked.docs / "study" / "real.json"
    stored.parent.mkdir(parents=True, exist_ok=True)
    old = read_archive(stored, "rows", "unelisa reproduce real") if stored.exists() else None
    archive = collect_real(asked.results, old)
    page, tables = store_tables(render_real(archive), "real")
    write_page(stored, format_archive(archive, "set"))
    write_page(asked.docs / "comparison.md", page)
    write_tables(asked.docs, tables)


if __name__ == "__main__":
    sys.exit(main())
