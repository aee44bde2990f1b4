"""The paper, equation by equation.

ising.py is the model of section 2, conditions.py the best graph without the truth (3.3)-(3.4) and
whether it can be learned, (A1) and (A2); neighborhood.py and solvers/ are one l1 regression per
voter (3.6), experts.py Theorem 3.3 and the polarity of section 4.2, em.py equations (4.1)-(4.6).
What departs from print is listed in docs/paper_notes.md with the test that shows it; nothing that
goes beyond the paper belongs here.
"""

from unelisa.paper.conditions import (
    Assumptions,
    check_assumptions,
    estimate_assumptions,
    fisher_information,
)
from unelisa.paper.experts import ExpertSelector, select_experts
from unelisa.paper.ising import Ising, VoterGraph
from unelisa.paper.neighborhood import Neighborhoods, select_neighborhoods

__all__ = [
    "Assumptions",
    "ExpertSelector",
    "Ising",
    "Neighborhoods",
    "VoterGraph",
    "check_assumptions",
    "estimate_assumptions",
    "fisher_information",
    "select_experts",
    "select_neighborhoods",
]
