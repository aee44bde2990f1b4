import pytest

from studies.paper.cells import CELLS, Trial
from studies.paper.differences import REASONS, explain_differences, share_reversed
from studies.paper.tables import tabulate_cell


@pytest.fixture
def explain(make_record):
    """The reasons for one column of the first cell (hit rate .986, SML .647, MV .607)."""

    def call(column, accuracies, hits=(1.0, 1.0), mean_truth=0.1):
        records = [
            make_record(Trial(CELLS[0], k), accuracy=a, hit=h) | {"mean_truth": mean_truth}
            for k, (a, h) in enumerate(zip(accuracies, hits, strict=True))
        ]
        found = explain_differences([tabulate_cell(CELLS[0], records)])
        reasons = {difference.column: "".join(difference.reasons) for difference in found}
        assert set("".join(reasons.values())) <= set(REASONS)
        return reasons.get(column)

    return call


def test_small_differences(explain):
    assert explain("hit_rate", (0.9, 0.9)) == "S"


def test_what_is_within_two_errors_needs_no_reason(explain):
    assert explain("hit_rate", (0.9, 0.9), hits=(0.98, 0.99)) is None


def test_sides(explain):
    assert explain("spectral-meta-learner", (0.9, 0.901)) == "Y"
    assert explain("spectral-meta-learner", (0.6, 0.601)) == "?"
    assert explain("majority-vote", (0.9, 0.901)) == "?"


def test_one_graph(explain):
    hits = [1.0] * 18 + [0.1, 0.1]
    assert explain("hit_rate", [0.9] * 20, [*hits[:-2], 0.1, 0.2]) is None
    accuracies = [0.95] * 90 + [0.55] * 10
    assert explain("majority-vote", accuracies, [1.0] * 100) == "G"


def test_a_stuck_chain_is_a_remark_and_no_reason(explain):
    assert explain("hit_rate", (0.9, 0.9), mean_truth=0.7) == "SM"
    assert explain("hit_rate", (0.9, 0.9), hits=(0.5, 0.5), mean_truth=0.7) == "?M"


def test_a_single_trial_explains_nothing(make_record):
    cell = tabulate_cell(CELLS[0], [make_record(Trial(CELLS[0], 0))])
    assert explain_differences([cell]) == []


@pytest.mark.parametrize(
    ("published", "right", "share"),
    [(0.9, 0.9, 0.0), (0.1, 0.9, 1.0), (0.5, 0.9, 0.5), (0.95, 0.9, None), (0.5, 0.5, None)],
)
def test_share_reversed(published, right, share):
    assert share_reversed(published, right) == pytest.approx(share)
