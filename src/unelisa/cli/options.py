"""Options that several commands share, each declared once, and what they stand for."""

import csv
import mmap
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import wraps
from inspect import Parameter, cleandoc, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from unelisa.aggregators import METHODS as METHOD_CLASSES
from unelisa.cli.files import STDOUT, OutputFiles, check_outputs, output_files
from unelisa.cli.screen import busy, results
from unelisa.errors import ModelError, VotesError, VotesWarning, warn_user
from unelisa.memory import DEFAULT, VARIABLE, limit_memory, refuse_beyond

if TYPE_CHECKING:
    from rich.console import Console

    from unelisa.aggregators import Aggregator
    from unelisa.sources.labels import KnownLabels
    from unelisa.votes import Votes
    from unelisa.votes.coding import CodingChoice
    from unelisa.votes.frames import ColumnNames

STDIN = STDOUT
NOT_RELIABLE = 3  # the exit code of --strict
DEFAULT_METHOD = "latent-ising"
METHODS = tuple(METHOD_CLASSES)
_OPTION = re.compile(r"(?:(\w+) )?(--[\w/,-]+)(?: (.+?))?: (.*)")
_ARGUMENT = re.compile(r"(\w+) ([A-Z[][A-Z|\]. ]*): (.*)")


def read_options(documented: str) -> tuple[str, dict[str, Any]]:
    """Return the words of a docstring before its options, and the options by parameter.

    An option is a line "--out FILE: words", or "settings --set VALUE: words", or "--seed N 0-9:
    words"; an argument is "votes VOTES: words". A line that ends in a colon begins a panel.
    """
    words: list[str] = []
    entries: list[tuple[str | None, str]] = []
    panel = None
    for line in cleandoc(documented).replace("{METHODS}", ", ".join(METHODS)).splitlines():
        if _OPTION.match(line) or _ARGUMENT.match(line):
            entries.append((panel, line))
        elif entries and line.startswith("    "):
            entries[-1] = (entries[-1][0], f"{entries[-1][1]} {line.strip()}")
        elif line.endswith(":"):
            panel = line[:-1]
        elif line or not entries:
            words.append(line)
    return "\n".join(words).strip(), dict(_read_entry(*entry) for entry in entries)


def _read_entry(panel: str | None, line: str) -> tuple[str, Any]:
    """Return the parameter that a line declares, and what it is to Typer."""
    declared = _ARGUMENT.match(line)
    if declared:
        name, metavar, told = declared.groups()
        return name, typer.Argument(metavar=metavar, help=told)
    declared = _OPTION.match(line)
    name, names, metavar, told = declared.groups()  # type: ignore[union-attr]
    metavar, _, limits = (metavar or "").partition(" ")
    low, high = (int(x) if x else None for x in (limits or "-").split("-"))
    shown: Any = {"metavar": metavar or None, "help": told, "rich_help_panel": panel}
    name = name or re.split("[/,]", names[2:])[0].replace("-", "_")
    return name, typer.Option(*names.split(","), min=low, max=high, **shown)


def _limit_memory(context: typer.Context, size: str | None) -> str | None:
    context.with_resource(limit_memory(size))
    return size


_, _SHARED = read_options(
    f"""
    model MODEL: A model written by `unelisa fit --save`.
    votes VOTES: CSV, CSV.gz, JSON Lines, Excel, Parquet (a file or a folder) or Feather: one row
        per vote (item, voter, vote), or one row per item and one column per voter; - reads CSV from
        stdin. Several files are joined by the names of items and voters.
    --truth TRUTH: Table with columns item and label, in the votes' own labels, for some or all
        items.
    --show-items: Name items in the report: the most uncertain ones, and all in the labels that the
        page can save. Off by default, because items may be patients.
    --keep-votes: Save the votes with the model, so that `update` needs them no more. They name the
        items, which may be patients: off by default.
    --prevalence .05|.02-.1|CLASS=.3: How common the positive class is, a share or a range, if you
        know it: votes do not identify it. CLASS=SHARE names another class; may be repeated.
    --error 5%: The largest share of wrong labels.
    --confidence 95%: The chance with which this holds, at least.
    --wide/--long: One row per item, or one row per vote.
    --json FILE: Write the results as JSON; - is stdout.
    --force: Replace existing files, also those that unelisa did not write.
    How it runs:
    --quiet,-q: Print no results, only warnings.
    --strict: End with exit code 3 where the labels cannot be relied on; all files are written.
    --seed N 0-: Seed of all random numbers.
    --jobs N: Threads; -1 is every core.
    --memory 500MB: How much memory the content of a file may take, {DEFAULT} by default. A larger
        table with one row per item is kept in a temporary file; anything else is refused.
    """
)
_SHARED["memory"].envvar, _SHARED["memory"].callback = VARIABLE, _limit_memory


