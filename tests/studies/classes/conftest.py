import numpy as np
import pytest

from unelisa.simulation.crowds import simulate_classes
from unelisa.sources.labels import KnownLabels


@pytest.fixture(scope="session")
def known():
    """Three ordered classes, ten voters, 80 items with known truth and one that nobody saw."""
    drawn = simulate_classes(3, 10, 80, ordered=True, random_state=0)
    unseen = np.array(["unseen"], dtype=object), np.array([2], dtype=np.int8)
    return KnownLabels(drawn.votes, drawn.truth, *unseen)
