import json

import pandas as pd
import pytest

from unelisa.errors import VotesWarning
from unelisa.jury import read_jury, read_preferences, read_scores

VOTES = {
    ("a", "strict"): "faulty",
    ("a", "kind"): "faulty",
    ("b", "strict"): "faulty",
    ("b", "kind"): "clean",
}


def test_one_record_per_verdict(logs, said):
    path = logs / "judgepanel-0.1.jsonl"
    assert said(path) == VOTES
    assert read_jury(path).classes == ("clean", "faulty")
    assert read_jury(path, coding=("faulty", "clean")).classes == ("faulty", "clean")


def test_more_than_two_labels_are_classes(tmp_path):
    path = tmp_path / "panel.csv"
    path.write_text("task,grader,verdict\na,x,good\na,y,fair\nb,x,poor\nb,y,poor\n")
    assert read_jury(path).classes == ("fair", "good", "poor")


def test_gold_and_systems_come_along(tmp_path):
    frame = pd.DataFrame(
        {
            "item": ["q", "q", "q", "q"],
            "judge": ["x", "y", "x", "y"],
            "label": [1, 0, 1, 1],
            "system": ["one", "one", "two", "two"],
            "gold": [None, 1.0, None, None],
        }
    )
    jury = read_jury(frame)
    assert jury.items.tolist() == ["one / q", "two / q"]
    assert jury.systems == {"one / q": "one", "two / q": "two"}
    assert jury.gold == {"one / q": "pass"}


def test_names_are_required(refuse):
    assert "the name of an item" in refuse('{"item": null, "judge": "x", "label": 1}')
    assert "the name of a judge" in refuse('{"item": "Xylophon7", "judge": "", "label": 1}')
    assert "the name of a judge" in refuse('{"item": 1, "judge": "x", "label": 1}\n{"item": 2}')
    assert "neither text nor a number" in refuse('{"item": ["Xylophon7"], "judge": 1, "label": 1}')


def test_lists_of_annotators_and_labels_are_pairs(tmp_path, said):
    frame = pd.DataFrame(
        {"id": ["a", "b"], "annotators": [["x", "y"], ["x"]], "labels": [["u", "v"], ["v"]]}
    )
    frame.to_parquet(tmp_path / "lists.parquet")
    expected = {("a", "x"): "u", ("a", "y"): "v", ("b", "x"): "v"}
    assert said(tmp_path / "lists.parquet") == expected
    assert said(frame) == expected


def test_a_label_and_a_score_must_be_chosen_and_columns_can_be_named(tmp_path, said, refuse):
    line = '{"item": 1, "judge": "x", "label": "good", "score": 1, "who": "y"}'
    assert refuse(line).endswith("pass label='label', or label='score'")
    path = tmp_path / "log.jsonl"
    path.write_text(line)
    assert said(path, item="item", judge="who", score="score") == {("1", "y"): "pass"}
    assert "has no field 'nobody'" in refuse(line, item="item", judge="nobody", label="label")


def test_data_sets_are_not_one_and_criteria_are_questions(tmp_path, refuse):
    lines = [
        f'{{"item": 1, "judge": "x", "label": {k}, "dataset": "{d}"}}' for k, d in enumerate("uv")
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(lines))
    assert read_jury(path).items.tolist() == ["u / 1", "v / 1"]
    assert "more than one question" in refuse("\n".join(lines).replace("dataset", "criterion"))


RECORD = {"item": 1, "judge": "x", "label": 1}


def test_tasks_beside_items_and_epochs_are_told_apart(tmp_path):
    path = tmp_path / "log.jsonl"
    for field, names in (("task", ["u / 1", "v / 1"]), ("epoch", ["1", "1 epoch 2"])):
        told = "uv" if field == "task" else (1, 2)
        lines = [{**RECORD, "label": k, field: x} for k, x in enumerate(told)]
        path.write_text("\n".join(map(json.dumps, lines)))
        jury = read_jury(path)
        assert jury.items.tolist() == names
        assert len(set(jury.questions.values())) == (2 if field == "task" else 1)
        pd.DataFrame(lines).to_csv(tmp_path / "log.csv", index=False)
        assert read_jury(tmp_path / "log.csv").items.tolist() == names