def takes_form(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command as Typer takes it: each option is a parameter with its help.

    Help texts are in the docstrings of commands and forms, or shared. A form such as `VotesForm`
    becomes its fields, after the command's own options.
    """
    own, forms, shown = signature(command), {}, {}
    text, options = read_options(command.__doc__ or "")
    for name, parameter in own.parameters.items():
        form = parameter.annotation
        if not hasattr(form, "_field_defaults"):
            shown[name] = _declare(name, form, parameter.default, options)
            continue
        forms[name] = form
        _, documented = read_options(form.__doc__)
        for field, usual in form._field_defaults.items():
            if field not in own.parameters:
                shown[field] = _declare(field, form.__annotations__[field], usual, documented)

    @wraps(command)
    def call(**given: Any) -> None:
        fields = given.keys() - own.parameters.keys()
        for name, form in forms.items():
            given[name] = form(**{x: given.pop(x) for x in form._fields if x in fields})
        command(**given)

    call.__doc__ = text
    call.__signature__ = own.replace(parameters=list(shown.values()))  # type: ignore[attr-defined]
    call.__annotations__ = {name: one.annotation for name, one in shown.items()}
    return call


def _declare(name: str, kind: Any, usual: Any, options: dict[str, Any]) -> Parameter:
    found = {**_SHARED, **options}.get(name.lstrip("_"))
    if found is not None and not hasattr(kind, "__metadata__"):
        kind = Annotated[kind, found]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=usual, annotation=kind)


class RunForm(NamedTuple):
    """What every command takes: where its results go, and how much memory it may use."""

    json: Path | None = None
    force: bool = False
    quiet: bool = False
    memory: str | None = None

    def check(
        self,
        *paths: Path | None,
        page: Path | None = None,
        tables: Sequence[Path | None] = (),
        inputs: Sequence[Path | None] = (),
    ) -> None:
        """Refuse, before any long work, what cannot become an output file: see `check_outputs`."""
        check_outputs(page, *paths, tables=tables, json=self.json, inputs=inputs, force=self.force)
        if page is not None:
            from unelisa.report.page import require_jinja

            require_jinja()

    def files(self) -> AbstractContextManager[OutputFiles]:
        """Return the output files, all of which appear or none."""
        return output_files(self.force)

    def screen(self, *tables: Path | None) -> "Console":
        """Return where results are printed, unless stdout is for one of the tables or JSON."""
        return results(quiet=self.quiet or STDOUT in (self.json, *tables))


class VotesForm(NamedTuple):
    """How a table of votes is written: coding, labels or order, and the columns' names.

    How the votes are written:
    --coding auto|pm1|01|snorkel: pm1: -1 no, 0 abstained, 1 yes. 01: 0 no, 1 yes. snorkel: -1
        abstained, 0 no, 1 yes.
    --labels NO,YES: Your own two labels, the negative one first.
    --order A,B,C: All classes in their order, from the lowest to the highest.
    --item COL: Column of the items.
    --voter COL: Column of the voters.
    --vote COL: Column of the votes.
    --voters A,B,C: The only voters to read.
    --drop X,Y: Voters to omit, and columns without votes, such as minutes or comments.
    --duplicates first|last|drop|refuse: Which of different votes of one voter on one item counts,
        in the order of the rows; drop: none of them. By default they are refused.
    --header item,voter,vote: The names of the columns of a text file that has none.
    """

    coding: str | None = None
    labels: str | None = None
    order: str | None = None
    item: str | None = None
    voter: str | None = None
    vote: str | None = None
    voters: str | None = None
    drop: str | None = None
    duplicates: str = "refuse"
    header: str | None = None

    @property
    def columns(self) -> "ColumnNames":
        """Which columns hold what, where they are named."""
        from unelisa.votes.frames import ColumnNames

        voters = None if self.voters is None else split_names(self.voters)
        return ColumnNames(self.item, self.voter, self.vote, voters, split_names(self.drop or ""))

    def read(self, *paths: Path) -> "Votes":
        """Return the votes in a file or in several; - is CSV on stdin."""
        return self._read(paths, self.choose_coding("auto"), self.columns)

    def read_as_fitted(self, paths: Sequence[Path], model: "Aggregator") -> "Votes":
        """Return votes read with the labels and column names that the model was fitted with."""
        coding, named = self.choose_coding(model.coding_), self.columns
        try:
            votes = self._read(paths, coding, named if any(named) else model.columns_)
        except VotesError as error:
            if any(named) or "column" not in error.about:
                raise
            votes = self._read(paths, coding, named)  # this table has other column names
        known = tuple(model.classes_.tolist())
        some = len(known) > 2 and set(votes.classes) <= set(known)  # the model puts them in order
        if tuple(votes.classes) != known and not some:
            raise VotesError("the votes have other labels than those the model was fitted with")
        return votes

    def _read(
        self, paths: Sequence[Path], coding: "CodingChoice", columns: "ColumnNames"
    ) -> "Votes":
        from unelisa.sources.tables import VoteTable, join_tables

        with busy("reading the votes"), spool_stdin(STDIN in paths) as content:
            tables = [
                VoteTable(Path("stdin.csv"), coding, columns, content)
                if path == STDIN
                else VoteTable(path, coding, columns, self._add_header(path))
                for path in paths
            ]
            try:
                return join_tables(tables, self.duplicates)  # type: ignore[arg-type]
            except VotesError as error:
                if "seems to have no header" in error.message:
                    way = "or pass --header item,voter,vote for one row per vote"
                    raise VotesError(f"{error.message}, {way}") from None
                declared = self.labels or self.order
                if declared is None or "label" not in error.about:
                    raise
                # the label itself is not repeated: in a wrong column it is an item's name
                name = f"--{'labels' if self.labels else 'order'} {declared[:80]}"
                sentence = f"{error.message}: it is not in {name}"
                raise VotesError(sentence, *error.hints) from None

    def _add_header(self, path: Path) -> bytes | None:
        """Return the content of a text file below the names of its columns, if they are given."""
        if self.header is None:
            return None
        from unelisa.sources.files import check_readable

        check_readable(path)
        if path.suffix.lower() not in (".csv", ".tsv", ".txt"):
            raise VotesError(f"--header is for text tables (.csv, .tsv, .txt), not for {path.name}")
        refuse_beyond(path.stat().st_size, path.name)
        rows = path.read_bytes()
        first = rows.partition(b"\n")[0]
        mark = next((mark for mark in b",;\t|" if mark in first), ord(","))
        return self.header.encode().replace(b",", bytes([mark])) + b"\n" + rows

    def choose_coding(self, usual: "CodingChoice") -> "CodingChoice":
        """Return the coding that was asked for, or the usual one."""
        if self.order is not None:
            if self.coding is not None or self.labels is not None:
                raise VotesError("--order lists all classes; give it without --coding and --labels")
            from unelisa.votes.coding import declare_order

            return declare_order("auto", _split_labels("--order", self.order, "all classes"))
        if self.labels is None:
            return usual if self.coding is None else self.coding  # type: ignore[return-value]
        if self.coding is not None:
            raise VotesError("give --labels or --coding, not both")
        no, yes = _split_labels("--labels", self.labels, "two labels")
        return no, yes


def _split_labels(name: str, listed: str, wanted: str) -> list[str]:
    found = [label.strip() for label in listed.split(",")]
    if len(found) < 2 or (len(found) > 2 and name == "--labels") or not all(found):
        example = "no,yes" if name == "--labels" else "poor,fair,good"
        raise VotesError(f"{name} takes {wanted}, for example {name} {example}")
    return found


def split_names(listed: str) -> tuple[str, ...]:
    """Return the names in a list with commas; one that has a comma stands in quotes."""
    (names,) = csv.reader([listed], skipinitialspace=True)
    return tuple(name.strip() for name in names if name.strip())


USUAL_FORM = VotesForm()
USUAL_RUN = RunForm()


@contextmanager
def spool_stdin(wanted: bool) -> Iterator[Any]:
    """Give what stdin holds, mapped from a temporary file without a name; None if not wanted."""
    if not wanted:
        yield None
        return
    with tempfile.TemporaryFile() as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        if file.tell() == 0:
            raise VotesError("stdin is empty")
        yield mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def read_known(
    path: Path, votes: "Votes", unvoted: str = "count as items without votes"
) -> "KnownLabels":
    """Return the known labels in a file."""
    from unelisa.sources.labels import read_labels

    with busy("reading the labels"):
        known = read_labels(path, votes)
    return warn_of_unvoted(known, path, unvoted)


def warn_of_unvoted(known: "KnownLabels", path: Path, unvoted: str) -> "KnownLabels":
    """Return known labels; warn of those of items without votes."""
    if strangers := len(known.unvoted_items):
        reason = (
            f"{path.name} labels {strangers:,} items that are not among the votes and {unvoted}"
        )
        warn_user(f"{reason}; compare how items are named", VotesWarning)
    return known


def find_method(name: str) -> str:
    """Return the registered name of a method, given that or its class's name in any case."""
    wanted = re.sub("[-_ ]", "", name.lower())
    for registered, cls in METHOD_CLASSES.items():
        if wanted in (registered.replace("-", ""), cls.lower()):
            return registered
    raise ModelError(f"there is no method {name[:60]!r}; choose {', '.join(METHODS)}")


def find_methods(names: str | None) -> list[str]:
    """Return the registered names of a comma-separated list, each once; all of them for None."""
    if names is None:
        return list(METHODS)
    return list(dict.fromkeys(find_method(name) for name in names.split(",")))


def build_method(
    name: str, seed: int, jobs: int, orient: str | None = None, settings: Sequence[str] = ()
) -> "Aggregator":
    """Return an unfitted method with the options that it has."""
    from unelisa.analysis.comparison import build_aggregator

    method = find_method(name)
    model = build_aggregator(method, random_state=seed, n_jobs=jobs)
    if orient is not None:
        if "orient" not in model.get_params():
            raise ModelError(f"{method} needs no orientation; omit --orient")
        model.set_params(orient=orient)
    for setting in settings:
        model.set_params(**_read_setting(setting, method, list(model.get_params())))
    return model


def _read_setting(setting: str, method: str, known: list[str]) -> dict[str, Any]:
    name, equals, text = (part.strip() for part in setting.partition("="))
    if not equals:
        raise ModelError(f"--set takes name=value, found {setting[:60]!r}")
    if name not in known:
        listed = f"has {', '.join(known)}" if known else "has none"
        raise ModelError(f"{method} has no setting {name[:60]!r}; it {listed}")
    if text.lower() in ("true", "false"):
        return {name: text.lower() == "true"}
    return {name: read_number(text, int, float)}


def read_stated(texts: Sequence[str] | None, model: "Aggregator") -> dict[str, Any]:
    """Return the argument of `fit` for stated prevalences; nothing without any."""
    from unelisa.analysis.rate import takes_prevalence

    if not texts:
        return {}
    if not takes_prevalence(model):
        name = find_method(type(model).__name__)
        raise ModelError(f"{name} takes no prevalence; omit --prevalence")
    parts = [text.rpartition("=") for text in texts]
    named = {label: _read_range(share) for label, _, share in parts}
    if len(named) < len(texts):
        raise ModelError("--prevalence says how common a class is twice; name each class once")
    return {"prevalence": named.pop("") if list(named) == [""] else named}


def _read_range(text: str) -> Any:
    with suppress(ValueError):
        return float(text)
    with suppress(ValueError):
        low, high = text.split("-")
        return float(low), float(high)
    raise ModelError(
        f"--prevalence takes a share such as .05, a range such as .02-.1, or CLASS=.3, found "
        f"{text[:60]!r}"
    )


def read_share(option: str, text: str) -> float:
    """Return a share that is written as .05 or 5%."""
    try:
        number = float(text.strip().removesuffix("%"))
    except ValueError:
        raise ModelError(f"{option} takes a share such as .05 or 5%, found {text[:40]!r}") from None
    return number / 100 if text.strip().endswith("%") else number


def read_promise(error: str, confidence: str) -> tuple[float, float]:
    """Return the shares that --error and --confidence state."""
    return read_share("--error", error), read_share("--confidence", confidence)


def read_number(text: str, *kinds: type[int] | type[float]) -> Any:
    """Return the number that a text spells, or the text itself, which the caller's API checks."""
    for kind in kinds:
        with suppress(ValueError):
            return kind(text)
    return text


def end_strictly(strict: bool, model: Any) -> None:
    """End the command with exit code 3 where that was asked for and the model is not reliable."""
    if strict and not getattr(model, "reliable_", True):
        raise typer.Exit(NOT_RELIABLE)
