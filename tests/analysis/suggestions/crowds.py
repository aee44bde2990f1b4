"""Small crowds with copies, and how they are fitted without their warnings."""

import warnings

import numpy as np
import pandas as pd

import unelisa as ue
from unelisa.errors import UnelisaWarning

RIGHT = np.array([0.8, 0.8, 0.75, 0.75, 0.7, 0.7, 0.85])
NAMES = [*"abcdefg", "a1", "a2"]


def fit(model, votes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)
        return model.fit(votes)


def draw_crowd(n_classes=2, n_items=1200, missing=0.4, seed=0):
    """Return votes of seven voters a to g and of a1 and a2, who nearly always repeat a."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n_items)
    said = _err(rng, np.repeat(truth[:, None], len(RIGHT), axis=1), RIGHT, n_classes)
    again = _err(rng, np.repeat(said[:, :1], 2, axis=1), 0.97, n_classes)
    table = pd.DataFrame(np.concatenate([said, again], axis=1), columns=NAMES)
    return ue.Votes.of(table.mask(rng.random(table.shape) < missing).astype("Int64"))


def _err(rng, answers, right, n_classes):
    other = (answers + rng.integers(1, n_classes, answers.shape)) % n_classes
    return np.where(rng.random(answers.shape) < right, answers, other)
