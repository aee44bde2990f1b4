import json

import numpy as np
import pytest

from studies.real.intervals import Figure
from studies.real.runs import (
    INTERCEPTS,
    PANELS,
    PEERS,
    UNRANKED,
    VARIANTS,
    collect_real,
    list_tasks,
    make_row,
    rank_methods,
    run_method,
    run_real,
    run_share,
)
from studies.records import read_lines
from unelisa.aggregators import AGGREGATORS
from unelisa.sources.labels import KnownLabels
from unelisa.votes import Votes


def known_of(values, truth):
    nothing = np.empty(0, dtype=object), np.empty(0, dtype=np.int8)
    return KnownLabels(Votes.of(values, coding="pm1"), truth.astype(np.int8), *nothing)


@pytest.fixture
def known(crowd):
    votes, truth = crowd
    return known_of(votes.values, truth)


def test_what_is_run_on_each_set():
    tasks = list_tasks()
    assert {*AGGREGATORS, *UNRANKED} <= set(tasks)
    assert "penlog (1,000 labels)" in tasks
    assert list(list_tasks(["wawa"], supervised=False)) == ["wawa"]


def test_a_row_holds_figures_with_intervals(known):
    row = run_method("dawid-skene", known, "crowd")
    assert (row["set"], row["method"], row["kind"], row["note"]) == (
        "crowd",
        "dawid-skene",
        "ours",
        "",
    )
    value, low, high = row["figures"]["accuracy"]
    assert low < value < high
    assert "log_loss" in row["figures"]
    assert "log_loss" not in run_method("majority-vote", known, "crowd")["figures"]
    json.dumps(row, allow_nan=False)


def test_the_share_of_yes_has_chances_and_the_labels_of_majority_vote(known):
    share = run_share(known, "crowd")
    majority = run_method("majority-vote", known, "crowd")
    assert (share["method"], share["kind"]) == ("share-of-yes", VARIANTS)
    assert share["figures"]["accuracy"] == majority["figures"]["accuracy"]
    assert {"log_loss", "ece", "confidence"} <= share["figures"].keys()


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_a_variant_has_other_settings_and_is_not_ranked(known):
    biased = np.random.default_rng(0).random(known.votes.values.shape) < np.linspace(0, 0.8, 9)
    known = known_of(np.where(biased, 1, known.votes.values), known.signs)
    plain, variant = (run_method(name, known, "crowd") for name in ("unelisa", INTERCEPTS))
    assert variant["kind"] == VARIANTS
    assert variant["figures"] != plain["figures"]


def test_a_refusal_is_a_row_with_the_reason():
    rng = np.random.default_rng(0)
    many = known_of(rng.choice([-1, 1], (60, 30)), rng.choice([-1, 1], 60))
    row = run_method("log-linear", many, "many")
    assert row["figures"] == {}
    assert row["note"].startswith("refused: LogLinear takes at most 25 voters who vary")


def test_items_that_nobody_voted_on_count_half(crowd):
    votes, truth = crowd
    silent = KnownLabels(
        votes, truth, np.array(["x", "y"], dtype=object), np.array([1, -1], dtype=np.int8)
    )
    full = run_method("majority-vote", known_of(votes.values, truth), "s")["figures"]["accuracy"][0]
    row = run_method("majority-vote", silent, "s")
    assert row["figures"]["accuracy"][0] == pytest.approx((600 * full + 1) / 602, abs=1e-4)


def test_a_run_goes_on_where_it_was(tmp_path, known):
    calls, steps = [], []

    def read():
        calls.append(1)
        return known

    sets = {"a": read, "b": read}
    run_real({"a": read}, tmp_path, list_tasks(["wawa"], supervised=False))
    tasks = list_tasks(["wawa", "majority-vote"], supervised=False)
    run_real(sets, tmp_path, tasks, lambda name, count: steps.append((name, count)))
    assert steps == [("a", 1), ("a", 1), ("b", 0), ("b", 1), ("b", 1)]
    assert len(read_lines(tmp_path / "ours.jsonl")) == 4
    run_real(sets, tmp_path, tasks)
    assert len(calls) == 3
    assert len(read_lines(tmp_path / "ours.jsonl")) == 4


def test_the_archive_joins_ours_and_the_peers(tmp_path, known):
    run_real({"a": lambda: known}, tmp_path, list_tasks(["wawa"], supervised=False))
    peer = make_row(("a", "rival", PEERS), {"accuracy": Figure(0.5, 0.4, 0.6), "auc": None}, 1.0)
    stranger = make_row(("z", "rival", PEERS), {})
    lines = [json.dumps(row) for row in (peer, stranger)]
    (tmp_path / "peers.jsonl").write_text("\n".join([*lines, '{"torn": ']))
    archive = collect_real(tmp_path)
    assert [row["method"] for row in archive["rows"]] == ["wawa", "rival"]
    assert archive["sets"][0]["voters"] == 9
    assert archive["panels"] == {"sets": [], "rows": []}
    assert collect_real(tmp_path / "nowhere", archive) == archive  # stored rows stay


def test_panels_are_a_part_of_the_archive(tmp_path, known):
    (tmp_path / PANELS).mkdir()
    run_real({"judges": lambda: known}, tmp_path / PANELS, list_tasks(["wawa"], supervised=False))
    archive = collect_real(tmp_path)
    assert archive["sets"] == archive["rows"] == []
    assert [row["set"] for row in archive["panels"]["rows"]] == ["judges"]
    assert collect_real(tmp_path / "nowhere", archive) == archive


def test_mean_ranks_by_hand():
    def row(name, method, accuracy):
        figures = {} if accuracy is None else {"accuracy": Figure(accuracy, 0, 1)}
        return make_row((name, method, "ours"), figures)

    rows = [row("a", "x", 0.9), row("a", "y", 0.8), row("a", "z", 0.8)]
    rows += [row("b", "x", 0.5), row("b", "y", None), row("b", "z", None)]
    rows += [row("c", "x", 0.1), row("c", "y", 0.2)]  # z was not run on c
    expected = {"x": (1 + 1 + 2) / 3, "y": (2.5 + 2.5 + 1) / 3, "z": (2.5 + 2.5 + 3) / 3}
    assert rank_methods(rows, "accuracy") == pytest.approx(expected)
