from report.judging import divided_crowd, divided_model, findings_of
from unelisa.aggregators import MajorityVote
from unelisa.report.dots import draw_dots


def _voter(accuracy, low=None, high=None):
    return {"accuracy": accuracy, "accuracy_low": low, "accuracy_high": high}


def test_the_least_accurate_comes_first_and_the_untold_last():
    voters = [_voter(0.9, 0.8, 0.95), _voter(None), _voter(0.3, 0.2, 0.4)]
    rows = draw_dots(voters, [])["rows"]
    assert [row["voter"] for row in rows] == [2, 0, 1]
    assert rows[0]["low"] < rows[0]["x"] < rows[0]["high"] < rows[1]["low"]
    assert rows[2]["x"] is rows[2]["low"] is None


def test_relatives_stand_together_where_the_worst_of_them_would():
    voters = [_voter(x) for x in (0.9, 0.6, 0.7, 0.5)]
    rows = draw_dots(voters, [[0, 1]])["rows"]
    assert [row["voter"] for row in rows] == [3, 1, 0, 2]
    assert [row["family"] for row in rows] == [None, 0, 0, None]
    assert [rows[1]["first"], rows[1]["last"]] == [True, False]
    assert [rows[2]["first"], rows[2]["last"]] == [False, True]


def test_the_scale_holds_every_interval():
    drawn = draw_dots([_voter(0.5, 0.31, 0.7), _voter(1.0, 0.9, 1.0)], [])
    assert drawn["ticks"][0] == (3.0, 30)
    assert drawn["ticks"][-1] == (97.0, 100)
    assert all(0 < row["low"] <= row["high"] < 100 for row in drawn["rows"])
    assert draw_dots([_voter(1.0)], [])["ticks"][0] == (3.0, 90)


def test_without_accuracies_the_agreement_with_the_labels_is_drawn(crowd):
    findings = findings_of(MajorityVote().fit(crowd[0]), crowd[0])
    assert draw_dots(findings["voters"], [])["measure"] == "agreement"
    assert draw_dots(findings_of(MajorityVote().fit(crowd[0]))["voters"], []) is None


def test_every_voter_of_a_model_has_a_row():
    findings = findings_of(divided_model(), divided_crowd())
    rows = draw_dots(findings["voters"], findings["graph"]["families"])["rows"]
    assert sorted(row["voter"] for row in rows) == list(range(12))
    assert sum(row["family"] == 0 for row in rows) == 6
