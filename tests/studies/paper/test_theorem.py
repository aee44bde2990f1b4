import numpy as np
import pytest

from studies.paper.theorem import Case, bound, example_model, run_case, run_theorem, show_theorem
from unelisa.paper.conditions import project


def test_with_many_items_the_theorem_s_penalty_finds_all_of_q_and_few_do_not():
    edges = project(example_model())
    true = np.where(np.abs(edges) > 1e-6, np.sign(edges), 0.0)
    pairs = np.array(np.unravel_index(np.arange(256), (2,) * 8)).T * 2 - 1
    chances = np.exp(0.5 * np.einsum("is,st,it->i", pairs, edges, pairs))
    case = Case("Q", 40.0)
    few, many = (run_case(case, n, chances, true, 3) for n in (500, 4_000_000))
    assert few["neighborhoods"] == 0
    assert few["signs"] == 0
    assert many["neighborhoods"] == 1
    assert many["signs"] == 1


def test_the_bound_is_hoeffding_s_and_vacuous_at_the_default_penalty():
    alpha = 0.6
    limit = 16 * (2 - alpha) / alpha
    # t = 4 sqrt(log p / n), so that exp(-n t^2 / 8) = p^-2
    assert bound(alpha, Case("Q", limit))["bound"] == 1  # 2 * 56 / 8^2 is more than that
    assert bound(alpha, Case("Q", 2 * limit))["bound"] == pytest.approx(2 * 56 * 8.0**-8)
    assert bound(alpha, Case("Q", 2.0))["bound"] == 1


def test_a_small_run_is_shown():
    page = show_theorem({"theorem": run_theorem(1, (500,))})
    assert page.count("| Q |") == 4
    assert "alpha" in page
    assert show_theorem({}) == ""
