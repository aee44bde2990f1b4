import numpy as np
import pandas as pd
import pytest

from unelisa.ehr.counts import FEWEST_SHOWN
from unelisa.ehr.rules.overlap import (
    describe_overlap,
    find_families,
    list_implications,
    measure_overlap,
    show_within,
)
from unelisa.ehr.rules.patterns import (
    draw_by_pattern,
    evaluate_patterns,
    find_obstacle,
    fit_patterns,
    list_patterns,
    read_patterns,
    suppress_counts,
    tabulate_patterns,
)
from unelisa.errors import ModelError, VotesError

SENSITIVITY, SPECIFICITY = np.array([0.8, 0.6, 0.7]), np.array([0.95, 0.9, 0.98])


def draw(n, prevalence, seed, rules=3):
    rng = np.random.default_rng(seed)
    case = rng.random(n) < prevalence
    rates = np.where(case[:, None], SENSITIVITY[:rules], 1 - SPECIFICITY[:rules])
    return rng.random((n, rules)) < rates


def site(name, n, prevalence, seed, hide=0, rules=3):
    table = tabulate_patterns(list("abc")[:rules], draw(n, prevalence, seed, rules))
    return read_patterns(suppress_counts(table, hide), name)


def expected_table(name, n, prevalence):
    """The counts that the model expects, rounded: estimates are then the truth itself."""
    patterns = list_patterns(3)
    sides = [
        np.prod(np.where(patterns, rates, 1 - rates), axis=1)
        for rates in (SENSITIVITY, 1 - SPECIFICITY)
    ]
    counts = np.round(n * (prevalence * sides[0] + (1 - prevalence) * sides[1])).astype(int)
    frame = pd.DataFrame(patterns.astype(int), columns=list("abc")).assign(patients=counts)
    return read_patterns(frame, name)


def test_a_table_counts_every_pattern_as_the_model_expects():
    flags = np.array([[1, 0], [1, 1], [1, 0]], dtype=bool)
    table = tabulate_patterns(["a", "b"], flags)
    assert table.to_numpy().tolist() == [[0, 0, 0], [0, 1, 0], [1, 0, 2], [1, 1, 1]]
    assert suppress_counts(table, 2)["patients"].tolist() == ["0", "0", "2", "<2"]
    fit = fit_patterns([expected_table("A", 1e7, 0.3), expected_table("B", 1e7, 0.05)])
    assert np.allclose(fit.prevalence, [0.3, 0.05], atol=1e-3)
    assert np.allclose(fit.sensitivity, SENSITIVITY, atol=1e-3)
    assert np.allclose(fit.specificity, SPECIFICITY, atol=1e-3)
    flags = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=bool)
    found = measure_overlap(flags)
    assert np.allclose(found[:2], [[1, 2 / 3, 0], [2 / 3, 1, 0]])
    assert np.isnan(found[2]).all()


def test_two_rules_need_two_sites_that_differ():
    found = evaluate_patterns(
        [site("A", 40_000, 0.3, 0, rules=2), site("B", 40_000, 0.05, 1, rules=2)]
    )
    assert np.allclose(found["sensitivity"][:2], SENSITIVITY[:2], atol=0.05)
    assert np.allclose(found["specificity"][:2], SPECIFICITY[:2], atol=0.02)
    alike = [site("A", 40_000, 0.3, 0, rules=2), site("B", 40_000, 0.3, 1, rules=2)]
    assert "need sites that differ" in find_obstacle(alike, own=False)
    assert find_obstacle(alike[:1], own=False)
    refused = evaluate_patterns(alike)
    assert refused[["sensitivity", "ppv", "prevalence"]].isna().all(axis=None)
    assert refused["reason"].str.contains("2 of the 2 rules").all()


