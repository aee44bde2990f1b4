"""`unelisa certify`: the labels that can be given automatically, with a guarantee."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from unelisa.aggregators import Aggregator
from unelisa.analysis.certified_draws import Plan, draw_gold, plan_certification
from unelisa.analysis.certify import Guarantee, check_labels, read_certificate
from unelisa.analysis.certify import certify as certify_labels
from unelisa.cli import options
from unelisa.cli.files import STDOUT
from unelisa.cli.forms import argument, takes_form
from unelisa.cli.rate import read_sample
from unelisa.cli.screen import busy, make_table, results, tell_written
from unelisa.errors import ModelError, VotesError
from unelisa.sources.labels import CHOSEN, RANDOM, DrawnTable, read_design
from unelisa.storage import MARK, load
from unelisa.votes import Votes

NOT_CERTIFIED = 3
COLUMNS, LABELED = ("item", "label", "probability", "status"), ("item", "label", "status")
COLUMNS_DRAWN = ("item", "label", CHOSEN)
DIGITS = ".6g"
TWICE = 2  # as many items are drawn as the plan expects, in case it is too hopeful


@takes_form
def certify(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    files: Annotated[
        list[Path],
        argument(
            "[MODEL] VOTES",
            "A model written by `unelisa fit --save` and its votes, or only the votes, which "
            "are then fitted. A model that was saved with --keep-votes needs no votes.",
        ),
    ],
    gold: Path | None = None,
    error: options.Error = "5%",
    confidence: options.Confidence = "95%",
    per: str = "file",
    loss: str = "wrong",
    looks: str = "any",
    gold_drawn: str = "random",
    share: str | None = None,
    draw: Path | None = None,
    seed: options.Seed = 0,
    out: Path | None = None,
    certificate: Path | None = None,
    check: Path | None = None,
    require: bool = False,
    form: options.VotesForm = options.USUAL_FORM,
    run: options.RunForm = options.USUAL_RUN,
) -> None:
    """Give the labels that have at most so many errors, guaranteed by random gold.

    No assumption about the voters or the model is needed, only that the items with gold labels were
    drawn at random.

    --gold GOLD: Table with columns item and label: true labels of items drawn at random, which the
        model was not fitted to. Without it, the plan: how many answers certify how much.
    --per file|automatic|class: Share of what: of all certified and gold labels; of the certified
        ones only; or of the labels of each class.
    --loss wrong|far|squared: What counts as an error; of ordered classes also: off by more than one
        class, or the mean squared difference.
    --looks any|once: once: the number of gold labels was decided before the first look.
    --gold-drawn random|by-hand: How the items with gold labels were chosen.
    --share 50%: Plan and draw for so many of the items, those of the surest labels; this takes
        fewer answers than as many as possible.
    --draw gold.csv: Write items drawn at random, whose column label is to be filled in from the
        first row on; the file is then --gold.
    --out labels.csv: Write item, label, probability and status.
    --certificate certificate.json: Write what the guarantee rests on.
    --check certificate.json: Certify nothing: say whether the labels, given as the one argument,
        are those of this certificate.
    --require: Exit with 3 where nothing could be certified.
    """
    if check is not None:
        _check(check, files)
        return
    run.check(certificate, tables=(out, draw), inputs=(*files, gold))
    shares = options.read_share("--error", error), options.read_share("--confidence", confidence)
    model, votes = _open(files, form)
    screen = run.screen(out, draw)
    if gold is None:
        part = None if share is None else options.read_share("--share", share)
        with busy("planning"):
            wanted: Any = {"loss": loss, "share": part}
            plan = plan_certification(model, votes, *shares, looks=looks, **wanted)  # type: ignore[arg-type]
            drawn = draw_gold(model, votes, shares[0], seed=seed, **wanted)
        rows = ((item, "", drawn.design) for item in drawn.items[: TWICE * plan[-1].answers])
        with run.files() as written:
            written.write_csv(draw, COLUMNS_DRAWN, rows)
            written.write_json(run.json, {"plan": [row._asdict() for row in plan]})
        screen.print(plan_table(plan))
        allowed = f"{shares[0]:g}" if loss == "squared" else f"{100 * shares[0]:g}%"
        screen.print(explain_plan(plan, allowed), soft_wrap=True)
        tell_written(screen, draw, run.json)
        return
    known = read_sample(gold, votes, DrawnTable)
    design = read_design(gold) if gold_drawn == RANDOM else gold_drawn
    with busy("certifying"):
        asked: Any = {"per": per, "loss": loss, "looks": looks, "drawn": design}
        found = certify_labels(model, votes, known, *shares, **asked)
    with run.files() as written:
        written.write_csv(out, COLUMNS, list_rows(found))
        written.write_json(run.json, found.certificate)
        if certificate is not None:
            written.write_json(certificate, found.certificate)
    screen.print(f"[bold]{found}[/bold]", soft_wrap=True)
    screen.print(_count(found))
    tell_written(screen, out, certificate, run.json)
    if require and not found.n_certified:
        raise typer.Exit(NOT_CERTIFIED)


def _open(files: Sequence[Path], form: options.VotesForm) -> tuple[Aggregator, Votes]:
    """Return the model and its votes: read, kept in the model's file, or fitted."""
    if files[0] == STDOUT or not _is_model(files[0]):
        votes = form.read(*files)
        model = options.build_method(options.DEFAULT_METHOD, 0, 1)
        with busy("fitting"):
            model.fit(votes)
        return model, votes
    model = load(files[0])
    if len(files) > 1:
        return model, form.read_as_fitted(files[1:], model)
    if not hasattr(model, "_kept_votes"):
        raise VotesError(
            f"{files[0].name} was saved without its votes; name their file after the model, or "
            "save the model with --keep-votes"
        )
    return model, model._recall().votes


