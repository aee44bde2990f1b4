"""Files that a hostile or unlucky world hands in, made afresh in a folder.

Every case is a function from a folder to the file to read. Items, and labels where the format
allows, carry SECRET: no message may repeat it.
"""

import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import feather, parquet

SECRET = "Zaphod7Beeblebrox"  # noqa: S105 - planted where a patient's name would stand
Maker = Callable[[Path], Path]


def _text(content: str | bytes, name: str = "votes.csv") -> Maker:
    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


def _rows(*rows: str, header: str = "item,ann,bob,cat", end: str = "\n") -> str:
    return end.join([header, *rows, ""])


# enough items for a fit; their names are secret
ITEMS = [f"{SECRET}{i}" for i in range(24)]
SAID = [("yes", "yes", "no"), ("no", "no", "yes"), ("yes", "no", "no"), ("no", "yes", "yes")]
GOOD_ROWS = [",".join([item, *SAID[i % 4]]) for i, item in enumerate(ITEMS)]
GOOD = _rows(*GOOD_ROWS)
LONG = "item,voter,vote\n" + "".join(
    f"{item},{who},{vote}\n"
    for i, item in enumerate(ITEMS)
    for who, vote in zip(("ann", "bob", "cat"), SAID[i % 4], strict=True)
)


def _table(votes: dict[str, object]) -> pa.Table:
    return pa.table({"item": ITEMS, **votes})


def _parquet(columns: dict[str, object], name: str = "votes.parquet") -> Maker:
    def make(folder: Path) -> Path:
        parquet.write_table(_table(columns), folder / name)
        return folder / name

    return make


def _folder(path: Path) -> Path:
    (path / "votes.csv").mkdir()
    return path / "votes.csv"


def _pipe(path: Path) -> Path:
    import os  # noqa: PLC0415

    os.mkfifo(path / "votes.csv")
    return path / "votes.csv"


def _unreadable(path: Path) -> Path:
    """A file that no user can read, not even root: this process's memory at address 0."""
    (path / "votes.csv").symlink_to("/proc/self/mem")
    return path / "votes.csv"


def _dangling(path: Path) -> Path:
    (path / "votes.csv").symlink_to(path / "gone.csv")
    return path / "votes.csv"


def _gzip_bomb(path: Path) -> Path:
    """300 MB in 300 kB: the same long line over and over."""
    line = f"{SECRET},yes,no,{' ' * 10_000}yes\n".encode()
    with gzip.open(path / "votes.csv.gz", "wb", compresslevel=9) as file:
        file.write(b"item,ann,bob,cat\n")
        block = line * 1000
        for _ in range(30):
            file.write(block)
    return path / "votes.csv.gz"


def _parquet_bomb(path: Path) -> Path:
    """400 million cells in a megabyte: a dictionary and run lengths."""
    same = pa.DictionaryArray.from_arrays(np.zeros(1_000_000, np.int32), [SECRET])
    table = pa.table(dict.fromkeys(("item", "ann", "bob", "cat"), same))
    target = path / "votes.parquet"
    with parquet.ParquetWriter(target, table.schema, write_statistics=False) as writer:
        for _ in range(100):
            writer.write_table(table)
    return path / "votes.parquet"


def _workbook(path: Path) -> Path:
    with zipfile.ZipFile(path / "votes.csv", "w") as archive:
        archive.writestr("xl/workbook.xml", SECRET)
    return path / "votes.csv"


