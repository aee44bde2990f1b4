"""Public vote sets with known truth, downloaded by address and verified by checksum.

`fetch_set` looks in the folder UNELISA_MIRROR (one folder per set, for machines without a network),
then in the cache, then at the address, through pooch. A file with another checksum is rejected.
"""

import hashlib
import os
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import ModelError, VotesError, missing_extra
from unelisa.sources.labels import KnownLabels
from unelisa.votes import Votes
from unelisa.votes.columns import Names

Triples = tuple[NDArray[Any], NDArray[Any], NDArray[np.int8]]
Pairs = tuple[NDArray[Any], NDArray[np.int8]]


@dataclass(frozen=True)
class PublicSet:
    """A public vote set."""

    title: str  # the question, and who answered it
    licence: str  # as stated at the source
    # permanent addresses (in a repository, with a commit), each with its SHA-256 checksum
    files: dict[str, str]
    # files -> (items, voters, votes), (items, labels); votes and labels are -1 / +1
    read: Callable[..., tuple[Triples, Pairs]]


def _read_yaml(votes: Path, truth: Path) -> tuple[Triples, Pairs]:
    """Read `voter: {item: true, ...}` and `{item: true, ...}`, the small part of YAML they use."""
    cells = re.compile(r"(\d+): (true|false)")
    rows = []
    for voter, given in re.findall(r"(\d+): \{([^}]*)\}", votes.read_text(encoding="utf-8")):
        rows += [(item, voter, word) for item, word in cells.findall(given)]
    items, voters, words = np.array(rows).T
    labeled, labels = np.array(cells.findall(truth.read_text(encoding="utf-8"))).T
    return (items, voters, _signs(words == "true")), (labeled, _signs(labels == "true"))


def _read_tables(votes: Path, truth: Path) -> tuple[Triples, Pairs]:
    return _parse(votes.read_text(), truth.read_text())


def _read_archive(archive: Path) -> tuple[Triples, Pairs]:
    """Read crowd-kit's archive: crowd_labels.csv (performer or worker, task, label) and gt.csv."""
    with zipfile.ZipFile(archive) as files:
        texts = {Path(name).name: name for name in files.namelist()}
        votes, truth = (files.read(texts[name]).decode() for name in ("crowd_labels.csv", "gt.csv"))
    return _parse(votes, truth)


def _parse(votes: str, truth: str) -> tuple[Triples, Pairs]:
    item = "item", "task"
    items, voters, given = _columns(votes, item, ("worker", "performer"), ("label",))
    labeled, labels = _columns(truth, item, ("truth", "label"))
    return (items, voters, _signs(given == "1")), (labeled, _signs(labels == "1"))


def _columns(text: str, *wanted: tuple[str, ...]) -> list[NDArray[Any]]:
    header, *rows = [line.split(",") for line in text.splitlines() if line]
    table = np.array(rows)
    places = [next(header.index(name) for name in names if name in header) for names in wanted]
    return [table[:, place] for place in places]


def _signs(positive: NDArray[np.bool_]) -> NDArray[np.int8]:
    return np.where(positive, 1, -1).astype(np.int8)


def _at(folder: str, *files: str) -> dict[str, str]:
    return {f"{folder}/{name}": checksum for name, checksum in map(str.split, files)}


