"""A simulated datamart that all tests of phenotyping look at."""

import pytest

from unelisa.ehr.datamart import simulate_ehr
from unelisa.ehr.phenotyper import Phenotyper

ANCHORS = ("ICD:714.0", "NLP:rheumatoid arthritis")


@pytest.fixture(scope="session")
def datamart():
    return simulate_ehr(12_000, random_state=0)


@pytest.fixture(scope="session")
def model(datamart):
    return Phenotyper(list(ANCHORS), "note_count", random_state=0).fit(datamart.counts)
