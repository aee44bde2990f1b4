import numpy as np
import pytest

from studies.rate import runs
from studies.rate.runs import SIMULATED_STAMP, collect_rate, find_rate_sets, run_rate, run_set
from studies.records import read_lines
from unelisa.errors import ModelError


@pytest.mark.filterwarnings("ignore::unelisa.errors.UnelisaWarning")
def test_a_set_is_judged_on_its_items_with_known_truth(known):
    row = run_set(known, "toy", 5)
    signs = known.scored_signs()
    assert (row["items"], row["labels"], row["draws"]) == (81, 40, 5)
    assert row["truth"][1] == pytest.approx(np.mean(signs[signs != 0] > 0), abs=1e-5)
    assert len(row["coverage"]) == 2
    assert row["width"][0] < row["alone_width"][0]


def test_an_interrupted_run_continues_and_old_rows_stay(known, tmp_path, monkeypatch):
    seen, simulated = [], [{"model": "useless", "share": 0.5, "labels": 5}]
    monkeypatch.setattr(runs, "simulate_models", lambda draws: simulated)

    def read():
        seen.append(1)
        return known

    done = []
    run_rate({"toy": read}, tmp_path, 2, lambda name, count: done.append(name))
    run_rate({"toy": read, "more": read}, tmp_path, 2)
    assert len(seen) == 2
    assert done == ["toy", "simulated"]
    assert len(read_lines(tmp_path / "simulated.jsonl")) == 1
    archive = collect_rate(tmp_path)
    assert [row["set"] for row in archive["sets"]] == ["more", "toy"]
    assert archive["models"] == [row | {"code": SIMULATED_STAMP(row)} for row in simulated]
    assert collect_rate(tmp_path / "none", archive) == archive


def write_set(folder, labels):
    folder.mkdir(parents=True)
    (folder / "truth.csv").write_text("item,label\n" + "".join(f"{x},{x}\n" for x in labels))
    (folder / "votes.csv.gz").write_bytes(b"")


def test_sets_of_both_folders_are_found(tmp_path):
    write_set(tmp_path / "data" / "signs", (-1, 1))
    assert list(find_rate_sets(tmp_path / "data", None)) == ["signs"]
    write_set(tmp_path / "data_k" / "judges", ("no", "yes"))
    write_set(tmp_path / "data_k" / "animals", ("cat", "dog", "owl"))
    assert set(find_rate_sets(tmp_path / "data", None)) == {"signs", "judges", "animals"}
    with pytest.raises(ModelError, match="is not a folder"):
        find_rate_sets(tmp_path / "data", tmp_path / "none")