def test_suppressed_cells_are_estimated():
    whole = [site("A", 4000, 0.2, 0), site("B", 1500, 0.03, 1)]
    hidden = [site("A", 4000, 0.2, 0, hide=10), site("B", 1500, 0.03, 1, hide=10)]
    assert any(np.isnan(table.counts).any() for table in hidden)
    told, guessed = fit_patterns(whole), fit_patterns(hidden)
    assert np.allclose(told.sensitivity, guessed.sensitivity, atol=0.02)
    assert np.allclose(told.prevalence, guessed.prevalence, atol=0.01)
    cells = [table.suppressed_below > 0 for table in hidden]
    filled = np.concatenate([fit[cell] for fit, cell in zip(guessed.counts, cells, strict=True)])
    assert ((filled >= 1) & (filled <= 9)).all()


def test_intervals_hold_and_accuracies_may_be_a_sites_own():
    tables = [site("A", 20_000, 0.3, 3), site("B", 20_000, 0.1, 4)]
    for own in (False, True):
        found = evaluate_patterns(tables, own)
        held = (found["sensitivity_low"] <= np.tile(SENSITIVITY, 2)) & (
            np.tile(SENSITIVITY, 2) <= found["sensitivity_high"]
        )
        assert held.sum() >= 5
        assert found["site"].tolist() == ["A"] * 3 + ["B"] * 3
        shared = np.allclose(found["sensitivity"][:3], found["sensitivity"][3:])
        assert shared is not own


def test_rules_within_one_another_are_one_family_without_arrows_past_the_next():
    flags = draw(5000, 0.2, 5)
    nested = np.column_stack([flags, flags[:, 0] & flags[:, 1]])
    table = read_patterns(tabulate_patterns(["a", "b", "c", "a and b"], nested), "A")
    assert find_families(table.patterns, table.counts) == [0, 0, 2, 0]
    found = evaluate_patterns([table])
    assert found["reason"].str.contains("2 of the 4 rules are not contained").all()
    copied = np.column_stack([flags, flags[:, 2]])
    found = evaluate_patterns([read_patterns(tabulate_patterns(list("abcd"), copied), "A")])
    assert found["sensitivity"].isna().tolist() == [False, False, False, True]
    assert found["reason"].tolist()[3] == "it contains, or is within, another rule"
    wide = np.arange(100) < 60
    flags = np.column_stack([wide, np.arange(100) < 30, np.arange(100) < 10, wide])
    patterns, counts = np.unique(flags, axis=0, return_counts=True)
    found = set(list_implications(show_within(patterns, counts.astype(float))))
    assert found == {(0, 3), (3, 0), (1, 0), (1, 3), (2, 1)}


def test_unreadable_tables_and_sites_without_patients_are_refused():
    good = tabulate_patterns(["a"], np.array([[True], [False]]))
    with pytest.raises(VotesError, match="no column patients"):
        read_patterns(good[["a"]], "A")
    with pytest.raises(VotesError, match="other values than 0 and 1"):
        read_patterns(good.assign(a=[0, 2]), "A")
    with pytest.raises(VotesError, match="lists a pattern more than once"):
        read_patterns(good.assign(a=[1, 1]), "A")
    for count in ("-3", "<1", "few", "1.5"):
        with pytest.raises(VotesError, match="neither a number up to .* nor like <10"):
            read_patterns(good.assign(patients=["5", count]), "A")
    with pytest.raises(ModelError, match="1 to 12 rules, found 13"):
        tabulate_patterns([str(k) for k in range(13)], np.zeros((2, 13), dtype=bool))
    with pytest.raises(VotesError, match="has other rules"):
        evaluate_patterns([read_patterns(good, "A"), site("B", 100, 0.5, 0)])
    empty = tabulate_patterns(["a", "b", "c"], np.zeros((0, 3), dtype=bool))
    with pytest.raises(VotesError, match="table of A counts no patient"):
        evaluate_patterns([read_patterns(empty, "A")])
    with pytest.raises(ModelError, match="same name"):
        tabulate_patterns(["a", "a"], np.array([[True, False]]))


