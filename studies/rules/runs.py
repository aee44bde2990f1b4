"""Rules of simulated worlds judged without their truth, with charts, and by their own agreement.

One line of JSON per world, then an archive of means over worlds.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from studies.fingerprints import KEY, common_code, drop_stale, stamp_with
from studies.markdown import group_by
from studies.records import Json, make_archive, open_results, read_lines
from studies.rules.worlds import PATIENTS, PREVALENCES, SIMULATORS, World
from unelisa.aggregators import DawidSkene
from unelisa.analysis.scoring import calibration_error
from unelisa.ehr.charts import draw_charts
from unelisa.ehr.counts import read_counts
from unelisa.ehr.phenotyper import Phenotyper
from unelisa.ehr.posterior import Calibration
from unelisa.ehr.rules.definition import apply_rules, parse_rule
from unelisa.ehr.rules.evaluation import QUANTITIES, evaluate_rules, measure
from unelisa.errors import UnelisaWarning
from unelisa.kernels.threads import one_blas_thread

CHARTS, FEW_CHARTS = 100, 50
PARTS = {"choosing": "300-309", "reporting": "1000-1009"}  # the seeds of each
Floats = NDArray[np.float64]
STAMP = stamp_with(f"{__name__}:run_world")
_DIGITS = 5


class Place(NamedTuple):
    """A world to run: its part of the study, its simulator, prevalence and seed."""

    part: str
    simulator: str
    prevalence: float
    seed: int


def run_world(place: Place, patients: int = PATIENTS) -> Json:
    """Return the true and the estimated figures of every rule of one world."""
    world = SIMULATORS[place.simulator](place.prevalence, place.seed, patients)
    model = Phenotyper(list(world.anchors), world.utilization, random_state=0).fit(world.counts)
    table = read_counts(world.counts, world.utilization)
    charts = _draw(world, model, place.seed, CHARTS)
    rows = []
    for name, defined in world.rules.items():
        flags = apply_rules({key: parse_rule(text) for key, text in defined.items()}, table)
        ways = {
            "records": _list_figures(_evaluate(world, model, defined, flags, None)),
            "charts": _list_figures(_evaluate(world, model, defined, flags, charts)),
            "agreement": _agree(flags),
        }
        truth = measure(world.case[None].astype(np.float64), flags)[0]
        rows.append({"rules": name, "truth": _round(truth), **ways})
    labels = judge_labels(world, model, place.seed)
    return {**place._asdict(), "reliable": bool(model.reliable_), "labels": labels, "sets": rows}


def judge_labels(world: World, model: Phenotyper, seed: int) -> Json:
    """Return what a phenotyper says of its labels, without charts and with them, and what is true.

    ppv is (value, low, high, true); silent P(case) of the patients without any anchor record, on
    average, and the share of cases among them; error the calibration error of P(case), and platt
    that of a logistic curve fitted to the same charts.
    """
    chances = model.predict_proba(world.counts)[:, 1]
    silent = ~(world.counts[list(world.anchors)] > 0).any(axis=1).to_numpy()
    quiet = [[float(one[silent].mean()) for one in (chances, world.case)]]
    found: Json = {"none": _judge(world, model), "silent": _round(quiet)[0]}
    odds = logit(np.clip(chances, 1e-9, 1 - 1e-9))
    for n in (FEW_CHARTS, CHARTS):
        charts = _draw(world, model, seed, n)
        settings = (list(world.anchors), world.utilization)
        taught = Phenotyper(*settings, random_state=0).fit(world.counts, charts)
        rows = world.counts.index.get_indexer(charts.index)
        curve = Calibration.learn(odds[rows], charts["label"].to_numpy(np.float64))
        drawn = {"drawn": len(rows), "flagged": int((chances[rows] >= model.threshold_).sum())}
        platt = _miss(world, expit(curve.log_odds(odds)))
        found[str(n)] = {**_judge(world, taught), **drawn, "platt": platt}
    return found


def _judge(world: World, model: Phenotyper) -> Json:
    chances = model.predict_proba(world.counts)[:, 1]
    flagged = chances >= model.threshold_
    true = float(world.case[flagged].mean()) if flagged.any() else float("nan")
    return {"ppv": _round([[*model.ppv_[:3], true]])[0], "error": _miss(world, chances)}


def _miss(world: World, chances: Floats) -> float:
    truth = np.where(world.case, 1, -1).astype(np.int8)
    return round(calibration_error(truth, chances), _DIGITS)


def _evaluate(
    world: World, model: Phenotyper, defined: dict[str, str], flags: NDArray[Any], charts: Any
) -> Any:
    import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

    table = pd.DataFrame(flags, world.counts.index, list(defined))
    return evaluate_rules(table, model, charts)


def _draw(world: World, model: Phenotyper, seed: int, n: int) -> Any:
    """Return about n charts worth reviewing, reviewed."""
    import pandas as pd  # noqa: PLC0415

    chances = model.predict_proba(world.counts)[:, 1]
    sample = draw_charts(chances, n, np.random.default_rng(seed))
    labels = {"label": world.case[sample.rows].astype(int), "drawn": sample.drawn}
    return pd.DataFrame(labels, index=world.counts.index[sample.rows])


def _list_figures(found: Any) -> list[Any]:
    """Return value, low and high: each quantities x rules, None where there is no estimate."""
    return [_round([found[q + end] for q in QUANTITIES]) for end in ("", "_low", "_high")]


def _agree(flags: NDArray[np.bool_]) -> list[Any]:
    """Return the figures by the rules' agreement alone."""
    chances = DawidSkene().fit(flags.astype(int)).predict_proba(flags.astype(int))[:, 1]
    return _round(measure(chances[None], flags)[0])


