"""The readers of annotation tools and of programs that record feedback, format by format."""

import json

import pytest

from jury.conftest import spell
from unelisa.errors import VotesWarning
from unelisa.jury import read_jury, read_preferences

RECORD = '{"id": 1, "fields": {}, "responses": '
PRODIGY = '{"_task_hash": 1, "_session_id": "x", "answer": '
LABELS = '[{"id": 1, "data": {}, "annotations": '
SAMPLE = '{"eval": {}, "samples": [{"id": 1, "scores": '


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (RECORD + '"Xylophon7"}', "'responses' must be a list"),
        (RECORD + '{"q": "Xylophon7"}}', "'q' must be a list"),
        (RECORD + '{"q": [{"value": "Xylophon7"}]}}', "it has no 'user_id'"),
        (RECORD + '[{"user_id": 1, "values": {"q": "Xylophon7"}}]}', "answer must be an object"),
        (LABELS + "[{}]}]", "it has no 'completed_by'"),
        (LABELS + "7}]", "'annotations' must be a list"),
        (LABELS + '[{"completed_by": 1, "result": "Xylophon7"}]}]', "'result' must be a list"),
        (PRODIGY + '"Xylophon7"}', "accept, reject or ignore"),
        ('{"_task_hash": 1, "answer": "accept"}', "it has no '_annotator_id'"),
        (PRODIGY + '"accept", "accept": "Xylophon7"}', "'accept' must be a list"),
        ('{"run_id": 1, "key": null, "score": 1}', "it has no 'key'"),
        ('{"run_id": 1, "key": "a", "score": {"Xylophon7": 1}}', "found an object"),
        ('{"id": 1, "feedback_scores": "Xylophon7"}', "'feedback_scores' must be a list"),
        ('{"id": 1, "feedback_scores": [{"value": 1}]}', "it has no 'name'"),
        ('{"feedback_scores": []}', "it has no 'dataset_item_id'"),
        (
            '{"id": 1, "feedback_scores": [{"metadata": {"judge_scores": ["Xylophon7"]}}]}',
            "every part of 'judge_scores'",
        ),
        ('{"sample_id": 1, "type": "match", "data": []}', "'data' must be an object"),
        ('{"spec": {}}\n{"type": "match", "data": {}}\n', "it has no 'sample_id'"),
        ('{"spec": {}}\n{"final_report": {}}\n', "no verdicts"),
        ('{"testIdx": 1, "gradingResult": "x"}', "'gradingResult' must be an object"),
        ('{"gradingResult": {}}', "it has no 'testIdx' or 'id'"),
        (
            '{"testIdx": 1, "gradingResult": {"componentResults": {}}}',
            "'componentResults' must be a list",
        ),
        (
            '{"id": 1, "gradingResult": {"componentResults": [{"score": 1, "assertion": {}}]}}',
            "only checks (assertion)",
        ),
        ('{"eval": {}, "samples": 3}', "'samples' must be a list"),
        ('{"eval": {}, "samples": ["Xylophon7"]}', "every part of 'samples'"),
        (SAMPLE + "[]}]}", "'scores' must be an object"),
        ('{"eval": {}, "samples": [{"scores": {"a": {"value": 1}}}]}', "it has no 'id'"),
        (SAMPLE + '{"a": {"value": [["Xylophon7"]]}}}]}', "found a list"),
        ('{"eval": {}, "samples": []}', "no verdicts"),
    ],
)
def test_parts_of_another_kind_are_named(content, words, refuse):
    assert words in refuse(content)


