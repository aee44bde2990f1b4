import numpy as np
import pytest

from studies.jury import estimates, runs
from studies.jury.runs import add_copies, collect_jury, find_jury_sets, run_jury, score_methods
from unelisa import LatentIsing
from unelisa.errors import ModelError

pytestmark = pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")


def test_a_panel_is_described_and_run_once(known, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "TIMES", (2,))
    monkeypatch.setattr(runs, "list_crowd_kit", tuple)  # whose import takes seconds
    monkeypatch.setattr(estimates, "PANEL_RESAMPLES", 5)
    seen = []

    def read():
        seen.append(1)
        return known

    for _ in range(2):
        run_jury({"toy": read}, tmp_path, 3)
    assert len(seen) == 1
    (row,) = collect_jury(tmp_path)["panels"]
    assert (row["items"], row["judges"], row["classes"]) == (100, 5, 2)
    truth = known.signs[:100]
    values = known.votes.values[:100]
    counted = np.mean(np.sign(values.sum(axis=1)) == truth)
    assert row["labels"]["majority"]["accuracy"] == pytest.approx(counted)
    assert row["labels"]["LatentIsing"]["accuracy"] >= counted - 0.05
    assert row["labels"]["share of yes"]["log_loss"] < row["labels"]["majority"]["log_loss"]
    assert row["rates"]["truth"] == pytest.approx(np.mean(truth > 0))
    assert row["rates"]["gold alone"]["width"] > row["rates"]["estimate_rate"]["width"]
    copies = [one for one in row["repeats"] if not one["differ"]]
    assert {one["labels_kept"] for one in copies} == {1.0}
    assert {one["effective"] for one in copies} == {row["effective"]}
    assert collect_jury(tmp_path / "none", {"panels": [row]})["panels"] == [row]


def test_copies_may_have_other_answers(known):
    more = add_copies(known.votes, 2, 3, 0.2)
    assert more.n_voters == 7
    apart = np.mean(more.values[:, 5:] != more.values[:, [2]])
    assert 0.02 < apart < 0.2


def test_crowd_kit_says_the_same_of_two_classes(known):
    pytest.importorskip("crowdkit")
    truth = known.scored_signs()[:, None] == np.array([-1, 1])
    found = score_methods(known, LatentIsing().fit(known.votes), truth)
    assert found["Dawid-Skene"]["accuracy"] >= found["majority"]["accuracy"] - 0.1


def test_panels_are_found_by_name(tmp_path):
    place = tmp_path / "data" / "llm_judges"
    place.mkdir(parents=True)
    (place / "votes.csv").write_text("item,voter,vote\n")
    (place / "truth.csv").write_text("item,label\n")
    assert list(find_jury_sets(tmp_path / "data")) == ["llm_judges"]
    place.rename(place.with_name("birds"))
    with pytest.raises(ModelError, match="is a panel"):
        find_jury_sets(tmp_path / "data")
