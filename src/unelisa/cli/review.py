"""`unelisa review`: a local page on which people label the items that matter most."""

import getpass
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from unelisa.aggregators import LatentIsing
from unelisa.cli import options
from unelisa.cli.files import is_input
from unelisa.cli.fitting import fit_model
from unelisa.cli.forms import argument, option, takes_form
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


@takes_form
def review(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    source: Annotated[
        Path,
        argument(
            "VOTES|MODEL",
            "The votes, a model written by `unelisa fit --save` (then the votes follow), or the "
            "charts that `unelisa phenotype --charts` drew.",
        ),
    ],
    votes: Annotated[Path | None, argument("VOTES", "The votes, after a model.")] = None,
    gold: Path = Path("gold.csv"),
    items: Path | None = None,
    aim: str = "labels",
    error: options.Error = "5%",
    confidence: options.Confidence = "95%",
    share: str | None = None,
    reviewer: str | None = None,
    show_votes: bool = False,
    port: Annotated[int, option("N", "Port on 127.0.0.1; 0 is any.", min=0, max=65535)] = 0,
    form: options.VotesForm = options.USUAL_FORM,
    seed: options.Seed = 0,
    jobs: options.Jobs = -1,
    _memory: options.Memory = None,
) -> None:
    """Label the items that matter most on a local page; every answer is on disk at once.

    --gold gold.csv: Where the answers go, row by row; a review that was interrupted continues.
    --items texts.csv: CSV or Parquet with a column item, and text, image (a file beside the table)
        or any other columns to show.
    --aim labels|rate|certify: labels: the most useful items first. rate: a stratified random
        sample, for how common each class is. certify: random items among those
        that can be certified, for unelisa certify; how much is certified already stands beside
        the items.
    --share 50%: With --aim certify, the share of the items that is to be certified.
    --reviewer NAME: Your name in the file; your login if none.
    --show-votes: Show the votes before the answer, not after it.
    """
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
        answers = f"{count_noun(len(session.gold.answers), 'answer')} in {path}"
    screen.print(printable(answers, longest=4096), soft_wrap=True)


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
