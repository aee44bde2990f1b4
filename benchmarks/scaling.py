"""How fits grow, and what they cost if the votes are not a table in memory.

    python benchmarks/scaling.py                      everything, into results/scaling.json
    python benchmarks/scaling.py --parts growth dask  some parts
    python benchmarks/scaling.py --page               the tables of docs/scaling.md, from the JSON

Each measurement has its own process. CPU seconds include all its processes, also those of a
cluster. Memory is the peak resident set above that after importing the package and one small fit.
Two kinds of votes: "crowd", voters of different accuracy who all look at the truth, on which both
methods are timed (parts growth and crowd); and "graph", ten experts, one of them a contrarian,
among voters who follow each other in threes (parts labels, dask and mapped).
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np

from studies.pages.scaling import write_scaling

RESULTS = Path(__file__).parent / "results" / "scaling.json"
EXPERTS = np.array([0.85, 0.8, 0.78, 0.75, 0.72, 0.7, 0.68, 0.66, 0.64, 0.3])
ITEMS = (100_000, 200_000, 400_000)
VOTERS = (25, 50, 100)
MAPPED = (20_000_000, 50)
LABELED = (2_000_000, 50)
DASK = (1_000_000, 100)
SPARSE = (100_000, 10_000, 10_000_000)
FILE_ITEMS = 1_000_000
LONG, LONG_ROWS = 50_000_000, 2_000_000  # votes, and votes per file
METHODS = ("UnElisa", "LatentIsing")


def make_votes(n_items: int, n_voters: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    truth = rng.random(n_items) < 0.4
    votes = np.empty((n_items, n_voters), dtype=np.int8, order="F")
    for s in range(n_voters):
        leader, right = truth, EXPERTS[s] if s < len(EXPERTS) else 0.5
        if s >= len(EXPERTS) and s % 3:
            leader, right = votes[:, s - 1] > 0, 0.65
        agrees = rng.random(n_items, dtype=np.float32) < right
        votes[:, s] = 2 * (agrees == leader).astype(np.int8) - 1
    return votes


def make_crowd(n_items: int, n_voters: int, seed: int = 0) -> np.ndarray:
    """Votes of voters who all look at the truth, with different accuracies."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n_items) < 0.4
    votes = np.empty((n_items, n_voters), dtype=np.int8, order="F")
    for s, right in enumerate(np.linspace(0.55, 0.85, n_voters)):
        agrees = rng.random(n_items, dtype=np.float32) < right
        votes[:, s] = 2 * (agrees == truth).astype(np.int8) - 1
    return votes


def make_sparse(n_items: int, n_voters: int, n_votes: int) -> object:
    """A crowd in which a few voters vote often and most rarely."""
    import scipy.sparse as sp  # noqa: PLC0415

    rng = np.random.default_rng(0)
    truth = rng.random(n_items) < 0.4
    right = rng.uniform(0.55, 0.9, n_voters)
    cells = np.unique(
        rng.integers(0, n_items, n_votes) * n_voters
        + (n_voters * rng.random(n_votes) ** 1.5).astype(np.int64)
    )
    items, voters = np.divmod(cells, n_voters)
    agrees = rng.random(len(cells)) < right[voters]
    votes = (2 * (agrees == truth[items]) - 1).astype(np.int8)
    return sp.csr_array((votes, (items, voters)), shape=(n_items, n_voters))


def build(method: str, **settings: object) -> object:
    import unelisa as ue  # noqa: PLC0415

    if method == "UnElisa":
        settings["fit_intercept"] = True
    return getattr(ue, method)(random_state=0, **settings)


def spend() -> float:
    """CPU seconds of this process and of its children, living and ended."""
    import psutil  # noqa: PLC0415

    own = psutil.Process()
    times = [p.cpu_times() for p in (own, *own.children(recursive=True))]
    return sum(t.user + t.system for t in times)


def read_memory(field: str) -> float:
    """A line of /proc/self/status in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1000
    raise LookupError(field)


class Meter:
    """CPU, wall time and peak memory since its creation."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text("5")  # reset the peak
        self.before, self.cpu, self.wall = read_memory("VmRSS"), spend(), time.perf_counter()

    def read(self) -> dict:
        return {
            "cpu": round(spend() - self.cpu, 3),
            "wall": round(time.perf_counter() - self.wall, 3),
            "peak_mb": round(read_memory("VmHWM") - self.before, 1),
        }


def warm_up() -> None:
    """Load what is loaded once: the package and its compiled kernels, for both kinds of votes."""
    for method in METHODS:
        for make in (make_votes, make_crowd):
            build(method).fit(make(9000, 20))


def measure_growth(method: str, n_items: int, n_voters: int) -> dict:
    warm_up()
    votes = make_crowd(n_items, n_voters)
    meter = Meter()
    model = build(method).fit(votes)
    return {**meter.read(), "experts": len(model.experts_)}


