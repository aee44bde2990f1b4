import json
from importlib.resources import files

import numpy as np
import pytest

from report.judging import family_model, findings_of
from unelisa.aggregators import UnElisa
from unelisa.outputs import make_plain
from unelisa.report import plots, wording
from unelisa.report.page import render_report
from unelisa.report.wording import choose_scores, find_best


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("", "(no name)"),
        (" \t\u200b", "(no name)"),
        ("a\x00b\x1b", "a\ufffdb\ufffd"),
        ("\ud800", "\ufffd"),
        ("\u202eevil", "\u202eevil"),
        (7, "7"),
        ("x" * 80, "x" * 80),
        ("x" * 81, "x" * 79 + "…"),
    ],
)
def test_names_are_made_safe_to_show(name, shown):
    assert wording.show_name(name) == shown


def test_the_best_of_a_comparison_is_found():
    rows = [
        {"accuracy": 0.9, "balanced_accuracy": None, "auc": 0.5, "log_loss": 0.4},
        {"accuracy": 0.8, "balanced_accuracy": None, "auc": 0.6, "log_loss": 0.3},
    ]
    assert find_best(rows) == {"accuracy": 0.9, "auc": 0.6, "log_loss": 0.3}
    assert find_best(rows[:1]) == {}
    steps = [{"method": "a", "accuracy": 0.5, "mean_absolute_error": x} for x in (None, 0.3)]
    assert list(choose_scores(steps[:1])) == ["accuracy"]
    assert list(choose_scores(steps)) == ["accuracy", "mean_absolute_error"]
    assert find_best([{**row, "mean_absolute_error": 0.4} for row in steps[:1]] + steps[1:]) == {
        "accuracy": 0.5,
        "mean_absolute_error": 0.3,
    }


def test_how_it_was_fitted_is_told(crowd):
    findings = findings_of(UnElisa(random_state=3).fit(crowd[0]), crowd[0], seconds=1.0)
    told = dict(wording.describe_fit(findings))
    assert told["Seed"] == "3"
    assert told["Time"] == "1.00 s"
    assert "raised the bound" in told["Convergence"]
    assert "penalty = theory" in told["Settings"]
    alone = dict(wording.describe_fit(findings_of(UnElisa().fit(crowd[0]))))
    assert alone["Seed"] == "none: the votes determine the result"


def show_ahead(low=-0.01, holds=False):
    row = {"better": "a", "worse": "b", "difference": 0.1, "low": low, "high": 0.18}
    return wording.show_difference({**row, "holds": holds})


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.float32(0.5), 0.5),
        (np.int8(-1), -1),
        (np.bool_(True), True),
        (np.str_("ann"), "ann"),
        (float("nan"), None),
        (np.float64("inf"), None),
        (-np.inf, None),
        (None, None),
        (3, 3),
        (False, False),
        ([1], "list"),
        (np.random.default_rng(0), "Generator"),
    ],
)
def test_values_become_what_json_can_hold(value, plain):
    found = make_plain(value)
    assert found == plain
    assert type(found) is type(plain)
    assert json.loads(json.dumps(found, allow_nan=False)) == plain


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (wording.show_number(-0.5), "\u22120.500"),
        (wording.show_number(None), wording.DASH),
        (wording.show_percent(None), wording.DASH),
        (wording.show_seconds(None), wording.DASH),
        (wording.count_noun(0, "voter"), "0 voters"),
        (wording.count_noun(1, "voter"), "1 voter"),
        (wording.count_noun(1200, "voter"), "1,200 voters"),
        (wording.count_noun(2, "family", "families"), "2 families"),
        (wording.show_range(0.8, 0.95), "80.0% to 95.0%"),
        (wording.show_lean(0.124), "lenient by 12 points"),
        (wording.show_lean(-0.01), "strict by 1 point"),
        (wording.show_lean(0.001), "even"),
        (wording.show_interval(0.81, 0.7, 0.9), "81.0% (70.0 to 90.0)"),
        (wording.show_interval(0.8), "80.0%"),
        (wording.show_interval(None), "cannot be estimated"),
        (show_ahead(low=0.02, holds=True), "a is ahead of b by 10.0 points (2.0 to 18.0)"),
        (show_ahead(), "a and b cannot be told apart: 10.0 points (\u22121.0 to 18.0)"),
        (
            wording.take_apart("They share no truth (it gains 5.3 nats, 8 are needed)."),
            ("They share no truth.", "it gains 5.3 nats, 8 are needed"),
        ),
        (wording.show_verdict("family of ann"), "family"),
        (wording.show_verdict("left out"), "left out"),
        (wording.show_minus("against it, -1.20 \u00b1 0.10"), "against it, \u22121.20 \u00b1 0.10"),
        (wording.show_minus("rule-2, n-1"), "rule-2, n-1"),
        (wording.show_rank([1, 1]), "1"),
        (wording.show_rank([2, 4]), "2\u20134"),
        (
            wording.show_smaller_panel(
                {"drop": ["b", "c"], "labels_kept": 0.994, "accuracy_change": -0.001}
            ),
            "b and c can be dropped: 99.4% of the labels stay, expected accuracy \u22120.1 points",
        ),
        (
            wording.show_labels_needed({"n": 12, "settles": "readings"}),
            "About 12 human labels of random items would decide between the two readings",
        ),
    ],
)
def test_figures_are_put_into_words(shown, words):
    assert shown == words


def test_legends_styles_and_plots_know_every_role():
    model, votes = family_model()
    findings = findings_of(model, votes)
    colors = wording.number_families(findings)  # relatives share one
    for family in findings["crowd"]["families"]:
        assert len({colors[row] for row in family["voters"]}) == 1
    assert len(set(colors.values())) == 3
    shown = {one["role"] for one in wording.list_roles(findings)}
    assert shown == {wording.show_verdict(voter["verdict"]) for voter in findings["voters"]}
    page = render_report(findings)
    for word in shown:
        assert f'<i class="dot {word}"></i>{word}</span>' in page
        assert f'<span class="chip {word}">{word}</span>' in page
    folder = files("unelisa.report").joinpath("templates")
    style = folder.joinpath("page.css").read_text(encoding="utf-8")
    script = folder.joinpath("page.js").read_text(encoding="utf-8")
    for c in range(wording.FAMILY_COLORS):
        assert style.count(f"--kin-{c}: #") == 2  # light and dark
        assert f".family-{c} " in style
    assert f"FAMILY_COLORS = {wording.FAMILY_COLORS};" in script
    assert f"OUTSIDE = {json.dumps(sorted(wording.OUTSIDE))};" in script
    assert len(plots.FAMILIES) == wording.FAMILY_COLORS
