"""Files of reviewed charts and of reviews: refused where their rows contradict each other."""

import warnings

import numpy as np
import pandas as pd
import pytest

from unelisa.cli.phenotype_reviews import read_charts, read_drawn, read_reviews
from unelisa.ehr.charts import certify_flagged
from unelisa.errors import RecordsError, UnelisaError, VotesError

HEAD = "person_id,label,probability,drawn\n"
PEOPLE = [str(700_001 + k) for k in range(120)]


@pytest.mark.parametrize("share", ["nan", "NaN", "abc", "", "14%", "0,5", "0", "1.5", "-1", "inf"])
def test_a_share_drawn_is_a_number(tmp_path, share):
    file = tmp_path / "charts.csv"
    file.write_text(f'{HEAD}7,1,0.9,0.5\n8,0,0.9,"{share}"\n')
    with pytest.raises(RecordsError, match=r"the share drawn in row 3 of charts\.csv is not"):
        read_drawn(file)


def test_a_chart_stands_once_in_a_file(tmp_path):
    file = tmp_path / "charts.csv"
    file.write_text(f"{HEAD}7,0,0.9,0.5\n8,1,0.9,0.5\n7.0,1,0.9,0.5\n")
    with pytest.raises(RecordsError, match=r"row 4 of charts\.csv lists a patient again"):
        read_drawn(file)
    file.write_text(f"{HEAD}7,0,0.9,0.5\n,1,0.9,0.5\n")
    with pytest.raises(RecordsError, match=r"row 3 of charts\.csv names no patient"):
        read_drawn(file)
    file.write_text(f"{HEAD}7.0,0,0.9,0.5\n")
    assert read_drawn(file) == {"7": (0, 0.5)}


def test_a_chart_left_out_of_a_large_stratum_is_missed():
    n = 30_000
    persons, flagged = np.arange(n), np.ones(n, dtype=bool)
    charts = {str(k): (1, float(f"{300 / n:.6g}")) for k in range(300)}
    facts, out = certify_flagged(persons, np.full(n, 0.9), flagged, charts, 0.2)
    assert facts["certified"]
    assert out == []
    del charts["7"]
    with pytest.raises(VotesError, match="drawn with another model or from other records"):
        certify_flagged(persons, np.full(n, 0.9), flagged, charts, 0.2)


@pytest.fixture
def reviews(tmp_path):
    """Five reviewers, and a function that writes their table with some cells changed."""
    rng = np.random.default_rng(0)
    case = dict(zip(PEOPLE, (rng.random(120) < 0.4).tolist(), strict=True))
    rows = [
        (person, name, ("no", "yes")[int(case[person] == (rng.random() < 0.9))], "0.2")
        for person in PEOPLE
        for name in "abcde"
    ]
    table = pd.DataFrame(rows, columns=["person_id", "reviewer", "isCase", "drawn"])
    file = tmp_path / "reviews.csv"

    def write(change=None):
        changed = table.copy()
        if change is not None:
            change(changed)
        changed.to_csv(file, index=False)
        return file

    return write, case


@pytest.mark.parametrize("words", [("1", "0"), ("yes", "no"), ("1.0", "-1"), ("True", "False")])
def test_charts_beside_reviews_may_say_it_in_words(reviews, tmp_path, words):
    """Anything but 1 was read as "no case"."""
    write, case = reviews
    gold = tmp_path / "gold.csv"
    labels = pd.Series({p: words[not case[p]] for p in PEOPLE[:40]}, name="label")
    labels.index = labels.index + ".0"
    labels.rename_axis("person_id").to_csv(gold)
    found = read_reviews(write(), read_charts(gold))
    assert (found.loc[PEOPLE[:40], "label"] == [int(case[p]) for p in PEOPLE[:40]]).all()
    assert len(found) == len(PEOPLE)
    labels[:] = "case"
    labels.rename_axis("person_id").to_csv(gold)
    with pytest.raises(RecordsError, match="need labels 0 or 1"):
        read_reviews(write(), read_charts(gold))


@pytest.mark.parametrize(
    ("cell", "value", "sentence"),
    [
        ((4, "drawn"), "0.9", "has two shares drawn for a patient; keep one"),
        ((4, "drawn"), "", "has two shares drawn for a patient; keep one"),
        ((0, "person_id"), "", r"row 2 of reviews\.csv names no patient"),
        ((0, "reviewer"), "b", "lists a patient and reviewer more than once"),
    ],
)
def test_reviews_that_contradict_each_other_are_refused(reviews, cell, value, sentence):
    write, _ = reviews

    def change(table):
        table.loc[cell] = value

    with pytest.raises(UnelisaError, match=sentence):
        read_reviews(write(change))


def test_a_reviewer_whose_words_cannot_be_read_is_named(reviews):
    write, _ = reviews

    def change(table):
        table.loc[table["reviewer"] == "c", "isCase"] = "oui"

    with pytest.warns(UserWarning, match=r"'c' of reviews\.csv never said yes or no in isCase"):
        read_reviews(write(change))

    def respell(table):
        table["isCase"] = table["isCase"].map({"yes": "1.0", "no": "0.0"})

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_reviews(write(respell)).equals(read_reviews(write()))
