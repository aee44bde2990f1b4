"""`fit --out --report` lists the votes at most three times, and scores every item once."""

import weakref
from collections import Counter

import numpy as np
import pytest
from typer.testing import CliRunner

from unelisa import Votes
from unelisa.cli import app
from unelisa.latent.reading import Reading
from unelisa.votes import ballots
from unelisa.votes.ballots import RUN, list_ballots

N = 400  # items


@pytest.fixture
def passes(monkeypatch):
    """How often the votes were listed, and all items scored; samples that a fit draws are apart."""
    counted, keep, score = Counter(), ballots.ref, Reading.score

    def keep_list(listed):
        counted["listed"] += 1
        return keep(listed)

    def count_score(self, listed):
        counted["scored"] += listed.n_items == N
        return score(self, listed)

    monkeypatch.setattr(ballots, "ref", keep_list)
    monkeypatch.setattr(Reading, "score", count_score)
    return counted


def write_votes(path, n_items=N, classes=("no", "yes")):
    rng = np.random.default_rng(0)
    truth = rng.integers(len(classes), size=(n_items, 1))
    other = rng.integers(len(classes), size=(n_items, 6))
    said = np.array(classes)[np.where(rng.random((n_items, 6)) < 0.8, truth, other)]
    rows = (",".join([f"item {i}", *row]) for i, row in enumerate(said))
    path.write_text("\n".join(["item,a,b,c,d,e,f", *rows, ""]))
    return path


@pytest.mark.parametrize("classes", [("no", "yes"), ("x", "y", "z")])
def test_a_fit_with_labels_and_a_report_lists_three_times_and_scores_once(
    tmp_path, passes, classes
):
    votes = write_votes(tmp_path / "votes.csv", classes=classes)
    files = ["--out", str(tmp_path / "labels.csv"), "--report", str(tmp_path / "report.html")]
    told = CliRunner().invoke(app, ["fit", str(votes), *files])
    assert told.exit_code == 0, told.output
    assert passes == {"listed": 3, "scored": 1}
    assert "What to ask next" in (tmp_path / "report.html").read_text()


def test_votes_are_listed_anew_only_when_nobody_holds_the_list():
    votes = Votes.of(np.eye(4, dtype=int).repeat(RUN, axis=0) * 2 - 1)
    first = list_ballots(votes.blocks)
    assert list_ballots(votes.blocks) is first
    assert list_ballots(votes.blocks, n_jobs=2).n_threads == 2
    kept = weakref.ref(first)
    del first
    assert kept() is None
