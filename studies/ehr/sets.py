"""Counts with reviewed charts: the simulated datamart, rare cohorts of it, and ehr_phecap."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.ehr.counts import CountTable, read_counts
from unelisa.ehr.datamart import simulate_ehr
from unelisa.errors import ModelError

Signs = NDArray[np.int8]
Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ReviewedSet:
    """Counts of all patients, and the truth for those whose charts were reviewed.

    Attributes
    ----------
    name
        In tables and results.
    counts
        All patients' counts, with their utilization.
    anchors
        The main code and the main concept.
    reviewed, signs
        Rows of the reviewed patients, and their truth -1 / +1.
    roles
        How each feature relates to the disease, if known.
    truth
        Everybody's truth, if known.
    """

    name: str
    counts: CountTable
    anchors: tuple[str, str]
    reviewed: Places
    signs: Signs
    roles: dict[str, str] = field(default_factory=dict)
    truth: Signs | None = None

    @property
    def anchor_places(self) -> Places:
        """Positions of the anchors among the features."""
        return self.counts.find(self.anchors, "an anchor")


def simulated_set(seed: int, n_patients: int = 46568) -> ReviewedSet:
    """Return the simulated datamart of rheumatoid arthritis with this seed."""
    drawn = simulate_ehr(n_patients, random_state=seed)
    counts = read_counts(drawn.counts, "note_count")
    reviewed = np.flatnonzero(np.isin(counts.patients, drawn.reviewed))
    truth = drawn.truth.to_numpy().astype(np.int8)
    roles = {str(name): str(role) for name, role in drawn.roles.items()}
    anchors = ("ICD:714.0", "NLP:rheumatoid arthritis")
    return ReviewedSet(f"ra-{seed}", counts, anchors, reviewed, truth[reviewed], roles, truth)


def rare_cohort(datamart: ReviewedSet, seed: int, n_patients: int, share: float) -> ReviewedSet:
    """Return a small cohort of a datamart with few cases; everybody is reviewed."""
    if datamart.truth is None:
        raise ModelError(
            f"{datamart.name} lacks the truth of some patients; use a simulated datamart"
        )
    rng = np.random.default_rng(seed)
    n_cases = round(n_patients * share)
    drawn = [
        rng.choice(np.flatnonzero(datamart.truth == sign), n, replace=False)
        for sign, n in ((1, n_cases), (-1, n_patients - n_cases))
    ]
    rows = rng.permutation(np.concatenate(drawn))
    truth = datamart.truth[rows]
    every = datamart.counts
    counts = replace(
        every,
        values=np.asfortranarray(every.values[rows]),
        patients=every.patients[rows],
        utilization=None if every.utilization is None else every.utilization[rows],
    )
    everybody = np.arange(n_patients)
    name = f"{datamart.name} rare {seed}"
    return ReviewedSet(name, counts, datamart.anchors, everybody, truth, datamart.roles, truth)


def phecap_set(folder: Path) -> ReviewedSet:
    """Return ehr_phecap: counts for an unnamed phenotype with 181 reviewed charts."""
    import pandas as pd  # noqa: PLC0415 - a third of a second that other commands need not wait for

    try:
        frame: Any = pd.read_csv(folder / "features.csv.gz")
        labels: Any = pd.read_csv(folder / "truth.csv")
    except OSError:
        raise ModelError(
            f"{folder.name} lacks features.csv.gz or truth.csv: name the folder of ehr_phecap"
        ) from None
    counts = read_counts(frame, "healthcare_utilization")
    row = {patient: place for place, patient in enumerate(counts.patients)}
    reviewed = np.array([row[patient] for patient in labels["patient"]], dtype=np.intp)
    signs = labels["label"].to_numpy().astype(np.int8)
    return ReviewedSet("ehr_phecap", counts, ("main_ICD", "main_NLP"), reviewed, signs)
