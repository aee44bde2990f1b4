from dataclasses import replace

import numpy as np
import pytest

from latent.consensus.test_reading import read
from latent.edges.test_reading import graph
from latent.worlds import copying_crowd, echo, sides
from unelisa.latent.reading import Links
from unelisa.latent.verdicts import explain_voters, find_heads, judge_voters, list_followers


@pytest.fixture(scope="module")
def reading():
    """Three copies, two experts, a contrarian, one who guesses and five ordinary voters."""
    rng = np.random.default_rng(0)
    truth = sides(rng, 2000)
    said = echo(rng, truth, 0.7)
    columns = [echo(rng, said, p) for p in (0.95, 0.99, 0.95)]
    columns += [echo(rng, truth, p) for p in (0.97, 0.97, 0.4, 0.5, *[0.7] * 5)]
    return read(np.array(columns, dtype=np.int8).T)


NAMES = np.array(["a1", "a2", "a3", "dia", "eve", "fay", "gus", *"vwxyz"], dtype=object)


def test_every_verdict_is_given(reading):
    assert judge_voters(reading, NAMES) == [
        "family of a2",
        "counted",
        "family of a2",
        "expert",
        "expert",
        "contrarian",
        "uninformative",
        *["counted"] * 5,
    ]


def test_the_head_of_a_family_is_who_repeats_it_most(reading):
    assert find_heads(reading, NAMES) == ["a2"] * 3 + [""] * 9
    nobody = read(copying_crowd(0, n_copies=0)[0])
    assert find_heads(nobody, NAMES[:8]) == [""] * 8


def test_reasons_follow_the_verdicts(reading):
    assert explain_voters(reading, NAMES) == [
        "repeats a2: the family counts as one voter",
        "agrees with the truth",
        "repeats a2: the family counts as one voter",
        *["clearly better than the crowd"] * 2,
        "contradicts the truth: its votes are reversed",
        "not clearly tied to the truth",
        *["agrees with the truth"] * 5,
    ]


def test_followers_are_clearly_on_the_truths_side(reading):
    assert list_followers(reading).tolist() == [0, 1, 2, 3, 4, 7, 8, 9, 10, 11]
    assert list_followers(reading.turned()).tolist() == [5]


def test_voters_of_a_graph_are_its_hubs_or_explained_by_others():
    found = graph([0.5, -0.5, 0.1, 0.0], experts=(True, True, False, False))
    tie = Links(np.array([0]), np.array([2]), np.ones(1))
    told = explain_voters(replace(found, model=replace(found.model, links=tie)), NAMES[:4])
    assert told == [
        "agrees with the truth",
        "contradicts the truth",
        "explained by other voters",
        "not clearly tied to the truth",
    ]
