import pytest

from studies.records import make_archive
from studies.worlds.runs import DAWID_SKENE, MAJORITY, OURS
from studies.worlds.summary import summarize_kinds


def make_row(where, method, accuracy, **changed):
    part, kind, number = where
    figures = {
        "accuracy": accuracy,
        "log_loss": 1.3 - accuracy,
        "expected": 0.95,
        "expected_held": 1.0,
        "expected_width": 0.1,
        "voters_held": 0.5,
        "voters_width": 0.2,
    }
    return {
        "part": part,
        "kind": kind,
        "number": number,
        "items": 100,
        "voters": 9,
        "method": method,
        "figures": figures,
        "seconds": 0.25,
        "reliable": True,
        "warnings": [],
        "structure": "",
        "note": "",
        "commit": "0123abc",
        **changed,
    }


@pytest.fixture
def make_world():
    """A function that returns a world's rows with stated accuracies of ours, MV, DS and wawa."""

    def make(where, accuracies, **ours):
        names = (OURS, MAJORITY, DAWID_SKENE, "wawa")
        rows = [make_row(where, name, x) for name, x in zip(names, accuracies, strict=True)]
        return [{**rows[0], **ours}, *rows[1:]]

    return make


@pytest.fixture
def rows(make_world):
    """Four worlds of rules and two of copies for choosing; one of copied_expert for reporting."""
    return [
        *make_world(("choosing", "rules", 0), (0.80, 0.90, 0.70, 0.85), warnings=["VotesWarning"]),
        *make_world(("choosing", "rules", 1), (0.80, 0.70, 0.90, 0.85), reliable=False),
        *make_world(("choosing", "rules", 2), (0.87, 0.90, 0.70, 0.95)),  # a loss of .03
        *make_world(
            ("choosing", "rules", 3), (0.97, 0.90, 0.70, 0.95), warnings=["ExpertsWarning"]
        ),
        *make_world(("choosing", "copies", 0), (0.9, 0.8, 0.7, 0.6)),
        *make_world(("choosing", "copies", 1), (0.9, 0.6, 0.8, 0.6)),
        *make_world(("reporting", "copied_expert", 0), (0.9, 0.8, 0.7, 0.6)),
    ]


@pytest.fixture
def world_archive(rows):
    return make_archive(kinds=summarize_kinds(rows))
