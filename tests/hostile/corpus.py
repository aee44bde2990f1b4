"""Files that a hostile or unlucky world hands in, made afresh in a folder.

Every case is a function from a folder to the file to read. Items, and labels where the format
allows, carry SECRET: no message may repeat it.
"""

import bz2
import csv
import gzip
import io
import json
import os
import socket
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import openpyxl
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


def _parquet(columns: dict[str, object], *, dictionary: bool = False) -> Maker:
    def make(folder: Path) -> Path:
        table = _table(columns)
        if dictionary:
            names = table.column_names
            table = pa.table({name: table[name].dictionary_encode() for name in names})
        parquet.write_table(table, folder / "votes.parquet")
        return folder / "votes.parquet"

    return make


def _by_voter(write: Callable[[str], object]) -> dict[str, object]:
    """The votes of GOOD, one column per voter, each vote written in some way."""
    said = [SAID[i % 4] for i in range(len(ITEMS))]
    return {who: [write(row[s]) for row in said] for s, who in enumerate(("ann", "bob", "cat"))}


def _folder(path: Path) -> Path:
    (path / "votes.csv").mkdir()
    return path / "votes.csv"


def _pipe(path: Path) -> Path:
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


def _parquet_texts(item: pa.Array, vote: pa.Array) -> Maker:
    """A label of 10 kB stored once and meant 200,000 times: 2 GB in 100 kB."""

    def make(folder: Path) -> Path:
        parquet.write_table(pa.table({"item": item, "ann": vote}), folder / "votes.parquet")
        return folder / "votes.parquet"

    return make


MANY = 200_000
REPEATED = pa.DictionaryArray.from_arrays(np.zeros(MANY, np.int32), [SECRET * 600])


def _write_bomb(folder: Path, columns: dict[str, pa.Array], parts: int = 1, **form: object) -> Path:
    """Write a table so often that it is a bomb, into one file or one per part."""
    table = pa.table(columns)
    if parts > 1:
        (folder / "votes").mkdir()
        for part in range(parts):
            parquet.write_table(table, folder / "votes" / f"{part}.parquet", **form)
        return folder / "votes"
    parquet.write_table(table, folder / "votes.parquet", **form)
    return folder / "votes.parquet"


def _parquet_of_texts(path: Path) -> Path:
    """300 texts of a megabyte in 15 kB."""
    said = pa.array([f"{SECRET}{' ' * 1_000_000}"] * 300)
    form = {"compression": "zstd", "use_dictionary": False, "write_statistics": False}
    return _write_bomb(path, {"item": pa.array(range(300)), "ann": said}, **form)


def _folder_bomb(path: Path) -> Path:
    """Four files that are no bombs, and together are one: 280 million cells in 400 kB."""
    said = pa.array(np.zeros(35_000_000, np.int8))
    return _write_bomb(path, {"ann": said, "bob": said}, parts=4, write_statistics=False)


def _parquet_rows(path: Path) -> Path:
    """100 million items, far more than the memory limit holds, in a few megabytes."""
    said = pa.array(np.resize(np.array([1, -1, 1, 1, -1], np.int8), 100_000_000))
    return _write_bomb(path, {"ann": said}, compression="zstd", write_statistics=False)