def test_a_time_is_no_epoch(tmp_path):
    path = tmp_path / "log.jsonl"
    lines = [{**RECORD, "judge": f"j{k}", "label": k, "epoch": 1717236000 + k} for k in (0, 1)]
    path.write_text("\n".join(map(json.dumps, lines)))
    assert read_jury(path).shape == (1, 2)


def test_models_that_one_judge_judged_may_be_systems(tmp_path, refuse):
    lines = [{**RECORD, "model": name} for name in "uv"]
    text = "\n".join(map(json.dumps, lines))
    assert "several models" in refuse(text)
    assert refuse(text).endswith("pass system='model'")
    path = tmp_path / "log.jsonl"
    path.write_text(text)
    assert set(read_jury(path, system="model").systems.values()) == {"u", "v"}
    frame = pd.DataFrame(lines)
    frame.to_csv(path, index=False)
    assert "several models" in refuse(path.read_text(), "log.csv")
    lines[1]["judge"] = "y"  # the model of each judge
    path.write_text("\n".join(map(json.dumps, lines)))
    assert read_jury(path).systems == {}


def test_gold_labels_of_other_words_or_of_another_scale_are_refused(refuse):
    rows = [{**RECORD, "item": k, "label": "pass", "gold": x} for k, x in enumerate(("yes", "no"))]
    told = refuse("\n".join(map(json.dumps, rows)))
    assert "no gold label is one of the judges' labels" in told
    rows = [{"item": k, "judge": "x", "score": 3 * k + 1, "gold": k} for k in (0, 1)]
    for cut in (None, 3):
        told = refuse("\n".join(map(json.dumps, rows)), cut=cut)
        assert "gold labels are at most 1 and scores go to 4" in told


def test_names_that_look_the_same_and_missing_systems_are_said(tmp_path):
    path = tmp_path / "log.jsonl"
    for systems, words in (("aA", "'A', 'a' may be the same"), (("a", None), "questions none")):
        lines = [{**RECORD, "system": name} for name in systems]
        path.write_text("\n".join(map(json.dumps, lines)))
        with pytest.warns(VotesWarning, match=words):
            read_jury(path)
    rows = [{"item": k, "judge": "gG"[k % 2], "score": k / 7} for k in range(4)]
    path.write_text("\n".join(map(json.dumps, rows)))
    with pytest.warns(VotesWarning, match="'G', 'g' may be the same"):
        read_scores(path)
    pairs = [
        {"id": k, "judge": "gG"[k], "model_a": "p", "model_b": "q", "winner": "p"} for k in (0, 1)
    ]
    path.write_text("\n".join(map(json.dumps, pairs)))
    with pytest.warns(VotesWarning, match="'G', 'g' may be the same"):
        read_preferences(path)


def test_two_labels_in_one_record_must_be_chosen(refuse):
    for other in ("verdict", "Label"):
        line = f'{{"item": 1, "judge": "x", "label": "good", "{other}": "bad"}}'
        assert "choose one of them" in refuse(line)
    line = '{"item": 1, "judge": "x", "rating": 1, "score": 5}'
    assert refuse(line).endswith("pass score='score', or score='rating'")


def test_two_items_in_one_record_must_be_chosen(refuse):
    line = '{"item": 1, "Item": 2, "judge": "x", "label": "good"}'
    assert "both 'item' and 'Item'; rename one" in refuse(line)


def test_what_is_not_named_is_found_by_its_usual_name(tmp_path, refuse):
    line = '{"item": 1, "judge": "x", "label": "good", "score": 1, "system": "s", "gold": "bad"}'
    path = tmp_path / "log.jsonl"
    path.write_text(line)
    jury = read_jury(path, label="label")
    assert (jury.items.tolist(), jury.voters.tolist()) == (["1"], ["x"])
    assert (jury.systems, jury.gold) == ({"1": "s"}, {"1": "bad"})
    path.write_text(line.replace(', "gold": "bad"', ""))
    assert read_jury(path, score="score").classes == ("fail", "pass")
    assert "both 'label' and 'score'" in refuse(line, item="item")
    assert "it has no field of judges" in refuse('{"item": 1, "x": "good"}', label="x")


def test_items_have_one_spelling(tmp_path, said):
    names = (1, 1.0, "1", " 1 ", "1.0")
    lines = [
        f'{{"item": {json.dumps(x)}, "judge": "j{k}", "label": 1}}' for k, x in enumerate(names)
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(lines))
    assert {item for item, _ in said(path)} == {"1"}
