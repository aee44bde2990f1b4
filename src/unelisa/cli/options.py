"""Options that several commands share, and the votes they describe."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from unelisa.aggregators import AGGREGATORS
from unelisa.cli.screen import busy
from unelisa.coding import CodingChoice
from unelisa.errors import VotesError
from unelisa.sources.labels import KnownLabels, read_labels
from unelisa.sources.tables import MEMORY, read_votes
from unelisa.votes import Votes

_FORM, _RUN = "How the votes are written", "How it runs"

VotesFile = Annotated[
    Path,
    typer.Argument(
        metavar="VOTES",
        help="CSV, CSV.gz, Parquet (or a folder of it) or Feather: one row per vote (item, voter, "
        "vote), or one row per item and one column per voter.",
    ),
]
Coding = Annotated[
    str | None,
    typer.Option(
        metavar="auto|pm1|01|snorkel",
        help="pm1: -1 no, 0 abstained, 1 yes. 01: 0 no, 1 yes. snorkel: -1 abstained, 0 no, 1 yes.",
        rich_help_panel=_FORM,
        show_default=False,
    ),
]
Labels = Annotated[
    str | None,
    typer.Option(
        metavar="NO,YES",
        help="Your own two labels, the negative one first.",
        rich_help_panel=_FORM,
    ),
]
Item = Annotated[
    str | None, typer.Option(metavar="COL", help="Column of the items.", rich_help_panel=_FORM)
]
Voter = Annotated[
    str | None, typer.Option(metavar="COL", help="Column of the voters.", rich_help_panel=_FORM)
]
Vote = Annotated[
    str | None, typer.Option(metavar="COL", help="Column of the votes.", rich_help_panel=_FORM)
]
_TRUTH = typer.Option(
    metavar="TRUTH",
    help="Table with columns item and label, in the votes' own labels, for some or all items.",
)
TruthFile = Annotated[Path, _TRUTH]
TruthFileIfAny = Annotated[Path | None, _TRUTH]
JsonFile = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Write the results as JSON; - is stdout."),
]
Methods = Annotated[
    str | None,
    typer.Option(metavar="A,B", help=f"All by default; or some of {', '.join(AGGREGATORS)}."),
]
ShowItems = Annotated[
    bool,
    typer.Option(
        "--show-items",
        help="Name items in the report: the most uncertain ones, and all in the labels that the "
        "page can save. Left out by default, because items may be patients.",
    ),
]
Seed = Annotated[
    int,
    typer.Option(min=0, metavar="N", help="Seed of all that is random.", rich_help_panel=_RUN),
]
Jobs = Annotated[
    int, typer.Option(metavar="N", help="Threads; -1 is every core.", rich_help_panel=_RUN)
]

Memory = Annotated[
    str,
    typer.Option(
        metavar="500MB",
        help="A table that would take more memory than this while it is read is kept in a "
        "temporary file instead.",
        rich_help_panel=_RUN,
    ),
]


@dataclass(frozen=True)
class VotesForm:
    """How a table of votes is written: coding or labels, and the columns' names."""

    coding: str | None = None
    labels: str | None = None
    item: str | None = None
    voter: str | None = None
    vote: str | None = None

    def read(self, path: Path, usual: CodingChoice = "auto", memory: str = MEMORY) -> Votes:
        """Return the votes in a file; `usual` is the coding where none was given."""
        with busy("reading the votes"):
            return read_votes(path, self.choose_coding(usual), **self.columns, memory=memory)

    @property
    def columns(self) -> dict[str, str | None]:
        """The columns' names, as `read_votes` takes them."""
        return {"item": self.item, "voter": self.voter, "vote": self.vote}

    def choose_coding(self, usual: CodingChoice) -> CodingChoice:
        """Return the coding that was asked for, or the usual one."""
        if self.labels is None:
            return usual if self.coding is None else self.coding  # type: ignore[return-value]
        if self.coding is not None:
            raise VotesError("give --labels or --coding, not both")
        pair = [label.strip() for label in self.labels.split(",")]
        if len(pair) != 2 or not all(pair):
            raise VotesError("--labels takes two labels, for example --labels no,yes")
        return pair[0], pair[1]


def read_known(path: Path, votes: Votes) -> KnownLabels:
    """Return the known labels in a file, showing that it is being read."""
    with busy("reading the labels"):
        return read_labels(path, votes)
