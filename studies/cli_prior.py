"""`unelisa reproduce prior`: the numbers of the default, learned from real votes, and a page."""

import warnings
from typing import Annotated

import typer

from studies import screens
from studies.commands import Docs, SignedSets, Stored, Study, require_data, run_study, running
from studies.prior.page import render_prior
from studies.prior.runs import STAMP, TRIED, TRIED_TRUST, read_sets, run_prior
from studies.records import Json
from unelisa.cli import options
from unelisa.errors import UnelisaWarning
from unelisa.kernels.blas import one_blas_thread

STUDY = Study(
    "prior",
    "fitted",
    ("set", "name"),
    render_prior,
    screens.show_prior,
    "prior.md",
    {"sets": STAMP},
)

Trials = Annotated[
    bool, typer.Option("--trials/--no-trials", help="Try other values of every number.")
]
Named = Annotated[str | None, typer.Option("--sets", help="Only these sets, separated by commas.")]


def prior(
    data: SignedSets = None,
    sets: Named = None,
    trials: Trials = True,
    out: Docs = None,
    stored: Stored = None,
    json: options.JsonFile = None,
) -> None:
    """Learn the prior from real votes, leaving one source out at a time."""

    def collect(_: Json | None) -> Json:
        names = None if sets is None else [name.strip() for name in sets.split(",")]
        found = read_sets(require_data(data), names)
        tried = [*map(len, TRIED.values()), *(1 + len(x) for x in TRIED_TRUST.values())]
        with (
            running(len(found) * (2 + sum(tried) * trials)) as advance,
            one_blas_thread(),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore", UnelisaWarning)  # the page shows it
            return run_prior(found, advance, alternatives=trials)

    run_study(STUDY, collect, out, stored, json)
