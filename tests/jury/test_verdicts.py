import numpy as np
import pytest

from unelisa.errors import VotesError, VotesWarning
from unelisa.jury import verdicts
from unelisa.jury.verdicts import Check, Jury, Panel, Verdict, read_name
from unelisa.memory import limit_memory


def collect(*rows, cut=None, coding="auto"):
    panel = Panel(cut)
    for row in rows:
        panel.add(Verdict(*row))
    return panel.finish(coding, "inspect, long")


def test_verdicts_become_votes_whatever_their_order():
    rows = [("b", "x", True), ("a", "y", 0), ("a", "x", "pass"), ("c", "x", None)]
    one, other = collect(*rows), collect(*rows[::-1])
    assert isinstance(one, Jury)
    assert one.items.tolist() == other.items.tolist() == ["a", "b", "c"]
    assert one.voters.tolist() == ["x", "y"]
    assert np.array_equal(one.values, [[1, -1], [1, 0], [0, 0]])
    assert np.array_equal(one.values, other.values)
    assert one.source == "inspect, long"


def test_checks_count_what_passed():
    panel = Panel()
    for value in (True, 1, "yes", "Pass", False, 0, 0.5, "no", "fail", None, [1]):
        panel.add(Check("x", value))
    assert panel.checks == {"x": (4, 11)}


def test_a_repr_names_no_item():
    assert "Smith" not in repr(collect(("Smith", "x", 1), ("Smith", None, 0)))


def test_taking_items_keeps_gold_and_systems_by_name():
    jury = collect(("a", "x", 1, "s"), ("b", "x", 0, "s"), ("b", None, 0, "s"))
    taken = jury.take_items([1])
    assert taken.items.tolist() == ["b"]
    assert taken.gold["b"] == "fail"
    assert taken.systems["b"] == "s"


def test_gold_of_items_without_verdicts_is_left_out():
    assert collect(("a", "x", 1), ("b", None, 1)).gold == {}


def test_a_repeated_verdict_counts_once_and_a_contradiction_is_refused():
    with pytest.warns(VotesWarning, match="1 row repeats a vote"):
        collect(("a", "x", 1), ("a", "x", 1))
    with pytest.raises(VotesError, match="different votes of one voter"):
        collect(("a", "x", 1), ("a", "x", 0))


def test_free_text_and_colliding_names_are_refused():
    with pytest.raises(VotesError, match="free text"):
        collect(*(("a", "x", f"because {i}") for i in range(300)))
    with pytest.raises(VotesError, match="same name"):
        collect(("a", "x", 1, "s"), ("s / a", "x", 1))


@pytest.mark.parametrize("name", [None, True, [], {}, float("nan"), "", "  ", "a\0b"])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(VotesError, match="the name of a judge"):
        read_name(name, "a judge")
    assert read_name(3.0, "a judge") == "3"


def test_a_panel_beyond_the_memory_limit_is_refused(monkeypatch):
    monkeypatch.setattr(verdicts, "VERDICT_BYTES", 1 << 12)
    with limit_memory("70MB"), pytest.raises(VotesError, match="more than the limit"):
        collect(*((i, "x", 1) for i in range(verdicts.CHECKED)))


def test_half_characters_are_refused():
    for verdict in (
        Verdict("\ud83d", "j", 1),
        Verdict("a", "\ud83d", 1),
        Verdict("a", "j", "\ud83d"),
    ):
        with pytest.raises(VotesError, match="half characters"):
            Panel().add(verdict)
