import pytest

from unelisa.study.cells import CELLS
from unelisa.study.wording import markdown_table, place, share


def test_a_table_has_a_head_a_rule_and_its_rows():
    assert markdown_table(["a", "b"], iter([["1", "2"], ["3", ""]])) == [
        "| a | b |",
        "| --- | --- |",
        "| 1 | 2 |",
        "| 3 |  |",
    ]
    assert markdown_table(["a"], []) == ["| a |", "| --- |"]


def test_bars_within_cells_do_not_end_them():
    assert markdown_table(["|r|"], [["a|b"]]) == [r"| \|r\| |", "| --- |", r"| a\|b |"]


@pytest.mark.parametrize(
    ("value", "digits", "words"),
    [
        (0.5, 3, ".500"),
        (0.0, 2, ".00"),
        (1.0, 2, "1.00"),
        (0.9996, 3, "1.000"),
        (-0.25, 2, "-0.25"),
    ],
)
def test_a_share_has_no_leading_zero(value, digits, words):
    assert share(value, digits) == words


def test_a_cell_is_called_by_its_signal_voters_and_experts():
    for cell in CELLS:
        row = place({"cell": cell.name, "n_experts": 7})
        assert row == f"{cell.snr} {cell.n_voters}/7"
