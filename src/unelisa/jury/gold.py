"""Gold labels of a panel's items in a file, in the words that logs use for pass and fail."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.errors import VotesError
from unelisa.jury.grades import name_grades, read_grade
from unelisa.jury.verdicts import Jury
from unelisa.sources.labels import KnownLabels, LabelTable, read_labels
from unelisa.votes.coding import encode_classes


class GradeTable(LabelTable):
    """A file of labels that may also say 1, true or correct for pass."""

    def _read_label(self, text: str) -> str:
        label = super()._read_label(text)
        if label in map(str, self.coding):
            return label
        try:
            grade = read_grade(label)
            named = label if grade is None else name_grades([grade]).labels[0]
        except VotesError:  # a score: not one of the labels, as the table itself will say
            return label
        return named if named is not None and named in self.coding else label


def read_gold(path: str | Path, jury: Jury) -> KnownLabels:
    """Return the gold labels in a file, matched to the items of a panel by name."""
    return read_labels(path, jury, GradeTable)


def read_gold_codes(jury: Jury, gold: Any) -> NDArray[np.int8]:
    """Return the code of each item's gold label, 0 without one; from a dict, or labels by item."""
    codes = dict(zip(map(str, jury.classes), encode_classes(jury.n_classes), strict=True))
    if isinstance(gold, Mapping):
        labels = [gold.get(str(item)) for item in jury.items]
    else:
        labels = list(gold)
    return np.array([codes.get(str(label), 0) for label in labels], dtype=np.int8)
