"""The solver's speed: beside its peers, against its floor, and as problems grow.

    python benchmarks/solver.py                   everything, into results/solver.json
    python benchmarks/solver.py --sizes 5000x81 --peers skglm adelie --parts sizes
    python benchmarks/solver.py --page            the tables of docs/performance.md, from the JSON

Each part is written as it finishes and replaces its earlier results.

One thread, CPU seconds. Solvers take turns within each size, each in its own process. A peer solves
a few voters, with the loosest tolerance that gives a violation of at most 1e-3 lambda, and its time
is scaled to all voters. All optimality conditions are checked here in float64 on the original
problem. Problems without intercepts have voters without biases; two more, marked biased, have them.
Rare votes, as health records', come with and without intercepts at the sizes of RARE.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

import numpy as np
from solver_votes import stored_votes
from threadpoolctl import threadpool_limits

from studies.pages.performance import summarize_size, write_performance

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "solver.json"
SCRATCH = HERE / ".envs"
TOL = 1e-3
ROUNDS = 3
SIZES = [(500, 25), (5_000, 81), (46_568, 300), (46_568, 1_400), (1_000_000, 100)]
BIASED = [(5_000, 81), (46_568, 300)]  # also without intercepts on votes with biases
RARE = [(5_000, 81), (46_568, 300), (46_568, 1_400)]
KINDS = (  # fits an intercept, votes with biases, rare votes
    (True, True, False), (False, False, False), (False, True, False),
    (True, True, True), (False, True, True),
)  # fmt: skip
LADDER = 10.0 ** np.arange(-3, -13, -1)
NEEDS = {"celer": "celer", "adelie": "adelie", "python-glmnet": "python-glmnet"}
WITHOUT_INTERCEPT = {"liblinear", "celer"}  # liblinear penalizes its intercept, celer has none
SMALL_ONLY = {"saga"}  # hours at the larger sizes
ONE_THREAD = {
    f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB_MAXIMUM")
}


def peer_python(name: str) -> str | None:
    """The interpreter that has the peer: this one, or a virtual environment made for it."""
    if name not in NEEDS:
        return sys.executable
    SCRATCH.mkdir(exist_ok=True)
    (SCRATCH / ".gitignore").write_text("*\n")
    folder = SCRATCH / name
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    install = [python, "-m", "pip", "install", "--quiet", NEEDS[name], "numpy", "scikit-learn"]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{name} does not install here and is skipped")
        return None
    return str(python)


class Worker:
    """A solver in a process of its own, with one thread."""

    def __init__(self, name: str, python: str, **environment: str) -> None:
        self.name, self.settings = name, {}
        self.process = subprocess.Popen(
            [python, HERE / "solver_peers.py", name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | ONE_THREAD | environment,
        )

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def solve(self, voters, penalty, intercept, tol, **more):
        with tempfile.TemporaryDirectory() as folder:
            out = str(Path(folder) / "solution.npz")
            answer = self.ask(
                voters=voters, penalty=penalty, intercept=intercept, tol=tol, out=out, **more
            )
            with np.load(out) as saved:
                return answer, saved["weights"], saved["intercepts"]

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def violation(votes, voters, weights, intercepts, penalty, intercept) -> float:
    """The largest violation of the voters' optimality conditions, in units of lambda, float64."""
    n_items, n_voters = votes.shape
    sums, ones = np.zeros((len(voters), n_voters)), np.zeros(len(voters))
    for low in range(0, n_items, 8192):
        rows = votes[low : low + 8192].astype(np.float64)
        residual = rows[:, voters] - np.tanh(rows @ weights.T + intercepts)
        sums += residual.T @ rows
        ones += residual.sum(axis=0)
    gradients = sums / n_items
    # peers leave tiny weights where others have zeros; below 1e-9 counts as zero
    signs = np.sign(np.where(np.abs(weights) > 1e-9, weights, 0.0))
    excess = np.where(signs != 0, np.abs(gradients - penalty * signs), np.abs(gradients) - penalty)
    excess[np.arange(len(voters)), voters] = 0.0
    worst = max(float(excess.max()), float(np.abs(ones).max()) / n_items if intercept else 0.0)
    return max(worst, 0.0) / penalty


