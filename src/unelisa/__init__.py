"""Labels without ground truth: who among many voters depends on whom, who is an expert."""

from typing import TYPE_CHECKING

from unelisa.doors import open_door

if TYPE_CHECKING:  # "as" says to type checkers that a name is public
    from unelisa.aggregators import AGGREGATORS as AGGREGATORS
    from unelisa.aggregators import DawidSkene as DawidSkene
    from unelisa.aggregators import LatentIsing as LatentIsing
    from unelisa.aggregators import LatentSpectralMetaLearner as LatentSpectralMetaLearner
    from unelisa.aggregators import LogLinear as LogLinear
    from unelisa.aggregators import MajorityVote as MajorityVote
    from unelisa.aggregators import OneCoinDawidSkene as OneCoinDawidSkene
    from unelisa.aggregators import OneVsRest as OneVsRest
    from unelisa.aggregators import SpectralMetaLearner as SpectralMetaLearner
    from unelisa.aggregators import StackedRBM as StackedRBM
    from unelisa.aggregators import UnElisa as UnElisa
    from unelisa.aggregators import Wawa as Wawa
    from unelisa.aggregators import ZeroBasedSkill as ZeroBasedSkill
    from unelisa.aggregators import find_drift as find_drift
    from unelisa.analysis import Stability as Stability
    from unelisa.analysis import bootstrap as bootstrap
    from unelisa.analysis import certify_cohort as certify_cohort
    from unelisa.analysis import certify_rates as certify_rates
    from unelisa.analysis import compare_methods as compare_methods
    from unelisa.analysis import draw_gold as draw_gold
    from unelisa.analysis import estimate_rate as estimate_rate
    from unelisa.analysis import plan_certification as plan_certification
    from unelisa.analysis import suggest_votes as suggest_votes
    from unelisa.analysis.certify import certify as certify
    from unelisa.ehr import Phenotyper as Phenotyper
    from unelisa.ehr import evaluate_rules as evaluate_rules
    from unelisa.ehr import read_omop as read_omop
    from unelisa.ehr import simulate_ehr as simulate_ehr
    from unelisa.jury import read_jury as read_jury
    from unelisa.latent.device import to_device as to_device
    from unelisa.paper import Assumptions as Assumptions
    from unelisa.paper import ExpertSelector as ExpertSelector
    from unelisa.paper import Ising as Ising
    from unelisa.paper import Neighborhoods as Neighborhoods
    from unelisa.paper import VoterGraph as VoterGraph
    from unelisa.paper import check_assumptions as check_assumptions
    from unelisa.paper import estimate_assumptions as estimate_assumptions
    from unelisa.paper import fisher_information as fisher_information
    from unelisa.paper import select_experts as select_experts
    from unelisa.paper import select_neighborhoods as select_neighborhoods
    from unelisa.simulation import simulate_classes as simulate_classes
    from unelisa.simulation import simulate_votes as simulate_votes
    from unelisa.sources import read_votes as read_votes
    from unelisa.sources import votes_from_estimators as votes_from_estimators
    from unelisa.sources import votes_from_forest as votes_from_forest
    from unelisa.storage import load as load
    from unelisa.storage import save as save
    from unelisa.votes import Votes as Votes

__version__ = "0.3.0"

# Loaded when first asked for: scikit-learn and Numba take a second that --help need not wait for
_ROOMS = {
    "aggregators": "AGGREGATORS DawidSkene LatentIsing LatentSpectralMetaLearner LogLinear "
    "MajorityVote OneCoinDawidSkene OneVsRest SpectralMetaLearner StackedRBM UnElisa Wawa "
    "ZeroBasedSkill find_drift",
    "analysis": "Stability bootstrap certify certify_cohort certify_rates compare_methods "
    "draw_gold estimate_rate plan_certification suggest_votes",
    "ehr": "Phenotyper evaluate_rules read_omop simulate_ehr",
    "jury": "read_jury",
    "latent.device": "to_device",
    "paper": "Assumptions ExpertSelector Ising Neighborhoods VoterGraph check_assumptions "
    "estimate_assumptions fisher_information select_experts select_neighborhoods",
    "simulation": "simulate_classes simulate_votes",
    "sources": "read_votes votes_from_estimators votes_from_forest",
    "storage": "load save",
    "votes": "Votes",
}
__getattr__, __dir__ = open_door(__name__, _ROOMS)

__all__ = list(dict.fromkeys(" ".join(_ROOMS.values()).split()))
