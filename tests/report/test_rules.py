import re

import pytest

from unelisa.ehr.counts import FEWEST_SHOWN
from unelisa.report.health import draw_nested, draw_patterns, draw_shares, render_rules

NASTY = "<b>&\"two' codes"
INTERVAL = ("", "_low", "_high")


def make_row(rule, value=0.5):
    row = {"rule": rule, "reason": "" if value is not None else "the phenotyper is not reliable"}
    for name in ("sensitivity", "specificity", "ppv", "npv"):
        row |= {name + end: None if value is None else value for end in INTERVAL}
    return row


@pytest.fixture
def facts():
    names = ["one code", NASTY, "drug"]
    shares = [[1.0, 0.5, 0.25], [1.0, 1.0, 0.98], [0.02, 0.9, 1.0]]
    return {
        "title": "Arthritis",
        "patients": 1000,
        "flagged": dict(zip(names, (400, 200, 100), strict=True)),
        "disagree": 7,
        "overlap": {
            name: dict(zip(names, row, strict=True))
            for name, row in zip(names, shares, strict=True)
        },
        "families": [["one code", NASTY]],
        "within": [[NASTY, "one code"]],
        "patterns": [
            {"rules": ["one code"], "patients": 120},
            {"rules": ["one code", NASTY], "patients": None},
        ],
        "rules": [make_row(names[0]), make_row(NASTY, None), make_row("drug", 0.25)],
    }


def test_the_page_draws_containment_overlap_and_patterns_and_runs_nothing(facts):
    page = render_rules(facts)
    assert page.count("<svg") == 3
    for svg in re.findall("<svg.*?</svg>", page, re.DOTALL):
        named = re.search('aria-labelledby="(.*?)"', svg).group(1).split()
        assert all(f'id="{name}"' in svg for name in named)
        assert "<desc" in svg
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert "not estimated" in page
    assert "50% (50% to 50%)" in page


def test_names_cannot_become_markup(facts):
    page = render_rules(facts)
    assert "<b>" not in page
    assert "&lt;b&gt;" in page


def test_numbers_of_few_patients_are_not_on_the_page(facts):
    shown = draw_shares(facts)["cells"]
    texts = {(cell["row"], cell["column"]): cell["text"] for cell in shown}
    assert texts["drug", "one code"] == "few"  # 2 of 100
    assert texts[NASTY, "drug"] == "nearly all"  # all but 4 of 200
    assert texts[NASTY, "one code"] == "all"
    assert texts["one code", NASTY] == "50%"
    page = render_rules(facts)
    assert f"they disagree on fewer than {FEWEST_SHOWN}" in page
    small = {**facts, "flagged": {**facts["flagged"], "drug": 3}}
    assert draw_shares(small)["cells"][6]["text"] == "few"
    few = f"fewer than {FEWEST_SHOWN}"
    assert render_rules(small).count(few) > page.count(few)


def test_families_stand_together_and_arrows_point_to_the_wider_rule(facts):
    drawn = draw_nested(facts)
    assert [bar["name"] for bar in drawn["bars"]] == ["one code", NASTY, "drug"]
    (arrow,) = drawn["arrows"]
    (bracket,) = drawn["brackets"]
    assert (arrow["narrow"], arrow["wide"]) == (NASTY, "one code")
    assert bracket["height"] == 2 * drawn["row"]
    assert [row["dots"] for row in draw_patterns(facts)["rows"]][1] == [True, True, False]


def test_a_rule_that_flags_nobody_is_drawn(facts):
    nobody = {**facts, "flagged": dict.fromkeys(facts["flagged"], 0), "patterns": []}
    assert {bar["width"] for bar in draw_nested(nobody)["bars"]} == {0}
    assert "Most frequent patterns" not in render_rules(nobody)


def test_sites_have_figures_only():
    rows = [{"site": site, **make_row("drug")} for site in ("a", "b")]
    page = render_rules({"sites": ["a.csv", "b.csv"], "rules": rows})
    assert "Rules at 2 sites" in page
    assert "<svg" not in page
