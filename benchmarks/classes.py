"""CPU time and peak memory on votes of more than two classes, beside crowd-kit in the same run.

    python benchmarks/classes.py                       # 100,000 items, 200 voters, 10 classes
    python benchmarks/classes.py --items 20000         # fewer items, as many votes on each
    python benchmarks/classes.py --only dawid-skene    # fits whose name contains a word

Votes are drawn once: 20 on each item, of voters with confusions of their own, spammers and copies.
Every fit runs in a process of its own, on one core, after a small fit that compiles the kernels.
CPU is that of `fit` alone. Memory is the largest that the process has used, and how much of it lies
above the process with all modules loaded. Results go to results/classes.json.

latent-ising          LatentIsing on all classes
latent-ising, binary  LatentIsing on the first class against the rest
dawid-skene           DawidSkene on all classes
crowd-kit             crowd-kit's DawidSkene, if it is installed
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "classes.json"
FITS = ("latent-ising", "latent-ising, binary", "dawid-skene", "crowd-kit")
RATIOS = (
    ("latent-ising", "latent-ising, binary", "at most 4"),
    ("latent-ising", "crowd-kit", "not above 1"),
    ("dawid-skene", "crowd-kit", "not above 1"),
)
VOTES_PER_ITEM = 20
SEED = 40_000
MEGABYTE = 2**20


def draw_votes(items, voters, classes):
    """Votes and truth as codes."""
    import numpy as np  # noqa: PLC0415 - the parent needs it for drawing only

    from unelisa.simulation.designs import simulate_classes  # noqa: PLC0415

    missing = 1 - min(VOTES_PER_ITEM / voters, 1.0)
    drawn = simulate_classes(classes, voters, items, missing=missing, random_state=SEED)
    return np.ascontiguousarray(drawn.votes.values), drawn.truth


def read_status(name):
    """Bytes of memory by a line of Linux's account; a parent's peak is not in VmHWM."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def as_votes(values, classes):
    import numpy as np  # noqa: PLC0415 - children measure what importing takes

    import unelisa as ue  # noqa: PLC0415

    n_items, n_voters = values.shape
    names = np.arange(n_items), np.arange(n_voters)
    return ue.Votes.of_values(np.asfortranarray(values), *names, tuple(range(classes)))


def prepare(name, values, classes):
    """What is fitted: a function without arguments that returns the labels' codes."""
    import numpy as np  # noqa: PLC0415

    if name == "crowd-kit":
        import pandas as pd  # noqa: PLC0415
        from crowdkit.aggregation import DawidSkene  # noqa: PLC0415

        items, voters = np.nonzero(values)
        said = values[items, voters]
        table = pd.DataFrame({"task": items, "worker": voters, "label": said})
        return lambda: DawidSkene().fit(table).labels_.reindex(range(len(values))).to_numpy()
    import unelisa as ue  # noqa: PLC0415

    votes = as_votes(values, classes)
    if name == "latent-ising, binary":
        votes = votes.one_against_rest(0)
    model = ue.DawidSkene() if name == "dawid-skene" else ue.LatentIsing(n_jobs=1)
    return lambda: model.fit(votes)


def measure(name, file, classes):
    """Run one fit in this process; print its figures as JSON."""
    import numpy as np  # noqa: PLC0415

    warnings.simplefilter("ignore")
    stored = np.load(file)
    values, truth = stored["values"], stored["truth"]
    prepare(name, values[:2000], classes)()  # compiles
    loaded = read_status("VmRSS")
    fit = prepare(name, values, classes)
    start = time.process_time()
    found = fit()
    seconds = time.process_time() - start
    peak = read_status("VmHWM")
    if name == "crowd-kit":
        accuracy = float(np.mean(found == truth))
    else:
        votes = as_votes(values, classes)
        binary = name.endswith("binary")
        votes = votes.one_against_rest(0) if binary else votes
        known = np.where(truth == 1, 1, -1).astype(np.int8) if binary else truth
        accuracy = found.score(votes, votes.name_codes(known))
    figures = {"cpu_seconds": seconds, "peak_mb": peak / MEGABYTE, "accuracy": accuracy}
    print(json.dumps({**figures, "above_mb": (peak - loaded) / MEGABYTE}))


def run_fit(name, file, classes):
    threads = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    alone = {**os.environ, **dict.fromkeys(threads, "1")}
    command = [sys.executable, __file__, "--fit", name, str(file), "--classes", str(classes)]
    done = subprocess.run(command, env=alone, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def show(found):
    for name, one in found.items():
        told = f"{one['cpu_seconds']:8.2f} s CPU {one['peak_mb']:7,.0f} MB"
        more = f"{one['above_mb']:7,.0f} MB above, accuracy {one['accuracy']:.4f}"
        print(f"{name:22}{told} {more}", flush=True)
    for first, second, wanted in RATIOS:
        if first in found and second in found:
            ratio = found[first]["cpu_seconds"] / found[second]["cpu_seconds"]
            print(f"CPU of {first} / {second}: {ratio:.2f} (wanted: {wanted})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--voters", type=int, default=200)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--only", default="", help="fits whose name contains this")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--fit", nargs=2, metavar=("NAME", "FILE"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.fit:
        measure(*asked.fit, asked.classes)
        return
    import numpy as np  # noqa: PLC0415

    names = [name for name in FITS if asked.only in name]
    if find_spec("crowdkit") is None:
        names = [name for name in names if name != "crowd-kit"]
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "votes.npz"
        values, truth = draw_votes(asked.items, asked.voters, asked.classes)
        np.savez(file, values=values, truth=truth)
        n_votes = int(np.count_nonzero(values))
        sizes = f"{asked.items:,} items, {asked.voters} voters, {asked.classes} classes"
        print(f"{sizes}, {n_votes:,} votes", flush=True)
        found = {name: run_fit(name, file, asked.classes) for name in names}
    show(found)
    sizes = {"items": asked.items, "voters": asked.voters, "classes": asked.classes}
    asked.out.write_text(json.dumps({**sizes, "votes": n_votes, "fits": found}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
