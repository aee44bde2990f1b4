from dataclasses import replace

import numpy as np
import pytest

import unelisa as ue
from analysis.test_judged import judged, judged_classes
from unelisa.analysis.judged import Judged
from unelisa.report import items
from unelisa.report.findings import collect_findings
from unelisa.report.items import (
    MOST_LISTED,
    describe_next,
    list_differing,
    list_hard,
    list_uncertain,
)
from unelisa.report.page import render_report, write_report


def test_the_most_uncertain_come_first_and_ties_in_the_items_order():
    found = list_uncertain(judged([], [0.1, 0.6, 0.4, 0.9]))
    assert [row["item"] for row in found] == ["1", "2", "0", "3"]
    assert (found[1]["label"], found[1]["probability"]) == ("no", pytest.approx(0.4))
    assert found[0]["label"] == "yes"
    assert list_uncertain(judged([-3, 0, 0, 0]))[0]["probability"] is None


def test_no_more_items_are_named_than_fit_a_page():
    assert len(list_uncertain(judged(np.arange(MOST_LISTED + 9)))) == MOST_LISTED


def test_items_of_unknown_ease_are_not_hard():
    known = judged([1.0, -2.0, 0.5])
    eased = replace(known, ease=np.array([0.3, np.nan, 1.2]))
    assert [(row["item"], row["ease"]) for row in list_hard(eased)] == [("0", 0.3), ("2", 1.2)]
    assert [row["ease"] for row in list_uncertain(eased)] == [1.2, 0.3, None]
    assert list_hard(known) == []


def test_the_least_probable_labels_of_three_classes_come_first():
    given = np.array([[0.97, 0.02, 0.01], [0.3, 0.3, 0.4], [0.05, 0.9, 0.05]])
    rows = list_uncertain(judged_classes(np.log(given), has_chances=True))
    assert [row["item"] for row in rows] == ["1", "2", "0"]
    assert (rows[0]["label"], rows[0]["probability"]) == ("c", pytest.approx(0.4))
    assert [row["said"] for row in rows] == ["a 2: v0, v1", "", "a 2: v0, v1"]


def test_labels_against_the_majority_are_listed_with_who_said_what():
    values = np.ones((3, 6), dtype=np.int8)
    values[:, 0] = -1
    found = list_differing(judged([-1, 2, -3], values=values))
    assert [row["item"] for row in found] == ["2", "0"]
    assert found[0]["said"] == "yes 5: v1, v2, v3, v4\u00a0…; no 1: v0"


@pytest.fixture(scope="module")
def asked():
    votes = ue.simulate_classes(3, 6, 150, missing=0.4, random_state=0).votes
    names = np.array([f"case <{i}>" for i in range(150)], dtype=object)
    votes = ue.Votes.of_values(votes.values, names, votes.voters, votes.classes)
    model = ue.DawidSkene().fit(votes)
    return model, votes, Judged.of(model, votes)


def test_the_section_says_what_suggest_votes_says(asked):
    model, votes, judged = asked
    found = describe_next(model, judged)["next_votes"]
    rows = ue.suggest_votes(model, votes, n=items.SUGGESTED)
    assert found["n"] == len(rows) == sum(row["votes"] for row in found["voters"])
    assert found["gain"] == pytest.approx(rows["gain"].sum())
    assert found["stop"] == rows.attrs["stop"]
    assert found["rows"] == []


def test_items_are_named_only_where_they_may_be(asked, tmp_path):
    model, votes, judged = asked
    findings = collect_findings(model, judged)
    page = render_report({**findings, **describe_next(model, judged)}, judged)
    assert "What to ask next" in page
    assert "case &lt;" not in page
    write_report(model, votes, tmp_path / "page.html", show_items=True)
    shown = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "questions, with the votes so far." in shown
    assert "case &lt;" in shown
    assert "case <" not in shown


def test_there_is_no_section_without_votes_or_for_other_methods(asked, monkeypatch):
    model, votes, judged = asked
    assert describe_next(model, None) == {}
    majority = ue.MajorityVote().fit(votes)
    assert describe_next(majority, Judged.of(majority, votes)) == {}
    assert "What to ask next" not in render_report(collect_findings(model, judged), judged)
    monkeypatch.setattr(items, "MOST_CELLS", 10)
    assert describe_next(model, judged) == {}
