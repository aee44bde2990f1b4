"""An archive with stated figures."""

import pytest

from studies.records import make_archive


@pytest.fixture
def archive():
    """Two sets, one without an interval of the model's own, and one simulated model."""
    figures = {
        **{"coverage": [0.95, 0.95], "width": [0.1, 0.1], "error": [0.02, 0.02]},
        **{"alone_coverage": [0.96, 0.96], "alone_width": [0.2, 0.2], "alone_error": [0.05, 0.05]},
    }
    facts = {"classes": 2, "items": 1000, "labels": 50, "reliable": True, "accuracy": 0.9}
    one = {
        **{"set": "one", **facts, "truth": [0.6, 0.4], "draws": 200},
        **{"without": [[0.5, 0.4, 0.55], [0.5, 0.45, 0.6]], **figures},
    }
    two = {**one, "set": "two", "without": [[0.5, None, None], [0.5, None, None]]}
    model = {"model": "useless", "share": 0.5, "labels": 20}
    single = {key: values[0] for key, values in figures.items()}
    return make_archive(sets=[one, two], models=[{**model, **single}])
