import re

import numpy as np
import pytest

from studies.prior.page import holds, is_too_sure, mean_of, render_prior


def make_row(name, accuracy, **more):
    rivals = {
        part: {"accuracy": accuracy - 0.05, "log_loss": 0.7} for part in ("share", "dawid_skene")
    }
    told = {"expected": 0.85, "low": 0.7, "high": 0.95, "reliable": True}
    held = {"shares_held": 1.0, "voters": 3, "voters_held": 2 / 3}
    row = {"set": name, "source": f"{name} & co", "classes": 2, "accuracy": accuracy}
    return {**row, "log_loss": 0.345, **rivals, **told, **held, **more}


@pytest.fixture
def archive():
    untold = {"expected": None, "low": None, "high": None, "reliable": False}
    untold |= {"shares_held": None, "voters_held": None}
    judged = {"shares_held": 0.812, "reliable": 0.534, "too_sure": None}
    return {
        "values": {
            "MODEL_POWER": 0.53,
            "ACCURACY": [-1.1, 1.5, 3.0],
            "UNHEARD": 2.0,
            "GATE": 0.125,
        },
        "fitted": {"MODEL_POWER": 0.5312, "ACCURACY": [-1.1234, 1.5678, 3.0912]},
        "spread": {"MODEL_POWER": 0.0213, "ACCURACY": [0.0111, 0.0222, 0.0333]},
        "sets": [
            make_row("fine", 0.9),
            make_row("sure", 0.7412),
            make_row("wrong", 0.6),
            make_row("noise", 0.5, **untold),
        ],
        "trials": [{"name": "UNHEARD", "value": 4.0, "accuracy": 0.6873, "log_loss": 0.3471}],
        "judged": [
            {"name": "GATE", "value": 0.05, **judged},
            {"name": "GOLD_SPREAD", "value": 4.0, "accuracy": 0.8765, "log_loss": 0.4321},
        ],
    }


def test_the_page_says_what_the_archive_holds(archive):
    page = render_prior(archive)
    assert "4 sets of votes whose truth is known,\nfrom 4 sources" in page
    rows = [re.findall(r"[^|]+", line) for line in page.splitlines() if line.startswith("|")]
    table = {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}
    assert table["intervals of the accuracy that hold, of 90 %"] == [".667"]
    assert table["intervals of the classes' shares that hold"] == ["1.000"]
    assert table["intervals of voters' accuracies that hold"] == [".667"]
    assert table["their median width"] == [".250"]
    assert table["sets called reliable"] == [".750"]
    assert table["of these too sure"] == table["of all sets too sure"] == [".667"]
    assert table["`LatentIsing`: accuracy, log loss"] == [".685, .345"]
    rivals = [".691", ".691", ".345", ".700"]
    assert table["sure"] == ["sure & co", "2", ".741", *rivals, ".85 (.70 to .95)", "yes"]
    assert table["noise"][-2:] == ["-", "no"]
    assert table["`MODEL_POWER`"][1:] == ["0.53", "0.5312", "0.0213"]
    three = ["-1.1, 1.5, 3", "-1.1234, 1.5678, 3.0912", "0.0111, 0.0222, 0.0333"]
    assert table["`ACCURACY`"][1:] == three
    assert table["`UNHEARD`"][1:] == ["2", "4", "+0.0020", "+0.0021"]
    assert table["`GATE`"][1:] == ["0.05", ".812", ".534", "-"]
    assert table["`GOLD_SPREAD`"][1:] == ["4", ".876", ".432"]


def test_sets_stand_in_the_order_of_what_the_default_gains(archive):
    archive["sets"][3]["share"]["accuracy"] = 0.99
    page = render_prior(archive)
    assert re.findall(r"^\| (\w+) \| \1 & co", page, re.MULTILINE)[0] == "noise"


def test_without_trials_there_are_no_tables_of_them(archive):
    del archive["judged"]
    page = render_prior({**archive, "trials": []})
    assert "Numbers that are fitted" in page
    assert "not fitted" not in page
    assert "decide no label" not in page


def test_a_page_of_sets_that_tell_nothing(archive):
    page = render_prior({**archive, "sets": archive["sets"][3:]})
    assert "| their median width | - |" in page
    assert "| of these too sure | - |" in page
    assert "nan" not in page


def test_intervals_that_hold_and_labels_that_are_too_sure():
    assert holds(make_row("fine", 0.95))
    assert not holds(make_row("fine", 0.96))
    assert is_too_sure(make_row("sure", 0.749))
    assert not is_too_sure(make_row("sure", 0.751))
    assert not is_too_sure(make_row("noise", 0.1, expected=None))
    assert np.isnan(mean_of([], len))
