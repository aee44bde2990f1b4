"""Pages whose tables are made by commands: each stands between two marks of its name."""

from pathlib import Path


def table(rows: list[list]) -> str:
    """Rows as a table of Markdown, the first one its head."""
    head, *body = ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body])


def fill_marks(page: Path, parts: dict[str, str]) -> None:
    """Put each part between `<!-- name -->` and `<!-- end name -->`, in its older self's place."""
    text = page.read_text(encoding="utf-8")
    for name, part in parts.items():
        start, end = f"<!-- {name} -->\n", f"<!-- end {name} -->"
        before, rest = text.split(start)
        text = before + start + part + "\n" + end + rest.split(end)[1]
    page.write_text(text, encoding="utf-8")
    print(f"written: {page}")
