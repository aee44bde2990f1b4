"""A simulated datamart of health records: patients, their counts, and their OMOP database."""

from unelisa.ehr.datamart.database import write_datamart
from unelisa.ehr.datamart.patients import SimulatedEhr, simulate_ehr

__all__ = ["SimulatedEhr", "simulate_ehr", "write_datamart"]