PEOPLE = [f"00000000-0000-0000-0000-00000000000{k}" for k in (0, 1)]
EVAL = "sums-strict.dev.v0"
ARGILLA = {"a": {"u1": "good", "u2": "bad", "llm-v1": "good"}, "b": {"u1": "bad"}}
# what each file says: item -> judge -> label, and system
READ = {
    "argilla-2.8.json": (ARGILLA, "model 1"),
    "argilla-server-2.8.jsonl": (ARGILLA, "model 1"),
    "argilla-flat-2.8.json": (
        {
            "a": {PEOPLE[0]: "good", PEOPLE[1]: "bad", "llm": "good"},
            "b": {PEOPLE[0]: "good", "llm": "bad"},
        },
        None,
    ),
    "label-studio-1.20.json": (  # 7 skipped the second task
        {
            "1": {"7": "good", "kind@example.com": "good", "llm-v1": "bad"},
            "2": {"kind@example.com": "bad"},
        },
        "model 1",
    ),
    "label-studio-min-1.20.json": ({"1": {"1": 4, "2": 3}, "2": {"1": 2, "2": 1}}, None),
    "langsmith-feedback-v1.jsonl": (  # a person in the app has a name
        {
            "exp-1 / a": {"strict": "pass", "kind": "pass"},
            "exp-2 / b": {"strict": "fail", "kind by u7": "pass"},
        },
        "exp-1",
    ),
    "openai-evals-3.0.jsonl": (
        {"sums/samples.jsonl 0": {EVAL: "pass"}, "sums/samples.jsonl 1": {EVAL: "fail"}},
        "gpt-4o-mini",
    ),
    "prodigy-1.18.jsonl": (
        {"101": {"sums-strict": "pass", "sums-kind": "pass"}, "-102": {"sums-strict": "fail"}},
        None,
    ),
}


@pytest.mark.parametrize("name", READ)
def test_who_says_what_of_which_answer(name, logs):
    votes, system = READ[name]
    jury = read_jury(logs / name)
    flat = {(item, judge): x for item, own in votes.items() for judge, x in own.items()}
    assert spell(jury) == flat
    assert jury.systems.get(next(iter(votes))) == system
    assert jury.gold == ({"1": "good"} if name == "label-studio-1.20.json" else {})


def test_one_of_several_questions_is_declared(refuse):
    answer = '[{"value": "Xylophon7", "user_id": "u"}]'
    record = f'{{"id": 1, "fields": {{}}, "responses": {{"q": {answer}, "r": {answer}}}}}'
    assert refuse(record).endswith("pass question='q', or question='r'")
    assert "only one label" in refuse(record, question="r")


@pytest.fixture
def tasks(logs):
    return json.loads((logs / "label-studio-1.20.json").read_text())


def test_one_of_several_questions_or_options_is_declared(tasks, refuse, tmp_path, said):
    other = {"from_name": "tone", "type": "choices", "value": {"choices": ["warm", "Xylophon7"]}}
    tasks[0]["annotations"][0]["result"].append(other)
    told = refuse(json.dumps(tasks))
    assert told.endswith("pass question='verdict', or question='tone'")
    (tmp_path / "tasks.json").write_text(json.dumps(tasks))
    assert said(tmp_path / "tasks.json", question="verdict")["1", "7"] == "good"
    assert "several options at once" in refuse(json.dumps(tasks), question="tone")
    (tmp_path / "both.json").write_text(json.dumps(tasks))
    assert said(tmp_path / "both.json", question="tone: warm") == {("1", "7"): "pass"}
    for question in ("tone: cold", "mood"):
        assert "no" in refuse(json.dumps(tasks), question=question)


def test_two_gold_labels_are_refused_and_a_class_that_only_gold_names_is_a_class(
    tasks, tmp_path, refuse
):
    tasks[0]["annotations"][2]["result"][0]["value"]["choices"] = ["fair"]
    (tmp_path / "tasks.json").write_text(json.dumps(tasks))
    jury = read_jury(tmp_path / "tasks.json")
    assert jury.classes == ("bad", "fair", "good")
    assert jury.gold == {"1": "fair"}
    two = [{"id": 1, "data": {}, "annotations": [gold_label("good"), gold_label("bad")]}]
    assert "two different gold labels" in refuse(json.dumps(two))


