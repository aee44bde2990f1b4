"""`unelisa report`: a page on a stored model."""

from pathlib import Path
from typing import Annotated

import typer

from unelisa.cli import options
from unelisa.cli.files import STDOUT, check_outputs, output_files, refuse_stdout
from unelisa.cli.fit import refer_to
from unelisa.cli.predict import ModelFile, read_as_fitted
from unelisa.cli.screen import busy, printable, results
from unelisa.errors import VotesError
from unelisa.report.findings import collect_findings
from unelisa.report.page import render_report, require_jinja
from unelisa.storage import load


def report(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    model: ModelFile,
    votes: Annotated[
        Path | None,
        typer.Argument(
            metavar="VOTES", help="The votes it labels; without them the page tells of voters."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="report.html", help="The page.")] = Path(
        "report.html"
    ),
    truth: options.TruthFileIfAny = None,
    json: options.JsonFile = None,
    show_items: options.ShowItems = False,
    coding: options.Coding = None,
    labels: options.Labels = None,
    item: options.Item = None,
    voter: options.Voter = None,
    vote: options.Vote = None,
) -> None:
    """Write a page on a stored model: who is an expert and why."""
    check_outputs(out, json, inputs=(model, votes, truth))
    refuse_stdout(out)
    require_jinja()
    fitted = load(model)
    form = options.VotesForm(coding, labels, item, voter, vote)
    table = None if votes is None else read_as_fitted(fitted, votes, form)
    if truth is not None and table is None:
        raise VotesError("a truth needs the votes it belongs to; name the file of the votes too")
    known = None if truth is None or table is None else options.read_known(truth, table)
    with busy("writing"), output_files() as files:
        reference = None if known is None else refer_to(known)
        findings = collect_findings(fitted, table, reference=reference, show_items=show_items)
        files.write_text(out, render_report(findings, fitted, table))
        if json is not None:
            files.write_json(json, findings)
    results(quiet=json == STDOUT).print(printable(f"wrote {out}", longest=4096), soft_wrap=True)
