import json
import zipfile

import pandas as pd
import pytest

from jury.conftest import spell
from unelisa.errors import VotesError, VotesWarning
from unelisa.jury import read_jury

VOTES = {
    ("a", "strict"): "pass",
    ("a", "kind"): "pass",
    ("b", "strict"): "fail",
    ("b", "kind"): "pass",
    ("c", "kind"): "fail",  # N: no answer, so the strict one abstains
}


def test_scorers_of_a_log_are_judges_and_models_of_a_role_a_panel(logs, said):
    assert said(logs / "inspect-log-v2.json") == VOTES
    jury = read_jury(logs / "inspect-log-v2.json")
    assert set(jury.systems.values()) == {"openai/gpt-4o-mini"}
    assert jury.source == "inspect"
    assert jury.gold == {}
    jury = read_jury(logs / "inspect-0.3.285-role.eval")
    names = [f"model_graded_qa/mockllm/{name}" for name in ("first", "fourth", "second", "third")]
    assert jury.voters.tolist() == names


def test_a_table_of_samples_says_the_same_as_a_file_and_as_a_frame(logs, said, tmp_path):
    path = logs / "inspect-samples_df-0.3.csv"
    assert said(path) == VOTES
    frame = pd.read_csv(path)
    assert said(frame) == VOTES
    frame.to_parquet(tmp_path / "samples.parquet")
    assert said(tmp_path / "samples.parquet") == VOTES


def test_partial_is_a_class_between_unless_a_cut_decides(logs, tmp_path, said):
    log = json.loads((logs / "inspect-log-v2.json").read_text())
    log["samples"][2]["scores"]["strict"]["value"] = "P"
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    jury = read_jury(path)
    assert jury.classes == ("fail", "partial", "pass")
    assert jury.ordered
    assert said(path, cut=0.5)["c", "strict"] == "pass"
    assert said(path, cut=0.6)["c", "strict"] == "fail"


def test_a_scorer_with_several_values_is_several_judges_and_epochs_are_items(tmp_path, said):
    score = {"value": {"style": 1, "facts": 0}}
    samples = [{"id": 1, "epoch": epoch, "scores": {"grader": score}} for epoch in (1, 2)]
    path = tmp_path / "log.json"
    path.write_text(json.dumps({"eval": {}, "samples": samples}))
    votes = {"grader/style": "pass", "grader/facts": "fail"}
    items = ("1", "1 epoch 2")
    assert said(path) == {(i, judge): label for i in items for judge, label in votes.items()}


def test_several_systems_keep_their_items_apart(logs, tmp_path):
    log = json.loads((logs / "inspect-log-v2.json").read_text())
    log["eval"]["model"] = "other"
    (tmp_path / "other.json").write_text(json.dumps(log))
    jury = read_jury([logs / "inspect-log-v2.json", tmp_path / "other.json"])
    assert jury.n_items == 6
    assert jury.systems["other / a"] == "other"


def test_a_panel_is_as_many_judges_and_an_edit_is_gold(logs):
    pytest.importorskip("zstandard", reason="zstandard is not installed")
    with pytest.warns(VotesWarning, match=r"abstentions \(2\):") as caught:
        jury = read_jury(logs / "inspect-0.3.285-panel-edited.eval")
    assert len(caught) == 1
    judges = [f"model_graded_qa/mockllm/{name}" for name in ("broken", "kind", "strict")]
    assert jury.voters.tolist() == ["match", *judges]
    assert jury.gold == {"s1": "fail"}
    assert spell(jury)["s1", judges[0]] == spell(jury)["s1", judges[2]]  # as they said before
    assert jury.failures == {judges[0]: 2}
    assert jury.n_items == 8
    assert len(set(jury.questions.values())) == 4  # in two epochs


def test_collected_lists_are_judges_and_a_shorter_list_is_nobodys(logs):
    pytest.importorskip("zstandard", reason="zstandard is not installed")
    with pytest.warns(VotesWarning, match=r"abstentions \(3\):"):
        jury = read_jury(logs / "inspect-0.3.285-collect.eval")
    assert len(jury.voters) == 4
    assert set(jury.failures.values()) == {1}


