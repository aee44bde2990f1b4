"""How often the intervals of `voters_` hold: a line of JSON per crowd, then one archive.

Crowds of the model have known chances, with which their voters go on; sets and worlds have known
truth, and a voter's accuracy is that on its votes. Voters with fewer than ten cases are left out.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from studies.fingerprints import drop_stale, stamp_with
from studies.records import Json, make_archive, open_results, read_lines
from studies.sets import Reader
from studies.worlds.kinds import KINDS as WORLDS
from studies.worlds.kinds import Place, draw_world
from studies.worth.simulated import KINDS, draw_crowd
from unelisa.aggregators import LatentIsing
from unelisa.errors import UnelisaWarning
from unelisa.kernels.threads import one_blas_thread
from unelisa.votes import Votes
from unelisa.votes.coding import encode_classes

Floats = NDArray[np.float64]
CROWDS, LABELS, FEWEST = range(100, 120), 50, 10
SEEN_WORLDS = range(40, 44)
MODEL, WORLD, SET, GOLD = "model", "world", "set", "gold"
STAMP = stamp_with(f"{__name__}:list_targets", f"{__name__}:judge_target")
MEASURES = ("accuracy", "sensitivity", "specificity", "ppv", "npv", "recall")


class Target(NamedTuple):
    """The votes, and P(class is k and voter says c) per voter with the number of its cases."""

    votes: Votes
    tables: Floats  # voters x classes x classes: shares, or counts
    counted: bool  # whether they are counts of cases
    gold: dict[Any, Any] | None = None


def aim_at_crowd(kind: str, number: int) -> Target:
    """Return a crowd drawn from the model."""
    values, tables = draw_crowd(kind, number)
    if kind == "classes":
        votes = Votes.of(np.where(values > 0, values, np.nan))
    else:
        votes = Votes.of(values, coding="pm1")
    return Target(votes, tables, counted=False)


def aim_at_world(kind: str, number: int) -> Target:
    """Return a world of the reporting part."""
    world = draw_world(Place("reporting", kind, number))
    votes = Votes.of(world.votes, coding="pm1")
    return Target(votes, count_cases(votes, world.truth), counted=True)


def aim_at_set(read: Reader, n_labels: int) -> Target:
    """Return a set with known truth, with so many gold labels."""
    known = read()
    votes, truth = known.scored_votes(), known.scored_signs()
    gold = None
    if n_labels:
        asked = np.flatnonzero(truth)
        rng = np.random.default_rng(0)
        some = rng.choice(asked, min(n_labels, len(asked) // 2), replace=False)
        gold = dict(zip(votes.items[some], votes.name_codes(truth[some]), strict=True))
    return Target(votes, count_cases(votes, truth), counted=True, gold=gold)


def count_cases(votes: Votes, truth: NDArray[np.int8]) -> Floats:
    """Return how often each voter said c on items of class k: voters x classes x classes."""
    codes = np.array(encode_classes(votes.n_classes), dtype=np.int8)
    tables = np.zeros((votes.n_voters, len(codes), len(codes)))
    values = votes.blocks.table()
    for k, code in enumerate(codes):
        own = values[truth == code]
        tables[:, k] = np.stack([(own == said).sum(axis=0) for said in codes], axis=1)
    return tables


def list_measures(tables: Floats) -> dict[str, tuple[Floats, Floats]]:
    """Return every measure of `voters_`, and of how many cases it is a share."""
    met, said, right = tables.sum(axis=2), tables.sum(axis=1), np.einsum("skk->sk", tables)
    whole = tables.sum(axis=(1, 2))
    shares = {"accuracy": (right.sum(axis=1), whole)}
    if tables.shape[1] == 2:
        shares |= {"sensitivity": (right[:, 1], met[:, 1]), "specificity": (right[:, 0], met[:, 0])}
        shares |= {"ppv": (right[:, 1], said[:, 1]), "npv": (right[:, 0], said[:, 0])}
    else:
        shares |= {f"recall {k}": (right[:, k], met[:, k]) for k in range(tables.shape[1])}
    return {name: (part / np.maximum(of, 1e-12), of) for name, (part, of) in shares.items()}


def judge_target(target: Target) -> Json:
    """Return how many intervals there are, hold and how wide they are, by measure."""
    model = LatentIsing().fit(target.votes, target.gold)
    worth: Any = model._reading.worth
    held: dict[str, list[float]] = {}
    for k, (name, (share, cases)) in enumerate(list_measures(target.tables).items()):
        low, high = worth.low[k], worth.high[k]
        asked = np.isfinite(low) & (cases >= (FEWEST if target.counted else 0))
        inside = (low <= share + 1e-9) & (share <= high + 1e-9)
        found = held.setdefault(name.split()[0], [0.0, 0.0, 0.0])
        found[0] += float(np.count_nonzero(inside & asked))
        found[1] += float(np.count_nonzero(asked))
        found[2] += float((high - low)[asked].sum())
    return {
        "classes": target.votes.n_classes,
        "voters": target.votes.n_voters,
        "reliable": bool(model.reliable_),
        "told": bool(np.isfinite(worth.values[0]).any()),
        "held": {name: [round(x, 4) for x in found] for name, found in held.items()},
    }


def list_targets(sets: Mapping[str, Reader]) -> Iterator[tuple[Json, Callable[[], Target]]]:
    """Yield what a line is about, and how to make its votes."""
    for number in CROWDS:
        for kind in KINDS:
            about = {"part": MODEL, "kind": kind, "number": number}
            yield about, partial(aim_at_crowd, kind, number)
    for number in SEEN_WORLDS:
        for kind in WORLDS["reporting"]:
            about = {"part": WORLD, "kind": kind, "number": number}
            yield about, partial(aim_at_world, kind, number)
    for name, read in sets.items():
        yield {"part": SET, "kind": name, "number": 0}, partial(aim_at_set, read, 0)
        yield {"part": GOLD, "kind": name, "number": 0}, partial(aim_at_set, read, LABELS)


def run_worth(
    sets: Mapping[str, Reader],
    folder: Path,
    done: Callable[[str, int], Any] = lambda _name, _count: None,
) -> None:
    """Run what the results in a folder lack, and append each line as it finishes."""
    path = folder / "voters.jsonl"
    with open_results(path, STAMP) as rows, one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)  # the page shows it
        fresh = drop_stale(read_lines(path), STAMP)
        there = {tuple(row[key] for key in ("part", "kind", "number")) for row in fresh}
        for about, make in list_targets(sets):
            if tuple(about.values()) not in there:
                rows.append({**about, **judge_target(make())})
            done(str(about["kind"]), 1)


def count_targets(sets: Mapping[str, Reader]) -> int:
    """Return the number of lines."""
    return sum(1 for _ in list_targets(sets))


def collect_worth(folder: Path, archived: Json | None = None) -> Json:
    """Return the archive of a results folder, added to an old one, in a fixed order."""
    rows = [*(archived or {}).get("voters", ()), *read_lines(folder / "voters.jsonl")]
    unique = {(row["part"], row["kind"], row["number"]): row for row in rows}
    return make_archive(voters=[unique[key] for key in sorted(unique)])
