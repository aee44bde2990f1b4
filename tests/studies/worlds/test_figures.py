from studies.drawing import drawing
from studies.worlds.figures import draw_differences


def test_a_dot_per_kind_with_the_worst_at_the_top(world_archive):
    kinds = [row for row in world_archive["kinds"] if row["part"] == "choosing"]
    with drawing():
        axes = draw_differences(kinds).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["copies", "rules"]
    dots = {
        int(line.get_ydata()[0]): (line.get_marker(), line.get_xdata()[0])
        for line in axes.lines
        if line.get_marker() in {"o", "D"}
    }
    means = {row["kind"]: row["by_world"][0] for row in kinds}
    assert dots == {0: ("o", means["copies"]), 1: ("D", means["rules"])}
