"""What a person sees: results and tables on stdout; progress, warnings and errors on stderr."""

import errno
import json
import shlex
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO, TextIOWrapper
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from unelisa.errors import Hint, UnelisaWarning, join_hints
from unelisa.kernels import compilation
from unelisa.progress import asides, open_console, show_fits_in, strip_controls

if TYPE_CHECKING:
    from rich.status import Status

LONGEST_NAME, LONGEST_REASON, LONGEST_TABLE = 32, 200, 20
# parameters with an option of their own
OPTIONS = ("coding", "item", "voter", "vote", "orient", "source", "cut", "question", "duplicates")
# of a table of voters, as `make_table` takes them
VOTER_COLUMNS: dict[str, Any] = {
    "voter": 24,
    "verdict": "<",
    "family": 16,
    "accuracy": "<",
    "weight": ">",
    "stability": ">",
    "coverage": ">",
    "reason": 0,
}
_COLORS = {"expert": "bold blue", "counted": "blue", "family": "blue", "contrarian": "red"}


def results(quiet: bool = False) -> Console:
    """Return where results go; a quiet console leaves stdout to the program that reads it."""
    return open_console(sys.stdout, quiet)


def program_output() -> TextIO:
    """Return stdout for a program that reads it: UTF-8, and safe names on a terminal."""
    if sys.__stdout__ is None:
        raise OSError(errno.EBADF, "it is closed", "stdout")
    if sys.stdout.isatty():
        return _HarmlessText(sys.stdout)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    return sys.stdout


class _HarmlessText(StringIO):
    """Passes text on to a terminal, without control characters."""

    def __init__(self, terminal: TextIO) -> None:
        super().__init__()
        self._terminal = terminal

    def write(self, text: str) -> int:
        return self._terminal.write("\n".join(map(strip_controls, text.split("\n"))))


def escape_controls(text: str) -> str:
    """Return JSON with its control characters written as escapes; line ends stay."""
    odd = [letter for letter in set(text) if not letter.isprintable() and letter != "\n"]
    return text.translate({ord(letter): json.dumps(letter)[1:-1] for letter in odd})


def complain(sentence: str, kind: str = "Error", style: str = "bold red") -> None:
    """Print an error or a warning: one line, not wrapped, so that a log can be searched for it."""
    asides().print(Text.assemble((f"{kind}: ", style), strip_controls(sentence)), soft_wrap=True)


def spell_hints(issue: Any) -> str:
    """Return the sentence of an error or warning, its hints spelled as options."""
    return join_hints(issue.message, [_spell_option(hint) for hint in issue.hints])


def _spell_option(hint: Hint) -> str:
    value = hint.value
    if isinstance(value, dict):
        return " ".join(f"--{name} {shlex.quote(str(part))}" for name, part in value.items())
    if isinstance(value, list):  # the first may begin with a minus sign
        option = f"--{hint.parameter}={shlex.quote(','.join(map(_quote_comma, value)))}"
    elif isinstance(value, tuple):
        option = f"--labels {','.join(map(str, value))}"
    elif hint.parameter in OPTIONS:
        option = f"--{hint.parameter} {shlex.quote(str(value))}"
    else:
        option = f"--set {hint.parameter}={str(value).lower() if value in (True, False) else value}"
    return f"{option} {hint.when}".rstrip()


def _quote_comma(name: Any) -> str:
    return f'"{name}"' if "," in str(name) else str(name)


@contextmanager
def busy(doing: str) -> Iterator["Status"]:
    """Show what is being done while it lasts; nothing where stderr is not a terminal."""
    with asides().status(f"{doing} ...", spinner="dots") as status:

        def add(percent: int) -> None:
            doing = str(status.status).partition(" ...")[0]
            status.update(f"{doing} ... {percent} %")

        with show_fits_in(add):
            yield status


@contextmanager
def show_warnings() -> Iterator[None]:
    """Show each of the package's warnings once, as one line; leave others to Python."""
    seen: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("always", UnelisaWarning)
        otherwise = warnings.showwarning

        def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
            if not isinstance(message, UnelisaWarning):
                otherwise(message, category, *where, **more)
            elif str(message) not in seen:
                seen.add(str(message))
                complain(spell_hints(message), "Warning", "bold yellow")

        warnings.showwarning = show
        yield


@contextmanager
def announce_compilation() -> Iterator[None]:
    """Say once, on stderr, that kernels are being compiled, which may take half a minute."""
    kept = "once; later runs start at once"
    lost = "in every run, as there is no private folder to cache the result"
    said: list[str] = []

    def announce() -> None:
        from unelisa.kernels.caching import cache_folder

        if not said:
            said.append(f"Compiling the kernels ({kept if cache_folder() else lost}) ...")
            asides().print(said[0], style="dim", soft_wrap=True)

    with compilation.on_compilation(announce):
        yield


def printable(name: object, longest: int = LONGEST_NAME) -> Text:
    """Return a name as text that cannot control the terminal, shortened where it is long."""
    shown = strip_controls(str(name))
    return Text(shown if len(shown) <= longest else f"{shown[: longest - 1]}…")


def tell_written(screen: Console, *paths: Path | None) -> None:
    """Print where the files are."""
    for path in paths:
        if path is not None and str(path) != "-":
            show_path(screen, f"wrote {path}")


def show_path(screen: Console, sentence: str) -> None:
    """Print a sentence with paths, which stay in one line to be copied."""
    screen.print(printable(sentence, longest=4096), soft_wrap=True)


