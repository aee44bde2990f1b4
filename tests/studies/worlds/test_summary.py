import json

import pytest

from studies.worlds.runs import results_path
from studies.worlds.summary import (
    collect_worlds,
    exceeds_share,
    summarize_kinds,
    summarize_part,
)


@pytest.fixture
def kinds(rows):
    return {row["kind"]: row for row in summarize_kinds(rows)}


def test_a_kind_by_hand(kinds):
    found = kinds["rules"]
    assert (found["worlds"], found["unanswered"]) == (4, 0)
    # ours .86 in the mean, majority vote .85, Dawid-Skene .75
    assert found["difference"] == pytest.approx(0.86 - 0.85)
    differences = (-0.1, -0.1, -0.03, 0.07)
    assert found["by_world"][0] == pytest.approx(sum(differences) / 4)
    assert found["losing"] == 0.75
    assert (
        found["silent"] == 0.25
    )  # of the two large losses one is flagged, and one warns of the votes only
    assert found["reliable"] == 0.75
    assert found["too_sure"] == 0.25  # .95 and .80; the second such world is not called reliable
    # both sorts in every world; nothing is said of the shares of classes
    assert found["intervals"]["expected"] == pytest.approx([4, 4.0, 0.4])
    assert found["intervals"]["voters"] == pytest.approx([4, 2.0, 0.8])
    assert found["intervals"]["rate"] == [0, 0.0, 0.0]
    assert found["commits"] == ["0123abc"]
    assert found["methods"]["wawa"]["accuracy"] == pytest.approx(0.9)
    assert found["methods"]["latent-ising"]["seconds"] == 0.25


def test_the_better_one_is_chosen_per_kind_and_per_world(kinds):
    found = kinds["copies"]
    assert found["difference"] == pytest.approx(0.9 - 0.75)
    assert found["by_world"][0] == pytest.approx(0.9 - 0.8)


def test_a_part_by_hand(kinds):
    part = summarize_part([kinds["rules"], kinds["copies"]])
    assert (part.kinds, part.worlds) == (2, 6)
    assert part.worst == ("rules", pytest.approx(0.01))
    assert part.worst_by_world == ("rules", pytest.approx(-0.04))
    expected = {"losing": 3 / 6, "silent": 1 / 6, "reliable": 5 / 6, "too_sure": 1 / 6}
    assert part.shares == pytest.approx(expected)  # over worlds
    assert part.intervals["expected"] == pytest.approx([6, 6.0, 0.6])
    assert part.means["latent-ising"]["accuracy"] == pytest.approx((0.86 + 0.9) / 2)
    assert part.best_of_the_rest == "wawa"
    assert part.worse_log_loss == []


def test_a_method_without_an_answer_on_a_kind_is_not_the_best_of_the_rest(rows):
    for row in rows:
        if (row["kind"], row["method"]) == ("copies", "wawa"):
            row["figures"] = {}
    found = summarize_kinds(rows)
    assert (
        summarize_part([row for row in found if row["part"] == "choosing"]).best_of_the_rest is None
    )


def test_worlds_without_an_answer_are_counted_and_left_out(rows):
    rows[0]["figures"] = {}  # ours failed on the first world
    found = summarize_kinds(rows)[0]
    assert (found["worlds"], found["unanswered"]) == (3, 1)
    assert found["silent"] == 0


def test_a_log_loss_above_the_share_of_yes_is_seen(kinds):
    found = kinds["copies"]
    assert not exceeds_share(found)
    found["methods"]["latent-ising"]["log_loss"] = 2.0
    assert exceeds_share(found)


def test_the_archive_keeps_what_is_stored_and_takes_newer_kinds(tmp_path, rows):
    def write(mine):
        path = results_path(tmp_path, "choosing", "mixed")
        path.write_text("".join(json.dumps(row) + "\n" for row in mine))

    write(rows)
    whole = collect_worlds(tmp_path)
    assert [(row["part"], row["kind"]) for row in whole["kinds"]] == [
        *(("choosing", "copies"), ("choosing", "rules"), ("reporting", "copied_expert"))
    ]
    write(rows[:4])
    added = collect_worlds(tmp_path, whole)
    assert [row["worlds"] for row in added["kinds"]] == [2, 1, 1]
    assert collect_worlds(tmp_path / "nowhere", whole) == whole