def product_floor(n_items: int, n_voters: int) -> float:
    """CPU seconds of one float32 product of n x p by n x p, in chunks, one thread."""
    rng = np.random.default_rng(0)
    chunk = min(4096, n_items)
    left, right = rng.standard_normal((2, n_voters, chunk)).astype(np.float32)
    out = np.empty((n_voters, n_voters), np.float32)
    with threadpool_limits(1):
        np.matmul(left, right.T, out=out)
        repeat = max(1, int(1e10 / (n_items * n_voters**2)))  # at least a fifth of a second
        start = time.process_time()
        for _ in range(0, n_items * repeat, chunk):
            np.matmul(left, right.T, out=out)
        return (time.process_time() - start) / repeat


def calibrate(worker, votes, voters, penalty, intercept) -> float | None:
    """The peer's loosest tolerance that meets the target on the voters, if any does."""
    for tol in LADDER:
        answer, weights, intercepts = worker.solve(voters, penalty, intercept, float(tol))
        if violation(votes, voters, weights, intercepts, penalty, intercept) <= TOL:
            return float(tol)
        if answer["cpu"] > 100:
            break
    return None


def measure_size(size, kind, peers) -> dict:
    """Ours and every peer on one size, taking turns."""
    (n_items, n_voters), (intercept, biased, rare) = size, kind
    path = stored_votes(*size, SCRATCH / "votes", biased, rare)
    votes, penalty = np.load(path), float(np.sqrt(np.log(n_voters) / n_items))
    penalty *= 2 if rare else 1  # the default of `UnElisa`
    ours = Worker("unelisa", sys.executable)
    workers = [
        Worker(name, python) for name, python in peers.items() if fits(name, size, intercept)
    ]
    voters = list(range(10 if n_items * n_voters < 1e7 else 3))
    settings = {}
    for worker in (ours, *workers):
        worker.ask(votes=str(path))
    ours.solve([], penalty, intercept, TOL)  # loads the compiled kernels
    for worker in list(workers):
        settings[worker.name] = calibrate(worker, votes, voters, penalty, intercept)
        if settings[worker.name] is None:
            print(f"  {worker.name} misses 1e-3 lambda and is skipped")
            workers.remove(worker)
            worker.close()
    result = take_turns(ours, workers, settings, (votes, voters, penalty, intercept))
    for worker in (ours, *workers):
        worker.close()
    about = {"items": n_items, "voters": n_voters, "intercept": intercept, "biased": biased}
    return about | {"rare": rare} | result


def take_turns(ours, workers, settings, problem) -> dict:
    """The median CPU seconds of each over the rounds, and its violation in the last."""
    votes, voters, penalty, intercept = problem
    n_voters = votes.shape[1]
    repeat = 20 if votes.size < 1e6 else 1
    times = {worker.name: [] for worker in (ours, *workers)}
    floors, kkt = [], {}
    for _ in range(ROUNDS):
        answer, weights, intercepts = ours.solve([], penalty, intercept, TOL, repeat=repeat)
        times["unelisa"].append(answer["cpu"])
        everyone = list(range(n_voters))
        kkt["unelisa"] = violation(votes, everyone, weights, intercepts, penalty, intercept)
        floors.append(product_floor(*votes.shape))
        for worker in workers:
            answer, weights, intercepts = worker.solve(
                voters, penalty, intercept, settings[worker.name], repeat=min(repeat, 3)
            )
            times[worker.name].append(answer["cpu"] * n_voters / len(voters))
            kkt[worker.name] = violation(votes, voters, weights, intercepts, penalty, intercept)
    cpu = {name: float(np.median(values)) for name, values in times.items()}
    return {"cpu": cpu, "kkt": kkt, "floor": float(np.median(floors)), "peer_tol": settings}


def fits(name: str, size: tuple[int, int], intercept: bool) -> bool:
    """Whether the peer can take the problem."""
    if intercept and name in WITHOUT_INTERCEPT:
        return False
    return name not in SMALL_ONLY or size[0] * size[1] <= 5_000 * 81


