"""Seconds of a certificate for 1,000,000 items x 10 voters beyond the fit.

    python -m benchmarks.certify

The plan, the draw and the certificate of 300 answers, each with the probabilities of all items:
seconds by the clock, and those of the processor, which other programs do not lengthen.
"""

import time
import warnings

import numpy as np

import unelisa as ue
from unelisa.analysis.certified_draws import draw_gold
from unelisa.errors import UnelisaWarning

ITEMS, VOTERS, ANSWERS = 1_000_000, 10, 300


def draw_crowd(n_items: int, seed: int = 0) -> tuple[ue.Votes, np.ndarray]:
    """Return votes of two classes, a quarter of the items hard, and the truth."""
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(n_items) < 0.4, 1, -1).astype(np.int8)
    right = np.where(rng.random(n_items) < 0.25, 0.6, 0.85)[:, None]
    said = np.where(rng.random((n_items, VOTERS)) < right, truth[:, None], -truth[:, None])
    names = np.array([f"v{s}" for s in range(VOTERS)], dtype=object)
    votes = ue.Votes.of_values(np.asfortranarray(said, dtype=np.int8), np.arange(n_items), names)
    return votes, truth


def main() -> None:
    """Print the seconds of each step."""
    warnings.simplefilter("ignore", UnelisaWarning)
    ue.LatentIsing().fit(draw_crowd(2000)[0])  # compiles the kernels
    votes, truth = draw_crowd(ITEMS)
    times = [read_clocks()]
    model = ue.LatentIsing().fit(votes)
    times.append(read_clocks())
    ue.plan_certification(model, votes)
    times.append(read_clocks())
    drawn = draw_gold(model, votes)
    times.append(read_clocks())
    gold = {int(i): int(truth[i]) for i in drawn.places[:ANSWERS]}
    found = ue.certify(model, votes, gold, drawn=drawn.design)
    times.append(read_clocks())
    taken = zip(("fit", "plan", "draw", "certificate"), np.diff(times, axis=0), strict=True)
    words = (f"{step} {clock:.2f} s ({processor:.2f} s)" for step, (clock, processor) in taken)
    print(f"{ITEMS:,} items x {VOTERS} voters:", ", ".join(words))
    print(found)


def read_clocks() -> tuple[float, float]:
    """Return seconds by the clock and of the processor."""
    return time.perf_counter(), time.process_time()


if __name__ == "__main__":
    main()
