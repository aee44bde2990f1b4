"""Writes the fuzz target's first inputs: `python fuzz/seeds.py FOLDER`, from the hostile corpus."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from hostile.corpus import ACCEPTED, REFUSED

ENDINGS = [".csv", ".tsv", ".csv.gz", ".parquet", ".feather"]
LARGEST = 20_000


def main(folder: Path) -> None:
    """Write one input per small file of the corpus, its ending as the first byte."""
    folder.mkdir(parents=True, exist_ok=True)
    cases = {
        **{name: make for name, (make, _) in REFUSED.items() if "bomb" not in name},
        **ACCEPTED,
    }
    for number, make in enumerate(cases.values()):
        path = make(Path(tempfile.mkdtemp()))
        ending = "".join(path.suffixes[-2:]).lower()
        plain = path.is_file() and not path.is_symlink()
        if plain and ending in ENDINGS and path.stat().st_size < LARGEST:
            content = path.read_bytes()
            (folder / f"seed-{number}").write_bytes(bytes([ENDINGS.index(ending), 0]) + content)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
