import pytest

from studies.markdown import fill_marks, has_mark, join_blocks, markdown_table, share


def test_a_table_has_a_header_and_its_rows_and_escapes_bars():
    assert markdown_table(["|r|", "b"], iter([["a|b", 2], ["3", ""]])).splitlines() == [
        r"| \|r\| | b |",
        "| --- | --- |",
        r"| a\|b | 2 |",
        "| 3 |  |",
    ]


@pytest.mark.parametrize(
    ("value", "digits", "words"),
    [(0.5, 3, ".500"), (0.0, 2, ".00"), (0.9996, 3, "1.000"), (-0.25, 2, "-0.25"), (None, 3, "-")],
)
def test_a_share_has_no_leading_zero(value, digits, words):
    assert share(value, digits) == words


def test_blocks_are_separated_by_blank_lines():
    assert join_blocks("# a\n", "", "b\nc") == "# a\n\nb\nc\n"


def test_only_the_text_between_the_marks_is_replaced(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- x -->\nold\n<!-- end x -->\nafter\n")
    assert has_mark(page, "x")
    assert not has_mark(page, "y")
    fill_marks(page, {"x": "new"})
    assert page.read_text() == "before\n<!-- x -->\nnew\n<!-- end x -->\nafter\n"