@pytest.mark.parametrize("cell", ["<1000000000", "<101", "9" * 400, "9" * 5000, "<" + "9" * 5000])
def test_counts_and_thresholds_have_limits(cell):
    table = tabulate_patterns(["a"], np.array([[True], [False]])).astype(object)
    table.loc[0, "patients"] = cell
    with pytest.raises(VotesError, match="neither a number up to 10,000,000,000"):
        read_patterns(table, "A")


def test_charts_by_pattern_stand_for_all_patients():
    rng = np.random.default_rng(0)
    flags = rng.random((5000, 3)) < [0.02, 0.3, 0.1]
    sample = draw_by_pattern(flags, 80, rng)
    assert len(sample.rows) == len(set(sample.rows.tolist()))
    assert 75 <= len(sample.rows) <= 85
    assert np.isclose((1 / sample.drawn).sum(), 5000)
    weighted = (flags[sample.rows] / sample.drawn[:, None]).sum(axis=0)
    assert np.allclose(weighted, flags.sum(axis=0))
    mixed = flags.any(axis=1) & ~flags.all(axis=1)
    assert mixed[sample.rows].mean() > 1.5 * mixed.mean()


def test_small_patterns_and_rules_of_nobody_are_not_numbers():
    flags = np.zeros((2000, 3), dtype=bool)
    flags[:400, 0] = flags[392:925, 1] = True
    flags[300:350, 2] = flags[700:790, 2] = flags[1500:1600, 2] = True
    found = describe_overlap(["a", "b", "c"], flags)
    assert found["flagged"] == {"a": 400, "b": 533, "c": 240}
    assert found["disagree"] == 1020  # of 1,025
    assert found["overlap"]["a"]["b"] is found["overlap"]["b"]["a"] is None  # eight patients
    assert found["overlap"]["b"]["b"] == 1
    by_rules = {tuple(one["rules"]): one["patients"] for one in found["patterns"]}
    assert by_rules["b",] == 430
    assert by_rules["a", "b"] is None
    assert found["families"] == found["within"] == []
    nobody = describe_overlap(["a", "nobody"], flags[:, :2] & np.array([True, False]))
    assert nobody["overlap"]["nobody"] == {"a": None, "nobody": None}


@pytest.mark.parametrize("alone", range(1, FEWEST_SHOWN))
def test_no_small_pattern_can_be_worked_out(alone):
    def publish(alone, both, other):
        flags = np.zeros((300, 2), dtype=bool)
        flags[: alone + both, 0] = flags[alone : alone + both + other, 1] = True
        return describe_overlap(["a", "b"], flags)

    found = publish(alone, 45, 54)
    tables = [(k, 45 + alone - k, 54 - alone + k) for k in range(1, FEWEST_SHOWN)]
    assert sum(publish(*table) == found for table in tables) > 2  # one before


@pytest.mark.parametrize("few", range(1, FEWEST_SHOWN))
def test_sizes_of_nested_rules_show_no_small_difference(few):
    """A rule within another one, and two rules beside the one that asks for both."""

    def nest(few):
        rows = np.arange(3000)
        return np.column_stack([rows < 150, rows < 150 + few])

    def intersect(few):
        rows = np.arange(3000)
        a, b = rows < 150, (rows >= few) & (rows < 260)
        return np.column_stack([a, b, a & b])

    for draw, names in ((nest, "ab"), (intersect, "abc")):
        found = describe_overlap(list(names), draw(few))
        assert found["rounded"]
        assert all(size % 10 == 0 for size in found["flagged"].values())
    tables = (describe_overlap("ab", nest(k)) for k in range(1, FEWEST_SHOWN))
    found = describe_overlap("ab", nest(few))
    assert sum(table == found for table in tables) > 2  # one before


def test_sizes_stay_exact_where_no_difference_is_small():
    rows = np.arange(3000)
    found = describe_overlap(["a", "b"], np.column_stack([rows < 153, rows < 187]))
    assert not found["rounded"]
    assert found["flagged"] == {"a": 153, "b": 187}
    assert found["within"] == [["a", "b"]]
