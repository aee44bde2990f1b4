"""How fast the GPU solver is, beside the processor's on the same machine.

    python benchmarks/gpu.py                          all sizes, into results/gpu.json
    python benchmarks/gpu.py --sizes 46568x1400 --out FILE

Wall seconds, the median of several rounds after one that is not counted. The GPU's clock starts
when the int8 votes are on it and stops when the solution is there; the two transfers, and the
regressions that are left to the processor, are timed apart. All optimality conditions are checked
in float64, by definition, on the problem as stated. Both solvers stop at a violation of 1e-3
lambda, lambda = sqrt(log p / n), with intercepts. Sizes that end in "rare" have votes as rare as
health records', and twice that penalty, the default of `UnElisa`.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from solver_votes import stored_votes

from unelisa.paper.solvers import L1Problem, WorkingSet, optimality
from unelisa.paper.solvers.torch_batched import fetch, finish, solve_items
from unelisa.paper.solvers.torch_sums import DeviceItems

HERE = Path(__file__).parent
VOTES = HERE / ".envs" / "votes"
SIZES = ["46568x300", "1000000x100", "46568x1400", "46568x1400-rare"]
SIZES += ["1000000x1000", "1000000x1000-rare"]
TARGETS = {"46568x1400": 0.12, "1000000x1000": 0.25}
TOL = 1e-3


def seconds(function, *arguments):
    """The function's answer and the wall seconds it took, the GPU's work included."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    answer = function(*arguments)
    torch.cuda.synchronize()
    return answer, time.perf_counter() - start


def measure_gpu(problem: L1Problem, rounds: int) -> tuple[dict, object]:
    """The GPU's times, passes and memory, and its solution."""
    times = {"send": [], "solve": [], "fetch": []}
    for _ in range(rounds + 1):
        items = None  # the votes of the round before make room
        items, send = seconds(DeviceItems.of, problem, torch.device("cuda"))
        torch.cuda.reset_peak_memory_stats()
        outcome, solve = seconds(solve_items, problem, items)
        solution, fetched = seconds(fetch, outcome)
        for name, value in zip(times, (send, solve, fetched), strict=True):
            times[name].append(value)
    left = int(solution.missed(problem.tol).size)
    finished, rest = seconds(finish, problem, solution)
    weights = (finished.weights, finished.intercepts)
    return {
        "seconds": float(np.median(times["solve"][1:])),
        "fastest": min(times["solve"][1:]),
        "first": times["solve"][0],
        "send_seconds": float(np.median(times["send"][1:])),
        "fetch_seconds": float(np.median(times["fetch"][1:])),
        "passes_mean": float(solution.n_iter.mean()),
        "passes_most": int(solution.n_iter.max()),
        "left_to_processor": left,
        "finish_seconds": rest,
        "peak_gb": torch.cuda.max_memory_allocated() / 1e9,
        "kkt_float64": float(optimality(problem, *weights).max()),
        "kkt_certificate": float(finished.kkt.max()),
    }, finished


def measure_processor(problem: L1Problem, n_jobs: int) -> tuple[dict, object]:
    """The working-set solver's wall and CPU seconds, the best of two, and its solution."""
    best = None
    for _ in range(2):
        cpu, wall = time.process_time(), time.perf_counter()
        solution = WorkingSet().solve(replace(problem, n_jobs=n_jobs))
        found = (time.perf_counter() - wall, time.process_time() - cpu)
        best = found if best is None else min(best, found)
    return {
        "threads": n_jobs,
        "seconds": best[0],
        "cpu_seconds": best[1],
        "passes_mean": float(solution.n_iter.mean()),
        "kkt_certificate": float(solution.kkt.max()),
    }, solution


def measure(size: str, rounds: int) -> dict:
    """Both solvers on votes of one size."""
    rare = size.endswith("-rare")
    n_items, n_voters = map(int, size.removesuffix("-rare").split("x"))
    votes = np.load(stored_votes(n_items, n_voters, VOTES, rare=rare))
    penalty = float(np.sqrt(np.log(n_voters) / n_items)) * (2 if rare else 1)
    problem = L1Problem(votes, np.full(n_voters, penalty), tol=TOL)
    gpu, ours = measure_gpu(problem, rounds)
    print(size, "GPU", json.dumps(gpu), flush=True)
    processor = []
    for n_jobs in dict.fromkeys((1, os.cpu_count() or 1)):
        found, theirs = measure_processor(problem, n_jobs)
        print(size, "processor", json.dumps(found), flush=True)
        processor.append(found)
    return {
        "items": n_items,
        "voters": n_voters,
        "rare": rare,
        "penalty": penalty,
        "edges_mean": float(np.count_nonzero(ours.weights, axis=1).mean()),
        "gpu": gpu,
        "processor": processor,
        "largest_difference": float(np.abs(ours.weights - theirs.weights).max()),
        "target_seconds": TARGETS.get(size),
        "date": time.strftime("%Y-%m-%d"),
    }


def measure_start() -> float:
    """Seconds until a new process has torch and the GPU ready."""
    code = "import torch; torch.zeros(1, device='cuda'); torch.cuda.synchronize()"
    times = []
    for _ in range(3):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def machine() -> dict:
    """What ran it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return {
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "processor": names[0] if names else "unknown",
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "date": time.strftime("%Y-%m-%d"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", nargs="+", default=SIZES)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--out", type=Path, default=HERE / "results" / "gpu.json")
    options = parser.parse_args()
    report = {"machine": machine(), "start_seconds": measure_start(), "sizes": []}
    for size in options.sizes:
        report["sizes"].append(measure(size, options.rounds))
        options.out.write_text(json.dumps(report, indent=1) + "\n")
    print(f"written: {options.out}")


if __name__ == "__main__":
    main()