def gold_label(label):
    result = {"from_name": "q", "value": {"choices": [label]}}
    return {"completed_by": 1, "ground_truth": True, "result": [result]}


def test_an_accepted_prediction_is_no_independent_vote(tasks, tmp_path):
    tasks[0]["predictions"][0]["id"] = 5
    first = tasks[0]["annotations"][0]
    first.update(parent_prediction=5, result=tasks[0]["predictions"][0]["result"])
    (tmp_path / "tasks.json").write_text(json.dumps(tasks))
    with pytest.warns(VotesWarning, match="a prediction was accepted"):
        jury = read_jury(tmp_path / "tasks.json")
    assert jury.failures == {"7": 1}


def test_an_annotation_that_was_copied_is_no_independent_vote(tasks, tmp_path):
    first, second = tasks[0]["annotations"][:2]
    first["id"], second["parent_annotation"], second["result"] = 8, 8, first["result"]
    (tmp_path / "tasks.json").write_text(json.dumps(tasks))
    with pytest.warns(VotesWarning, match="an annotation was copied"):
        assert sum(read_jury(tmp_path / "tasks.json").failures.values()) == 1


@pytest.mark.parametrize(
    ("value", "label"),
    [({"number": 1}, "pass"), ({"rating": 0}, "fail"), ({"taxonomy": [["a", "b"]]}, "a / b")],
)
def test_numbers_stars_and_trees(value, label, said, tmp_path):
    result = [{"from_name": "q", "value": value}]
    task = {"id": 1, "data": {}, "annotations": [{"completed_by": 1, "result": result}]}
    (tmp_path / "tasks.json").write_text(json.dumps([task]))
    coding = "auto" if label in ("pass", "fail") else ("a / b", "c")
    assert said(tmp_path / "tasks.json", coding=coding) == {("1", "1"): label}


def test_the_option_chosen_is_the_label(tmp_path, said, refuse):
    lines = [
        '{"_task_hash": 1, "_annotator_id": "x", "answer": "accept", "accept": ["B"]}',
        '{"_task_hash": 1, "_annotator_id": "y", "answer": "accept", "accept": ["A"]}',
        '{"_task_hash": 2, "_annotator_id": "x", "answer": "reject", "accept": ["A"]}',
        '{"_task_hash": 2, "_annotator_id": "y", "answer": "accept", "accept": []}',
    ]
    path = tmp_path / "choice.jsonl"
    path.write_text("\n".join(lines))
    assert said(path) == {("1", "x"): "B", ("1", "y"): "A"}
    assert "several options" in refuse(lines[0].replace('"B"', '"B", "Xylophon7"'))


def rows_of(found):
    """What every comparison says: (question, judge, first, second, winner)."""
    columns = found.questions, found.judge, found.first, found.second, found.winner
    return [
        (int(q), found.judges[j], found.systems[a], found.systems[b], int(w))
        for q, j, a, b, w in zip(*columns, strict=True)
    ]


def test_prodigy_compares_two_outputs_of_which_the_first_is_accepted_or_rejected(logs):
    assert rows_of(read_preferences(logs / "prodigy-compare-1.18.jsonl")) == [
        (0, "ab-ann", "A", "B", 0),
        (1, "ab-ann", "B", "A", 0),
        (2, "ab-ann", "B", "A", 1),
        (0, "ab-bob", "B", "A", 1),  # the same input, turned
    ]


