"""The table of voters as people see it."""

import numpy as np
import pandas as pd
import pytest

import unelisa as ue


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    truth = rng.choice([-1, 1], 300)
    right = rng.random((300, 5)) < [0.95, 0.6, 0.8, 0.7, 0.75]
    return ue.LatentIsing().fit(np.where(right, truth[:, None], -truth[:, None]))


def test_the_main_columns_are_printed_the_least_accurate_first(model):
    shown = repr(model.voters_).splitlines()
    assert shown[0].split() == ["voter", "verdict", "accuracy", "low", "high", "votes"]
    assert [line.split()[1] for line in (shown[1], shown[5])] == ["v1", "v0"]
    assert shown[-1].endswith("voters_full_")
    assert "low" in model.voters_._repr_html_()


def test_all_columns_are_there_by_name(model):
    table = model.voters_
    wanted = ["voter", "verdict", "family", "accuracy", "accuracy_low", "accuracy_high"]
    assert type(table[wanted]) is pd.DataFrame
    assert list(table.columns) == list(model.voters_full_.columns)
    assert np.all(table.npv_low <= table.npv)
    assert list(table.voter) == ["v0", "v1", "v2", "v3", "v4"]


def test_what_cannot_be_told_is_said():
    model = ue.LatentIsing().fit([[1, 1], [-1, -1], [1, -1], [1, 1]])
    assert repr(model.voters_).count("cannot be told") == 2


def test_methods_without_accuracies_print_what_they_have():
    model = ue.MajorityVote().fit([[1, 1, -1], [-1, -1, 1]])
    assert repr(model.voters_) == repr(model.voters_full_)