def measure_alone(n_items: int, n_voters: int, rounds: int = 3, **more) -> dict:
    """Ours alone, and its peak of memory above the loaded votes."""
    path = stored_votes(n_items, n_voters, SCRATCH / "votes")
    penalty = float(np.sqrt(np.log(n_voters) / n_items))
    small = stored_votes(500, 25, SCRATCH / "votes")
    worker = Worker("unelisa", sys.executable)
    worker.ask(votes=str(small))
    worker.solve([], 0.1, True, TOL)
    before = worker.ask(votes=str(path))["memory"]
    answers = [worker.solve([], penalty, True, TOL, **more)[0] for _ in range(rounds)]
    worker.close()
    return {
        "items": n_items,
        "voters": n_voters,
        "cpu": float(np.median([answer["cpu"] for answer in answers])),
        "wall": float(np.median([answer["wall"] for answer in answers])),
        "floor": product_floor(n_items, n_voters),
        "above_votes_mb": (answers[0]["peak"] - before) / 1024,
        "peak_mb": answers[0]["peak"] / 1024,
    }


def measure_start() -> dict:
    """CPU seconds of importing the solvers, and of a first small solve, from a warm cache."""
    code = """
import time; a = time.process_time()
import numpy as np; from unelisa.paper.solvers import SOLVERS, L1Problem
b = time.process_time()
votes = np.sign(np.random.default_rng(0).standard_normal((1000, 20))).astype(np.int8)
SOLVERS["working_set"]().solve(L1Problem(np.asfortranarray(votes), np.full(20, .1)))
print(b - a, time.process_time() - b)
"""
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
    imported, solved = map(float, done.stdout.split())
    return {"import": imported, "first_solve": solved}


def measure_growth() -> dict:
    """Ours at twice the items and at twice the voters."""
    base, items, voters = [
        measure_alone(*s) for s in ((20_000, 500), (40_000, 500), (20_000, 1_000))
    ]
    return {
        "base": base,
        "twice_items": items["cpu"] / base["cpu"],
        "twice_voters": voters["cpu"] / base["cpu"],
    }


def machine() -> dict:
    """What ran it, and how busy it was."""
    model = "unknown"
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0].split(":")[1].strip() if names else model
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "date": time.strftime("%Y-%m-%d"),
    }


def measure_sizes(report, sizes, peers, rare_only) -> None:
    """All sizes beside the peers; a size measured before is replaced."""
    pythons = {name: python for name in peers if (python := peer_python(name))}
    for size in sizes:
        for kind in KINDS:
            intercept, biased, rare = kind
            if (rare and size not in RARE) or (rare_only and not rare):
                continue
            if biased and not intercept and not rare and size not in BIASED:
                continue
            print(f"{size[0]:,} x {size[1]:,}, intercepts: {intercept}, biased: {biased}, {rare=}")
            new = measure_size(size, kind, pythons)
            print(summarize_size(new))
            report["sizes"] = [old for old in report.get("sizes", []) if place(old) != place(new)]
            report["sizes"] = sorted([*report["sizes"], new], key=place)
            write(report)


def place(size: dict) -> tuple:
    """Where a size stands in the table."""
    rare = size.get("rare", False)
    return size["items"] * size["voters"] ** 2, rare, not size["intercept"], size["biased"]


def write(report: dict) -> None:
    RESULTS.parent.mkdir(exist_ok=True)
    report["machine"]["load_after"] = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    RESULTS.write_text(json.dumps(report, indent=1) + "\n")


PARTS = {
    "start": measure_start,
    "growth": measure_growth,
    "alone": lambda: measure_alone(46_568, 1_400),
    "two_threads": lambda: measure_alone(46_568, 1_400, n_jobs=2),
    "large": lambda: measure_alone(1_000_000, 1_000, rounds=1),
}
PEERS = ("liblinear", "saga", "skglm", "celer", "adelie", "python-glmnet")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--parts", nargs="+", choices=["sizes", *PARTS], default=["sizes", *PARTS])
    parser.add_argument("--sizes", nargs="+", default=[f"{n}x{p}" for n, p in SIZES])
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=PEERS)
    parser.add_argument("--rare", action="store_true", help="only the rare votes of these sizes")
    options = parser.parse_args()
    report = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if options.page:
        write_performance(report, HERE.parent / "docs" / "performance.md")
        return
    report["machine"] = machine()
    if "sizes" in options.parts:
        sizes = [tuple(map(int, size.split("x"))) for size in options.sizes]
        measure_sizes(report, sizes, options.peers, options.rare)
    for part in [part for part in PARTS if part in options.parts]:
        report[part] = PARTS[part]()
        print(part, report[part])
        write(report)
    print(f"written: {RESULTS}")


if __name__ == "__main__":
    main()
