"""Three made-up sets of three sources, in folders as the list of sources describes them."""

import numpy as np
import pytest

from studies.prior.runs import read_sets
from studies.sets import LIST

HEADER = "set,folder,source,kind,classes,ordered,with_truth\n"
# set, source, number of classes, share of right votes
SETS = (("coins", "mint", 2, 0.8), ("stamps", "post", 2, 0.7), ("birds", "park", 3, 0.75))


def write_set(place, n_classes, right, rng, copied, n_items=90, n_voters=6):
    """Write the votes of independent voters, who skip a fifth of the items, and the truth.

    If `copied`, one more voter is an exact copy of the first.
    """
    place.mkdir(parents=True)
    names = ("-1", "1") if n_classes == 2 else tuple("abc")
    truth = rng.integers(0, n_classes, n_items)
    wrong = (truth[:, None] + rng.integers(1, n_classes, (n_items, n_voters))) % n_classes
    levels = np.linspace(right - 0.12, right + 0.12, n_voters)
    said = np.where(rng.random((n_items, n_voters)) < levels, truth[:, None], wrong)
    cast = np.argwhere(rng.random((n_items, n_voters)) < 0.8).tolist()
    votes = [f"i{i},v{s},{names[said[i, s]]}\n" for i, s in cast]
    if copied:
        votes += [f"i{i},copy,{names[said[i, s]]}\n" for i, s in cast if s == 0]
    labels = [f"i{i},{names[k]}\n" for i, k in enumerate(truth.tolist()) if i % 9]
    (place / "votes.csv").write_text("".join(["item,voter,vote\n", *votes]))
    (place / "truth.csv").write_text("".join(["item,label\n", *labels]))


def write_sets(folder):
    """Write the sets and their list; return the folder."""
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    rows = [f"{name},own,{source},crowd,{k},no,80\n" for name, source, k, _ in SETS]
    (folder / LIST).write_text("".join([HEADER, *rows]))
    for name, _, n_classes, right in SETS:
        write_set(folder / "own" / name, n_classes, right, rng, copied=name == "stamps")
    return folder


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """The folder of the sets."""
    return write_sets(tmp_path_factory.mktemp("sets"))


@pytest.fixture(scope="session")
def truths(data):
    """The sets with their true classes."""
    return read_sets(data, None)