def write_files(folder: Path, n_items: int, n_voters: int, make: Callable = make_votes) -> None:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    folder.mkdir()
    names = [f"v{s}" for s in range(n_voters)]
    for k, low in enumerate(range(0, n_items, FILE_ITEMS)):
        votes = make(min(FILE_ITEMS, n_items - low), n_voters, seed=k)
        table = pa.table(dict(zip(names, votes.T, strict=True)))
        pq.write_table(table, folder / f"{k:03}.parquet")


def measure_mapped(folder: str) -> dict:
    import unelisa as ue  # noqa: PLC0415

    warm_up()
    meter = Meter()
    votes = ue.read_votes(folder, coding="pm1", memory="500MB")
    stored, meter = meter.read(), Meter()
    model = build("UnElisa", n_jobs=2).fit(votes)
    return {"store": stored, "fit": meter.read(), "experts": len(model.experts_)}


def measure_crowd(folder: str, method: str) -> dict:
    import unelisa as ue  # noqa: PLC0415

    warm_up()
    votes = ue.read_votes(folder, coding="pm1", memory="50MB")
    meter = Meter()
    model = build(method, n_jobs=2).fit(votes)
    return {**meter.read(), "experts": len(model.experts_)}


def measure_command(folder: str) -> dict:
    """The command line: fit and save."""
    from typer.testing import CliRunner  # noqa: PLC0415

    from unelisa.cli import app  # noqa: PLC0415

    warm_up()
    meter = Meter()
    model = Path(folder).parent / "model.npz"
    asked = [folder, "--coding", "pm1", "--memory", "500MB", "--save", str(model)]
    done = CliRunner().invoke(
        app, ["fit", *asked, "--method", "unelisa", "--set", "fit_intercept=true"]
    )
    if done.exit_code:
        raise RuntimeError(done.output)
    return meter.read()


def measure_labels(folder: str) -> dict:
    from unelisa.report.labels import label_file, plan_files  # noqa: PLC0415

    warm_up()
    model = build("UnElisa").fit(make_votes(50_000, LABELED[1]))
    model.named_voters_ = True
    pairs = plan_files([Path(folder)], Path(folder).parent / "labels")
    label_file(model, (pairs[0][0], pairs[0][1].with_name("warm.parquet")), "pm1")
    meter = Meter()
    n_items = sum(label_file(model, pair, "pm1") for pair in pairs)
    return {**meter.read(), "items": n_items}


def measure_dask(n_items: int, n_voters: int) -> dict:
    import dask  # noqa: PLC0415
    import dask.array as da  # noqa: PLC0415
    from dask.distributed import Client, LocalCluster  # noqa: PLC0415

    half = n_items // 2
    votes = np.asfortranarray(np.concatenate([make_votes(half, n_voters, seed) for seed in (0, 1)]))
    build("UnElisa").fit(votes)
    rounds = []
    dask.config.set({"distributed.worker.profile.enabled": False})
    dask.config.set({"logging.distributed": "error"})
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        parts = [client.submit(make_votes, half, n_voters, seed) for seed in (0, 1)]
        lazy = da.concatenate([da.from_delayed(p, (half, n_voters), np.int8) for p in parts])
        build("UnElisa").fit(lazy)  # the workers load their kernels
        for _ in range(3):
            meter = Meter()
            here = build("UnElisa").fit(votes)
            memory, meter = meter.read(), Meter()
            there = build("UnElisa").fit(lazy)
            rounds.append({"memory": memory, "dask": meter.read()})
        meter = Meter()
        time.sleep(2)
        idle = meter.read()["cpu"] / 2
    apart = float(np.abs(here.weights_ - there.weights_).max())
    return {"rounds": rounds, "apart": apart, "idle_cpu_per_second": idle}


def measure_sparse(file: str) -> dict:
    import scipy.sparse as sp  # noqa: PLC0415

    warm_up()
    meter = Meter()
    votes = sp.load_npz(file)
    read = meter.read()
    model = build("LatentIsing").fit(votes)
    fitted = meter.read()
    fitted["cpu"] -= read["cpu"]
    meter = Meter()
    model.predict(votes)
    return {"fit": fitted, "predict": meter.read(), "votes": int(votes.nnz)}


