from pathlib import Path

import pytest

from studies.markdown import DASH
from studies.worlds.kinds import KINDS
from studies.worlds.page import render_worlds, signed

DOCS = Path(__file__).parents[3] / "docs"


def part_of(page, title):
    return page.split(f"## {title}")[1].split("\n## ")[0]


def test_the_summary_shows_targets_beside_both_parts(world_archive):
    table = part_of(render_worlds(world_archive), "In short")
    assert "|  | wanted | reporting | choosing |" in table
    assert "| worlds that lose more than .02 | at most 5 % | 0.0% | 50.0% |" in table
    assert "| silent failures | under 1 % | 0.0% | 16.7% |" in table
    assert f"| called reliable | {DASH} | 100.0% | 83.3% |" in table
    assert f"| reliable, yet .10 too sure | {DASH} | 0.0% | 20.0% |" in table
    assert "| intervals of voters | 90 % | 50% (.200) | 50% (.200) |" in table
    assert f"| intervals of the shares of classes | 90 % | {DASH} | {DASH} |" in table
    assert "at least -.010 | +.100 (copied_expert) | +.010 (rules) |" in table
    assert ".900 / .800 / .700 | .880 / .775 / .750 |" in table


def test_kinds_are_listed_worst_first_with_losses_as_plain_as_wins(world_archive):
    part = part_of(render_worlds(world_archive), "Choosing part")
    lines = [line for line in part.splitlines() if line.startswith("| ")][2:]
    assert [line.split(" | ")[0] for line in lines] == ["| rules", "| copies"]
    assert "| rules | .860 | .850 | .750 | +.010 | 25% | 75% |" in part


def test_a_worse_log_loss_is_named(world_archive):
    row = next(row for row in world_archive["kinds"] if row["kind"] == "copies")
    row["methods"]["latent-ising"]["log_loss"] = 1.25
    page = render_worlds(world_archive)
    assert "| kinds with a log loss above the share of votes | none | none | copies |" in page


def test_every_kind_that_was_run_is_described(world_archive):
    kinds = part_of(render_worlds(world_archive), "The kinds")
    shown = {row["part"] for row in world_archive["kinds"]}
    assert all(f"| {name} | " in kinds for part in shown for name in KINDS[part])
    assert "sybils" not in kinds


def test_the_commits_that_ran_are_named(world_archive):
    world_archive["kinds"][0]["commits"] = ["fff", "eee"]
    page = render_worlds(world_archive)
    assert "reporting `0123abc`, choosing `0123abc` and `eee` and `fff`." in page


def test_a_part_that_was_not_run_is_not_on_the_page(world_archive):
    world_archive["kinds"] = world_archive["kinds"][:2]
    assert "## Reporting part" not in render_worlds(world_archive)


@pytest.mark.parametrize(("value", "text"), [(-0.0004, "-.000"), (0.05, "+.050"), (-1.5, "-1.500")])
def test_differences_have_signs(value, text):
    assert signed(value) == text
