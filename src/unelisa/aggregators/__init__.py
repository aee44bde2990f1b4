"""Aggregators by name: votes in, labels out."""

from typing import TYPE_CHECKING

from unelisa.doors import open_door

if TYPE_CHECKING:
    from unelisa.aggregators.base import Aggregator
    from unelisa.aggregators.dawid_skene import DawidSkene, OneCoinDawidSkene
    from unelisa.aggregators.drift import find_drift
    from unelisa.aggregators.latent_ising import LatentIsing
    from unelisa.aggregators.log_linear import LogLinear
    from unelisa.aggregators.majority import MajorityVote, Wawa, ZeroBasedSkill
    from unelisa.aggregators.one_vs_rest import OneVsRest
    from unelisa.aggregators.orientation import OrientedAggregator, PosteriorAggregator
    from unelisa.aggregators.registry import AGGREGATORS
    from unelisa.aggregators.spectral import LatentSpectralMetaLearner, SpectralMetaLearner
    from unelisa.aggregators.stacked_rbm import StackedRBM
    from unelisa.aggregators.unelisa import UnElisa

METHODS = {  # the names of AGGREGATORS, and of their classes
    "latent-ising": "LatentIsing",
    "unelisa": "UnElisa",
    "majority-vote": "MajorityVote",
    "dawid-skene": "DawidSkene",
    "spectral-meta-learner": "SpectralMetaLearner",
    "latent-spectral-meta-learner": "LatentSpectralMetaLearner",
    "one-coin-dawid-skene": "OneCoinDawidSkene",
    "log-linear": "LogLinear",
    "stacked-rbm": "StackedRBM",
    "wawa": "Wawa",
    "zero-based-skill": "ZeroBasedSkill",
}
__getattr__, __dir__ = open_door(
    __name__,
    {
        "base": "Aggregator",
        "dawid_skene": "DawidSkene OneCoinDawidSkene",
        "drift": "find_drift",
        "latent_ising": "LatentIsing",
        "log_linear": "LogLinear",
        "majority": "MajorityVote Wawa ZeroBasedSkill",
        "one_vs_rest": "OneVsRest",
        "orientation": "OrientedAggregator PosteriorAggregator",
        "registry": "AGGREGATORS",
        "spectral": "LatentSpectralMetaLearner SpectralMetaLearner",
        "stacked_rbm": "StackedRBM",
        "unelisa": "UnElisa",
    },
)

__all__ = [
    "AGGREGATORS",
    "Aggregator",
    "DawidSkene",
    "LatentIsing",
    "LatentSpectralMetaLearner",
    "LogLinear",
    "MajorityVote",
    "OneCoinDawidSkene",
    "OneVsRest",
    "OrientedAggregator",
    "PosteriorAggregator",
    "SpectralMetaLearner",
    "StackedRBM",
    "UnElisa",
    "Wawa",
    "ZeroBasedSkill",
    "find_drift",
]