def _is_model(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        start = file.read(4096)
        file.seek(max(path.stat().st_size - 128, 0))
        return MARK in start or MARK in file.read()


def list_rows(found: Guarantee) -> Any:
    """Return the rows of the file of labels."""
    table = found.labels
    shown = (format(x, DIGITS) for x in table["probability"])
    return zip(table["item"], table["label"], shown, table["status"], strict=True)


def _count(found: Guarantee) -> str:
    facts = found.certificate
    return (
        f"{facts['n_certified']:,} certified, {facts['n_gold']:,} gold, {facts['n_look']:,} to "
        f"look at; {facts['n_wrong']:,} of {facts['n_drawn']:,} random labels were wrong"
    )


def plan_table(plan: Sequence[Plan]) -> Any:
    """Return how much different numbers of answers would certify."""
    rows = [
        (f"{row.answers:,}", f"{row.certified:.0%}", f"{row.low:.0%} to {row.high:.0%}")
        for row in plan
    ]
    heads = "random answers", "items certified", "if the labels are worse or better"
    return make_table(dict.fromkeys(heads, ">"), rows, 2)


def explain_plan(plan: Sequence[Plan], error: str) -> str:
    """Return the plan in a sentence."""
    last = plan[-1]
    if not last.certified:
        return (
            f"By the model's own probabilities, {last.answers:,} random answers would certify "
            f"nothing at an error of {error}; allow a larger --error."
        )
    return (
        f"About {last.answers:,} random answers would certify {last.certified:.0%} of the items at "
        f"an error of {error} ({last.low:.0%} to {last.high:.0%}), by the model's own "
        "probabilities. Label them with unelisa review --aim certify, or in the file that --draw "
        "writes."
    )


def _check(certificate: Path, files: Sequence[Path]) -> None:
    """Say whether a file of labels is the one that was certified; exit with 3 if not."""
    if len(files) != 1:
        raise ModelError("--check takes one file of labels")
    facts = read_certificate(certificate)
    if check_labels(facts, *_read_labels(files[0])):
        results().print(f"{files[0].name} is the certified file: {facts['guarantee']}")
        return
    results().print(f"{files[0].name} is not the file that was certified: it was changed")
    raise typer.Exit(NOT_CERTIFIED)


def _read_labels(path: Path) -> list[list[str]]:
    """Return the items, labels and statuses in a file of labels."""
    import pandas as pd

    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise VotesError(f"{path.name} cannot be read as a CSV file of labels") from error
    missing = [name for name in LABELED if name not in table]
    if missing:
        raise VotesError(f"{path.name} has no column {missing[0]}")
    return [table[name].tolist() for name in LABELED]
