import json
import re

import numpy as np
import pytest
import scipy.sparse as sp

from report.judging import findings_of, page_of
from unelisa.aggregators import DawidSkene, LatentIsing, MajorityVote
from unelisa.analysis.comparison import compare_methods
from unelisa.analysis.confusions import list_pairs, pool_confusions, tally_confusions
from unelisa.analysis.judged import Judged
from unelisa.analysis.rate import estimate_rate
from unelisa.report import findings as classes
from unelisa.report.findings import describe_classes
from unelisa.report.page import render_report
from unelisa.report.voters import rank_voters
from unelisa.simulation.designs import simulate_classes
from unelisa.votes import Votes
from unelisa.votes.blocks import SparseBlocks


@pytest.fixture(scope="module")
def drawn():
    return simulate_classes(4, 12, 300, spammers=0, copies=0, random_state=0)


@pytest.fixture(scope="module")
def model(drawn):
    return DawidSkene().fit(drawn.votes)


def test_two_classes_have_no_section_and_ordered_ones_say_so():
    votes = Votes.of([["yes", "no"], ["no", "no"], ["yes", "yes"]])
    fitted = MajorityVote().fit(votes)
    assert describe_classes(fitted, Judged.of(fitted, votes), [0, 1]) is None
    assert "The classes" not in page_of(fitted, votes)
    drawn = simulate_classes(3, 8, 100, ordered=True, random_state=1)
    fitted = DawidSkene().fit(drawn.votes)
    rows = list(compare_methods(drawn.votes, drawn.truth))
    page = page_of(fitted, drawn.votes, drawn.truth, rows)
    assert "Classes, in their order: “1”" in page
    assert "MAE" in page


def test_labels_are_counted_and_pairs_mixed_up(drawn, model):
    found = findings_of(model, drawn.votes)["by_class"]["shares"]
    labels = model.predict(drawn.votes).tolist()
    assert [(one["label"], one["labeled"]) for one in found] == [
        (label, labels.count(label)) for label in "abcd"
    ]
    rates = estimate_rate(model, drawn.votes)
    assert [one["prevalence"] for one in found] == pytest.approx(rates["share"].tolist())
    assert all(one["low"] < one["prevalence"] < one["high"] for one in found)
    confusion = np.full((3, 3), 0.01)
    confusion[0, 2], confusion[2, 0] = 0.3, 0.1
    found = list_pairs(confusion, np.array([100.0, 10.0, 50.0]))
    assert (found[0]["first"], found[0]["second"]) == (0, 2)
    assert found[0]["votes"] == pytest.approx(35)
    assert (found[0]["first_as_second"], found[0]["second_as_first"]) == (0.3, 0.1)
    assert list_pairs(np.eye(3), np.array([9.0, 9.0, 9.0])) == []
    assert pool_confusions(np.zeros((1, 2, 2)), np.zeros((1, 2))).tolist() == [[0, 0], [0, 0]]


def test_tallies_equal_a_slow_count(drawn):
    values = drawn.votes.values
    shares = np.random.default_rng(0).dirichlet(np.ones(4), len(values))
    slow = np.zeros((12, 4, 4))
    for i, s in np.argwhere(values):
        slow[s, :, values[i, s] - 1] += shares[i]
    assert np.allclose(tally_confusions(drawn.votes, shares), slow)
    blocks = SparseBlocks(sp.csr_array(values))
    sparse = Votes(blocks, drawn.votes.items, drawn.votes.voters, drawn.votes.classes)
    assert np.allclose(tally_confusions(sparse, shares), slow)


def test_confusions_are_the_models_own_or_counted_by_its_labels(drawn, model):
    found, table = findings_of(model, drawn.votes), model.confusions_
    assert json.loads(json.dumps(found, allow_nan=False))["by_class"] == found["by_class"]
    assert found["answer"].startswith("300 items labeled in 4 classes, most often “")
    own = found["by_class"]["voters"][2]
    name = found["voters"][2]["voter"]
    mine = table[table.voter == name].pivot(index="meant", columns="said", values="probability")
    assert np.allclose(own, mine.to_numpy(), atol=1e-3)
    # the picture of all is that of a random vote
    weighed = table.assign(part=table.probability * table.votes)
    parts = weighed.groupby(["meant", "said"])[["part", "votes"]].sum()
    expected = (parts.part / parts.votes).unstack().to_numpy()
    assert np.allclose(found["by_class"]["confusion"], expected, atol=1e-4)
    fitted = MajorityVote().fit(drawn.votes)
    found = findings_of(fitted, drawn.votes)["by_class"]
    rows = np.array(found["confusion"])
    assert rows.sum(axis=1) == pytest.approx(1, abs=1e-3)
    assert np.all(rows.argmax(axis=1) == np.arange(4))
    alone = describe_classes(fitted, None, rank_voters(fitted))
    assert alone["confusion"] is None
    assert "The classes" not in render_report(findings_of(fitted))
    page = render_report(findings_of(model))
    assert "Estimated share of every class" in page
    assert "Hard pairs" in page


def test_only_the_classes_with_most_votes_are_drawn(monkeypatch, drawn, model):
    monkeypatch.setattr(classes, "MOST_DRAWN", 2)
    monkeypatch.setattr(classes, "MOST_CELLS", 12)
    found = findings_of(model, drawn.votes)["by_class"]
    behind = model.confusions_.groupby("meant").votes.sum().to_numpy()
    assert found["drawn"] == sorted(np.argsort(-behind)[:2].tolist())
    assert np.shape(found["voters"]) == (3, 2, 2)  # of the heaviest voters
    assert "with most votes of 4" in page_of(model, drawn.votes, drawn.truth)


@pytest.mark.parametrize("method", [LatentIsing, DawidSkene, MajorityVote])
def test_words_of_two_classes_stay_away(drawn, method):
    fitted = method().fit(drawn.votes)
    rows = list(compare_methods(drawn.votes, drawn.truth))
    page = page_of(fitted, drawn.votes, drawn.truth, rows, show_items=True)
    body = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL)
    body = re.sub(r"<table class=\"structures.*?</table>", "", body, flags=re.DOTALL)  # has flags
    text = re.sub(r"<[^>]*>", " ", body)
    assert not re.search(r"\b(positive|negative|yes|no|sensitivity|specificity)\b", text, re.I)
    assert not re.search(r"positive|negative|sensitivity|specificity", body, re.I)
    assert all(word in text for word in ("The classes", "Hard pairs", "Macro F1", "ECE"))
    assert "MAE" not in text
