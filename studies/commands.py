"""What the commands of the studies share: their options, their progress, the files they write."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console

from studies.fingerprints import Stamp, is_stale
from studies.markdown import store_tables
from studies.real.sets import find_shared_data
from studies.records import Json, format_archive, list_rows, read_archive
from unelisa.cli.commands import INTERRUPTED
from unelisa.cli.files import STDOUT, check_outputs, make_folder, output_files
from unelisa.cli.screen import complain, results
from unelisa.errors import ModelError
from unelisa.progress import show_progress

_RESUMED = "Where finished work is kept; an interrupted run continues from there."
ResultsFolder = Annotated[Path, typer.Option("--results", metavar="FOLDER", help=_RESUMED)]
JsonFile = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Write the results as JSON; - is stdout."),
]
Stored = Annotated[
    Path | None,
    typer.Option(
        "--from", metavar="JSON", help="Run nothing: show and write what this archive holds."
    ),
]
Docs = Annotated[
    Path | None,
    typer.Option("--out", metavar="FOLDER", help="Write the page there, and add to its archive."),
]
SignedSets = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="One folder per set, with votes.csv and truth.csv, coded -1 and +1; by default the "
        "shared data.",
    ),
]
LabeledSets = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="Sets with other labels, two or more; by default data_k next to the first folder.",
    ),
]


_COMMON: dict[str, Any] = {
    "folder": Annotated[
        Path | None,
        typer.Option("--results", metavar="FOLDER", help=_RESUMED + " [default: results/STUDY]"),
    ],
    "out": Docs,
    "stored": Stored,
    "json": JsonFile,
}
STALE = """
---

**Stale.** Other code than this release's computed some of these numbers; `{again}` computes them
again.
"""


Collect = Callable[[Json | None], Json]  # the archive, added to the stored one


class Study(NamedTuple):
    """A study with one archive, study/NAME.json, and one page."""

    name: str  # of its command
    part: str  # that its archive must have
    keys: tuple[str, ...]  # with which the rows of the archive begin
    render: Callable[[Json], str]  # the page, of the archive
    show: Callable[[Console, Json], None]  # on the screen
    stamps: Mapping[str, Stamp]  # by the part of the archive that has rows: their code
    # the work, of the options of its command; `folder` and `out` are the common ones of that name
    run: Callable[..., Collect] | None = None
    draw: Callable[[Json, Path], None] | None = None  # the images of the page, in a folder
    named: str = "{name}.md"  # the page's name
    again: str = "unelisa reproduce {name} --out docs"  # what computes the rows again

    @property
    def page(self) -> str:
        """The name of the page."""
        return self.named.format(name=self.name)

    @property
    def rerun(self) -> str:
        """The command that computes the rows again."""
        return self.again.format(name=self.name)

    def list_rows(self, archive: Json) -> list[Json]:
        """Return all rows of an archive."""
        return [row for part in self.stamps for row in list_rows(archive, part)]

    def list_stale(self, archive: Json) -> list[Json]:
        """Return the rows of an archive that other code than the present one made."""
        parts = ((list_rows(archive, part), stamp) for part, stamp in self.stamps.items())
        return [row for rows, stamp in parts for row in rows if is_stale(row, stamp)]

    def count_stale(self, archive: Json) -> Json:
        """Return how many rows an archive has, how many are stale, and what runs them again."""
        rows, stale = len(self.list_rows(archive)), len(self.list_stale(archive))
        return {"study": self.name, "rows": rows, "stale": stale, "again": self.rerun}

    def write(self, archive: Json, docs: Path) -> dict[Path, str]:
        """Return the texts of the page and of its long tables, by their places in a folder.

        A note at the end of the page says if some of its numbers are stale.
        """
        note = STALE.format(again=self.rerun) if self.list_stale(archive) else ""
        page, tables = store_tables(self.render(archive) + note, self.name)
        return {docs / self.page: page, **{docs / "study" / x: y for x, y in tables.items()}}


def make_command(study: Study, work: Callable[..., Collect]) -> Callable[..., None]:
    """Return a study's command: the options of its work, and those that all studies have."""
    own = signature(work, eval_str=True).parameters
    common = {name: one for name, one in _COMMON.items() if name in own or name != "folder"}

    def command(**options: Any) -> None:
        if options.get("folder", ...) is None:
            options["folder"] = Path("results") / study.name

        def collect(old: Json | None) -> Json:  # nothing runs before the old archive was read
            return work(**{name: options[name] for name in own})(old)

        run_study(study, collect, options["out"], options["stored"], options["json"])

    kinds = {name: one.annotation for name, one in own.items() if name not in common} | common
    shown = [
        Parameter(
            name,
            Parameter.KEYWORD_ONLY,
            default=own[name].default if name not in common else None,
            annotation=kind,
        )
        for name, kind in kinds.items()
    ]
    command.__dict__["__signature__"] = Signature(shown)
    command.__annotations__ = kinds
    command.__doc__ = work.__doc__
    return command


