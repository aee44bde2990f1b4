"""How fast `LatentIsing` fits and labels on a GPU, beside the processor of the same machine.

    python benchmarks/latent_gpu.py                      into results/latent_gpu.json
    python benchmarks/latent_gpu.py --sizes 1000000x1000x10x2 --device cpu

A size is items x voters x votes per item x classes. Wall seconds, the median of several rounds
after one that is not counted; the clock starts when the votes are on the device, and the copy is
timed apart; the first fit also sorts the votes there. The processor uses all cores, once. Labels
and probabilities are compared.
"""

import argparse
import json
import os
import platform
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import torch

import unelisa as ue

SIZES = ["1000000x10000x10x2", "1000000x10000x10x5"]
SIZES += ["10000000x10000x10x2", "10000000x10000x10x5"]
ALONE = "10000000x10000x10x5"  # sizes that the processor does not fit
RESULTS = Path(__file__).parent / "results" / "latent_gpu.json"


def draw_votes(n_items: int, n_voters: int, depth: int, n_classes: int) -> ue.Votes:
    """Votes of voters who look at the truth, with accuracies from .55 to .9."""
    rng = np.random.default_rng(0)
    truth = rng.integers(n_classes, size=n_items, dtype=np.int8)
    # steps that share no factor with 10, and so with numbers of voters of ten's powers
    steps = rng.choice([1, 3, 7, 9], n_items) + 10 * rng.integers(n_voters // 10, size=n_items)
    first = rng.integers(n_voters, size=n_items)
    voters = (first[:, None] + steps[:, None] * np.arange(depth)) % n_voters
    voters = np.sort(voters, axis=1).astype(np.int32)
    right = (
        rng.random((n_items, depth), dtype=np.float32) < rng.uniform(0.55, 0.9, n_voters)[voters]
    )
    shift = rng.integers(1, n_classes, size=(n_items, depth), dtype=np.int8)
    answers = np.where(right, truth[:, None], (truth[:, None] + shift) % n_classes)
    codes = np.where(answers > 0, 1, -1) if n_classes == 2 else answers + 1
    starts = np.arange(0, n_items * depth + 1, depth)
    table = (codes.astype(np.int8).ravel(), voters.ravel(), starts)
    return ue.Votes.of(sp.csr_array(table, shape=(n_items, n_voters)))


def wait(device: str) -> None:
    """Wait until a GPU has done its work."""
    if device == "cuda":
        torch.cuda.synchronize()


def timed(function, *arguments, device: str = "cpu", **settings):
    """The function's answer, and its wall seconds."""
    wait(device)
    start = time.perf_counter()
    answer = function(*arguments, **settings)
    wait(device)
    return answer, time.perf_counter() - start


def measure(size: str, device: str, rounds: int, processor: bool) -> dict:
    """Times on the device and on the processor, and how far their answers differ."""
    votes, drawn = timed(draw_votes, *map(int, size.split("x")))
    found = {"size": size, "votes": int(votes.vote_counts().sum()), "draw_seconds": drawn}
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    there, found["send_seconds"] = timed(ue.to_device, votes, device, device=device)
    fits, labels = [], []
    for _ in range(rounds + 1):
        fresh = ue.Votes(there.blocks, there.items, there.voters, there.classes, there.named)
        model, fit = timed(ue.LatentIsing().fit, fresh, device=device)
        chances, label = timed(model.predict_proba, there, device=device)
        fits.append(fit)
        labels.append(label)
    found |= {"first_fit": fits[0], "fit_seconds": float(np.median(fits[1:]))}
    found |= {"predict_seconds": float(np.median(labels[1:]))}
    if device == "cuda":
        found["peak_gb"] = torch.cuda.max_memory_allocated() / 1e9
    if processor:
        cores = os.cpu_count()
        fresh = ue.Votes(votes.blocks, votes.items, votes.voters, votes.classes, votes.named)
        own, found["processor_fit"] = timed(ue.LatentIsing(n_jobs=cores).fit, fresh)
        own_chances, found["processor_predict"] = timed(own.predict_proba, votes)
        found["cores"] = cores
        differ = own_chances.argmax(axis=1) != chances.argmax(axis=1)
        found["labels_that_differ"] = int(differ.sum())
        found["largest_difference"] = float(np.abs(own_chances - chances).max())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", default=",".join(SIZES))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--alone", default=ALONE, help="sizes without the processor")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    machine = {
        "gpu": torch.cuda.get_device_name() if options.device == "cuda" else None,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "date": time.strftime("%Y-%m-%d"),
    }
    # kernels are compiled, and the GPU's libraries loaded, before anything counts
    for n_classes in (2, 5):
        measure(f"20000x1000x10x{n_classes}", options.device, 1, processor=True)
    rows = []
    for size in options.sizes.split(","):
        processor = size not in options.alone.split(",")
        row = measure(size, options.device, options.rounds, processor)
        print(json.dumps(row), flush=True)
        rows.append(row)
        options.out.write_text(json.dumps({"machine": machine, "sizes": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