def tell_end(screen: Console, trust: str, worst: str, then: str, who: str = "voters") -> None:
    """Print the three lines that end a fit: how far to trust it, the worst voters, what is next."""
    for what, words in (("Trust", trust), (f"Worst {who}", worst), ("Next", then)):
        if words:
            line = Text.assemble((f"{what}: ", "bold"), strip_controls(words))
            screen.print(line, soft_wrap=True)


def list_names(names: Sequence[object], most: int) -> Text:
    """Return the first names and how many more there are, as the end of a sentence."""
    more = len(names) - most
    shown = Text(", ").join(printable(name) for name in names[:most])
    return shown + (f" and {more} more." if more > 0 else ".")


def make_table(
    columns: Mapping[str, Any], rows: Iterable[Sequence[Any]], space: int = 1, **looks: Any
) -> Table:
    """Return a table for 80 columns: "<" words, ">" figures, "~" figures under a folding title.

    Columns of text fold within a width, or within what is left for 0.
    """
    if "title" in looks:
        looks.update(title_justify="left", title_style="bold")
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, space, 0, 0), **looks)
    for name, kind in columns.items():
        if isinstance(kind, int):
            table.add_column(name, max_width=kind or None, overflow="fold")
        else:
            side: Any = "left" if kind == "<" else "right"
            table.add_column(name, justify=side, no_wrap=kind != "~")
    for row in rows:
        table.add_row(*row)
    return table


def voter_table(voters: Sequence[dict[str, Any]], longest: int = LONGEST_TABLE) -> Table:
    """Return the heaviest voters and the worst ones; a line between them counts the rest."""
    first, rest, worst = _choose_voters(voters, longest)
    shown = [_show_voter(voter) for voter in (*first, *worst)]
    names = [name for name in VOTER_COLUMNS if name in voters[0]]
    if not any(voter.get("family") for voter in voters):
        names = [name for name in names if name != "family"]
    rows: list[list[Any]] = [[row[name] for name in names] for row in shown]
    if rest:
        counts = Counter(_show_voter(voter)["verdict"].plain for voter in rest)
        counted = ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
        between = [Text("...", "dim")] * (len(names) - 1)
        rows.insert(len(first), [*between, Text(f"{len(rest)} more: {counted}", "dim")])
    return make_table({name: VOTER_COLUMNS[name] for name in names}, rows)


def _choose_voters(voters: Sequence[dict[str, Any]], longest: int) -> tuple[list[Any], ...]:
    """Return the voters that come first, those that are counted only, and the worst ones."""
    if len(voters) <= longest:
        return list(voters), [], []
    n_worst = max(1, longest // 4)
    others = list(voters[longest - n_worst :])
    known = [voter for voter in others if voter.get("accuracy") is not None]
    ranked = sorted(known, key=itemgetter("accuracy")) or others[::-1]
    worst = ranked[:n_worst][::-1]
    rest = [voter for voter in others if not any(voter is one for one in worst)]
    return list(voters[: longest - n_worst]), rest, worst


def _show_voter(voter: dict[str, Any]) -> dict[str, Any]:
    from unelisa.report.wording import show_verdict

    verdict, accuracy = show_verdict(voter["verdict"]), voter.get("accuracy")
    low, high = voter.get("accuracy_low"), voter.get("accuracy_high")
    interval = "" if low is None or high is None else f" ({low:.2f}-{high:.2f})"
    weight = figure(voter["weight"], "+.2f")
    return {
        "voter": printable(voter["voter"]),
        "verdict": Text(verdict, _COLORS.get(verdict, "dim")),
        "family": printable(voter.get("family", "")),
        "accuracy": "unknown" if accuracy is None else f"{accuracy:.2f}{interval}",
        "weight": "0.00" if weight in ("+0.00", "-0.00") else weight,
        "stability": f"{voter.get('stability', 0.0):.0%}",
        "coverage": f"{voter.get('coverage', 0.0):.0%}",
        "reason": printable(voter["reason"], longest=LONGEST_REASON),
    }


def reading_table(readings: Sequence[dict[str, Any]], label: Any) -> Table:
    """Return the readings that the votes allow side by side; the first one was taken."""
    share = f"share of {printable(label)}"
    columns = {"reading": "<", "meaning": 0, share: "~", "clusters": "~", "labels that differ": "~"}
    rows = [
        (
            "another" if k else "taken",
            row["structure"],
            figure(row.get("share_yes"), ".1%"),
            figure(row["clusters"], "d"),
            figure(row["differ"], ",d"),
        )
        for k, row in enumerate(readings)
    ]
    return make_table(columns, rows, title="Readings of the votes")


def comparison_table(rows: Sequence[dict[str, Any]], title: str | None = None) -> Table:
    """Return rows of a comparison side by side, the best figure of each column in bold."""
    from unelisa.report import wording

    scores, best = wording.choose_scores(rows), wording.find_best(rows)
    experts = ["experts"] if "n_experts" in rows[0] else []
    columns = {"method": "<", **dict.fromkeys([*scores.values(), *experts, "time"], ">")}
    cells = [
        [
            row["method"],
            *(Text(figure(row[x]), "bold" if row[x] == best.get(x, -1.0) else "") for x in scores),
            *(figure(row["n_experts"], "d") for _ in experts),
            wording.show_seconds(row["seconds"]),
        ]
        for row in rows
    ]
    return make_table(columns, cells, 0, title=title)


def figure(value: float | None, form: str = ".3f") -> str:
    """Return a figure as printed; a dash where it is not defined."""
    return "–" if value is None else f"{value:{form}}"  # noqa: RUF001
