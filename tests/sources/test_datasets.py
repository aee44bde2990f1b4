import hashlib
import re
import sys
import zipfile

import numpy as np
import pytest

from unelisa.errors import MissingExtraError, ModelError, VotesError
from unelisa.sources import datasets
from unelisa.sources.datasets import DATASETS, PublicSet, fetch_set
from unelisa.sources.tables import read_votes

YAML = "7: {1: true, 2: false,\n  3: true}\n9: {1: true, 2: true, 3: false}\n"
GOLD = "{1: true, 2: false,\n    4: true}\n"
TABLE, TRUTH = (
    "item,worker,label\n1,7,1\n2,7,0\n3,7,1\n1,9,1\n2,9,1\n3,9,0\n",
    "item,truth\n1,1\n2,0\n4,1\n",
)


def sha256(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """A mirror of the same six votes and three labels in each of the known forms."""
    archive = tmp_path / "archive.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("set/crowd_labels.csv", TABLE.replace("item,worker", "task,performer"))
        file.writestr("set/gt.csv", TRUTH.replace("item,truth", "task,label"))
    contents = {
        "bluebirds": {"labels.yaml": YAML.encode(), "gt.yaml": GOLD.encode()},
        "product": {"label.csv": TABLE.encode(), "truth.csv": TRUTH.encode()},
        "relevance2": {"relevance-2.zip": archive.read_bytes()},
    }
    for name, files in contents.items():
        (tmp_path / name).mkdir()
        stubs = {f"https://nowhere/{file}": sha256(c) for file, c in files.items()}
        known = DATASETS[name]
        stub = PublicSet(known.title, known.licence, stubs, known.read)
        monkeypatch.setitem(datasets.DATASETS, name, stub)
        for file, content in files.items():
            (tmp_path / name / file).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize("name", ["bluebirds", "product", "relevance2"])
def test_every_form_gives_the_same_votes(name, mirror):
    known = fetch_set(name, mirror=mirror)
    assert known.votes.items.tolist() == ["1", "2", "3"]
    assert known.votes.voters.tolist() == ["7", "9"]
    assert known.votes.values.tolist() == [[1, 1], [-1, 1], [1, -1]]
    assert known.scored_signs().tolist() == [1, -1, 0, 1]
    assert known.unvoted_items.tolist() == ["4"]


def test_a_mirror_is_named_in_the_environment_and_a_set_must_be_known(mirror, monkeypatch):
    monkeypatch.setenv("UNELISA_MIRROR", str(mirror))
    assert fetch_set("product").votes.shape == (3, 2)
    with pytest.raises(ModelError, match="choose bluebirds"):
        fetch_set("birds")


def test_a_changed_or_missing_copy_is_rejected(mirror):
    (mirror / "product" / "truth.csv").write_text("item,truth\n1,0\n")
    with pytest.raises(VotesError, match="differs from the published file"):
        fetch_set("product", mirror=mirror)
    (mirror / "product" / "truth.csv").unlink()
    with pytest.raises(VotesError, match="product/truth.csv is missing in the mirror"):
        fetch_set("product", mirror=mirror)


def test_pooch_fetches_checks_and_is_an_extra(mirror, monkeypatch, tmp_path):
    pooch = pytest.importorskip("pooch")
    asked = []

    def retrieve(address, known_hash, fname, path):
        asked.append((address, known_hash, fname))
        return str(mirror / "product" / fname)

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    assert fetch_set("product", cache=tmp_path).votes.shape == (3, 2)
    assert asked[0] == (
        "https://nowhere/label.csv",
        f"sha256:{sha256(TABLE.encode())}",
        "label.csv",
    )
    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.delenv("UNELISA_MIRROR", raising=False)
    with pytest.raises(MissingExtraError, match=r"unelisa\[datasets\]"):
        fetch_set("bluebirds")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("hash"), "has changed at its address"),
        (OSError("no route"), "cannot be downloaded"),
    ],
)
def test_a_failed_download_is_explained(error, message, monkeypatch, tmp_path):
    pooch = pytest.importorskip("pooch")

    def retrieve(*arguments, **options):
        raise error

    monkeypatch.setattr(pooch, "retrieve", retrieve)
    with pytest.raises(VotesError, match=message):
        fetch_set("bluebirds", cache=tmp_path)


@pytest.mark.parametrize("name", DATASETS)
def test_addresses_are_permanent_and_checked(name):
    known = DATASETS[name]
    assert known.title
    assert known.licence
    for address, checksum in known.files.items():
        assert re.fullmatch(r"[0-9a-f]{64}", checksum)
        assert address.startswith("https://")
        if "github" in address:
            assert re.search(r"/[0-9a-f]{40}/", address)


@pytest.mark.shared
def test_the_published_bluebirds_are_the_shared_ones(shared_data, tmp_path):
    """The published file, written anew from the shared votes, has the published checksum.

    Workers are numbered in the shared copy by the text order of their names.
    """
    votes = read_votes(shared_data / "bluebirds" / "votes_wide.csv.gz", coding="pm1")
    ids = [39, 97, 175, 335, 866, 885, 896, 1005, 1023, *range(1721, 1728), 1730, 1731, 1733, 1734]
    ids += [1737, 1738, *range(1740, 1744), 1750, *range(1755, 1767)]
    place = {name: s for s, name in enumerate(sorted(map(str, ids)))}
    text = ""
    for voter in ids:
        column = votes.values[:, place[str(voter)]]
        line = f"{voter}: {{"
        for item, vote in zip(votes.items, column, strict=True):
            cell = f"{item}: {'true' if vote > 0 else 'false'}"
            text, line = (text + line.rstrip() + "\n", "  ") if len(line) > 81 else (text, line)
            line += f"{cell}, "
        text += line[:-2] + "}\n"
    assert sha256(text.encode()) == next(iter(DATASETS["bluebirds"].files.values()))
    assert np.count_nonzero(votes.values) == text.count("true") + text.count("false")
