import base64
import csv
import zlib
from io import StringIO

import numpy as np
import pytest

from unelisa.aggregators import MajorityVote, UnElisa
from unelisa.report import downloads
from unelisa.report.downloads import pack_labels, pack_text, pack_voters
from unelisa.report.findings import collect_findings
from unelisa.report.spreadsheet import write_labels
from unelisa.votes import Votes


def unpack(download):
    return zlib.decompress(base64.b64decode(download.packed)).decode("utf-8")


@pytest.fixture
def named(crowd):
    items = np.array([f"patient {i}" for i in range(600)], dtype=object)
    return Votes.of_values(crowd[0].values, items, crowd[0].voters, ("no", "yes"))


def test_shown_items_give_the_labels_of_the_command_line(named):
    model = UnElisa(random_state=0).fit(named)
    file = StringIO()
    write_labels(file, model, named)
    packed = pack_labels(model, named, show_items=True)
    assert packed.name == "labels.csv"
    assert unpack(packed) == file.getvalue()


def test_hidden_items_leave_numbered_rows(named):
    model = UnElisa(random_state=0).fit(named)
    packed = pack_labels(model, named, show_items=False)
    shown = unpack(pack_labels(model, named, show_items=True))
    assert packed.name == "labels-by-row.csv"
    assert "patient" not in unpack(packed)
    rows, full = (list(csv.reader(StringIO(text))) for text in (unpack(packed), shown))
    assert rows[0] == ["row", "label", "probability"]
    assert [row[0] for row in rows[1:]] == [str(k) for k in range(1, 601)]
    assert [row[1:] for row in rows] == [row[1:] for row in full]


def test_items_without_names_have_nothing_to_hide(crowd):
    model = MajorityVote().fit(crowd[0])
    assert pack_labels(model, crowd[0], show_items=False).name == "labels.csv"


def test_labels_that_are_too_many_stay_out(crowd, monkeypatch):
    monkeypatch.setattr(downloads, "LARGEST", 100)
    assert pack_labels(MajorityVote().fit(crowd[0]), crowd[0], show_items=False) is None


def test_the_voters_table_is_safe_for_spreadsheets_and_whole(crowd):
    hostile = ["=cmd|' /C calc'!A0", "@x", "n" * 10_000, "a,b", 'q"q', "l\nl", "", "-1", "+x"]
    votes = Votes.of_values(crowd[0].values, crowd[0].items, np.array(hostile, dtype=object))
    findings = collect_findings(UnElisa(random_state=0).fit(votes), votes)
    rows = list(csv.DictReader(StringIO(unpack(pack_voters(findings["voters"])))))
    assert len(rows) == 9
    names = {row["voter"] for row in rows}
    assert names == {f"'{name}" if name[:1] in ("=", "@", "+") else name for name in hostile}
    assert not any(row["depends on"].startswith(("=", "@", "+")) for row in rows)
    assert {row["verdict"] for row in rows} == {"expert", "contrarian", "pruned"}
    assert float(rows[0]["weight"]) == findings["voters"][0]["weight"]


def test_half_a_surrogate_pair_does_not_stop_a_report():
    assert unpack(pack_text("a.csv", "a\ud800b")) == "a?b"
