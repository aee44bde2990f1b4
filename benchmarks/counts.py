"""Prints how large the house is and how long the way of a fit: `make counts`.

The columns of the six codebases and of earlier releases were counted in the same way, once, and
are stored here; the last column is counted now.
"""

import ast
import re
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parent.parent
ROWS = (
    "source files",
    "source lines",
    "import lines",
    "body, median",
    "body, 90th percentile",
    "modules a fit passes",
    "test files",
    "test lines",
    "words of documents",
)
# six codebases to learn from, counted by hand in 2026 (a body is a function's without its words),
# and unelisa before its rooms were merged, which held the studies too; None was not counted
STORED: dict[str, tuple[int | None, ...]] = {
    "skglm": (39, 9841, None, 5, 19, 8, None, None, None),
    "httpx": (23, 8827, None, 6, 31, 9, None, None, None),
    "snorkel": (82, 7810, None, 8, 32, 6, None, None, None),
    "crowd-kit": (47, 6761, None, 9, 35, 3, None, None, None),
    "blackjax": (110, 35618, None, 13, 57, 5, None, None, None),
    "numbagg": (9, 3360, None, 15, 46, 2, None, None, None),
    "unelisa 0.1, with studies": (262, 42758, 2965, 5, 16, 46, 380, 40641, 93000),
}


def list_files(folder: str, ending: str = ".py") -> list[Path]:
    """Return the files of a folder that somebody wrote, in order."""
    return sorted(
        path
        for path in (ROOT / folder).rglob(f"*{ending}")
        if not {"_build", "vendor", "generated", "auto_examples"} & set(path.parts)
    )


def count_lines(paths: list[Path]) -> int:
    """Return the number of lines of all files together."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def measure_bodies(paths: list[Path]) -> list[int]:
    """Return the length of every function's body, without its docstring."""
    return sorted(length for path in paths for length in _list_bodies(path))


def _list_bodies(path: Path) -> Iterator[int]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            has_words = ast.get_docstring(node) is not None and len(node.body) > 1
            body = node.body[1:] if has_words else node.body
            yield (body[-1].end_lineno or 0) - body[0].lineno + 1


def count_words() -> int:
    """Return the number of words of README, CONTRIBUTING, SECURITY, the changelog and docs/."""
    pages = [*ROOT.glob("*.md"), *list_files("docs", ".md")]
    return sum(len(page.read_text(encoding="utf-8").split()) for page in pages)


def list_passed_modules(run: Any) -> list[str]:
    """Return the modules of unelisa of which a function is called while `run` runs."""
    passed: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        # the code that a module runs when it is imported is not a call of one of its functions
        if event == "call" and frame.f_code.co_name != "<module>":
            passed.add(str(frame.f_globals.get("__name__")))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(before)
    return sorted(name for name in passed if name.partition(".")[0] == "unelisa")


def list_modules_of_a_fit() -> list[str]:
    """Return the modules that a fit of the default passes, on a crowd of two classes."""
    import numpy as np  # noqa: PLC0415

    import unelisa as ue  # noqa: PLC0415

    rng = np.random.default_rng(0)
    truth = rng.random(250) < 0.5
    right = rng.random((250, 5)) < (0.9, 0.8, 0.75, 0.7, 0.6)
    said = np.where(right, truth[:, None], ~truth[:, None]).astype(np.int8) * 2 - 1
    said[rng.random(said.shape) < 0.2] = 0
    votes = ue.Votes.of(said, coding="pm1")
    ue.LatentIsing().fit(votes)  # modules are imported by now
    return list_passed_modules(lambda: ue.LatentIsing().fit(votes))


def count_now() -> tuple[int, ...]:
    """Return the figures of this tree, in the order of ROWS."""
    sources, tests = list_files("src"), list_files("tests")
    imports = sum(
        len(re.findall(r"^ *(?:from \S+ import|import) ", path.read_text(encoding="utf-8"), re.M))
        for path in sources
    )
    bodies = measure_bodies(sources)
    return (
        len(sources),
        count_lines(sources),
        imports,
        round(statistics.median(bodies)),
        bodies[int(0.9 * len(bodies))],
        len(list_modules_of_a_fit()),
        len(tests),
        count_lines(tests),
        count_words(),
    )


def main() -> None:
    """Print the table, and where a fit goes."""
    columns = {**STORED, "unelisa now": count_now()}
    print(f"| | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for k, row in enumerate(ROWS):
        cells = ["" if one[k] is None else f"{one[k]:,}" for one in columns.values()]
        print(f"| {row} | {' | '.join(cells)} |")
    print("\nA fit passes", ", ".join(list_modules_of_a_fit()))


if __name__ == "__main__":
    main()