_GITHUB = "https://raw.githubusercontent.com"
_INFERENCE = (
    f"{_GITHUB}/yuan-li/truth-inference-at-scale/ff6d32971fb3ca17e2f0c784a126d8b26495dbce/data"
)
DATASETS: dict[str, PublicSet] = {
    "bluebirds": PublicSet(
        "Indigo Bunting or Blue Grosbeak? 39 workers on 108 pictures (Welinder et al. 2010)",
        "BSD (the repository's)",
        _at(
            f"{_GITHUB}/welinder/cubam/1db8c09a0c670f9ed5504897425285c5058da98e/demo/bluebirds",
            "labels.yaml 8b1b28e4b869b19bb03beac476c7073149cef784f9524ebe17380a1292a6126c",
            "gt.yaml c9eb769c845ca99495a07b5c28c4290c78436fd8eac65c0747736c4ef8126340",
        ),
        _read_yaml,
    ),
    "product": PublicSet(
        "The same product? 176 workers on 8,315 pairs of records (Wang et al. 2012)",
        "MIT (the repository's; none stated for the data)",
        _at(
            f"{_INFERENCE}/crowd_truth_inference/d_jn-product",
            "label.csv 525098daa3d9aa4919160ecef7daaf65a42d2b92c01ffbb5b5ff17b63110b366",
            "truth.csv cd86cc6574fa1693520085eb4b4919e6676afbdffbf53b708edadeeb0150d2f6",
        ),
        _read_tables,
    ),
    "sentence_polarity": PublicSet(
        "A positive film review? 203 workers on 4,999 sentences (Rodrigues et al. 2013)",
        "MIT (the repository's; none stated for the data)",
        _at(
            f"{_INFERENCE}/active-crowd-toolkit/SP",
            "label.csv f7925ededbb2586bb8c787d29d0dc0fc28103daee5d436e683b42d555780e467",
            "truth.csv 26546f7031104001c4aa134268fe0a5df74e35b5ca7e7b7e56967849024e3ab3",
        ),
        _read_tables,
    ),
    "relevance2": PublicSet(
        "Is a page relevant to a query? 7,138 workers on 99,319 pairs (Toloka, crowd-kit)",
        "none stated",
        _at(
            "https://tlk.s3.yandex.net/dataset/crowd-kit",
            "relevance-2.zip 0d8b5c4ffdb042cc1435ac20933bcf3218310e0bcc6dd27baef5bcfe64973bef",
        ),
        _read_archive,
    ),
}


def fetch_set(
    name: str, *, mirror: str | Path | None = None, cache: str | Path | None = None
) -> KnownLabels:
    """Return a public set: its votes and the known labels of its items.

    Parameters
    ----------
    name
        One of `DATASETS`.
    mirror
        A folder with copies, used instead of the network; by default UNELISA_MIRROR, if set.
    cache
        Where downloads are kept; by default UNELISA_DATA, or the user's cache folder.

    Examples
    --------
    >>> sorted(DATASETS)
    ['bluebirds', 'product', 'relevance2', 'sentence_polarity']
    """
    if name not in DATASETS:
        raise ModelError(f"unknown set {name[:60]!r}; choose {', '.join(DATASETS)}")
    chosen = DATASETS[name]
    copies = mirror or os.environ.get("UNELISA_MIRROR")
    if copies:
        paths = [_find_copy(Path(copies) / name, *file) for file in chosen.files.items()]
    else:
        paths = [_download(name, *file, cache) for file in chosen.files.items()]
    return _assemble(*chosen.read(*paths))


def _find_copy(folder: Path, address: str, sha256: str) -> Path:
    path = folder / address.rpartition("/")[2]
    if not path.is_file():
        raise VotesError(f"{folder.name}/{path.name} is missing in the mirror; copy it there")
    if hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
        raise VotesError(
            f"{folder.name}/{path.name} in the mirror differs from the published file; replace it"
        )
    return path


def _download(name: str, address: str, sha256: str, cache: str | Path | None) -> Path:
    try:
        import pooch  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing_extra("downloading sets needs pooch", "datasets") from None
    folder = Path(cache or os.environ.get("UNELISA_DATA") or pooch.os_cache("unelisa")) / name
    file = address.rpartition("/")[2]
    try:
        return Path(pooch.retrieve(address, f"sha256:{sha256}", fname=file, path=folder))
    except ValueError:
        raise VotesError(f"{file} of {name} has changed at its address; not used") from None
    except OSError as error:
        reason = type(error).__name__
        raise VotesError(f"{file} of {name} cannot be downloaded ({reason})") from None


def _assemble(votes: Triples, truth: Pairs) -> KnownLabels:
    """Return votes with their labels; of a voter's repeated votes on an item, the first counts."""
    items, voters, given = Names.of(votes[0]), Names.of(votes[1]), votes[2]
    values = np.zeros((len(items.names), len(voters.names)), dtype=np.int8, order="F")
    values[items.codes[::-1], voters.codes[::-1]] = given[::-1]
    table = Votes.of_values(values, items.names.astype(object), voters.names.astype(object))
    place = {name: i for i, name in enumerate(items.names.tolist())}
    rows = np.array([place.get(name, -1) for name in truth[0].tolist()], dtype=np.intp)
    signs = np.zeros(table.n_items, dtype=np.int8)
    signs[rows[rows >= 0]] = truth[1][rows >= 0]
    return KnownLabels(table, signs, truth[0][rows < 0].astype(object), truth[1][rows < 0])
