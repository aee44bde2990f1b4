"""CPU seconds of an update with 1 % new votes, beside those of a fit to everything.

    python -m benchmarks.update

The new votes are on the last 1 % of the items, half of which had some of their votes before. The
model in use works out what an update needs in its first update; a file that keeps votes holds it.
How far probabilities and labels are from those of the fit to everything is printed beside how far
those of a fit without the new votes are. Everything runs on one thread.
"""

import tempfile
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

import unelisa as ue
from benchmarks.suggest import draw_crowd
from unelisa.errors import UnelisaWarning
from unelisa.kernels.blas import one_blas_thread

SHARE = 0.01


class Costs(NamedTuple):
    """CPU seconds, and distances from a fit to everything."""

    fit: float
    update: float  # of the model in use
    loaded: float  # of one loaded from a file with its votes
    # mean difference of probabilities, and share of items with another label: of the update, and of
    # a fit without the new votes
    apart: tuple[float, float]
    labels: tuple[float, float]


def measure(votes: ue.Votes) -> Costs:
    """Return what a fit and an update cost."""
    n_new = max(int(SHARE * len(votes)), 2)
    old = votes.take_items(np.arange(len(votes) - n_new // 2))
    values = old.values.copy(order="F")
    values[-n_new // 2 :, ::2] = 0  # these items had votes of every other voter
    old = ue.Votes.of_values(values, old.items, old.voters, old.classes)
    more = votes.take_items(np.arange(len(votes) - n_new, len(votes)))
    start = time.process_time()
    whole = ue.LatentIsing(n_jobs=1).fit(votes)
    fit = time.process_time() - start
    model = ue.LatentIsing(n_jobs=1).fit(old)
    with tempfile.TemporaryDirectory() as folder:
        ue.save(model, Path(folder) / "model.npz", keep_votes=True)
        loaded = ue.load(Path(folder) / "model.npz")
    wanted, before = whole.predict_proba(votes), model.predict_proba(votes)
    seconds = []
    for one in (model, loaded):
        start = time.process_time()
        one.update(more)  # type: ignore[attr-defined]
        seconds.append(time.process_time() - start)
    updated = model.predict_proba(votes)
    apart = [float(np.abs(found - wanted).mean()) for found in (updated, before)]
    labels = [
        float(np.mean(found.argmax(axis=1) != wanted.argmax(axis=1))) for found in (updated, before)
    ]
    return Costs(fit, *seconds, (apart[0], apart[1]), (labels[0], labels[1]))


def main() -> None:
    """Print one line per crowd."""
    warnings.simplefilter("ignore", UnelisaWarning)
    crowds = {
        f"{n_items:,} items x 200 voters, 2 classes": draw_crowd(n_items)
        for n_items in (2_000, 20_000, 100_000)
    }
    for n_classes, n_voters, n_items in ((3, 20, 2_000), (5, 50, 20_000)):
        drawn = ue.simulate_classes(n_classes, n_voters, n_items, missing=0.7, random_state=0)
        crowds[f"{n_items:,} items x {n_voters} voters, {n_classes} classes"] = drawn.votes
    with one_blas_thread():
        for votes in (draw_crowd(2_000), crowds["2,000 items x 20 voters, 3 classes"]):
            measure(votes)  # compiles the kernels
        for name, votes in crowds.items():
            found = measure(votes)
            print(
                f"{name:<42} fit {found.fit:6.2f} s, update {found.update:5.2f} s "
                f"({found.fit / found.update:3.0f} x), from a file {found.loaded:5.2f} s "
                f"({found.fit / found.loaded:3.0f} x); apart: probabilities {found.apart[0]:.3f}, "
                f"labels {found.labels[0]:.2%} (without the new votes {found.apart[1]:.3f}, "
                f"{found.labels[1]:.2%})"
            )


if __name__ == "__main__":
    main()
