"""Labels without ground truth: who among many voters depends on whom, who is an expert."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unelisa.aggregators import (
        AGGREGATORS,
        DawidSkene,
        LatentIsing,
        LatentSpectralMetaLearner,
        LogLinear,
        MajorityVote,
        OneCoinDawidSkene,
        OneVsRest,
        SpectralMetaLearner,
        StackedRBM,
        UnElisa,
        Wawa,
        ZeroBasedSkill,
    )
    from unelisa.comparison import compare_methods
    from unelisa.crowds import simulate_classes
    from unelisa.datamart import simulate_ehr
    from unelisa.graph import VoterGraph
    from unelisa.ising import Ising
    from unelisa.neighborhood import Neighborhoods, select_neighborhoods
    from unelisa.phenotyping.omop.counts import read_omop
    from unelisa.phenotyping.phenotyper import Phenotyper
    from unelisa.rate import estimate_rate
    from unelisa.rules.evaluation import evaluate_rules
    from unelisa.selection import ExpertSelector, select_experts
    from unelisa.simulation import simulate_votes
    from unelisa.sources.ensembles import votes_from_estimators, votes_from_forest
    from unelisa.sources.jury import read_jury
    from unelisa.sources.tables import read_votes
    from unelisa.stability import Stability, bootstrap
    from unelisa.storage import load, save
    from unelisa.suggestions import suggest_votes
    from unelisa.votes import Votes

__version__ = "0.1.0"

# Loaded when first asked for: scikit-learn and Numba take a second that --help need not wait for.
# Names that are not listed here are aggregators.
_HOMES = {
    "ExpertSelector": "selection",
    "Ising": "ising",
    "Neighborhoods": "neighborhood",
    "Phenotyper": "phenotyping.phenotyper",
    "Stability": "stability",
    "VoterGraph": "graph",
    "Votes": "votes",
    "bootstrap": "stability",
    "compare_methods": "comparison",
    "estimate_rate": "rate",
    "evaluate_rules": "rules.evaluation",
    "find_drift": "aggregators.drift",
    "load": "storage",
    "read_jury": "sources.jury",
    "read_omop": "phenotyping.omop.counts",
    "read_votes": "sources.tables",
    "save": "storage",
    "select_experts": "selection",
    "select_neighborhoods": "neighborhood",
    "simulate_classes": "crowds",
    "simulate_ehr": "datamart",
    "simulate_votes": "simulation",
    "suggest_votes": "suggestions",
    "votes_from_estimators": "sources.ensembles",
    "votes_from_forest": "sources.ensembles",
}

__all__ = [
    "AGGREGATORS",
    "DawidSkene",
    "ExpertSelector",
    "Ising",
    "LatentIsing",
    "LatentSpectralMetaLearner",
    "LogLinear",
    "MajorityVote",
    "Neighborhoods",
    "OneCoinDawidSkene",
    "OneVsRest",
    "Phenotyper",
    "SpectralMetaLearner",
    "Stability",
    "StackedRBM",
    "UnElisa",
    "VoterGraph",
    "Votes",
    "Wawa",
    "ZeroBasedSkill",
    "bootstrap",
    "compare_methods",
    "estimate_rate",
    "evaluate_rules",
    "find_drift",
    "load",
    "read_jury",
    "read_omop",
    "read_votes",
    "save",
    "select_experts",
    "select_neighborhoods",
    "simulate_classes",
    "simulate_ehr",
    "simulate_votes",
    "suggest_votes",
    "votes_from_estimators",
    "votes_from_forest",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'unelisa' has no attribute {name!r}")
    value = getattr(import_module(f"unelisa.{_HOMES.get(name, 'aggregators')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])
