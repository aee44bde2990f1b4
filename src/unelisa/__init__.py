"""Labels without ground truth: who among many voters depends on whom, who is an expert."""

from typing import TYPE_CHECKING

from unelisa.doors import open_door

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
        find_drift,
    )
    from unelisa.analysis import (
        Stability,
        bootstrap,
        certify_cohort,
        certify_rates,
        compare_methods,
        draw_gold,
        estimate_rate,
        plan_certification,
        suggest_votes,
    )
    from unelisa.analysis.certify import certify
    from unelisa.ehr import Phenotyper, evaluate_rules, read_omop, simulate_ehr
    from unelisa.jury import read_jury
    from unelisa.latent.device import to_device
    from unelisa.paper import (
        Assumptions,
        ExpertSelector,
        Ising,
        Neighborhoods,
        VoterGraph,
        check_assumptions,
        estimate_assumptions,
        fisher_information,
        select_experts,
        select_neighborhoods,
    )
    from unelisa.simulation import simulate_classes, simulate_votes
    from unelisa.sources import read_votes, votes_from_estimators, votes_from_forest
    from unelisa.storage import load, save
    from unelisa.votes import Votes

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

__all__ = [
    "AGGREGATORS",
    "Assumptions",
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
    "certify",
    "certify_cohort",
    "certify_rates",
    "check_assumptions",
    "compare_methods",
    "draw_gold",
    "estimate_assumptions",
    "estimate_rate",
    "evaluate_rules",
    "find_drift",
    "fisher_information",
    "load",
    "plan_certification",
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
    "to_device",
    "votes_from_estimators",
    "votes_from_forest",
]