def test_equal_ids_of_two_tasks_are_two_items_and_a_second_run_a_repeat(logs, tmp_path):
    log = json.loads((logs / "inspect-log-v2.json").read_text())
    log["eval"].update(task="sums", eval_id="one")
    one, other, again = (tmp_path / f"{name}.json" for name in ("one", "other", "again"))
    one.write_text(json.dumps(log))
    log["eval"].update(task="letters")
    other.write_text(json.dumps(log))
    jury = read_jury([one, other])
    assert jury.items.tolist() == [f"{t} / {x}" for t in ("letters", "sums") for x in "abc"]
    log["eval"].update(task="sums", eval_id="two")
    again.write_text(json.dumps(log))
    jury = read_jury([one, again])
    assert jury.items.tolist() == [f"{x}{e}" for x in "abc" for e in ("", " epoch 2")]
    assert jury.questions["a"] == jury.questions["a epoch 2"]


@pytest.mark.parametrize(
    ("field", "words"),
    [("error", "the sample has an error"), ("invalidation", "the sample was invalidated")],
)
def test_a_sample_with_an_error_or_invalidated_is_judged_by_nobody(field, words, logs, tmp_path):
    log = json.loads((logs / "inspect-log-v2.json").read_text())
    log["samples"][0][field] = {"message": "Xylophon7"}
    (tmp_path / "log.json").write_text(json.dumps(log))
    parts = {f"samples/{one['id']}_epoch_{one['epoch']}.json": one for one in log["samples"]}
    kept = ("id", "epoch", "input", "scores", "error")
    brief = [{key: one[key] for key in kept if key in one} for one in log["samples"]]
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as archive:
        for name, part in {"header.json": log, "summaries.json": brief, **parts}.items():
            archive.writestr(name, json.dumps(part))
    for name in ("log.json", "log.eval"):
        with pytest.warns(VotesWarning, match=rf"abstentions \(2\):.*{words}"):
            votes = spell(read_jury(tmp_path / name))
        assert ("a", "strict") not in votes


def write_scores(path, *scores):
    samples = [{"id": k, "epoch": 1, "scores": one} for k, one in enumerate(scores)]
    path.write_text(json.dumps({"eval": {"eval_id": "e"}, "samples": samples}))
    return path


def test_a_score_that_a_person_gave_is_gold_and_no_judges(tmp_path):
    by_hand = {"value": "I", "history": [{"value": "I", "provenance": {"author": "ann"}}]}
    path = write_scores(
        tmp_path / "log.json", {"a": {"value": "C"}, "hand": by_hand}, {"a": {"value": "I"}}
    )
    jury = read_jury(path)
    assert jury.voters.tolist() == ["a"]
    assert jury.gold == {"0": "fail"}


def test_an_edit_is_gold_for_its_own_scorer(tmp_path):
    def edit(old, new):
        return {"value": new, "history": [{"value": old}, {"value": new, "provenance": {"a": 1}}]}

    both = {"a": edit("I", "C"), "b": edit("C", "I")}
    path = write_scores(tmp_path / "log.json", both, {"a": {"value": "C"}, "b": {"value": "I"}})
    with pytest.raises(VotesError, match="two different gold labels"):
        read_jury(path)
    for judge, label in (("a", "pass"), ("b", "fail")):
        assert read_jury(path, judges=[judge]).gold == {"0": label}


@pytest.mark.parametrize(
    "panels", [(["C", "I"], ["C"]), (["C", "I"], ["C", "I", "C"]), (["C", "I"], [])]
)
def test_votes_of_a_panel_of_another_size_are_nobodys(panels, tmp_path):
    scores = [{"g": {"value": "C", "metadata": {"panel": {"votes": x}}}} for x in panels]
    with pytest.warns(VotesWarning, match="count as abstentions"):
        jury = read_jury(write_scores(tmp_path / "log.json", *scores))
    assert {item for item, _ in spell(jury)} == {"0"}
