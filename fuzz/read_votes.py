"""Coverage-guided fuzzing of the readers: any bytes give votes or one sentence.

    pip install atheris
    python fuzz/read_votes.py fuzz/corpus -max_total_time=600

Not part of the test suite. A crash file is written where anything but a `VotesError` escapes, or
where its sentence has two lines.
"""

import sys
import tempfile
import warnings
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["unelisa"]):
    from unelisa.errors import VotesError
    from unelisa.sources.labels import read_labels
    from unelisa.sources.tables import read_votes
    from unelisa.votes import Votes
    from unelisa.votes.coding import encode_classes

import numpy as np

ENDINGS = (".csv", ".tsv", ".csv.gz", ".parquet", ".feather")
CODINGS = ("auto", "pm1", "01", "snorkel", ("no", "yes"), (0, 2))
FOLDER = Path(tempfile.mkdtemp(prefix="unelisa-fuzz-"))
VOTES = Votes(np.ones((2, 1), np.int8), np.array(["a", "b"]), np.array(["v"]), ("no", "yes"))

warnings.simplefilter("ignore")


def read_one(data: bytes) -> None:
    """Read the bytes as a file; the first two choose its ending and the coding."""
    if len(data) < 3:
        return
    ending, coding = ENDINGS[data[0] % len(ENDINGS)], CODINGS[data[1] % len(CODINGS)]
    path = FOLDER / f"votes{ending}"
    path.write_bytes(data[2:])
    try:
        votes = read_votes(path, coding)
        check_votes(votes)
    except VotesError as error:
        check_sentence(str(error))
    try:
        read_labels(path, VOTES)
    except VotesError as error:
        check_sentence(str(error))


def check_votes(votes: Votes) -> None:
    """Raise where votes break their promise."""
    if votes.values.shape != (len(votes.items), len(votes.voters)):
        raise AssertionError("the table has another shape than its names")
    if not set(np.unique(votes.values).tolist()) <= {0, *encode_classes(votes.n_classes)}:
        raise AssertionError("a vote is none")
    if len(set(votes.classes)) < max(votes.n_classes, 2):
        raise AssertionError("there are no two labels")


def check_sentence(sentence: str) -> None:
    """Raise where a refusal is no single line."""
    if not sentence or set(sentence) & set("\n\r\0\x1b"):
        raise AssertionError("the sentence is not one line")


if __name__ == "__main__":
    atheris.Setup(sys.argv, read_one)
    atheris.Fuzz()
