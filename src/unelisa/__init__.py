"""Labels without ground truth: who among many voters depends on whom, who is an expert."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unelisa.aggregators import (
        AGGREGATORS,
        DawidSkene,
        LatentSpectralMetaLearner,
        MajorityVote,
        SpectralMetaLearner,
        UnElisa,
    )
    from unelisa.experts import select_experts
    from unelisa.graph import VoterGraph
    from unelisa.ising import Ising
    from unelisa.neighborhood import Neighborhoods, select_neighborhoods
    from unelisa.selection import ExpertSelector
    from unelisa.simulation import simulate_votes
    from unelisa.sources.tables import read_votes
    from unelisa.storage import load, save
    from unelisa.votes import Votes

__version__ = "0.1.0"

# Loaded when first asked for: scikit-learn and Numba take a second that --help need not wait for.
_HOMES = {
    "AGGREGATORS": "aggregators",
    "DawidSkene": "aggregators",
    "ExpertSelector": "selection",
    "Ising": "ising",
    "LatentSpectralMetaLearner": "aggregators",
    "MajorityVote": "aggregators",
    "Neighborhoods": "neighborhood",
    "SpectralMetaLearner": "aggregators",
    "UnElisa": "aggregators",
    "VoterGraph": "graph",
    "Votes": "votes",
    "load": "storage",
    "read_votes": "sources.tables",
    "save": "storage",
    "select_experts": "experts",
    "select_neighborhoods": "neighborhood",
    "simulate_votes": "simulation",
}

__all__ = [
    "AGGREGATORS",
    "DawidSkene",
    "ExpertSelector",
    "Ising",
    "LatentSpectralMetaLearner",
    "MajorityVote",
    "Neighborhoods",
    "SpectralMetaLearner",
    "UnElisa",
    "VoterGraph",
    "Votes",
    "load",
    "read_votes",
    "save",
    "select_experts",
    "select_neighborhoods",
    "simulate_votes",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'unelisa' has no attribute {name!r}")
    value = getattr(import_module(f"unelisa.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
