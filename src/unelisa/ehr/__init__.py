"""Health records: the probability of a disease from counts of codes and concepts, and rules.

Anchors define the truth: phenotyper.py joins their model (anchors.py) with what else the records
say (features.py) and with reviewed charts (charts.py). omop/ reads counts from
databases and writes cohorts into them, rules/ judges definitions of a disease, datamart/ simulates
records with known truth. Records are private: messages hold no patient's values, and small numbers
of patients are not shown.
"""

from unelisa.ehr.datamart import simulate_ehr
from unelisa.ehr.omop.counts import read_omop
from unelisa.ehr.phenotyper import Phenotyper
from unelisa.ehr.rules.evaluation import evaluate_rules

__all__ = ["Phenotyper", "evaluate_rules", "read_omop", "simulate_ehr"]
