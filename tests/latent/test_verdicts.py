from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from latent.worlds import model_of, reading_of
from unelisa.latent.edges import EdgesReading, Hub
from unelisa.latent.reading import (
    Links,
    explain_voters,
    find_heads,
    judge_voters,
    list_followers,
    tabulate_readings,
)

NAMES = np.array(["a1", "a2", "a3", "dia", "eve", "fay", "gus"], dtype=object)


@pytest.fixture
def reading():
    """Three who repeat each other, an expert, one who is counted, a contrarian, one who guesses."""
    model = model_of([1.0, 1.5, 1.2, 2.0, 1.0, -1.0, 0.15])
    return reading_of(model, family=[0, 0, 0, -1, -1, -1, -1], experts=np.arange(7) == 3)


def test_every_verdict_is_given(reading):
    assert judge_voters(reading, NAMES) == [
        "family of a2",
        "counted",
        "family of a2",
        "expert",
        "counted",
        "contrarian",
        "uninformative",
    ]


def test_the_head_of_a_family_is_its_strongest_voter(reading):
    assert find_heads(reading, NAMES) == ["a2"] * 3 + [""] * 4
    assert find_heads(reading_of(model_of(np.ones(7))), NAMES) == [""] * 7


def test_reasons_follow_the_verdicts(reading):
    assert explain_voters(reading, NAMES) == [
        "repeats a2: the family counts as one voter",
        "agrees with the truth",
        "repeats a2: the family counts as one voter",
        "clearly better than the crowd",
        "agrees with the truth",
        "contradicts the truth: its votes are reversed",
        "not clearly tied to the truth",
    ]


def test_followers_are_clearly_on_the_truths_side(reading):
    assert list_followers(reading).tolist() == [0, 1, 2, 3, 4]
    assert list_followers(reading.turned()).tolist() == [5]


def test_readings_are_told_in_a_table(reading):
    rival = reading_of(model_of([1.0] * 7), structure="other", agreement=0.8)
    table = tabulate_readings(
        [replace(reading, agreement=0.7), rival], NAMES, np.array(["no", "yes"])
    )
    assert list(table) == ["structure", "clusters", "agreement", "share_yes", "voters"]
    assert table.structure.tolist() == ["ease", "other"]
    assert table.clusters.tolist() == [5, 7]
    assert table.agreement.tolist() == [1.0, 0.8]
    assert table.share_yes.isna().all()  # until labels are judged
    assert table.voters[0] == ["a1", "a2", "a3", "dia", "eve"]
    three = reading_of(model_of([1.0] * 7, classes=np.full(3, 1 / 3)))
    columns = tabulate_readings([three], NAMES, np.array(["a", "b", "c"])).columns
    assert isinstance(columns, pd.Index)
    assert list(columns[3:-1]) == ["share_a", "share_b", "share_c"]


def test_voters_of_a_graph_are_its_hubs_or_explained_by_others():
    weights = np.array([0.5, -0.5, 0.1, 0.0])
    tie = Links(np.array([0]), np.array([2]), np.ones(1))
    hub = Hub(weights, weights * 0, np.zeros(4), 0.2, tie)
    experts = np.array([True, True, False, False])
    found = reading_of(model_of(weights), kind=_graph, experts=experts, hub=hub)
    assert explain_voters(found, NAMES[:4]) == [
        "agrees with the truth",
        "contradicts the truth",
        "explained by other voters",
        "not clearly tied to the truth",
    ]


def _graph(*, hub, model, ties, **more):
    del model, ties  # of a consensus
    return EdgesReading(model=hub, **more)
