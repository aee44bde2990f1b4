"""Crowds that the aggregators' tests share."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def grouped():
    """Four groups of five voters; each group shares a latent variable, right on 80 % of items."""
    rng = np.random.default_rng(3)
    truth = rng.choice(np.array([-1, 1], dtype=np.int8), 1500)
    latent = np.where(rng.random((1500, 4)) < 0.8, 1, -1) * truth[:, None]
    faithful = rng.uniform(0.7, 0.9, 20)
    values = np.where(rng.random((1500, 20)) < faithful, 1, -1) * np.repeat(latent, 5, axis=1)
    return values.astype(np.int8), truth, np.repeat(np.arange(4), 5)
