import numpy as np
import pandas as pd

from unelisa.ehr.omop.persons import FEWEST, TOP, describe_groups


def find(rows, name):
    return next(row for row in rows if row["name"] == name)


def test_age_sex_and_utilization_are_compared():
    cases = np.arange(100) < 40
    counts = pd.DataFrame({"ICD:1": cases * 3, "visit_count": np.arange(100)})
    age, female = np.where(cases, 70.0, 30.0), np.where(np.arange(100) % 2, 1.0, 0.0)
    age[:10] = np.nan  # unknown ages do not count
    rows = describe_groups(counts, cases, {"age in years": age, "female": female}, "visit_count")
    assert find(rows, "age in years")["cases"] == [70.0, 70.0, 70.0]
    assert find(rows, "age in years")["others"] == [30.0, 30.0, 30.0]
    assert (find(rows, "female")["cases"], find(rows, "female")["others"]) == (0.5, 0.5)
    assert (
        find(rows, "visit_count")["cases"] == np.quantile(np.arange(40), [0.25, 0.5, 0.75]).tolist()
    )
    assert (find(rows, "ICD:1")["cases"], find(rows, "ICD:1")["others"]) == (1.0, 0.0)
    assert [row["kind"] for row in rows] == ["quartiles", "share", "quartiles", "share"]


def test_the_most_frequent_features_of_both_groups_are_shown():
    rng, cases = np.random.default_rng(0), np.arange(2000) < 1000
    shares = np.linspace(0.1, 0.9, 30)
    drawn = rng.random((2000, 30)) < np.where(cases[:, None], shares, shares[::-1])
    counts = pd.DataFrame(drawn.astype(int), columns=[f"ICD:{k:02d}" for k in range(30)])
    rows = describe_groups(counts, cases, {"age in years": None}, anchors=["ICD:14"])
    assert rows.pop(0)["name"] == "ICD:14"  # anchors come first, however rare
    present = {
        group: drawn[chosen].mean(axis=0)
        for group, chosen in (("cases", cases), ("others", ~cases))
    }
    top = {f"ICD:{k:02d}" for one in present.values() for k in np.argsort(-one)[:TOP]}
    assert {row["name"] for row in rows} == top
    for row in rows:
        for group, share in present.items():
            assert row[group] == share[int(row["name"][4:])]


def test_figures_of_few_patients_are_withheld():
    cases = np.arange(100) < 40
    has = np.zeros(100)
    has[: FEWEST - 1] = 1  # cases
    has[40:60] = 1
    rows = describe_groups(
        pd.DataFrame({"ICD:1": has}), cases, {"age in years": np.full(100, 50.0)}
    )
    assert (find(rows, "ICD:1")["cases"], find(rows, "ICD:1")["others"]) == (None, 20 / 60)
    few = np.arange(100) < FEWEST - 1
    rows = describe_groups(pd.DataFrame({"ICD:1": has}), few, {"age in years": np.full(100, 50.0)})
    assert find(rows, "age in years")["cases"] is None
    # of four cases all have it, which would tell who they are
    assert find(rows, "ICD:1")["cases"] is None
