from datetime import date

import pytest

from unelisa.errors import AmbiguousVotesError, VotesError
from unelisa.votes.coding import MAX_CLASSES, Declared, declare_order, encode_classes, settle_coding


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


@pytest.mark.parametrize(
    ("coding", "votes", "classes"),
    [("pm1", {-1: -1, 0: 0, 1: 1}, (-1, 1)), ("snorkel", {-1: 0, 0: -1, 1: 1}, (0, 1))],
)
def test_declared_codings(coding, votes, classes):
    settled = settle(-1, 0, 1, coding=coding)
    assert settled.votes == votes
    assert settled.classes == classes


def test_the_two_labels_can_be_declared():
    with pytest.raises(VotesError, match="coding '01' allows 0, 1 only.*in data row 2"):
        settle(0, 1, -1, coding="01")
    settled = settle("spam", "ham", coding=("spam", "ham"))
    assert settled.votes == {"spam": -1, "ham": 1}
    assert settled.classes == ("spam", "ham")
    assert settle("ham", coding=("ham", "spam")).votes == {"ham": -1}
    assert settle("0", "2", coding=(0, 2)).votes == {"0": -1, "2": 1}


@pytest.mark.parametrize(
    ("labels", "coding", "message"),
    [
        (range(1, 202), "auto", "hold 201 labels, 200 at most.*201 is in data row 200"),
        ((1.5, 2, 3), "auto", "fractions.*order"),
        (("a",), "auto", "only one label"),
        (("a", 3), "auto", "mix text with other values, one in data row 1"),
        ((0, 2), "auto", "may mean abstained"),
        (("yes", "no", "1"), "auto", "mix text with other values, one in data row 2"),
        (("yes", "no", "Yes "), "auto", "upper and lower case or spaces only, in data row 2"),
        ((date(1, 1, 1), date(2, 1, 1), date(3, 1, 1)), "auto", "neither text nor numbers"),
        ((1, float("inf")), "auto", "infinite"),
        (("a", "b"), ("a", "a"), "two different ones"),
        (("a", "b", "c"), ("a", "b"), "other than the two declared ones in data row 2"),
        (("a", "d"), ("a", "b", "c"), "other than the 3 declared ones in data row 1"),
        ((-1, 0, 3), Declared((0, 1, 2), name="snorkel"), "the 3 declared ones in data row 2"),
        ((-1, 0, 2, 0.5), "snorkel", "allows -1, 0, 1, 2 only.*in data row 3"),
        (("a", "b"), tuple(range(201)), "at most 200 classes"),
        ((1, 0), "binary", "unknown coding 'binary'"),
    ],
)
def test_refusals_are_one_sentence(labels, coding, message):
    with pytest.raises(VotesError, match=message) as refusal:
        settle(*labels, coding=coding)
    assert "\n" not in str(refusal.value)


def test_a_label_has_200_characters_at_most():
    found = {"x" * 200: "in data row 1", "y": "in data row 2"}
    assert settle_coding(found).classes == ("x" * 200, "y")
    with pytest.raises(VotesError, match="more than 200 characters in data row 7"):
        settle_coding({**found, "z" * 201: "in data row 7"})
    codes = [code % 256 for code in encode_classes(MAX_CLASSES)]
    assert codes == list(range(1, MAX_CLASSES + 1))
    assert max(encode_classes(MAX_CLASSES)) == 127


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (("dog", "cat", "owl"), ("cat", "dog", "owl")),
        ((0, 1, 2), (0, 1, 2)),
        ((0, 5, 3), (0, 3, 5)),
        (("10", "9", "2.0"), (2, 9, 10)),
        ((5, 1, 2), (1, 2, 5)),
    ],
)
def test_auto_reads_more_than_two_classes_in_sort_order(labels, classes):
    settled = settle(*labels)
    assert settled.classes == classes
    kept = {float(label) if isinstance(classes[0], int) else label: label for label in labels}
    assert [settled.votes[kept[label]] for label in classes] == [1, 2, 3]
    assert not settled.ordered


@pytest.mark.parametrize("labels", [(-1, 0, 1, 2), (-1, 1, 2), (-1, 2, 3, 4)])
def test_minus_one_among_more_classes_is_ambiguous(labels):
    with pytest.raises(AmbiguousVotesError, match="coding='snorkel'.*order="):
        settle(*labels)


def test_the_refusal_spells_out_the_codings_and_that_three_codes_may_be_classes():
    with pytest.raises(AmbiguousVotesError) as refusal:
        settle(-1, 0, 1)
    for words in (
        "coding='pm1' if -1 is no and 0 is abstained",
        "coding='snorkel' if -1 is abstained and 0 is no",
        "or order=[-1, 0, 1] if they are three classes",
    ):
        assert words in str(refusal.value)
    declared = declare_order("auto", [-1, 0, 1])
    assert settle(-1, 0, 1, coding=declared).votes == {-1: 1, 0: 2, 1: 3}


def test_snorkel_counts_classes_from_zero():
    settled = settle(-1, 0, 3, 1, coding="snorkel")
    assert settled.votes == {-1: 0, 0: 1, 1: 2, 3: 4}
    assert settled.classes == (0, 1, 2, 3)
    assert settled.name == "snorkel"
    later = Declared(settled.classes, name="snorkel")
    assert settle(-1, 0, 1, coding=later).votes == {-1: 0, 0: 1, 1: 2}


def test_an_order_is_kept_and_two_classes_are_the_usual_two():
    settled = settle("good", "poor", coding=declare_order("auto", ["poor", "fair", "good"]))
    assert settled.classes == ("poor", "fair", "good")
    assert settled.ordered
    assert settled.votes == {"good": 3, "poor": 1}
    two = settle("a", "b", coding=declare_order("auto", ["b", "a"]))
    assert two == settle("a", "b", coding=("b", "a"))


@pytest.mark.parametrize(("coding", "order"), [("pm1", [-1, 0, 1]), ("auto", "abc")])
def test_an_order_is_a_list_and_takes_the_place_of_a_coding(coding, order):
    with pytest.raises(VotesError, match="order"):
        declare_order(coding, order)
