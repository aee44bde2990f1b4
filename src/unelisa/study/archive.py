"""The study's results in one small JSON file: what documents and pages are made from."""

import json
from pathlib import Path
from typing import Any, TypedDict

import unelisa
from unelisa.errors import ModelError
from unelisa.simulation import Density
from unelisa.study.cells import CELLS, GRAPHS, SAMPLERS, StudySampler
from unelisa.study.results import read_results, results_path, series_path
from unelisa.study.tables import SizePoint, StudyTable, tabulate_sizes, tabulate_study

FORMAT = 1


class Series(TypedDict):
    """Hit rate and precision against n, under one sampler and one reading of the graph."""

    sampler: StudySampler
    graph: Density
    points: list[SizePoint]


class Archive(TypedDict):
    """Every study and series of a results folder, and the version that ran them."""

    format: int
    unelisa: str
    studies: list[StudyTable]
    series: list[Series]


def collect_archive(folder: Path) -> Archive:
    """Return what a results folder holds: studies that have all 27 cells, and series over n."""
    readings = [(sampler, graph) for graph in GRAPHS for sampler in SAMPLERS]
    studies = [
        tabulate_study(read_results(results_path(folder, sampler, graph)), sampler, graph)
        for sampler, graph in readings
    ]
    series: list[Series] = [
        {"sampler": sampler, "graph": graph, "points": points}
        for sampler, graph in readings
        if (points := tabulate_sizes(read_results(series_path(folder, sampler, graph))))
    ]
    whole = [study for study in studies if len(study["cells"]) == len(CELLS)]
    return {"format": FORMAT, "unelisa": unelisa.__version__, "studies": whole, "series": series}


def format_archive(archive: Archive) -> str:
    """Return an archive as JSON with one cell a line, which version control shows well."""
    text = json.dumps(archive, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace('{"cell":', '\n{"cell":') + "\n"


def read_archive(path: Path) -> Archive:
    """Return an archive from its file."""
    try:
        archive: Any = json.loads(path.read_text(encoding="utf-8"))
        known = archive["format"] == FORMAT
    except (OSError, ValueError, KeyError, TypeError):
        known = False
    if not known:
        raise ModelError(f"{path.name} is no archive of a study: make it by unelisa reproduce page")
    return archive  # type: ignore[no-any-return]


def find_study(archive: Archive, sampler: StudySampler, graph: Density = "half") -> StudyTable:
    """Return one study of an archive."""
    for study in archive["studies"]:
        if (study["sampler"], study["graph"]) == (sampler, graph):
            return study
    raise ModelError(
        f"the results lack the {sampler} sampler on {graph} graphs: "
        f"run unelisa reproduce tables --sampler {sampler} --graph {graph}"
    )
