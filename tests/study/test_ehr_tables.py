import json

from unelisa import __version__
from unelisa.study.ehr import FIGURES, NONE, OURS, PAPER, PENLOG, UNELISA
from unelisa.study.ehr_tables import FORMAT, PUBLISHED, collect_ehr, format_ehr, summarise_splits


def test_means_and_deviations(splits):
    found = {row["method"]: row for row in summarise_splits(splits)}
    assert found[OURS]["figures"]["auc"] == [0.91, 0.0141]  # .02 / sqrt 2
    assert found[OURS]["splits"] == 2
    assert [row["method"] for row in summarise_splits(splits)] == [UNELISA, PENLOG, OURS]
    assert [row["protocol"] for row in summarise_splits(splits)] == [PAPER, PAPER, NONE]


def test_a_figure_that_is_not_defined_is_left_out_of_its_mean(splits):
    splits[-1]["figures"]["ppv"] = None
    assert summarise_splits(splits)[-1]["figures"]["ppv"] == [0.9, 0.0]
    splits[2]["figures"]["ppv"] = None
    figures = summarise_splits(splits)[-1]["figures"]
    assert figures.keys() == set(FIGURES) - {"ppv"}


def test_no_split_counts_twice_and_the_later_row_counts(splits):
    again = {**splits[-1], "figures": dict.fromkeys(FIGURES, 0.96)}
    found = summarise_splits([*splits, *splits, again])[-1]
    assert found["splits"] == 2
    assert found["figures"]["auc"] == [0.93, 0.0424]


def test_sets_are_kept_apart(splits):
    other = [{**row, "set": "ra-8"} for row in splits]
    found = summarise_splits(splits + other)
    assert [row["set"] for row in found] == ["ra-7"] * 3 + ["ra-8"] * 3
    assert all(row["splits"] == 2 for row in found)


def test_nothing_sums_up_to_nothing():
    assert summarise_splits([]) == []


def test_a_folder_is_collected_with_its_sets_by_name_and_their_last_word(splits, tmp_path):
    facts = [{"set": "ra-8", "cases": 1}, {"set": "ra-7", "cases": 2}, {"set": "ra-8", "cases": 3}]
    _write(tmp_path / "ehr_sets.jsonl", facts)
    _write(tmp_path / "ehr.jsonl", [{"rows": splits[:3]}, {"rows": splits[3:]}])
    found = collect_ehr(tmp_path)
    assert (found["format"], found["unelisa"], found["rare"]) == (FORMAT, __version__, [])
    assert found["sets"] == [{"set": "ra-7", "cases": 2}, {"set": "ra-8", "cases": 3}]
    assert found["methods"] == summarise_splits(splits)


def _write(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def test_an_archive_is_json_with_a_set_or_method_a_line(ehr_archive):
    text = format_ehr(ehr_archive)
    assert json.loads(text) == json.loads(json.dumps(ehr_archive))
    starts = [line[:8] for line in text.splitlines()[1:]]
    assert set(starts) == {'{"set":"', '{"told":'}
    assert len(starts) == sum(len(ehr_archive[key]) for key in ("sets", "methods", "rare"))


def test_the_published_f_is_about_the_harmonic_mean_of_the_published_ppv_and_npv():
    """Means over splits of each: not the same, but near."""
    for figures in PUBLISHED.values():
        ppv, npv = figures["ppv"][0], figures["npv"][0]
        assert abs(2 * ppv * npv / (ppv + npv) - figures["f_score"][0]) < 0.005
