"""The EHR study summed up: means and deviations over the splits, in one small JSON file."""

import json
from pathlib import Path
from typing import TypedDict

import numpy as np

import unelisa
from unelisa.study.ehr import FIGURES, SetFacts, SplitRow, read_splits
from unelisa.study.ehr_rare import RareSummary, read_rare, summarise_rare
from unelisa.study.real import read_lines

FORMAT = 1
DIGITS = 4
SIMULATED = "ra-"  # how the names of simulated datamarts start

# Table 5.4: mean and standard deviation over 100 splits, by method
PUBLISHED = {
    "penLog": {
        "auc": (0.907, 0.0149),
        "ppv": (0.635, 0.0768),
        "npv": (0.922, 0.0218),
        "f_score": (0.749, 0.0528),
    },
    "unElisa": {
        "auc": (0.904, 0.0147),
        "ppv": (0.774, 0.0359),
        "npv": (0.833, 0.0104),
        "f_score": (0.802, 0.0240),
    },
}


class MethodSummary(TypedDict):
    """One method under one protocol on one set: (mean, sd) of each figure over its splits."""

    set: str
    protocol: str
    method: str
    splits: int
    figures: dict[str, list[float]]


class EhrArchive(TypedDict):
    """All that the study found, and the version that ran it."""

    format: int
    unelisa: str
    sets: list[SetFacts]
    methods: list[MethodSummary]
    rare: list[RareSummary]


def collect_ehr(folder: Path) -> EhrArchive:
    """Return the archive of a results folder."""
    facts = {fact["set"]: fact for fact in read_lines(folder / "ehr_sets.jsonl")}
    return {
        "format": FORMAT,
        "unelisa": unelisa.__version__,
        "sets": [facts[name] for name in sorted(facts)],
        "methods": summarise_splits(read_splits(folder)),
        "rare": summarise_rare(read_rare(folder)),
    }


def summarise_splits(rows: list[SplitRow]) -> list[MethodSummary]:
    """Return the means and standard deviations, in the order of the first split.

    A figure that is not defined on a split (nobody was flagged) is left out of its mean there.
    """
    groups: dict[tuple[str, str, str], dict[int, SplitRow]] = {}
    for row in rows:
        key = row["set"], row["protocol"], row["method"]
        groups.setdefault(key, {})[row["split"]] = row
    return [_summarise(key, list(found.values())) for key, found in groups.items()]


def _summarise(key: tuple[str, str, str], rows: list[SplitRow]) -> MethodSummary:
    figures = {}
    for name in FIGURES:
        values = [x for row in rows if (x := row["figures"][name]) is not None]
        if values:
            spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
            figures[name] = [round(float(np.mean(values)), DIGITS), round(spread, DIGITS)]
    name, protocol, method = key
    return {
        "set": name,
        "protocol": protocol,
        "method": method,
        "splits": len(rows),
        "figures": figures,
    }


def format_ehr(archive: EhrArchive) -> str:
    """Return an archive as JSON with one set or method a line, which version control shows well."""
    text = json.dumps(archive, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace('{"set":', '\n{"set":').replace('{"told":', '\n{"told":') + "\n"
