import re
from html.parser import HTMLParser

import numpy as np
import pytest

from unelisa.aggregators import AGGREGATORS, UnElisa
from unelisa.report.findings import collect_findings
from unelisa.report.page import render_page, write_report
from unelisa.study.comparison import MethodScore
from unelisa.votes import Votes

VOID = {"meta", "link", "br", "img", "input", "hr"}
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "=cmd|' /C calc'!A0",
    "x" * 10_000,
    "{{ 7 * 7 }}",
    "\u202eevil",
    "</style><svg onload=alert(1)>",
    "&lt;b&gt;",
    "",
]


class _Checker(HTMLParser):
    """Collects the tags and attributes of a page, and complains where tags do not match."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def _check(page):
    checker = _Checker()
    checker.feed(page)
    assert checker.open == []
    return checker


@pytest.mark.parametrize("name", AGGREGATORS)
def test_every_method_has_a_well_formed_page(name, crowd):
    votes, _ = crowd
    model = AGGREGATORS[name]().fit(votes)
    row = MethodScore(name, 0.9, 0.9, None, None, 0.1, None)
    findings = collect_findings(model, votes, comparison=[row._asdict()], seconds=0.1)
    page = render_page(findings)
    tags = _check(page).tags
    assert tags.count("rect") == 20
    assert tags.count("table") == 2
    assert "Against the known truth" in page
    assert findings["answer"] in page
    assert page.count("<dd>") >= 6


def test_nothing_is_fetched_and_nothing_can_run(crowd):
    votes, _ = crowd
    page = render_page(collect_findings(UnElisa(random_state=0).fit(votes), votes))
    checker = _check(page)
    assert "script" not in checker.tags
    assert re.search(r"https?:|//|url\(|@import", page) is None
    assert all(value == "data:," for name, value in checker.attributes if name in ("src", "href"))
    assert "default-src 'none'" in page


def test_hostile_names_stay_text(crowd):
    votes, _ = crowd
    names = np.array(HOSTILE, dtype=object)
    items = np.array(["<patient>"] * votes.n_items, dtype=object)
    votes = Votes(votes.values, items, names, ("<no>", "<yes>"))
    page = render_page(collect_findings(UnElisa(random_state=0).fit(votes), votes))
    checker = _check(page)
    assert not {"script", "img"} & set(checker.tags)
    assert checker.tags.count("svg") == 1
    assert not [name for name, _ in checker.attributes if name.startswith("on")]
    assert "patient" not in page
    assert "{{ 7 * 7 }}" in page
    assert "x" * 81 not in page
    assert "&lt;yes&gt;" in page


def test_warnings_stand_on_the_page(crowd):
    votes, _ = crowd
    model = UnElisa(random_state=0).fit(votes)
    assert "a &lt;note&gt;" in render_page(collect_findings(model, votes, notes=["a <note>"]))
    assert 'class="warnings"' not in render_page({**collect_findings(model, votes), "warnings": []})


def test_the_page_is_written_whole(crowd, tmp_path):
    votes, _ = crowd
    model = UnElisa(random_state=0).fit(votes)
    write_report(model, votes, tmp_path / "page.html", seconds=0.25)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "0.25 s" in page
    assert "random_state" in page
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_page_without_votes_tells_of_the_voters(crowd):
    page = render_page(collect_findings(UnElisa(random_state=0).fit(crowd[0])))
    _check(page)
    assert "<svg" not in page
