import numpy as np
import pytest

from unelisa.coding import NumberColumn, TextColumn, settle_coding
from unelisa.errors import AmbiguousVotesError, VotesError


def settle(*labels, coding="auto"):
    return settle_coding({label: f"in data row {i}" for i, label in enumerate(labels)}, coding)


@pytest.mark.parametrize(
    ("labels", "classes", "votes"),
    [
        ((-1, 1), (-1, 1), {-1: -1, 1: 1}),
        ((0, 1), (0, 1), {0: -1, 1: 1}),
        ((True, False), (False, True), {False: -1, True: 1}),
        (("yes", "no"), ("no", "yes"), {"no": -1, "yes": 1}),
        (("1", "0"), (0, 1), {"0": -1, "1": 1}),
        (("-1", "1.0"), (-1, 1), {"-1": -1, "1.0": 1}),
        ((1, 2), (1, 2), {1: -1, 2: 1}),
        (("1_0", "1_1"), ("1_0", "1_1"), {"1_0": -1, "1_1": 1}),
        ((2.5, 1.5), (1.5, 2.5), {1.5: -1, 2.5: 1}),
    ],
)
def test_auto_reads_what_can_mean_one_thing(labels, classes, votes):
    settled = settle(*labels)
    assert settled.classes == classes
    assert settled.votes == votes
    assert [type(label) for label in settled.classes] == [type(label) for label in classes]


@pytest.mark.parametrize("labels", [(-1, 0, 1), (-1, 0), (0,), (-1,), (1,), ("-1", "0", "1")])
def test_auto_refuses_what_can_be_read_two_ways(labels):
    with pytest.raises(AmbiguousVotesError, match="coding"):
        settle(*labels)


def test_the_refusal_spells_out_both_readings():
    with pytest.raises(AmbiguousVotesError) as refusal:
        settle(-1, 0, 1)
    assert "coding='pm1' if -1 is no and 0 is abstained" in str(refusal.value)
    assert "coding='snorkel' if -1 is abstained and 0 is no" in str(refusal.value)


@pytest.mark.parametrize(
    ("coding", "votes", "classes"),
    [
        ("pm1", {-1: -1, 0: 0, 1: 1}, (-1, 1)),
        ("snorkel", {-1: 0, 0: -1, 1: 1}, (0, 1)),
    ],
)
def test_declared_codings(coding, votes, classes):
    settled = settle(-1, 0, 1, coding=coding)
    assert settled.votes == votes
    assert settled.classes == classes


def test_a_declared_coding_names_the_place_of_a_stranger():
    with pytest.raises(VotesError, match="coding '01' allows 0, 1 only.*in data row 2"):
        settle(0, 1, -1, coding="01")


def test_the_two_labels_can_be_declared_with_the_positive_one_last():
    settled = settle("spam", "ham", coding=("spam", "ham"))
    assert settled.votes == {"spam": -1, "ham": 1}
    assert settled.classes == ("spam", "ham")
    assert settle("ham", coding=("ham", "spam")).votes == {"ham": -1}
    assert settle("0", "2", coding=(0, 2)).votes == {"0": -1, "2": 1}


@pytest.mark.parametrize(
    ("labels", "coding", "message"),
    [
        (("a", "b", "c"), "auto", "two labels, found 3, the third in data row 2"),
        (("a",), "auto", "only one label"),
        (("a", 3), "auto", "mix text with other values, one in data row 1"),
        ((0, 2), "auto", "may mean abstained"),
        ((1, float("inf")), "auto", "infinite"),
        (("a", "b"), ("a", "a"), "two different ones"),
        (("a", "b", "c"), ("a", "b"), "other than the two declared ones in data row 2"),
        ((1, 0), "binary", "unknown coding 'binary'"),
    ],
)
def test_refusals_are_one_sentence(labels, coding, message):
    with pytest.raises(VotesError, match=message) as refusal:
        settle(*labels, coding=coding)
    assert "\n" not in str(refusal.value)


def test_number_columns_know_their_labels_and_rows():
    column = NumberColumn(np.array([1.0, np.nan, 0.0, 1.0]))
    assert column.distinct() == {0, 1}
    assert column.first_row(0) == 2
    assert column.encode({0: -1, 1: 1}).tolist() == [1, 0, -1, 1]
    small = NumberColumn(np.array([-1, 1, -128, 127], dtype=np.int8))
    assert small.distinct() == {-128, -1, 1, 127}


@pytest.mark.parametrize("missing", [None, float("nan"), "", np.datetime64("NaT")])
def test_text_columns_recognise_missing_values(missing):
    column = TextColumn.of(["b", missing, "a", "b"])
    assert column.distinct() == {"a", "b"}
    assert column.first_row("a") == 2
    assert column.encode({"a": -1, "b": 1}).tolist() == [1, 0, -1, 1]


def test_a_cell_must_be_one_label():
    with pytest.raises(VotesError, match="found a list in a cell"):
        TextColumn.of(["a", ["b"]])


def test_a_label_has_200_characters_at_most():
    found = {"x" * 200: "in data row 1", "y": "in data row 2"}
    assert settle_coding(found).classes == ("x" * 200, "y")
    with pytest.raises(VotesError, match="more than 200 characters in data row 7"):
        settle_coding({**found, "z" * 201: "in data row 7"})
