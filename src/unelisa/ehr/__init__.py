"""Health records: the probability of a disease from counts of codes and concepts, and rules.

phenotyper.py joins the anchors (anchors.py), which define the truth, with other features
(features.py) and reviewed charts (charts.py). omop/: databases; rules/: definitions of a disease.
Messages hold no patient's values and no small numbers of patients.
"""

from typing import TYPE_CHECKING

from unelisa.doors import open_door

if TYPE_CHECKING:
    from unelisa.ehr.datamart import simulate_ehr
    from unelisa.ehr.omop.counts import read_omop
    from unelisa.ehr.phenotyper import Phenotyper
    from unelisa.ehr.rules.evaluation import evaluate_rules

__getattr__, __dir__ = open_door(
    __name__,
    {
        "datamart": "simulate_ehr",
        "omop.counts": "read_omop",
        "phenotyper": "Phenotyper",
        "rules.evaluation": "evaluate_rules",
    },
)

__all__ = ["Phenotyper", "evaluate_rules", "read_omop", "simulate_ehr"]
