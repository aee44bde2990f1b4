import numpy as np
import pytest

from unelisa.ehr.datamart import simulate_ehr
from unelisa.ehr.datamart.records import N_DAYS, Calendar, choose_days, list_mentions, list_visits


@pytest.fixture(scope="module")
def drawn():
    return simulate_ehr(200, random_state=3)


@pytest.fixture
def calendar(drawn):
    return Calendar(drawn, np.random.default_rng(0))


def test_visits_fall_on_different_days_within_sixteen_years(calendar):
    days = calendar.visit_day
    assert days.min() >= 0
    assert days.max() < N_DAYS
    for first, n in zip(calendar.visit_starts, calendar.visits, strict=True):
        assert (np.diff(days[first : first + n]) > 0).all()


def test_no_visit_has_two_notes(calendar):
    assert len(set(calendar.note_visit.tolist())) == len(calendar.note_visit)


def test_chosen_days_are_different_and_there():
    rng = np.random.default_rng(1)
    available = rng.integers(1, 60, 500)
    count = rng.integers(0, available + 1)
    patient, day = choose_days(count, available, rng)
    day -= (np.cumsum(available) - available)[patient]
    assert (np.bincount(patient, minlength=500) == count).all()
    assert ((day >= 0) & (day < available[patient])).all()
    assert len({*zip(patient.tolist(), day.tolist(), strict=True)}) == count.sum()


def test_many_mentions_do_not_count(drawn, calendar):
    rows = list(list_mentions(drawn, calendar, np.random.default_rng(0)))
    kinds = {(block["term_exists"], block["term_modifiers"]) for block in rows}
    assert ("N", "negation=true") in kinds
    assert (None, "conditional=true") in kinds
    assert ("Y", "negation=false, subject=mother") in kinds
    numbers = np.concatenate([block["note_nlp_id"] for block in rows])
    assert len(np.unique(numbers)) == len(numbers)


def test_visits_belong_to_their_patients(drawn, calendar):
    owner = list_visits(calendar)["person_id"]
    assert (np.bincount(owner - drawn.counts.index[0]) == drawn.visits).all()