def long_names(path: Path) -> Path:
    """A name of 20 kB that 200,000 votes repeat: 16 GB if each were written out."""
    form = np.arange(MANY, dtype=np.int32) % 2
    voters = pa.DictionaryArray.from_arrays(form, ["a" * 20_000, "b" * 20_000])
    votes = pa.DictionaryArray.from_arrays(form, ["yes", "no"])
    columns = {"item": pa.array(np.arange(MANY) // 2), "voter": voters, "vote": votes}
    return _write_bomb(path, {**columns, "extra": pa.nulls(MANY)}, write_statistics=False)


def _blank_lines(path: Path) -> Path:
    """300 MB of line ends in 300 kB: no row ever comes."""
    with gzip.open(path / "votes.csv.gz", "wb", compresslevel=9) as file:
        file.write(b"item,ann,bob\n")
        for _ in range(300):
            file.write(b"\n" * 1_000_000)
    return path / "votes.csv.gz"


def _feather_in_one(path: Path) -> Path:
    """320 MB in one batch of 80 kB, which would be unpacked before it could be counted."""
    same = pa.table({"item": pa.array(np.zeros(40_000_000, np.int64))})
    feather.write_feather(same, str(path / "votes.feather"), "zstd", chunksize=40_000_000)
    return path / "votes.feather"


def _feather_bomb(path: Path) -> Path:
    """300 MB in 100 kB."""
    same = pa.array([" " * 20_000] * 15_000)
    target = str(path / "votes.feather")
    feather.write_feather(pa.table({"item": same}), target, "zstd", chunksize=1500)
    return path / "votes.feather"


def _loop(path: Path) -> Path:
    (path / "votes.csv").symlink_to(path / "other.csv")
    (path / "other.csv").symlink_to(path / "votes.csv")
    return path / "votes.csv"


def _socket(path: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path / "votes.csv"))
    return path / "votes.csv"


def _endless(path: Path) -> Path:
    (path / "votes.csv").symlink_to("/dev/zero")
    return path / "votes.csv"


def _misnamed(path: Path) -> Path:
    """A name that is not text, as other systems leave them in archives."""
    file = os.fsencode(path) + b"/v\xff.csv"
    Path(os.fsdecode(file)).write_text(GOOD, encoding="utf-8")
    return Path(os.fsdecode(file))


def _database(path: Path) -> Path:
    with closing(sqlite3.connect(path / "votes.csv")) as database:
        database.execute("CREATE TABLE votes (item)")
        database.commit()
    return path / "votes.csv"


def _columns_of_one_name(path: Path) -> Path:
    said = pa.array(["yes", "no"] * 12)
    table = pa.Table.from_arrays([pa.array(ITEMS), said, said], names=["item", "ann", "ann"])
    parquet.write_table(table, path / "votes.parquet")
    return path / "votes.parquet"


def _folder_of(first: dict[str, object], second: dict[str, object]) -> Maker:
    def make(path: Path) -> Path:
        (path / "votes").mkdir()
        for name, columns in (("a", first), ("b", second)):
            parquet.write_table(_table(columns), path / "votes" / f"{name}.parquet")
        return path / "votes"

    return make


def _folder_with_an_empty_file(path: Path) -> Path:
    (path / "votes").mkdir()
    (path / "votes" / "a.parquet").touch()
    return path / "votes"


def _workbook(path: Path) -> Path:
    with zipfile.ZipFile(path / "votes.csv", "w") as archive:
        archive.writestr("xl/workbook.xml", SECRET)
    return path / "votes.csv"


def _sheet(path: Path) -> Path:
    book = openpyxl.Workbook()
    for row in csv.reader(io.StringIO(GOOD)):
        book.active.append(row)
    book.save(path / "votes.xlsx")
    return path / "votes.xlsx"


def _json_lines(path: Path) -> Path:
    records = csv.DictReader(io.StringIO(LONG))
    (path / "votes.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return path / "votes.jsonl"


def _feather(path: Path) -> Path:
    feather.write_feather(_table(_by_voter(lambda vote: vote)), str(path / "votes.feather"))
    return path / "votes.feather"


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
    "one column": (_text(f"item\n{SECRET}\n"), "only one column"),
    "UTF-16": (_text(GOOD.encode("utf-16")), "UTF-16"),
    "UTF-16 without a mark": (_text(GOOD.encode("utf-16-le")), "null bytes"),
    "zero bytes": (_text(GOOD.replace("Zaphod7", "Zaphod7\0", 1)), "null bytes"),
    "zero bytes in the header": (_text(GOOD.replace("bob", "b\0b", 1)), "null bytes"),
    "a line of 13 MB": (_text(_rows(f"{SECRET},yes,no,{'x' * 13_000_000}")), "4 MB"),
    "text and numbers": (_text(_rows(f"{SECRET},yes,no,1", f"{SECRET}b,yes,no,0")), "two labels"),
    "labels like sentences": (
        _text(_rows(*(f"{SECRET}{i},{SECRET}{i},a,b" for i in range(99)))),
        "no other column has such labels",
    ),
    "contradicting duplicates": (_text(LONG + f"{ITEMS[0]},ann,no\n"), "different votes"),
    "an item twice": (_text(GOOD + GOOD_ROWS[0] + "\n"), "twice"),
    "NaN as a name": (_text(GOOD + "NaN,yes,no,no\n"), "has no name in data row"),
    "an empty name": (_text(GOOD + " ,yes,no,no\n"), "has no name in data row"),
    "a voter without a name": (_text(LONG + f"{SECRET},,no\n"), "has no name in data row"),
    "-1, 0 and 1": (_text(_rows("a,1,0,-1", "b,0,1,-1")), "ambiguous"),
    "0 and 2": (_text(_rows("a,2,0,2", "b,0,2,0")), "may mean abstained"),
    "infinite numbers": (_text(_rows("a,inf,1,-1", "b,1,1,-inf")), "infinite"),
    "ones only": (_text(_rows("a,1,1,1", "b,1,1,1")), "every vote is 1"),
    "one label only": (_text(_rows("a,yes,yes,yes", "b,yes,yes,yes")), "only one label"),
    "nothing but gaps": (_text(_rows("a,,,", "b,NA,,nan")), "there are no votes"),
    "too many cells": (_text(GOOD + f"{SECRET}x,yes,no,no,no\n"), "more or fewer cells"),
    "too few cells": (_text(GOOD + f"{SECRET}x,yes\n"), "more or fewer cells"),
    "an open quote": (_text(GOOD + f'"{SECRET}x,yes,no,no\n'), "cannot be read|fewer cells"),
    "columns of one name": (
        _text(GOOD.replace("bob", "ann", 1)),
        "columns 2 and 3 of votes.csv have the same name",
    ),
    "columns alike but for spaces": (_text(GOOD.replace("bob", " ann ", 1)), "same name"),
    "columns without a name": (_text(GOOD.replace("ann,bob", ",", 1)), "have no name"),
    "gzip that ends early": (_text(gzip.compress(GOOD.encode())[:-30], "votes.csv.gz"), "damaged"),
    "gzip that is none": (_text(GOOD, "votes.csv.gz"), "damaged"),
    "gzip called CSV": (_text(gzip.compress(GOOD.encode())), "gzip data"),
    "gzip bomb": (_gzip_bomb, "times its size"),
    "Parquet bomb": (_parquet_bomb, "times its size"),
    "Parquet bomb of long texts": (_parquet_of_texts, "times its size"),
    "Parquet bomb in a folder": (_folder_bomb, "times its size"),
    "Parquet bomb of rows": (_parquet_rows, "100,000,000 rows needs about 1.6 GB"),
    "gzip bomb of blank lines": (_blank_lines, "times its size"),
    "Feather bomb in one batch": (_feather_in_one, "times its size"),
    "Parquet called CSV": (_parquet_as_csv, "Parquet data"),
    "workbook called CSV": (_workbook, "workbook"),
    "CSV called Parquet": (_text(GOOD, "votes.parquet"), "not in the format"),
    "CSV called Feather": (_text(GOOD, "votes.feather"), "not in the format"),
    "unknown ending": (_text(GOOD, "votes.ods"), "unknown file extension"),
    "CSV called a workbook": (_text(GOOD, "votes.xlsx"), "not an Excel workbook"),
    "CSV called JSON lines": (_text(GOOD, "votes.jsonl"), "line 1 of votes.jsonl is not JSON"),
    "lists in JSON lines": (_text('{"item": {"a": [1]}, "voter": "x"}', "votes.jsonl"), "a list"),
    "deep JSON lines": (_text('{"a":' * 5000 + "1" + "}" * 5000, "votes.jsonl"), "is not JSON"),
    "a JSON key twice": (
        _text('{"item": "a", "voter": "x", "vote": 1, "vote": 0}', "votes.jsonl"),
        "has a key twice",
    ),
    "no ending": (_text(GOOD, "votes"), "unknown file extension"),
    "Parquet that ends early": (_parquet_cut, "damaged|not in the format"),
    "Feather that ends early": (_feather_cut, "damaged|not in the format"),
    "nested Parquet": (_parquet({"ann": [["yes"], ["no"]] * 12, "bob": ["no"] * 24}), "label"),
    "Parquet of dictionaries": (_parquet({"ann": [{"a": SECRET}] * 24}), "label"),
    "Parquet of moments": (_parquet({"ann": np.arange(24).astype("datetime64[s]")}), "two labels"),
    "Parquet of moments beyond all calendars": (
        _parquet({"ann": pa.array([2**62, 1] * 12, pa.timestamp("us"))}),
        "out of range",
    ),
    "Parquet of infinities": (_parquet({"ann": [np.inf, 1.0] * 12, "bob": [1.0] * 24}), "infinite"),
    "a folder": (_folder, "is a folder"),
    "a pipe": (_pipe, "not a regular file"),
    "a file nobody can read": (_unreadable, "cannot be read"),
    "a link to nothing": (_dangling, "there is no file"),
    "links in a circle": (_loop, "there is no file"),
    "a socket": (_socket, "not a regular file"),
    "a device without end": (_endless, "not a regular file"),
    "a name that is not text": (_misnamed, "not valid UTF-8"),
    "UTF-32": (_text(GOOD.encode("utf-32")), "UTF-32"),
    "UTF-16, gzipped": (_text(gzip.compress(GOOD.encode("utf-16")), "votes.csv.gz"), "UTF-16"),
    "bzip2 called CSV": (_text(bz2.compress(GOOD.encode())), "null bytes|UTF-8"),
    "gzip packed twice": (
        _text(gzip.compress(gzip.compress(GOOD.encode())), "votes.csv.gz"),
        "gzip data",
    ),
    "gzip with a tail": (_text(gzip.compress(GOOD.encode()) + b"tail", "votes.csv.gz"), "damaged"),
    "gzip of nothing": (_text(gzip.compress(b""), "votes.csv.gz"), "is empty"),
    "an empty Parquet": (_text(b"", "votes.parquet"), "is empty"),
    "Feather of the first version": (_text(b"FEA1" * 9, "votes.feather"), "version 1"),
    "an empty Feather": (_text(b"", "votes.feather"), "not in the format"),
    "a database": (_database, "null bytes"),
    "a web page": (_text(f"<!DOCTYPE html>\n<html><p>{SECRET}, sign in</html>\n"), "web page"),
    "JSON": (_text(f'[{{"item": "{SECRET}", "ann": 1}}]'), "JSON"),
    "a spreadsheet's sep line": (_text("sep=;\n" + GOOD.replace(",", ";")), "delete that line"),
    "no header": (_text("\n".join(GOOD_ROWS)), "missing header|no header"),
    "no header, two voters": (
        _text("".join(f"{item},yes,no\n{item}b,no,yes\n" for item in ITEMS)),
        "no header",
    ),
    "no header, numbers": (
        _text("".join(f"{SECRET}{i},{i % 2},{1 - i % 2}\n" for i in range(99))),
        "no header",
    ),
    "a header alone": (_text("item,ann,bob"), "only one line"),
    "blanks": (_text("   \n  \n"), "only one column"),
    "numbers beyond all": (_text(_rows("a,1e400,1,0", "b,0,1,1e400")), "infinite"),
    "words and signs for yes": (_text(_rows("a,true,1,no", "b,FALSE,0,yes")), "two labels"),
    "yes, Yes and YES": (_text(_rows("a,yes,Yes,no", "b,YES,no,No")), "two labels"),
    "Parquet bomb of votes": (_parquet_texts(pa.array(range(MANY)), REPEATED), "200 characters"),
    "Parquet bomb of items": (
        _parquet_texts(REPEATED, pa.array(["yes", "no"] * (MANY // 2))),
        "twice",
    ),
    "Feather bomb": (_feather_bomb, "times its size"),
    "Parquet with columns of one name": (_columns_of_one_name, "two columns of the same name"),
    "Parquet with blank items": (
        _parquet({"item": [" ", *ITEMS[1:]], "ann": ["yes", "no"] * 12}),
        "no name in data row 1",
    ),
    "Parquet with nested items": (
        _parquet({"item": [[item] for item in ITEMS], "ann": ["yes", "no"] * 12}),
        "lists or records",
    ),
    "Parquet of bytes that are no text": (_parquet({"ann": [b"\xff", b"no"] * 12}), "not UTF-8"),
    "a folder of two tables": (
        _folder_of({"ann": ["yes", "no"] * 12}, {"bob": ["yes", "no"] * 12}),
        "different columns",
    ),
    "a folder of two types": (
        _folder_of({"ann": ["yes", "no"] * 12}, {"ann": [1, 0] * 12}),
        "different types",
    ),
    "a folder with an empty file": (_folder_with_an_empty_file, "a.parquet is empty"),
    "no file": (lambda folder: folder / "none.csv", "there is no file"),
}

# name of the case -> the file, which must be read as the votes of GOOD
ACCEPTED: dict[str, Maker] = {
    "plain": _text(GOOD),
    "a first column that can only be the items": _text(GOOD.replace("item", "mrn", 1)),
    "Latin-1": _text(GOOD.replace("ann", "änn", 1).encode("latin-1")),
    "half a letter": _text(GOOD.replace("ann", "\ud800", 1).encode("utf-8", "surrogatepass")),
    "a workbook": _sheet,
    "JSON lines": _json_lines,
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
    "bars": _text(GOOD.replace(",", "|")),
    "commas in a .tsv": _text(GOOD, "votes.tsv"),
    "semicolons beside a quoted comma": _text(
        GOOD.replace(",", ";").replace("ann", '"Smith, Ann"', 1)
    ),
    "two byte order marks": _text(b"\xef\xbb\xbf\xef\xbb\xbf" + GOOD.encode()),
    "gzip in two parts": _text(
        gzip.compress(GOOD[:200].encode()) + gzip.compress(GOOD[200:].encode()), "votes.csv.gz"
    ),
    "names that a report must not run": _text(
        GOOD.replace("ann", "</script><script>alert(1)</script>", 1)
    ),
    "names that a terminal must not obey": _text(GOOD.replace("ann", "\x1b]0;x\x07\x1b[2J", 1)),
    "names that a spreadsheet must not run": _text(GOOD.replace("ann", "=1+1", 1)),
    "names that turn the line": _text(GOOD.replace("ann", "\u202eann\u2066", 1)),
    "names alike but for case": _text(GOOD.replace("bob", "ANN", 1)),
    "names of a hundred thousand letters": _text(GOOD.replace("ann", "a" * 100_000, 1)),
    "Parquet of bytes": _parquet(_by_voter(str.encode)),
    "Parquet of categories": _parquet(_by_voter(lambda vote: vote), dictionary=True),
    "Feather": _feather,
    "repeated votes": _text(LONG + f"{ITEMS[0]},ann,yes\n"),
    "a million characters": _text(GOOD.replace("ann,", f"{'a' * 1_000_000},", 1)),
}