def test_prodigys_options_whose_texts_and_order_change_are_answers_of_systems(logs, tmp_path):
    path = logs / "prodigy-tournament-1.18.jsonl"
    assert rows_of(read_preferences(path)) == [
        (0, "t-ann", "plain.jinja2", "long.jinja2", 0),
        (1, "t-ann", "long.jinja2", "plain.jinja2", 1),
        (2, "t-ann", "long.jinja2", "terse.jinja2", 0),
        (0, "t-bob", "plain.jinja2", "long.jinja2", 1),
        (3, "t-bob", "terse.jinja2", "plain.jinja2", 1),
    ]
    quiz = [json.loads(line) for line in path.read_text().splitlines()[:2]]
    for record in quiz:  # one order: labels, whatever their texts are
        record["options"].sort(key=lambda option: option["id"])
    quiz[1]["accept"] = ["long.jinja2"]
    (tmp_path / "quiz.jsonl").write_text("\n".join(map(json.dumps, quiz)))
    assert read_jury(tmp_path / "quiz.jsonl").classes == ("long.jinja2", "plain.jinja2")


@pytest.mark.parametrize(("chosen", "winner"), [("A", 1), ("accept", 0), ("B", 0), ("reject", 1)])
def test_an_output_may_be_chosen_by_its_name_or_its_side(chosen, winner, tmp_path, refuse):
    options = [{"id": "A", "text": "Xylophon7"}, {"id": "B", "text": "Xylophon7"}]
    record = {"_task_hash": 1, "_session_id": "x", "answer": "accept", "accept": [chosen]}
    record |= {"options": options, "mapping": {"B": "accept", "A": "reject"}}
    (tmp_path / "log.jsonl").write_text(json.dumps(record))
    assert read_preferences(tmp_path / "log.jsonl").winner.tolist() == [winner]
    for bad in (["Xylophon7"], ["A", "B"]):
        told = refuse(json.dumps(record | {"accept": bad}))
        assert "one of the two outputs in 'mapping' must be chosen" in told
    assert "'mapping' must name" in refuse(json.dumps(record | {"mapping": {"A": "accept"}}))


def test_rankings_are_preferences_and_equal_ranks_are_ties(logs):
    assert rows_of(read_preferences(logs / "argilla-server-ranking-2.8.jsonl")) == [
        (0, "u1", "a", "b", 1), (0, "u1", "a", "c", 0), (0, "u1", "b", "c", 0),
        (0, "u2", "a", "b", 0), (0, "u2", "a", "c", 0), (0, "u2", "b", "c", 2),
        (0, "ranker-v1", "a", "b", 0), (0, "ranker-v1", "a", "c", 1), (0, "ranker-v1", "b", "c", 1),
        (1, "u1", "a", "b", 0), (1, "u1", "a", "c", 0), (1, "u1", "b", "c", 0),
    ]  # fmt: skip


def test_a_ranking_without_its_ranks_or_of_one_option_twice_is_refused(logs, refuse):
    text = (logs / "argilla-server-ranking-2.8.jsonl").read_text().splitlines()[0]
    assert "an option twice" in refuse(text.replace('"value": "b"', '"value": "a"'))
    assert "found a list" in refuse(text.replace('"rank": 1', '"rank": null'))


def test_data_sets_of_rankings_are_not_one(logs, tmp_path):
    text = (logs / "argilla-server-ranking-2.8.jsonl").read_text()
    for name in ("dd", "ee"):
        (tmp_path / f"{name}.jsonl").write_text(text.replace("00dd", f"00{name}"))
    assert set(read_preferences(tmp_path).questions.tolist()) == {0, 1, 2, 3}


def test_values_are_labels_or_scores_that_need_a_cut(tmp_path, said, refuse):
    path = tmp_path / "feedback.jsonl"
    path.write_text('{"run_id": 1, "key": "tone", "score": null, "value": "warm"}\n' * 1)
    assert said(path, coding=("cold", "warm")) == {("1", "tone"): "warm"}
    line = '{"run_id": "Xylophon7", "key": "strict", "score": 0.7}'
    told = refuse(line)
    assert "scores on a scale, seen from 0.7 to 0.7" in told
    assert told.endswith("pass cut=0.5")
    path = tmp_path / "feedback.jsonl"
    path.write_text(line)
    assert list(said(path, cut=0.5).values()) == ["pass"]


