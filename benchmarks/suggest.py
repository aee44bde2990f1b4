"""CPU seconds of 50 suggestions out of 100,000 items x 200 voters, beside those of a fit.

    python -m benchmarks.suggest

The crowd has ten votes per item, ten of the voters are copies in five families, and everything runs
on one thread. The second line has five classes and 20,000 items.
"""

import time
import warnings

import numpy as np

import unelisa as ue
from unelisa.errors import UnelisaWarning
from unelisa.kernels.threads import one_blas_thread

VOTERS, PER_ITEM, COPIES = 200, 10, 10


def draw_crowd(n_items: int, seed: int = 0) -> ue.Votes:
    """Return sparse votes of two classes, with copies."""
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(n_items) < 0.4, 1, -1)
    right = rng.uniform(0.55, 0.9, VOTERS)
    said = np.where(rng.random((n_items, VOTERS)) < right, truth[:, None], -truth[:, None])
    said[:, :COPIES] = said[:, COPIES : 2 * COPIES]
    said[rng.random(said.shape) > PER_ITEM / VOTERS] = 0
    names = np.array([f"v{s}" for s in range(VOTERS)], dtype=object)
    return ue.Votes.of_values(np.asfortranarray(said, dtype=np.int8), np.arange(n_items), names)


def measure(votes: ue.Votes, model: ue.LatentIsing | ue.DawidSkene) -> tuple[float, float, float]:
    """Return the seconds of a fit, and of 50 suggestions by wrong labels and by log loss."""
    times = [time.process_time()]
    model.fit(votes)
    times.append(time.process_time())
    for criterion in ("errors", "log_loss"):
        ue.suggest_votes(model, votes, n=50, criterion=criterion)  # type: ignore[arg-type]
        times.append(time.process_time())
    fit, errors, log_loss = np.diff(times)
    return float(fit), float(errors), float(log_loss)


def main() -> None:
    """Print one line per crowd and model."""
    warnings.simplefilter("ignore", UnelisaWarning)
    two = draw_crowd(100_000)
    five = ue.simulate_classes(5, VOTERS, 20_000, missing=1 - PER_ITEM / VOTERS, random_state=0)
    measure(draw_crowd(2000), ue.LatentIsing(n_jobs=1))  # compiles the kernels
    with one_blas_thread():
        for told, votes in (("2 classes", two), ("5 classes", five.votes)):
            for model in (ue.LatentIsing(n_jobs=1), ue.DawidSkene()):
                fit, errors, log_loss = measure(votes, model)
                name = type(model).__name__
                print(
                    f"{votes.n_items:>7,} items x {votes.n_voters} voters, {told}, {name:<12}"
                    f" fit {fit:7.2f} s, suggestions {errors:5.2f} s, by log loss {log_loss:5.2f} s"
                )


if __name__ == "__main__":
    main()
