import re

import numpy as np
import pytest

import unelisa as ue
from unelisa.ehr.counts import FEWEST_SHOWN
from unelisa.ehr.omop.counts import Step
from unelisa.report import health

ANCHORS = ["ICD:714.0", "NLP:rheumatoid arthritis"]


@pytest.fixture(scope="module")
def facts():
    drawn = ue.simulate_ehr(1500, random_state=1)
    model = ue.Phenotyper(ANCHORS, "note_count", random_state=0).fit(drawn.counts)
    chances = model.predict_proba(drawn.counts)[:, 1]
    return health.describe_phenotype("Arthritis", model, chances, [Step("patients", 1500, 0.25)])


def test_the_page_tells_what_to_check_groups_and_flaws(facts):
    page = health.render_phenotype(facts)
    assert "What to check" in page
    used, unused = page.split("features that are not used, and why")
    shown = {one["feature"]: one["selected"] for one in facts["features"]}
    assert all(f"<bdi>{name}</bdi>" in (used if shown[name] else unused) for name in shown)
    assert "1,500" in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    shown = [int(n) for n in re.findall(r": (\d+) patients</title>", page)]
    assert sum(shown) == 1500
    assert min(n for n in shown if n) >= FEWEST_SHOWN
    ages = {"name": "age in years", "kind": "quartiles", "cases": [40, 50, 61], "others": None}
    women = {"name": "female", "kind": "share", "cases": 0.75, "others": 0.5}
    flaw = {"what": "patients without a visit", "number": 3, "of": 1500, "share": 0.002}
    rare = {"domain": "ICD", "kept": 12, "found": 13000}
    page = health.render_phenotype(
        {**facts, "groups": [ages, women], "flaws": [flaw], "rare": [rare]}
    )
    for text in ("50 (40 to 61)", "\u2013", "75", "3 of 1,500", "12 of 13,000 ICD features"):
        assert text in page
    bare = health.render_phenotype(facts)
    assert "Cases and others" not in bare
    assert "Quality of the records" not in bare
    assert facts["patients"] == sum(facts["histogram"]["counts"]) == 1500
    assert f"{facts['cases']:,} of 1,500 patients" in facts["answer"]
    assert [one["feature"] for one in facts["features"] if one["reason"].startswith("anchor")]
    assert facts["ppv"]["low"] <= facts["ppv"]["share"] <= facts["ppv"]["high"]


def test_names_cannot_become_markup(facts):
    hostile = {**facts, "title": "<script>x</script>", "warnings": ["<b>bold</b>"]}
    hostile["features"] = [{**facts["features"][0], "feature": "NLP:<img src=x>"}]
    hostile["groups"] = [{"name": "<img src=y>", "kind": "share", "cases": 0.5, "others": 0.5}]
    page = health.render_phenotype(hostile)
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;b&gt;" in page