def test_answers_to_one_example_and_errors_beside_the_score(logs, tmp_path):
    with pytest.warns(VotesWarning, match="the evaluator failed"):
        jury = read_jury(logs / "langsmith-feedback-0.14.jsonl")
    experiments = [f"00000000-0000-0000-0000-0000000000{x}" for x in ("0a", "14")]
    assert jury.items.tolist() == [f"{x} / ex-1" for x in experiments]
    assert len(set(jury.questions.values())) == 1
    assert jury.gold == {f"{experiments[0]} / ex-1": "fail"}
    feedback = (logs / "langsmith-feedback-v1.jsonl").read_text().splitlines()
    failed = {**json.loads(feedback[0]), "error": True}
    (tmp_path / "feedback.jsonl").write_text("\n".join([json.dumps(failed), *feedback[1:]]))
    with pytest.warns(VotesWarning, match="abstentions .1.*the evaluator failed"):
        read_jury(tmp_path / "feedback.jsonl")


def test_preference_groups_are_preferences(logs):
    found = read_preferences(logs / "langsmith-pairwise-0.14.jsonl")
    assert len(found.systems) == 2
    assert found.winner.tolist() == [0, 1]


SAID = {"strict": ("pass", "fail"), "kind": ("pass", "pass")}


@pytest.mark.parametrize(
    ("name", "items"),
    [("opik-traces-1.9.json", ("a", "b")), ("opik-test-results-1.9.json", ("d1", "d2"))],
)
def test_scores_and_the_judges_of_a_jury(name, items, logs, said):
    expected = {(i, j): own[k] for k, i in enumerate(items) for j, own in SAID.items()}
    assert said(logs / name) == expected


def test_failed_scores_abstain_aloud_and_authors_are_judges(tmp_path, said):
    path = tmp_path / "scores.jsonl"
    authors = {"ann": {"value": 1}, "bob": {"value": 0}}
    score = {"name": "x", "value": 0.5, "value_by_author": authors}
    path.write_text(json.dumps({"id": 3, "feedback_scores": [score]}))
    assert said(path) == {("3", "x by ann"): "pass", ("3", "x by bob"): "fail"}
    failed = {"name": "x", "value": 0, "scoring_failed": True}
    path.write_text(json.dumps({"id": 3, "score_results": [failed, {"name": "y", "value": 0}]}))
    with pytest.warns(VotesWarning, match=r"abstentions \(1\):.*'x' 1"):
        assert said(path) == {("3", "y"): "fail"}


def test_metrics_that_compute_are_checks(tmp_path):
    path = tmp_path / "scores.jsonl"
    scores = [{"name": "equals_metric", "value": 1.0}, {"name": "hallucination_metric", "value": 0}]
    path.write_text(json.dumps({"id": 3, "feedback_scores": scores}))
    jury = read_jury(path)
    assert (jury.voters.tolist(), jury.checks) == (
        ["hallucination_metric"],
        {"equals_metric": (1, 1)},
    )


def test_a_jurys_score_alone_and_an_exported_trace(tmp_path, said):
    path = tmp_path / "scores.jsonl"
    path.write_text('{"id": "a", "metadata": {"judge_scores": {"strict": 1, "kind": 0}}}\n')
    assert said(path) == {("a", "strict"): "pass", ("a", "kind"): "fail"}
    path.write_text('{"trace": {"id": 3, "feedback_scores": [{"name": "x", "value": 1}]}}\n')
    assert said(path) == {("3", "x"): "pass"}


def test_sources_are_judges_and_code_is_a_check(logs):
    with pytest.warns(VotesWarning, match="'claude' 1 .the scorer failed"):
        jury = read_jury(logs / "mlflow-traces-3.17.jsonl")
    assert jury.voters.tolist() == ["claude", "gpt"]
    assert sorted(spell(jury).values()) == ["fail", "fail", "pass"]
    assert jury.checks == {"fast": (2, 2)}
    assert set(jury.systems.values()) == {"run-a"}
    assert "Xylophon7" not in str(jury.items)


