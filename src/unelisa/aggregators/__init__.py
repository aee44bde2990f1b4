"""Aggregators by name: votes in, labels out."""

from unelisa.aggregators.base import Aggregator
from unelisa.aggregators.dawid_skene import DawidSkene, OneCoinDawidSkene
from unelisa.aggregators.drift import find_drift
from unelisa.aggregators.latent_ising import LatentIsing
from unelisa.aggregators.log_linear import LogLinear
from unelisa.aggregators.majority import MajorityVote, Wawa, ZeroBasedSkill
from unelisa.aggregators.one_vs_rest import OneVsRest
from unelisa.aggregators.orientation import OrientedAggregator, PosteriorAggregator
from unelisa.aggregators.spectral import LatentSpectralMetaLearner, SpectralMetaLearner
from unelisa.aggregators.stacked_rbm import StackedRBM
from unelisa.aggregators.unelisa import UnElisa

AGGREGATORS: dict[str, type[Aggregator]] = {
    "latent-ising": LatentIsing,
    "unelisa": UnElisa,
    "majority-vote": MajorityVote,
    "dawid-skene": DawidSkene,
    "spectral-meta-learner": SpectralMetaLearner,
    "latent-spectral-meta-learner": LatentSpectralMetaLearner,
    "one-coin-dawid-skene": OneCoinDawidSkene,
    "log-linear": LogLinear,
    "stacked-rbm": StackedRBM,
    "wawa": Wawa,
    "zero-based-skill": ZeroBasedSkill,
}

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
