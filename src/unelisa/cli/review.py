"""`unelisa review`: a local page on which people label the items that matter most."""

import getpass
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from unelisa.aggregators import LatentIsing
from unelisa.cli import options
from unelisa.cli.files import is_input
from unelisa.cli.fitting import fit_model
from unelisa.cli.screen import busy, printable, results
from unelisa.errors import ModelError, UnelisaWarning
from unelisa.report.wording import count_noun
from unelisa.review.contents import Contents
from unelisa.review.gold_file import clean_name, open_gold
from unelisa.review.pools import ChartsPool, VotesPool, is_charts
from unelisa.review.server import ReviewServer
from unelisa.review.session import Session
from unelisa.storage import load

AIMS = ("labels", "rate", "certify")


@options.takes_form
def review(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    source: Annotated[
        Path,
        typer.Argument(
            metavar="VOTES|MODEL",
            help="The votes, a model written by `unelisa fit --save` (then the votes follow), or "
            "the charts that `unelisa phenotype --charts` drew.",
        ),
    ],
    votes: Annotated[
        Path | None, typer.Argument(metavar="VOTES", help="The votes, after a model.")
    ] = None,
    gold: Annotated[
        Path,
        typer.Option(
            metavar="gold.csv",
            help="Where the answers go, row by row; a review that was interrupted continues.",
        ),
    ] = Path("gold.csv"),
    items: Annotated[
        Path | None,
        typer.Option(
            metavar="texts.csv",
            help="CSV or Parquet with a column item, and text, image (a file beside the table) or "
            "any other columns to show.",
        ),
    ] = None,
    aim: Annotated[
        str,
        typer.Option(
            metavar="labels|rate|certify",
            help="labels: the most useful items first. rate: a stratified random sample, for how "
            "common each class is. certify: random items among those that can be "
            "certified, for unelisa certify; the page shows how much is certified already.",
        ),
    ] = "labels",
    error: Annotated[
        str,
        typer.Option(metavar="5%", help="With --aim certify, the largest share of wrong labels."),
    ] = "5%",
    confidence: Annotated[
        str, typer.Option(metavar="95%", help="And the chance with which this holds.")
    ] = "95%",
    share: Annotated[
        str | None,
        typer.Option(metavar="50%", help="And the share of the items that is to be certified."),
    ] = None,
    reviewer: Annotated[
        str | None, typer.Option(metavar="NAME", help="Your name in the file; your login if none.")
    ] = None,
    show_votes: Annotated[
        bool, typer.Option("--show-votes", help="Show the votes before the answer, not after it.")
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="Port on 127.0.0.1; 0 is any.")
    ] = 0,
    form: options.VotesForm = options.USUAL_FORM,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    _memory: options.Memory = None,
) -> None:
    """Label the items that matter most on a local page; every answer is on disk at once."""
    if aim not in AIMS:
        raise ModelError(f"--aim must be one of {', '.join(AIMS)}, found {aim[:60]!r}")
    for one in (source, votes, items):
        if one is not None and is_input(gold, one):
            raise ModelError(f"{gold.name} is an input of this command; choose another --gold")
    name = clean_name(_find_login() if reviewer is None else reviewer)
    with warnings.catch_warnings():
        pool = _open_pool(source, votes, form, aim, seed, jobs)
        if aim == "certify":
            if not isinstance(pool, VotesPool):
                raise ModelError("--aim certify is for votes: charts have no labels to certify")
            pool.promise = (
                options.read_share("--error", error),
                options.read_share("--confidence", confidence),
            )
            pool.share = None if share is None else options.read_share("--share", share)
        warnings.simplefilter("ignore", UnelisaWarning)  # said once; the page shows the rest
        with busy("reading the items"):
            contents = Contents(pool.items, items)
        with open_gold(gold, pool.items, pool.classes, pool.header) as file:
            with busy("looking for the items that matter most"):
                session = Session(pool, file, contents, name, show_votes)
            serve(session, port)


def _open_pool(
    source: Path, votes: Path | None, form: options.VotesForm, aim: str, seed: int, jobs: int
) -> Any:
    """Return what can be asked about."""
    if is_charts(source):
        return ChartsPool.read(source, seed)
    if _is_model(source):
        if votes is None:
            raise ModelError("name the votes after the model: a model does not keep them")
        model = load(source)
        options.warn_if_unreliable(model)
        return VotesPool(model, form.read_as_fitted([votes], model), aim, seed)  # type: ignore[arg-type]
    if votes is not None:
        raise ModelError(f"{source.name} is not a model; name the votes alone")
    model, table = LatentIsing(n_jobs=jobs), form.read(source)
    fit_model(model, table)
    return VotesPool(model, table, aim, seed)  # type: ignore[arg-type]


def serve(session: Session, port: int) -> None:
    """Show the address, serve the page until Ctrl-C, and say what the file holds."""
    screen, path = results(), session.gold.path
    try:
        server = ReviewServer(session, port)
    except OSError as error:
        raise ModelError(f"cannot listen on port {port}: {error.strerror}") from None
    screen.print("Open this address in a browser on this machine; it works once:")
    screen.print(server.address, markup=False, soft_wrap=True)
    screen.print("Ctrl-C ends the review; every answer is on disk already.")
    with suppress(KeyboardInterrupt):
        server.run()
    with session.gold.turn():  # others may have answered meanwhile
        told = f"{count_noun(len(session.gold.answers), 'answer')} in {path}"
    screen.print(printable(told, longest=4096), soft_wrap=True)


def _is_model(path: Path) -> bool:
    """Return whether a file is a saved model."""
    if not path.is_file():
        return path.suffix == ".npz"
    with path.open("rb") as file:
        return file.read(4) == b"PK\x03\x04" and path.suffix.lower() not in (".xlsx", ".zip")


def _find_login() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a system without user names
        return "reviewer"
