import re

import numpy as np
import pytest

import unelisa as ue
from unelisa.ehr.counts import FEWEST_SHOWN
from unelisa.ehr.omop.counts import Step
from unelisa.report.health import count_large, describe_phenotype, render_phenotype

ANCHORS = ["ICD:714.0", "NLP:rheumatoid arthritis"]


@pytest.fixture(scope="module")
def facts():
    drawn = ue.simulate_ehr(1500, random_state=1)
    model = ue.Phenotyper(ANCHORS, "note_count", random_state=0).fit(drawn.counts)
    chances = model.predict_proba(drawn.counts)[:, 1]
    return describe_phenotype("Arthritis", model, chances, [Step("patients", 1500, 0.25)])


def test_the_facts_agree_with_each_other(facts):
    assert facts["patients"] == sum(facts["histogram"]["counts"]) == 1500
    assert f"{facts['cases']:,} of 1,500 patients" in facts["answer"]
    assert [one["feature"] for one in facts["features"] if one["reason"].startswith("anchor")]
    assert facts["ppv"]["low"] <= facts["ppv"]["share"] <= facts["ppv"]["high"]


def test_the_page_tells_what_to_check_and_runs_nothing(facts):
    page = render_phenotype(facts)
    assert "What to check" in page
    assert "NLP:morning stiffness" in page
    assert "1,500" in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")


def test_the_page_compares_the_groups_and_tells_flaws(facts):
    page = render_phenotype(
        {
            **facts,
            "groups": [
                {
                    "name": "age in years",
                    "kind": "quartiles",
                    "cases": [40, 50, 61],
                    "others": None,
                },
                {"name": "female", "kind": "share", "cases": 0.75, "others": 0.5},
            ],
            "flaws": [
                {"what": "patients without a visit", "number": 3, "of": 1500, "share": 0.002}
            ],
            "rare": [{"domain": "ICD", "kept": 12, "found": 13000}],
        }
    )
    for text in ("50 (40 to 61)", "\u2013", "75", "3 of 1,500", "12 of 13,000 ICD features"):
        assert text in page
    bare = render_phenotype(facts)
    assert "Cases and others" not in bare
    assert "Quality of the records" not in bare


def test_names_cannot_become_markup(facts):
    hostile = {**facts, "title": "<script>x</script>", "warnings": ["<b>bold</b>"]}
    hostile["features"] = [{**facts["features"][0], "feature": "NLP:<img src=x>"}]
    hostile["groups"] = [{"name": "<img src=y>", "kind": "share", "cases": 0.5, "others": 0.5}]
    page = render_phenotype(hostile)
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
    counts, edges = count_large(chances, threshold)
    assert sum(counts) == n
    assert all(count == 0 or count >= FEWEST_SHOWN for count in counts)
    assert np.histogram(chances, edges)[0].tolist() == counts
    cases = int((chances >= threshold).sum())
    if FEWEST_SHOWN <= cases <= n - FEWEST_SHOWN:  # the bars tell it, and nothing in between
        above = [sum(counts[k:]) for k in range(len(counts) + 1)]
        assert all(cases == x or abs(cases - x) >= FEWEST_SHOWN for x in above)


def test_the_page_has_no_bar_of_one_patient(facts):
    drawn = render_phenotype({**facts, "histogram": {**facts["histogram"]}})
    shown = [int(n) for n in re.findall(r": (\d+) patients</title>", drawn)]
    assert sum(shown) == 1500
    assert min(n for n in shown if n) >= FEWEST_SHOWN
