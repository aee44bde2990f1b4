"""`unelisa review`: a local page on which people label the items that matter most."""

import getpass
import warnings
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unelisa.cli import options
from unelisa.cli.files import is_input, is_model
from unelisa.cli.screen import busy, results, show_path
from unelisa.errors import ModelError, UnelisaWarning, warn_if_unreliable
from unelisa.report.wording import count_noun

if TYPE_CHECKING:
    from unelisa.review.pools import ChartsPool, VotesPool
    from unelisa.review.session import Session

AIMS = ("labels", "rate", "certify")


@options.takes_form
def review(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    source: Path,
    votes: Path | None = None,
    gold: Path = Path("gold.csv"),
    items: Path | None = None,
    aim: str = "labels",
    error: str = "5%",
    confidence: str = "95%",
    share: str | None = None,
    loss: str = "wrong",
    per: str = "file",
    weights: Path | None = None,
    reviewer: str | None = None,
    show_votes: bool = False,
    port: int = 0,
    form: options.VotesForm = options.USUAL_FORM,
    seed: int = 0,
    jobs: int = -1,
    _memory: str | None = None,
) -> None:
    """Label the items that matter most on a local page; every answer is on disk at once.

    source VOTES|MODEL: The votes, a model written by `unelisa fit --save` (then the votes follow),
        or the charts that `unelisa phenotype --charts` drew.
    votes VOTES: The votes, after a model.
    --gold gold.csv: Where the answers go, row by row; a review that was interrupted continues.
    --items texts.csv: CSV or Parquet with a column item, and text, image (a file beside the table)
        or any other columns to show.
    --aim labels|rate|certify: labels: the most useful items first. rate: a stratified random
        sample, for how common each class is. certify: random items among those that can be
        certified, for unelisa certify; how much is certified already stands beside the items.
    --share 50%: With --aim certify, the share of the items that is to be certified.
    --loss wrong|far|squared: With --aim certify, what counts as an error, as in unelisa certify.
    --per file|automatic|class: With --aim certify, the share of what.
    --weights weights.csv: With --aim certify, a table with columns item and weight.
    --reviewer NAME: Your name in the file; your login if none.
    --show-votes: Show the votes before the answer, not after it.
    --port N 0-65535: Port on 127.0.0.1; 0 is any.
    """
    from unelisa.analysis.certified_draws import check_choice
    from unelisa.analysis.certified_sets import Per
    from unelisa.cli.certify import read_by_item
    from unelisa.review.contents import Contents
    from unelisa.review.gold_file import clean_name, open_gold
    from unelisa.review.pools import VotesPool
    from unelisa.review.session import Session

    if aim not in AIMS:
        raise ModelError(f"--aim must be one of {', '.join(AIMS)}, found {aim[:60]!r}")
    for one in (source, votes, items, weights):
        if one is not None and is_input(gold, one):
            raise ModelError(f"{gold.name} is an input of this command; choose another --gold")
    if reviewer is None:
        reviewer = "reviewer"
        with suppress(OSError, KeyError, ImportError):  # a system without user names
            reviewer = getpass.getuser()
    name = clean_name(reviewer)
    with warnings.catch_warnings():
        pool: Any = _open_pool(source, votes, form, aim, seed, jobs)
        if aim == "certify":
            if not isinstance(pool, VotesPool):
                raise ModelError("--aim certify is for votes: charts have no labels to certify")
            pool.promise = options.read_promise(error, confidence)
            pool.share = None if share is None else options.read_share("--share", share)
            check_choice("per", per, Per)
            pool.loss, pool.per = loss, per
            pool.weights = weights and read_by_item(weights, "weight", float)
            with busy("drawing items"):
                _ = pool.drawn  # refuses what cannot be drawn, before there is a file
        warnings.simplefilter("ignore", UnelisaWarning)  # said once; the page shows the rest
        with busy("reading the items"):
            contents = Contents(pool.items, items)
        with open_gold(gold, pool.items, pool.classes, pool.header) as file:
            with busy("looking for the items that matter most"):
                session = Session(pool, file, contents, name, show_votes)
            serve(session, port)


def _open_pool(
    source: Path, votes: Path | None, form: options.VotesForm, aim: Any, seed: int, jobs: int
) -> "ChartsPool | VotesPool":
    from unelisa.cli.fitting import open_model
    from unelisa.review.pools import ChartsPool, VotesPool, is_charts

    if is_charts(source):
        return ChartsPool.read(source, seed)
    if votes is not None and not is_model(source):
        raise ModelError(f"{source.name} is not a model; name the votes alone")
    model, table = open_model(source, [] if votes is None else [votes], form, jobs)
    if is_model(source):
        warn_if_unreliable(model)
    return VotesPool(model, table, aim, seed)


def serve(session: "Session", port: int) -> None:
    """Show the address, serve the page until Ctrl-C, and say what the file holds."""
    from unelisa.review.server import ReviewServer

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
        show_path(screen, f"{count_noun(len(session.gold.answers), 'answer')} in {path}")