def write_long(folder: Path, n_votes: int) -> None:
    """Long tables: ten votes on each item, of one voter for 5,000 votes; items in any order."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    folder.mkdir()
    rng, n_items, n_voters = np.random.default_rng(0), n_votes // 10, n_votes // 5000 // 10 * 10
    truth, order = rng.random(n_items) < 0.4, rng.permutation(n_votes)
    right = rng.uniform(0.55, 0.9, n_voters)
    for k, low in enumerate(range(0, n_votes, LONG_ROWS)):
        items, seat = np.divmod(order[low : low + LONG_ROWS], 10)
        voters = seat * (n_voters // 10) + rng.integers(n_voters // 10, size=len(items))
        said = (rng.random(len(items)) < right[voters]) == truth[items]
        columns = items.astype(np.int32), voters.astype(np.int32), said.astype(np.int8)
        table = pa.table(dict(zip(("item", "voter", "vote"), columns, strict=True)))
        pq.write_table(table, folder / f"{k:03}.parquet")


def measure_long(folder: str, labels: str, workers: bool) -> dict:
    """A long table of files in memory, or by two workers of Dask who may use 1 GB each."""
    import dask  # noqa: PLC0415
    import dask.dataframe as dd  # noqa: PLC0415
    import pandas as pd  # noqa: PLC0415
    from dask.distributed import Client, LocalCluster  # noqa: PLC0415

    import unelisa as ue  # noqa: PLC0415

    def fit(table: object) -> tuple[object, object]:
        votes = ue.Votes.of(table)
        return votes, build("LatentIsing").fit(votes)

    warm_up()
    if not workers:
        meter = Meter()
        votes, model = fit(pd.read_parquet(folder))
        found = meter.read()
    else:
        dask.config.set({"distributed.worker.profile.enabled": False})
        dask.config.set({"logging.distributed": "error"})
        settings = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "1GB"}
        with LocalCluster(**settings, dashboard_address=None) as cluster, Client(cluster) as client:
            client.run(warm_up)
            meter = Meter()
            votes, model = fit(dd.read_parquet(folder))
            chances = model.predict_proba(votes)
            found = meter.read()
            peaks = client.run(read_memory, "VmHWM")
            found["worker_mb"] = [round(peak) for peak in peaks.values()]
    if not workers:
        meter = Meter()
        chances = model.predict_proba(votes)
        found["cpu"] += meter.read()["cpu"]
    order = np.argsort(votes.items)
    chosen = chances.argmax(axis=1)[order]
    if not workers:
        np.savez(labels, chosen=chosen, chances=chances[order, 1])
    known = np.load(labels)
    differ = int(np.count_nonzero(known["chosen"] != chosen))
    apart = float(np.abs(known["chances"] - chances[order, 1]).max())
    return {**found, "items": len(order), "labels_that_differ": differ, "largest_difference": apart}


def run(name: str, *arguments: object) -> dict:
    """A measurement in a process of its own."""
    call = [sys.executable, __file__, "--measure", name, json.dumps(arguments)]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(call, capture_output=True, text=True, env=env, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    found = json.loads(done.stdout.splitlines()[-1])
    print(name, arguments, json.dumps(found), flush=True)
    return found


def run_growth() -> dict:
    cells = [(n, 50) for n in ITEMS] + [(ITEMS[0], p) for p in VOTERS if p != 50]
    return {
        method: [{"items": n, "voters": p, **run("growth", method, n, p)} for n, p in cells]
        for method in METHODS
    }


def run_mapped() -> dict:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "votes"
        write_files(folder, *MAPPED)
        size = sum(file.stat().st_size for file in folder.iterdir())
        found = run("mapped", str(folder))
        command = run("command", str(folder))
    return {"items": MAPPED[0], "voters": MAPPED[1], "files_mb": size / 1e6, **found} | {
        "command": command
    }


def run_crowd() -> dict:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "votes"
        write_files(folder, *LABELED, make=make_crowd)
        size = {"items": LABELED[0], "voters": LABELED[1]}
        return size | {method: run("crowd", str(folder), method) for method in METHODS}


def run_labels() -> dict:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "votes"
        write_files(folder, *LABELED)
        return {"voters": LABELED[1], **run("labels", str(folder))}


def run_dask() -> dict:
    return {"items": DASK[0], "voters": DASK[1], **run("dask", *DASK)}


def run_sparse() -> dict:
    import scipy.sparse as sp  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "votes.npz"
        sp.save_npz(file, make_sparse(*SPARSE), compressed=False)
        return {"items": SPARSE[0], "voters": SPARSE[1], **run("sparse", str(file))}


def run_long() -> dict:
    with tempfile.TemporaryDirectory() as place:
        folder, labels = Path(place) / "votes", str(Path(place) / "labels.npz")
        write_long(folder, LONG)
        memory, workers = (run("long", str(folder), labels, own) for own in (False, True))
    return {"votes": LONG, "memory": memory, "workers": workers}


MEASURES = {
    "long": measure_long,
    "growth": measure_growth,
    "mapped": measure_mapped,
    "command": measure_command,
    "crowd": measure_crowd,
    "labels": measure_labels,
    "dask": measure_dask,
    "sparse": measure_sparse,
}
PARTS = {
    "growth": run_growth,
    "labels": run_labels,
    "crowd": run_crowd,
    "dask": run_dask,
    "sparse": run_sparse,
    "mapped": run_mapped,
    "long": run_long,
}


def describe_machine() -> dict:
    model = next(
        (
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    return {
        "date": date.today().isoformat(),
        "processor": model,
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--measure", nargs=2)
    asked = parser.parse_args()
    if asked.measure:
        print(json.dumps(MEASURES[asked.measure[0]](*json.loads(asked.measure[1]))))
        return
    report = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if not asked.page:
        for part in asked.parts:
            report[part] = {"machine": describe_machine(), **PARTS[part]()}
            RESULTS.write_text(json.dumps(report, indent=2) + "\n")
    if set(PARTS) <= set(report):
        write_scaling(report, RESULTS.parents[2] / "docs" / "scaling.md")


if __name__ == "__main__":
    main()
