"""Aggregators by name: votes in, labels out."""

from unelisa.aggregators.base import Aggregator, OrientedAggregator, PosteriorAggregator
from unelisa.aggregators.dawid_skene import DawidSkene
from unelisa.aggregators.latent_spectral import LatentSpectralMetaLearner
from unelisa.aggregators.majority import MajorityVote
from unelisa.aggregators.spectral import SpectralMetaLearner
from unelisa.aggregators.unelisa import UnElisa

AGGREGATORS: dict[str, type[Aggregator]] = {
    "unelisa": UnElisa,
    "majority-vote": MajorityVote,
    "dawid-skene": DawidSkene,
    "spectral-meta-learner": SpectralMetaLearner,
    "latent-spectral-meta-learner": LatentSpectralMetaLearner,
}

__all__ = [
    "AGGREGATORS",
    "Aggregator",
    "DawidSkene",
    "LatentSpectralMetaLearner",
    "MajorityVote",
    "OrientedAggregator",
    "PosteriorAggregator",
    "SpectralMetaLearner",
    "UnElisa",
]
