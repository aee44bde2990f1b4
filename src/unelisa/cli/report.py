"""`unelisa report`: a page on a saved model."""

from pathlib import Path
from typing import Annotated

from unelisa.analysis.certify import hash_votes, read_certificate
from unelisa.analysis.judged import Judged, Reference
from unelisa.cli import options
from unelisa.cli.forms import argument, takes_form
from unelisa.cli.screen import busy, tell_written
from unelisa.errors import ModelError, VotesError
from unelisa.report.findings import collect_findings, describe_next
from unelisa.report.page import render_report, require_jinja
from unelisa.storage import load


@takes_form
def report(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    model: options.ModelFile,
    votes: Annotated[
        Path | None,
        argument("VOTES", "The votes it labels; without them the page covers the voters."),
    ] = None,
    out: Path = Path("report.html"),
    truth: options.TruthFileIfAny = None,
    certificate: Path | None = None,
    show_items: options.ShowItems = False,
    form: options.VotesForm = options.USUAL_FORM,
    run: options.RunForm = options.USUAL_RUN,
) -> None:
    """Write a report on a saved model: who is an expert and why.

    Column names and coding are those of the fit unless given here.

    --out report.html: The page.
    --certificate certificate.json: Open the page with this guarantee, which `unelisa certify
        --certificate` wrote.
    """
    run.check(out, inputs=(model, votes, truth, certificate))
    require_jinja()
    fitted = load(model)
    for name, path in (("--truth", truth), ("--certificate", certificate)):
        if path is not None and votes is None:
            raise VotesError(f"{name} needs the votes on the same items; name their file too")
    judged = reference = facts = None
    if votes is not None:
        table = form.read_as_fitted([votes], fitted)
        judged = Judged.of(fitted, table)
        if truth is not None:
            known = options.read_known(truth, table)
            reference = Reference.of(fitted, judged, known.scored_signs())
        if certificate is not None:
            facts = read_certificate(certificate)
            if facts.get("votes_sha256") != hash_votes(fitted._reenter(table)):
                raise ModelError(f"{certificate.name} is the certificate of other votes")
    with busy("writing"), run.files() as files:
        findings = collect_findings(fitted, judged, reference, show_items=show_items)
        findings["certificate"] = facts
        more = describe_next(fitted, judged, show_items=show_items)
        files.write_text(out, render_report({**findings, **more}, judged, (votes or model).name))
        files.write_json(run.json, findings)
    tell_written(run.screen(), out)