@pytest.mark.parametrize("seed", range(20))
def test_no_small_number_can_be_read_off_the_histogram(seed):
    """Every bar has no patient or five, and so has every difference of two sums of bars."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(10, 400))
    chances = rng.beta(*rng.uniform(0.05, 2, 2), n)
    threshold = float(rng.choice([rng.random(), 0.5, 0.001, 0.999, 0.0, 1.0]))
    counts, edges = health.count_large(chances, threshold)
    assert sum(counts) == n
    assert all(count == 0 or count >= FEWEST_SHOWN for count in counts)
    assert np.histogram(chances, edges)[0].tolist() == counts
    cases = int((chances >= threshold).sum())
    if FEWEST_SHOWN <= cases <= n - FEWEST_SHOWN:  # the bars tell it, and nothing in between
        above = [sum(counts[k:]) for k in range(len(counts) + 1)]
        assert all(cases == x or abs(cases - x) >= FEWEST_SHOWN for x in above)


NASTY = "<b>&\"two' codes"
INTERVAL = ("", "_low", "_high")


def make_row(rule, value=0.5):
    row = {"rule": rule, "reason": "" if value is not None else "the phenotyper is not reliable"}
    for name in ("sensitivity", "specificity", "ppv", "npv"):
        row |= {name + end: None if value is None else value for end in INTERVAL}
    return row


@pytest.fixture
def rules():
    names = ["one code", NASTY, "drug"]
    shares = [[1.0, 0.5, 0.25], [1.0, 1.0, 0.98], [0.02, 0.9, 1.0]]
    return {
        "title": "Arthritis",
        "patients": 1000,
        "flagged": dict(zip(names, (400, 200, 100), strict=True)),
        "disagree": 7,
        "rounded": False,
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


def test_the_page_draws_containment_overlap_and_patterns_and_runs_nothing(rules):
    page = health.render_rules(rules)
    assert page.count("<svg") == 3
    for svg in re.findall("<svg.*?</svg>", page, re.DOTALL):
        named = re.search('aria-labelledby="(.*?)"', svg).group(1).split()
        assert all(f'id="{name}"' in svg for name in named)
        assert "<desc" in svg
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert "not estimated" in page
    assert "50% (50% to 50%)" in page
    assert "<b>" not in page
    assert "&lt;b&gt;" in page


def test_numbers_of_few_patients_are_not_on_the_page(rules):
    shown = health.draw_shares(rules)["cells"]
    texts = {(cell["row"], cell["column"]): cell["text"] for cell in shown}
    assert texts["drug", "one code"] == "few"  # 2 of 100
    assert texts[NASTY, "drug"] == "nearly all"  # all but 4 of 200
    assert texts[NASTY, "one code"] == "all"
    assert texts["one code", NASTY] == "50%"
    page = health.render_rules(rules)
    assert f"they disagree on fewer than {FEWEST_SHOWN}" in page
    hidden = {
        **rules,
        "disagree": None,
        "overlap": {a: dict.fromkeys(rules["overlap"]) for a in rules["overlap"]},
    }
    assert {cell["text"] for cell in health.draw_shares(hidden)["cells"]} == {"", "few"}
    assert "they disagree on" not in health.render_rules(hidden)
    wide = {**rules, "flagged": {**rules["flagged"], "drug": rules["patients"] - 4}}
    page = health.render_rules(wide)
    assert "nearly all" in page
    assert f"{rules['patients'] - 4:,}" not in page
    assert (
        health.draw_nested(wide)["bars"][0]["width"]
        == health.draw_nested(rules)["bars"][0]["width"]
    )
    assert "rounded down to tens" in health.render_rules({**rules, "rounded": True})
    small = {**rules, "flagged": {**rules["flagged"], "drug": 3}}
    assert health.draw_shares(small)["cells"][6]["text"] == "few"
    few = f"fewer than {FEWEST_SHOWN}"
    assert health.render_rules(small).count(few) > page.count(few)


def test_families_stand_together_and_sites_have_figures_only(rules):
    drawn = health.draw_nested(rules)
    assert [bar["name"] for bar in drawn["bars"]] == ["one code", NASTY, "drug"]
    (arrow,) = drawn["arrows"]
    (bracket,) = drawn["brackets"]
    assert (arrow["narrow"], arrow["wide"]) == (NASTY, "one code")
    assert bracket["height"] == 2 * drawn["row"]
    assert [row["dots"] for row in health.draw_patterns(rules)["rows"]][1] == [True, True, False]
    nobody = {**rules, "flagged": dict.fromkeys(rules["flagged"], 0), "patterns": []}
    assert {bar["width"] for bar in health.draw_nested(nobody)["bars"]} == {0}
    assert "Most frequent patterns" not in health.render_rules(nobody)
    rows = [{"site": site, **make_row("drug")} for site in ("a", "b")]
    page = health.render_rules({"sites": ["a.csv", "b.csv"], "rules": rows})
    assert "Rules at 2 sites" in page
    assert "<svg" not in page