def _feather_cut(path: Path) -> Path:
    feather.write_feather(_table({"ann": ["yes", "no"] * 12}), path / "votes.feather")
    whole = (path / "votes.feather").read_bytes()
    (path / "votes.feather").write_bytes(whole[: len(whole) // 2])
    return path / "votes.feather"


def _parquet_cut(path: Path) -> Path:
    whole = _parquet({"ann": ["yes", "no"] * 12, "bob": ["no", "yes"] * 12})(path).read_bytes()
    (path / "votes.parquet").write_bytes(whole[:-20])
    return path / "votes.parquet"


def _parquet_as_csv(path: Path) -> Path:
    return _parquet({"ann": ["yes", "no"] * 12})(path).rename(path / "votes.csv")


# name of the case -> (the file, a part of the sentence)
REFUSED: dict[str, tuple[Maker, str]] = {
    "empty": (_text(b""), "is empty"),
    "header only": (_text("item,ann,bob\n"), "0 items"),
    "one column": (_text(f"item\n{SECRET}\n"), "one column only"),
    "no item column": (_text(GOOD.replace("item", "mrn", 1)), "label"),
    "Latin-1": (_text(GOOD.replace("Zaphod7", "Zaphodé7", 1).encode("latin-1")), "UTF-8"),
    "Latin-1 header": (_text(GOOD.replace("ann", "änn", 1).encode("latin-1")), "UTF-8"),
    "UTF-16": (_text(GOOD.encode("utf-16")), "UTF-16"),
    "UTF-16 without a mark": (_text(GOOD.encode("utf-16-le")), "zero bytes"),
    "zero bytes": (_text(GOOD.replace("Zaphod7", "Zaphod7\0", 1)), "zero bytes"),
    "zero bytes in the header": (_text(GOOD.replace("bob", "b\0b", 1)), "zero bytes"),
    "a line of 13 MB": (_text(_rows(f"{SECRET},yes,no,{'x' * 13_000_000}")), "4 MB"),
    "text and numbers": (_text(_rows(f"{SECRET},yes,no,1", f"{SECRET}b,yes,no,0")), "two labels"),
    "three labels": (_text(GOOD + f"{SECRET}x,maybe,no,no\n"), "two labels, found 3"),
    "labels like sentences": (
        _text(_rows(*(f"{SECRET}{i},{SECRET}{i},a,b" for i in range(99)))),
        "far more than two labels",
    ),
    "contradicting duplicates": (_text(LONG + f"{ITEMS[0]},ann,no\n"), "different votes"),
    "an item twice": (_text(GOOD + GOOD_ROWS[0] + "\n"), "twice"),
    "NaN as a name": (_text(GOOD + "NaN,yes,no,no\n"), "empty name"),
    "an empty name": (_text(GOOD + " ,yes,no,no\n"), "empty name"),
    "a voter without a name": (_text(LONG + f"{SECRET},,no\n"), "empty name"),
    "-1, 0 and 1": (_text(_rows("a,1,0,-1", "b,0,1,-1")), "two ways"),
    "0 and 2": (_text(_rows("a,2,0,2", "b,0,2,0")), "may mean abstained"),
    "infinite numbers": (_text(_rows("a,inf,1,-1", "b,1,1,-inf")), "infinite"),
    "ones only": (_text(_rows("a,1,1,1", "b,1,1,1")), "every vote is 1"),
    "one label only": (_text(_rows("a,yes,yes,yes", "b,yes,yes,yes")), "one label only"),
    "nothing but gaps": (_text(_rows("a,,,", "b,NA,,nan")), "nobody voted"),
    "too many cells": (_text(GOOD + f"{SECRET}x,yes,no,no,no\n"), "more or fewer cells"),
    "too few cells": (_text(GOOD + f"{SECRET}x,yes\n"), "more or fewer cells"),
    "an open quote": (_text(GOOD + f'"{SECRET}x,yes,no,no\n'), "cannot be read|fewer cells"),
    "columns of one name": (_text(GOOD.replace("bob", "ann", 1)), "two columns named 'ann'"),
    "columns alike but for spaces": (_text(GOOD.replace("bob", " ann ", 1)), "two columns named"),
    "columns without a name": (_text(GOOD.replace("ann,bob", ",", 1)), "without a name"),
    "gzip that ends early": (_text(gzip.compress(GOOD.encode())[:-30], "votes.csv.gz"), "early"),
    "gzip that is none": (_text(GOOD, "votes.csv.gz"), "damaged"),
    "gzip called CSV": (_text(gzip.compress(GOOD.encode())), "gzip data"),
    "gzip bomb": (_gzip_bomb, "times its size"),
    "Parquet bomb": (_parquet_bomb, "times its size"),
    "Parquet called CSV": (_parquet_as_csv, "Parquet data"),
    "workbook called CSV": (_workbook, "workbook"),
    "CSV called Parquet": (_text(GOOD, "votes.parquet"), "not in the format"),
    "CSV called Feather": (_text(GOOD, "votes.feather"), "not in the format"),
    "unknown ending": (_text(GOOD, "votes.xlsx"), "unknown ending"),
    "no ending": (_text(GOOD, "votes"), "unknown ending"),
    "Parquet that ends early": (_parquet_cut, "damaged|not in the format"),
    "Feather that ends early": (_feather_cut, "damaged|not in the format"),
    "nested Parquet": (_parquet({"ann": [["yes"], ["no"]] * 12, "bob": ["no"] * 24}), "label"),
    "Parquet of dictionaries": (_parquet({"ann": [{"a": SECRET}] * 24}), "label"),
    "Parquet of moments": (
        _parquet({"ann": np.arange(24).astype("datetime64[s]")}),
        "two labels",
    ),
    "Parquet of infinities": (_parquet({"ann": [np.inf, 1.0] * 12, "bob": [1.0] * 24}), "infinite"),
    "a folder": (_folder, "is a folder"),
    "a pipe": (_pipe, "no ordinary file"),
    "a file nobody can read": (_unreadable, "cannot be read"),
    "a link to nothing": (_dangling, "there is no file"),
    "no file": (lambda folder: folder / "none.csv", "there is no file"),
}

# name of the case -> the file, which must be read as the votes of GOOD
ACCEPTED: dict[str, Maker] = {
    "plain": _text(GOOD),
    "long": _text(LONG),
    "byte order mark": _text(b"\xef\xbb\xbf" + GOOD.encode()),
    "Windows lines": _text(GOOD.replace("\n", "\r\n")),
    "old Macintosh lines": _text(GOOD.replace("\n", "\r")),
    "no last line end": _text(GOOD.rstrip("\n")),
    "empty lines": _text(GOOD.replace("\n", "\n\n")),
    "quotes": _text(GOOD.replace("yes", '"yes"')),
    "spaces": _text(GOOD.replace(",", " , ")),
    "semicolons": _text(GOOD.replace(",", ";")),
    "tabs": _text(GOOD.replace(",", "\t")),
    "tabs in a .tsv": _text(GOOD.replace(",", "\t"), "votes.tsv"),
    "gzip": _text(gzip.compress(GOOD.encode()), "votes.csv.gz"),
    "capital ending": _text(GOOD, "VOTES.CSV"),
    "repeated votes": _text(LONG + f"{ITEMS[0]},ann,yes\n"),
    "a million characters": _text(GOOD.replace("ann,", f"{'a' * 1_000_000},", 1)),
}