def _round(values: Any) -> list[Any]:
    table = np.asarray(values, dtype=np.float64)
    return [[round(x, _DIGITS) if np.isfinite(x) else None for x in row] for row in table.tolist()]


def run_rules(
    places: Sequence[Place],
    folder: Path,
    done: Callable[[str, int], Any] = lambda _name, _count: None,
    patients: int = PATIENTS,
) -> None:
    """Run what the results in a folder lack, and append each line as it finishes."""
    path = folder / "worlds.jsonl"
    with open_results(path, STAMP) as rows, one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)  # the page shows it
        fresh = drop_stale(read_lines(path), STAMP)
        there = {tuple(row[key] for key in Place._fields) for row in fresh}
        for place in places:
            if tuple(place) not in there:
                rows.append(run_world(place, patients))
            done(place.simulator, 1)


def collect_rules(folder: Path, archived: Json | None = None) -> Json:
    """Return the archive of a results folder; cells of an old one stay unless run again."""
    cells, labels = (
        {_key(x): x for x in (archived or {}).get(part, ()) if x["prevalence"] in PREVALENCES}
        for part in ("cells", "labels")
    )
    fresh = drop_stale(read_lines(folder / "worlds.jsonl"), STAMP)
    made = {tuple(x[key] for key in Place._fields): x for x in fresh}
    lines = list(made.values())  # of two alike the later one counts
    for (part, simulator, prevalence), worlds in group_by(lines, *Place._fields[:3]).items():
        for name in dict.fromkeys(row["rules"] for world in worlds for row in world["sets"]):
            rows = [row for world in worlds for row in world["sets"] if row["rules"] == name]
            told = {"worlds": len(worlds), "reliable": sum(world["reliable"] for world in worlds)}
            cell = {"part": part, "simulator": simulator, "prevalence": prevalence, "rules": name}
            code = {KEY: common_code(worlds)}
            cells[_key(cell)] = {**cell, **told, "figures": _sum_up(rows), **code}
    for place, worlds in group_by(lines, *Place._fields[:3]).items():
        row = dict(zip(Place._fields[:3], place, strict=True))
        row |= {"worlds": len(worlds), "reliable": sum(world["reliable"] for world in worlds)}
        labels[_key(row)] = {**row, **_sum_up_labels(worlds), KEY: common_code(worlds)}
    return make_archive(cells=list(cells.values()), labels=list(labels.values()))


def _key(cell: Json) -> tuple[Any, ...]:
    return tuple(cell.get(key) for key in (*Place._fields[:3], "rules"))


def _sum_up(rows: Iterable[Json]) -> Json:
    """Return per quantity and way: how many figures, errors, and how often intervals hold."""
    kept = list(rows)
    found: Json = {}
    for k, quantity in enumerate(QUANTITIES):
        truth = np.array([x for row in kept for x in row["truth"][k]], dtype=np.float64)
        agreed = np.array([x for row in kept for x in row["agreement"][k]], dtype=np.float64)
        ways: Json = {"n": len(truth), "agreement": _mean(np.abs(agreed - truth))}
        for way in ("records", "charts"):
            value, low, high = (
                np.array([x for row in kept for x in row[way][part][k]], dtype=np.float64)
                for part in range(3)
            )
            told = np.isfinite(value)
            held = (low <= truth) & (truth <= high)
            ways[way] = {
                "told": int(told.sum()),
                "error": _mean(np.abs(value - truth)[told]),
                "held": int(held[told].sum()),
                "width": _mean((high - low)[told]),
            }
        found[quantity] = ways
    return found


def _sum_up_labels(worlds: Sequence[Json]) -> Json:
    """Return per number of charts: how often the PPV is covered, its means, and the errors."""
    labels = [world["labels"] for world in worlds]
    found: Json = {"silent": _average([one["silent"] for one in labels])}
    for way in ("none", str(FEW_CHARTS), str(CHARTS)):
        ppv = np.array([one[way]["ppv"] for one in labels], dtype=np.float64)
        held = (ppv[:, 1] <= ppv[:, 3]) & (ppv[:, 3] <= ppv[:, 2])
        found[way] = {"ppv": _average(ppv), "held": int(held.sum())}
        for key in ("error", "platt"):
            if key in labels[0][way]:
                found[way][key] = _mean(np.array([one[way][key] for one in labels]))
        if way != "none":
            flagged = [one[way]["flagged"] * int(way) / one[way]["drawn"] for one in labels]
            found[way]["flagged"] = round(min(flagged), 1)  # of so many charts
    return found


def _average(rows: Any) -> list[float | None]:
    return [_mean(column) for column in np.array(rows, dtype=np.float64).T]


def _mean(values: NDArray[np.float64]) -> float | None:
    return round(float(np.nanmean(values)), _DIGITS) if np.isfinite(values).any() else None
