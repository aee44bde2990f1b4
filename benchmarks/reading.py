"""What reading votes costs beside pyarrow's own reading of the same file.

    python benchmarks/reading.py                 10 million votes, into results/reading.json
    python benchmarks/reading.py --votes 1e6     fewer

A long table of a crowd, in the order in which votes arrive: items named by numbers or by texts, in
CSV and in Parquet. Each reading has its own process, in which the package is loaded and has read a
small file; CPU seconds of all threads, the least of several runs, and the peak memory above that
before. "alone" is pyarrow with one thread, as unelisa reads.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

RESULTS = Path(__file__).parent / "results" / "reading.json"
KINDS = ("numbers.csv", "texts.csv", "numbers.parquet", "texts.parquet")
READERS = ("pyarrow", "alone", "unelisa")
VOTES_PER_ITEM, VOTERS = 10, 1000


def write_files(folder: Path, n_votes: int) -> None:
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415
    from pyarrow import csv  # noqa: PLC0415

    rng = np.random.default_rng(0)
    n_items = n_votes // VOTES_PER_ITEM
    items = np.repeat(np.arange(n_items), VOTES_PER_ITEM)
    first = rng.integers(0, VOTERS, n_items)
    voters = (first[:, None] + 37 * np.arange(VOTES_PER_ITEM)).ravel() % VOTERS
    order = rng.permutation(len(items))
    items, voters = items[order], voters[order]
    votes = rng.integers(0, 2, len(items))
    names = [
        pa.array([f"{mark}{k}" for k in range(n)]) for mark, n in (("i", n_items), ("v", VOTERS))
    ]
    texts = [
        column.take(pa.array(codes)) for column, codes in zip(names, (items, voters), strict=True)
    ]
    said = pa.array(["no", "yes"]).take(pa.array(votes))
    for kind, columns in {"numbers": (items, voters, votes), "texts": (*texts, said)}.items():
        table = pa.table(dict(zip(("item", "voter", "vote"), columns, strict=True)))
        pq.write_table(table, folder / f"{kind}.parquet")
        csv.write_csv(table, folder / f"{kind}.csv", csv.WriteOptions(quoting_style="none"))


def read(reader: str, path: Path) -> None:
    import pyarrow.parquet as pq  # noqa: PLC0415
    from pyarrow import csv  # noqa: PLC0415

    import unelisa as ue  # noqa: PLC0415

    threads = reader == "pyarrow"
    if reader == "unelisa":
        ue.read_votes(path)
    elif path.suffix == ".csv":
        csv.read_csv(path, csv.ReadOptions(use_threads=threads))
    else:
        pq.read_table(path, use_threads=threads)


def measure(reader: str, path: Path) -> dict:
    """CPU seconds and memory of one reading, in this process."""
    small = path.with_name(f"small-{os.getpid()}.csv")
    small.write_text("item,voter,vote\nx,ann,1\ny,bob,0\n")
    read(reader, small)
    small.unlink()
    Path("/proc/self/clear_refs").write_text("5")  # reset the peak
    before, cpu = _memory("VmRSS"), time.process_time()
    read(reader, path)
    spent = time.process_time() - cpu
    return {"cpu": round(spent, 3), "peak_mb": round(_memory("VmHWM") - before)}


def _memory(field: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith(field))


def compare(path: Path, runs: int) -> dict:
    """The least CPU seconds of each reader, one after the other in every run."""
    found: dict[str, list[dict]] = {reader: [] for reader in READERS}
    for _ in range(runs):
        for reader in READERS:
            command = [sys.executable, __file__, "--one", reader, str(path)]
            told = subprocess.run(command, check=True, capture_output=True, text=True)
            found[reader].append(json.loads(told.stdout))
    best = {reader: min(some, key=lambda one: one["cpu"]) for reader, some in found.items()}
    row = {f"{reader}_cpu": one["cpu"] for reader, one in best.items()}
    row |= {"unelisa_peak_mb": best["unelisa"]["peak_mb"], "file_mb": path.stat().st_size // 10**6}
    ratios = {f"times_{name}": best["unelisa"]["cpu"] / best[name]["cpu"] for name in READERS[:2]}
    return row | {name: round(ratio, 1) for name, ratio in ratios.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--votes", type=float, default=1e7)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--one", nargs=2, metavar=("READER", "PATH"))
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one[0], Path(options.one[1]))))
        return
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), int(options.votes))
        found = {kind: compare(Path(folder) / kind, options.runs) for kind in KINDS}
    for kind, row in found.items():
        print(kind, row)
    RESULTS.write_text(json.dumps({"votes": int(options.votes), **found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
