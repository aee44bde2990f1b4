"""docs/phenotyping_study.md, from stated facts and from the archive."""

from pathlib import Path

from studies.ehr.page import render_ehr

DOCUMENTS = Path(__file__).parents[3] / "docs"


def test_the_page_shows_every_method_with_its_protocol(ehr_archive):
    page = render_ehr(ehr_archive)
    assert "| **Phenotyper** | none | .910 | .910 | .910 |" in page
    assert "| unElisa | all charts (leak) | .710 |" in page
    assert "| *published penLog* | all charts (leak) | .907 | .635 | .922 |" in page
    assert "optimistic because of leakage" in page
    assert "`Phenotyper` has AUC .920. It took 1.5 s" in page
    assert "`ehr_phecap` has " in page
    assert "| .03 | - | .040 (.030 to .050) | 1 of 2 |" in page
    assert "--seeds 7 " in page


def test_what_was_published_stands_beside_the_papers_disease_alone(ehr_archive):
    simulated, other = ehr_archive["sets"]
    assert render_ehr({**ehr_archive, "sets": [simulated]}).count("*published penLog*") == 1
    alone = render_ehr({**ehr_archive, "sets": [other]})
    assert "*published" not in alone
    assert "diamonds" not in alone
    assert "## Which features" not in alone


def test_a_figure_that_no_split_defines_leaves_its_cell_empty(ehr_archive):
    for row in ehr_archive["methods"]:
        del row["figures"]["npv"]
    assert "| **Phenotyper** | none | .910 | .910 |  |" in render_ehr(ehr_archive)


def test_without_rare_cohorts_their_section_is_left_out(ehr_archive):
    assert "## A rare phenotype" not in render_ehr({**ehr_archive, "rare": []})
