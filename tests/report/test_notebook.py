import numpy as np

from report.judging import divided_model, family_model
from unelisa.aggregators import LatentIsing
from unelisa.paper.ising import VoterGraph
from unelisa.report import notebook
from unelisa.votes import Votes


def test_a_fitted_model_shows_its_answer_what_speaks_against_it_and_its_voters(monkeypatch):
    monkeypatch.setattr(notebook, "MOST_DOTS", 20)
    model, _ = family_model()
    shown = model._repr_html_()
    assert "voters are informative" in shown
    assert "expected accuracy of the labels" in shown
    assert shown.count('<li class="row') == 20
    assert "2 more voters" in shown
    assert "<script" not in shown
    assert "These labels cannot be relied on" in divided_model()._repr_html_()


def test_notebooks_show_answers_sizes_and_graphs():
    shown = LatentIsing(structure="plain")._repr_html_()
    assert "sk-" in shown
    assert "unelisa-model" not in shown
    values = np.tile(np.array(["<a>", "b", None], dtype=object), (40, 4))
    shown = Votes.of(values)._repr_html_()
    assert "40 items, 12 voters, 33.3% of the votes missing; classes “&lt;a&gt;”, “b”" in shown
    assert shown.count("<tr") == 1 + 1 + notebook.MOST_ROWS  # names of voters, and of the index
    assert shown.count("<td>&lt;a&gt;</td>") == 3 * notebook.MOST_ROWS
    assert "<a>" not in shown
    weights = np.zeros((70, 70))
    weights[0, 1:50] = weights[1:50, 0] = 0.5
    weights[1, 2] = weights[2, 1] = -0.3
    shown = VoterGraph.of(weights)._repr_html_()
    assert shown.count("<circle") == notebook.MOST_NODES
    assert shown.count("<line") == 50
    assert shown.count(notebook.COLORS[False]) == 1
    assert "10 voters with the fewest edges left out" in shown
    assert "70 voters, 50 edges" in shown
    assert "<svg" in VoterGraph.of(np.zeros((0, 0)))._repr_html_()
