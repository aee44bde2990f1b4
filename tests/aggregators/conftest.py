"""Crowds that the aggregators' tests share."""

import csv

import numpy as np
import pytest

from unelisa.sources.tables import read_votes


@pytest.fixture
def bluebirds(shared_data):
    """The bluebirds crowd (39 workers, 108 pictures) and its truth."""
    votes = read_votes(shared_data / "bluebirds" / "votes_wide.csv.gz", coding="pm1")
    with (shared_data / "bluebirds" / "truth.csv").open() as file:
        truth = {row["item"]: int(row["label"]) for row in csv.DictReader(file)}
    return votes, np.array([truth[str(item)] for item in votes.items])


@pytest.fixture(scope="session")
def grouped():
    """Four groups of five voters; each group shares a latent variable, right on 80 % of items."""
    rng = np.random.default_rng(3)
    truth = rng.choice(np.array([-1, 1], dtype=np.int8), 1500)
    latent = np.where(rng.random((1500, 4)) < 0.8, 1, -1) * truth[:, None]
    faithful = rng.uniform(0.7, 0.9, 20)
    values = np.where(rng.random((1500, 20)) < faithful, 1, -1) * np.repeat(latent, 5, axis=1)
    return values.astype(np.int8), truth, np.repeat(np.arange(4), 5)
