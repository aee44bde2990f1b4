"""What is done with a fitted model, through its public names: rates, certificates, comparison."""

from unelisa.analysis.certified_draws import draw_gold, plan_certification
from unelisa.analysis.certified_shares import certify_cohort, certify_rates
from unelisa.analysis.certify import certify
from unelisa.analysis.comparison import compare_methods
from unelisa.analysis.rate import estimate_rate
from unelisa.analysis.stability import Stability, bootstrap
from unelisa.analysis.suggestions import suggest_votes

__all__ = [
    "Stability",
    "bootstrap",
    "certify",
    "certify_cohort",
    "certify_rates",
    "compare_methods",
    "draw_gold",
    "estimate_rate",
    "plan_certification",
    "suggest_votes",
]
