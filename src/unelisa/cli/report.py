"""`unelisa report`: a page on a saved model."""

from pathlib import Path

from unelisa.cli import options
from unelisa.cli.screen import busy, tell_written
from unelisa.errors import ModelError, VotesError


@options.takes_form
def report(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    model: Path,
    votes: Path | None = None,
    out: Path = Path("report.html"),
    truth: Path | None = None,
    certificate: Path | None = None,
    show_items: bool = False,
    form: options.VotesForm = options.USUAL_FORM,
    run: options.RunForm = options.USUAL_RUN,
) -> None:
    """Write a report on a saved model: who is an expert and why.

    Column names and coding are those of the fit unless given here.

    votes VOTES: The votes it labels; without them the page covers the voters.
    --out report.html: The page.
    --certificate certificate.json: Open the page with this guarantee, which `unelisa certify
        --certificate` wrote.
    """
    from unelisa.analysis.certify import hash_votes, read_certificate
    from unelisa.analysis.judged import Judged, Reference
    from unelisa.cli.fitting import write_report
    from unelisa.report.findings import collect_findings
    from unelisa.storage import load

    run.check(page=out, inputs=(model, votes, truth, certificate))
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
        write_report(files, out, fitted, judged, findings, (votes or model).name)
        files.write_json(run.json, findings)
    tell_written(run.screen(), out)
