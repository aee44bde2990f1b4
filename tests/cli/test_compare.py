import json

import pandas as pd
import pytest

KEYS = ["method", "accuracy", "balanced_accuracy", "auc", "log_loss", "seconds", "n_experts"]


def test_methods_are_scored_by_any_name_on_the_screen_and_for_machines(run, files, refused):
    path, names = files.folder / "rows.json", "MajorityVote,majority-vote,UNELISA"
    truth = ("--truth", files.truth)
    result = run("compare", files.votes, *truth, "--methods", names, "--json", path)
    assert result.exit_code == 0, result.output
    assert "scored on 600 items with a known label" in result.stdout
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    rows = json.loads(path.read_text())
    assert [row["method"] for row in rows] == ["majority-vote", "unelisa"]
    assert all(row["method"] in result.stdout for row in rows)
    assert all(list(row) == KEYS for row in rows)
    assert rows[0]["log_loss"] is None
    assert rows[0]["n_experts"] is None
    assert "--truth" in refused("compare", files.votes)
    told = refused("compare", files.votes, "--truth", files.truth, "--methods", "unelisa,guess")
    assert "there is no method 'guess'" in told
    files.truth.write_text("a,b,c\n1,2,3\n")
    assert "a column named item" in refused("compare", files.votes, "--truth", files.truth)


def test_the_truth_may_be_parquet_and_ties_count_half(run, files):
    part = files.folder / "part.parquet"
    pd.read_csv(files.truth).head(100).assign(note="x").to_parquet(part)
    result = run("compare", files.votes, "--truth", part, "--methods", "majority-vote")
    assert "scored on 100 items" in result.stdout
    files.votes.write_text("item,voter,vote\na,x,yes\na,y,no\nb,x,yes\nb,y,yes\nd,x,no\nd,y,no\n")
    files.truth.write_text("item,label\na,yes\nb,yes\nc,no\nd,\n")
    arguments = ("--truth", files.truth, "--methods", "majority-vote", "--json", "-")
    row = json.loads(run("compare", files.votes, *arguments).stdout)[0]
    assert row["accuracy"] == pytest.approx(2 / 3)
    assert row["balanced_accuracy"] == pytest.approx(0.625)


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "votes", "majority", "balanced"),
    [("bluebirds", "votes_wide.csv.gz", 0.759, 0.740), ("youtube_spam", "votes.csv", 0.816, 0.818)],
)
def test_real_votes_give_the_figures_of_their_readme(
    run, shared_data, name, votes, majority, balanced
):
    folder = shared_data / name
    arguments = ("--methods", "majority-vote", "--json", "-")
    result = run("compare", folder / votes, "--truth", folder / "truth.csv", *arguments)
    row = json.loads(result.stdout)[0]
    assert round(row["accuracy"], 3) == majority
    assert round(row["balanced_accuracy"], 3) == balanced


@pytest.fixture
def graded(run, tmp_path):
    assert (
        run("simulate", "classes", "--out", tmp_path, "--classes", 4, "--items", 200).exit_code == 0
    )
    return tmp_path / "votes.csv", "--truth", tmp_path / "truth.csv"


def test_methods_of_more_classes_are_scored_and_the_others_named(run, graded):
    result = run("compare", *graded)
    assert result.exit_code == 0, result.output
    assert "macro F1" in result.stdout
    assert "MAE" not in result.stdout
    assert "Left out, because they take two classes only: " in result.stdout
    assert "unelisa" in " ".join(result.stdout.split("Left out")[1].split())
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    rows = json.loads(run("compare", *graded, "--json", "-").stdout)
    keys = "method accuracy balanced_accuracy macro_f1 log_loss calibration_error"
    assert list(rows[0]) == [*keys.split(), "mean_absolute_error", "seconds"]
    assert {"majority-vote", "dawid-skene"} <= {row["method"] for row in rows}
    result = run("compare", *graded, "--methods", "majority-vote,dawid-skene")
    assert "Left out" not in result.stdout
    arguments = ("--methods", "majority-vote,dawid-skene", "--order", "a,b,c,d")
    result = run("compare", *graded, *arguments)
    assert result.exit_code == 0, result.output
    assert "MAE is in steps" in result.stdout
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    rows = json.loads(run("compare", *graded, *arguments, "--json", "-").stdout)
    assert all(row["mean_absolute_error"] > 0 for row in rows)


@pytest.mark.parametrize(
    ("command", "option", "sentence"),
    [("compare", "--truth", "count as items without votes"), ("fit", "--gold", "are ignored")],
)
def test_labels_of_items_under_another_name_are_counted_aloud(
    run, files, command, option, sentence
):
    """Half of them: the accuracy fell, or gold labels were lost, without a word."""
    table, other = pd.read_csv(files.truth, dtype=str), files.folder / "other.csv"
    table["item"] = [x + "\u200b" * (k % 2) for k, x in enumerate(table["item"])]
    table.to_csv(other, index=False)
    result = run(command, files.votes, option, other)
    assert result.exit_code == 0
    words = " ".join(result.stderr.split())
    assert (
        f"other.csv labels {len(table) // 2:,} items that are not among the votes and {sentence}"
        in words
    )
