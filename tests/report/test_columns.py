from report.judging import family_model, findings_of
from unelisa.aggregators import MajorityVote, UnElisa
from unelisa.report.columns import choose_columns


def _titles(findings):
    return [column.title for column in choose_columns(findings["voters"], findings["classes"])]


def test_a_methods_own_figures_become_columns(crowd):
    findings = findings_of(UnElisa(random_state=0).fit(crowd[0]), crowd[0])
    voters = [{**voter, "skill": 0.9, "skill_low": 0.8} for voter in findings["voters"]]
    assert _titles({**findings, "voters": voters})[-3:] == ["Skill", "Depends on", "Reason"]
    assert "Sensitivity" not in _titles(findings_of(MajorityVote().fit(crowd[0])))


def test_relatives_have_a_column_and_bounds_have_none():
    titles = _titles(findings_of(*family_model()))
    assert titles[:4] == ["Voter", "Verdict", "Family", "Accuracy"]
    assert not {"Depends on", "Accuracy_low", "Ppv_high"} & set(titles)


def test_two_classes_are_named_in_the_users_words():
    voter = {"voter": "a", "weight": 1.0, "lean": 0.1, "sensitivity": 0.8}
    columns = {column.key: column for column in choose_columns([voter], ("control", "case"))}
    assert columns["sensitivity"].hint == "says “case” where the label is “case”"
    assert columns["lean"].title == "Says “case”"


def test_more_classes_have_a_recall_each_on_the_card():
    voter = {"voter": "a", "weight": 1.0, "accuracy": 0.8, "recall_cat": 0.7, "recall_cat_low": 0.6}
    columns = {column.key: column for column in choose_columns([voter], ("cat", "dog", "owl"))}
    assert list(columns) == ["voter", "accuracy", "recall_cat", "weight"]
    assert columns["recall_cat"].title == "Recall of cat"
    assert columns["recall_cat"].detail
    assert columns["accuracy"].kind == "interval"
