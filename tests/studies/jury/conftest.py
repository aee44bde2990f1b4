"""A small panel with known truth, and an archive with stated figures."""

import numpy as np
import pytest

from studies.records import make_archive
from unelisa.sources.labels import KnownLabels
from unelisa.votes import Votes


@pytest.fixture
def known():
    """Five judges on 120 items, of which 100 have a known truth."""
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(120) < 0.4, 1, -1).astype(np.int8)
    right = rng.random((120, 5)) < np.array([0.9, 0.8, 0.8, 0.75, 0.7])
    values = np.where(right, truth[:, None], -truth[:, None]).astype(np.int8)
    signs = np.where(np.arange(120) < 100, truth, 0).astype(np.int8)
    nobody = np.empty(0, dtype=object), np.empty(0, dtype=np.int8)
    return KnownLabels(Votes.of(values), signs, *nobody)


@pytest.fixture
def archive():
    """One panel of two classes, and one of more that is not to be trusted."""
    scores = {"accuracy": 0.9, "log_loss": 0.25}
    less = {"accuracy": 0.85, "log_loss": 0.5}
    figures = {"coverage": 0.95, "width": 0.2, "error": 0.05}
    repeat = {"judge": "x", "times": 2, "labels_kept": 1.0}
    two = {
        **{"set": "two", "classes": 2, "items": 1200, "judges": 9, "effective": 5.25},
        **{"families": 1, "reliable": True, "needed": None},
        "labels": {"LatentIsing": scores, "majority": less, "share of yes": less},
        "smaller": {"dropped": 3, "labels_kept": 0.994, "accuracy": 0.899},
        "repeats": [
            {**repeat, "differ": 0.0, "effective": 5.25},
            {**repeat, "differ": 0.05, "effective": 5.0, "labels_kept": 0.97},
        ],
        "rates": {
            **{"truth": 0.4, "labels": 50, "draws": 200, "gold alone": figures},
            "estimate_rate": {**figures, "width": 0.1, "error": 0.04},
            **{"judgy-style": figures, "judgepanel-style": {**figures, "coverage": 0.0}},
        },
    }
    more = {key: value for key, value in two.items() if key != "rates"}
    needed = {"n": 169, "settles": "accuracy", "among": 300}
    more |= {"set": "more", "classes": 5, "reliable": False, "needed": needed}
    more["smaller"] = {"dropped": 0, "labels_kept": 1.0, "accuracy": 0.9}
    return make_archive(panels=[more, two])
