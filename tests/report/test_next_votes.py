import numpy as np
import pytest

import unelisa as ue
from unelisa.report import next_votes
from unelisa.report.findings import collect_findings
from unelisa.report.judged import Judged
from unelisa.report.next_votes import describe_next
from unelisa.report.page import render_report, write_report


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
    rows = ue.suggest_votes(model, votes, n=next_votes.VOTES)
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
    monkeypatch.setattr(next_votes, "MOST_CELLS", 10)
    assert describe_next(model, judged) == {}
