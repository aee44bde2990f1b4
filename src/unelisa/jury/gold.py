"""Gold labels of a panel's items in a file, in the words that logs use for pass and fail."""

from pathlib import Path

from unelisa.errors import VotesError
from unelisa.jury.grades import name_grades, read_grade
from unelisa.jury.verdicts import Jury
from unelisa.sources.labels import KnownLabels, LabelTable, read_labels


class GradeTable(LabelTable):
    """A file of labels that may also say 1, true or correct for pass."""

    def _read_label(self, text: str) -> str:
        label = super()._read_label(text)
        if label in map(str, self.coding):
            return label
        try:
            grade = read_grade(label)
            named = label if grade is None else name_grades([grade])[0][grade]
        except VotesError:  # a score: not one of the labels, as the table itself will say
            return label
        return named if named in self.coding else label


def read_gold(path: str | Path, jury: Jury) -> KnownLabels:
    r"""Return the gold labels in a file, matched to the items of a panel by name.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from unelisa.jury.verdicts import Panel, Verdict
    >>> panel = Panel()
    >>> for item, mark in (("a", True), ("b", False)):
    ...     panel.add(Verdict(item, "ann", mark))
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "gold.csv"
    >>> _ = file.write_text("item,label\na,1\nb,correct\n")
    >>> read_gold(file, panel.finish("auto", ["long"])).as_gold().tolist()
    ['pass', 'pass']
    """
    return read_labels(path, jury, GradeTable)
