"""The paper, equation by equation; departures from print are listed in docs/paper_notes.md.

ising.py is section 2, conditions.py (3.3)-(3.4), (A1) and (A2); neighborhood.py and solvers/ are
(3.6), experts.py Theorem 3.3 and section 4.2, em.py (4.1)-(4.6).
"""

from typing import TYPE_CHECKING

from unelisa.doors import open_door

if TYPE_CHECKING:
    from unelisa.paper.conditions import (
        Assumptions,
        check_assumptions,
        estimate_assumptions,
        fisher_information,
    )
    from unelisa.paper.experts import ExpertSelector, select_experts
    from unelisa.paper.ising import Ising, VoterGraph
    from unelisa.paper.neighborhood import Neighborhoods, select_neighborhoods

__getattr__, __dir__ = open_door(
    __name__,
    {
        "conditions": "Assumptions check_assumptions estimate_assumptions fisher_information",
        "experts": "ExpertSelector select_experts",
        "ising": "Ising VoterGraph",
        "neighborhood": "Neighborhoods select_neighborhoods",
    },
)

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
