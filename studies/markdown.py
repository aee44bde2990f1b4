"""How pages are written: tables, shares, blocks of text, and parts between marks."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from unelisa.outputs import whole_file

DASH = "–"  # noqa: RUF001
_SHOWN = "```{{csv-table}}\n:file: {file}\n:header-rows: 1\n```\n\n[As a file]({file})\n"
MOST_CELLS = 30  # of a table that stands on its page; a longer one is data, and stands beside it


def markdown_table(header: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    r"""Return a Markdown table; bars in the text are escaped.

    Examples
    --------
    >>> print(markdown_table(["a", "b"], [["|x|", 1]]))
    | a | b |
    | --- | --- |
    | \|x\| | 1 |
    """
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(
        "| " + " | ".join(str(x).replace("|", "\\|") for x in line) + " |" for line in lines
    )


def share(value: float | None, digits: int = 3) -> str:
    """Return a share without its leading zero; a dash for None.

    Examples
    --------
    >>> share(.5), share(1, 2), share(None)
    ('.500', '1.00', '-')
    """
    return "-" if value is None else f"{value:.{digits}f}".removeprefix("0")


def join_blocks(*blocks: str) -> str:
    """Return headings, paragraphs and tables separated by blank lines; empty ones are left out."""
    return "\n\n".join(block.strip("\n") for block in blocks if block) + "\n"


def store_tables(page: str, name: str, heading: str = "") -> tuple[str, dict[str, str]]:
    """Return a page that shows its long tables from files, and these files: their names and CSV.

    A file is named after the page and the heading above the table.
    """
    blocks: list[str] = []
    files: dict[str, str] = {}
    for block in re.split(r"(^(?:\|.*\n)+)", page, flags=re.MULTILINE):
        found = re.findall(r"^(?:#+ |\*\*)(.+?)(?:\*\*)?$", block, re.MULTILINE)
        heading = found[-1] if found else heading
        rows = [re.split(r"(?<!\\) ?\| ?", line)[1:-1] for line in block.splitlines()]
        if block.startswith("|") and sum(map(len, rows[2:])) > MOST_CELLS:
            title = f"{name}-{'-'.join(re.findall('[a-z0-9]+', heading.lower())[:4])}"
            title += f"-{len(files)}" if f"{title}.csv" in files else ""
            written = io.StringIO()
            table = [[cell.strip().replace("\\|", "|") for cell in row] for row in rows]
            csv.writer(written, lineterminator="\n").writerows([table[0], *table[2:]])
            files[f"{title}.csv"] = written.getvalue()
            blocks.append(_SHOWN.format(file=f"study/{title}.csv"))
        else:
            blocks.append(block)
    return "".join(blocks), files


def has_mark(page: Path, name: str) -> bool:
    """Return whether a page has a place for the named part."""
    return f"<!-- {name} -->\n" in page.read_text(encoding="utf-8")


def fill_marks(page: Path, parts: Mapping[str, str]) -> None:
    """Replace what stands between `<!-- name -->` and `<!-- end name -->`; write long tables."""
    text = page.read_text(encoding="utf-8")
    for name, part in parts.items():
        start, end = f"<!-- {name} -->\n", f"<!-- end {name} -->"
        before, rest = text.split(start)
        shown, tables = store_tables(part + "\n", page.stem, name)
        text = before + start + shown + end + rest.split(end)[1]
        write_tables(page.parent, tables)
    write_page(page, text)


def write_tables(docs: Path, tables: Mapping[str, str]) -> None:
    """Write the long tables of a page beside the archives of the studies."""
    for file, text in tables.items():
        (docs / "study").mkdir(exist_ok=True)
        write_page(docs / "study" / file, text)


def write_page(page: Path, text: str) -> None:
    """Write a page, completely or not at all."""
    with whole_file(page) as draft:
        draft.write_text(text, encoding="utf-8")


def group_by(rows: Iterable[Any], *keys: str) -> dict[tuple[Any, ...], list[Any]]:
    """Return the rows by the values of some of their keys, in order of appearance.

    Examples
    --------
    >>> group_by([{"a": 1, "b": 2}, {"a": 1, "b": 3}], "a")
    {(1,): [{'a': 1, 'b': 2}, {'a': 1, 'b': 3}]}
    """
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return groups