def run_study(
    study: Study, collect: Collect, out: Path | None, stored: Path | None, json: Path | None
) -> None:
    """Run a study or take its stored archive; write what was asked for, and show it."""
    check_outputs(json=json)
    if stored is None:
        if out is not None:
            make_folder(out)
        archive = collect(read_stored(out, f"{study.name}.json", study.part))
    else:
        archive = read_archive(stored, study.part, f"unelisa reproduce {study.name}")
    if out is not None:
        archived = format_archive(archive, *study.keys)
        texts = study.write(archive, out)
        if study.draw is not None:
            make_folder(out / "images")
            study.draw(archive, out / "images")
        write_texts({**texts, out / "study" / f"{study.name}.json": archived}, json)
    write_json(json, archive)
    study.show(results(quiet=json == STDOUT), archive)


def require_data(data: Path | None, what: str = "sets") -> Path:
    """Return the folder of sets that was named, or that of the shared data."""
    place = find_shared_data() if data is None else data
    if place is None:
        raise ModelError(f"there are no {what} here: name their folder with --data FOLDER")
    return place


def choose(option: str, name: str, choices: Any) -> Any:
    """Return the name if it is one of the choices of an option."""
    if name not in choices:
        raise ModelError(f"{option} must be one of {', '.join(choices)}, found {name[:60]!r}")
    return name


def read_seeds(text: str) -> list[int]:
    """Return the seeds in a list such as 0,1,2 or 0-19.

    Examples
    --------
    >>> read_seeds("7,0-2")
    [7, 0, 1, 2]
    """
    try:
        ends = [part.partition("-") for part in text.split(",")]
        ranges = [range(int(low), int(high or low) + 1) for low, _, high in ends]
        seeds = [seed for numbers in ranges for seed in numbers]
    except ValueError:
        seeds = []
    if not seeds or len(set(seeds)) < len(seeds):
        raise ModelError("--seeds must be distinct nonnegative integers, such as 0,1,2 or 0-19")
    return seeds


@contextmanager
def running(total: int) -> Iterator[Callable[[str, int], None]]:
    """Show progress and the time left; give a function to call as work finishes."""
    try:
        with show_progress("", total) as advance:
            yield lambda doing, count: advance(count, doing)
    except KeyboardInterrupt:
        complain("interrupted: finished work is kept; run the same command again to continue")
        raise typer.Exit(INTERRUPTED) from None


def read_stored(out: Path | None, name: str, part: str, required: bool = False) -> Json | None:
    """Return the archive in an output folder; None if there is none and none is required."""
    if out is None or not (required or (out / "study" / name).exists()):
        return None
    return read_archive(out / "study" / name, part, "unelisa reproduce")


def write_texts(texts: dict[Path, str], json: Path | None) -> None:
    """Write pages and archives together: all of them or none."""
    for path in texts:
        make_folder(path.parent)
    # a study rewrites its own pages, whatever was edited in them
    check_outputs(*texts, json=json, force=True)
    with output_files(force=True) as files:
        for path, text in texts.items():
            files.write_text(path, text)


def write_json(path: Path | None, content: Any) -> None:
    """Write the file of `--json`, if there is one."""
    if path is not None:
        with output_files() as files:
            files.write_json(path, content)


def name_files(paths: Sequence[Path], json: Path | None) -> None:
    """Say which files were written, on the screen and in the file of `--json`."""
    write_json(json, [str(path) for path in paths])
    for path in paths:
        results(quiet=json == STDOUT).print(f"wrote {path}", markup=False, soft_wrap=True)