def test_replaced_assessments_do_not_count_and_one_may_stand_alone(logs, tmp_path, said):
    lines = (logs / "mlflow-traces-3.17.jsonl").read_text().splitlines()
    alone = json.loads(lines[0])["info"]["assessments"][0]
    path = tmp_path / "assessments.jsonl"
    path.write_text(json.dumps(alone) + "\n")
    assert said(path) == {("tr-1", "gpt"): "pass"}
    path.write_text(
        json.dumps(alone) + "\n" + json.dumps({**alone, "valid": False, "trace_id": "x"})
    )
    assert said(path) == {("tr-1", "gpt"): "pass"}


def test_a_column_of_any_name_says_what_was_asked(tmp_path, said, refuse):
    rows = [
        {"item": "a", "judge": "x", "kind": "tone", "label": "pass"},
        {"item": "a", "judge": "x", "kind": "fact", "label": "fail"},
    ]
    path = tmp_path / "records.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    for asked, mark in (("tone", "pass"), ("fact", "fail")):
        assert said(path, criterion="kind", question=asked) == {("a", "x"): mark}
    told = refuse(path.read_bytes(), criterion="kind")
    assert told.endswith("pass question='tone', or question='fact'")


def test_criteria_of_a_specification_are_questions(logs, said, refuse):
    path = logs / "openai-evals-1.0.2-criteria.jsonl"
    told = refuse(path.read_bytes())
    assert told.endswith("pass question='relevance', or question='correctness'")
    judge = "letters-fact.dev.v0"
    items = [f"letters/samples.jsonl {k}" for k in range(3)]
    votes = zip(items, ("Y", "Y", "N"), strict=True)
    assert said(path, question="relevance") == {(item, judge): x for item, x in votes}
    with pytest.warns(VotesWarning, match="abstentions .1.*the choice is invalid"):
        votes = said(path, question="correctness")
    assert votes == {(items[0], judge): "N", (items[2], judge): "Y"}


def test_a_choice_without_a_score_is_the_label(logs, said):
    with pytest.warns(VotesWarning, match="abstentions .1.*the choice is invalid"):
        votes = said(logs / "openai-evals-3.0-choices.jsonl")
    assert [*votes.values()] == ["A", "B"]


def test_accuracies_of_templates_that_compare_texts_are_checks(refuse):
    line = '{{"sample_id": "s.{0}", "type": "metrics", "data": {{"accuracy": {0}.0, "f1": 0.5}}}}\n'
    assert "only checks (metrics)" in refuse(line.format(0) + line.format(1))


def test_another_eval_of_the_same_samples_meets_it(logs, tmp_path):
    path = logs / "openai-evals-3.0.jsonl"
    other = tmp_path / "kind.jsonl"
    other.write_text(path.read_text().replace("sums-strict", "sums-kind"))
    assert read_jury([path, other]).shape == (2, 2)


def test_events_without_a_spec_name_the_sample(said, tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"sample_id": "s.0", "type": "match", "data": {"correct": true}}\n')
    assert said(path) == {("s.0", "match"): "pass"}


def test_output_items_of_the_api_name_their_graders(logs):
    with pytest.warns(VotesWarning, match="'kind-2a' 1 .the sample has an error"):
        jury = read_jury(logs / "openai-evals-output-items-v1.jsonl")
    assert spell(jury) == {
        ("gpt-5 / 0", "strict-1f"): "pass",
        ("gpt-5 / 0", "kind-2a"): "pass",
        ("gpt-5-mini / 0", "strict-1f"): "pass",
        ("gpt-5-mini / 0", "kind-2a"): "pass",
        ("gpt-5-mini / 1", "strict-1f"): "fail",
        ("gpt-5-mini / 1", "kind-2a"): "pass",
    }
    assert jury.checks == {"exact-3c": (3, 4)}
    assert "Xylophon7" not in str(jury.items)
