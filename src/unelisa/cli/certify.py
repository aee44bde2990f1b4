"""`unelisa certify`: the labels that can be given automatically, with a guarantee."""

import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from unelisa.cli import options
from unelisa.cli.rate import read_sample
from unelisa.cli.screen import busy, make_table, results, tell_written
from unelisa.errors import ModelError, VotesError

if TYPE_CHECKING:
    from unelisa.analysis.certified_draws import Drawn, Plan

NOT_CERTIFIED = 3
COLUMNS, LABELED = ("item", "label", "probability", "status"), ("item", "label", "status")
TWICE = 2  # as many items are drawn as the plan expects, in case it is too hopeful


@options.takes_form
def certify(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    files: list[Path],
    gold: Path | None = None,
    error: str = "5%",
    confidence: str = "95%",
    per: str = "file",
    loss: str = "wrong",
    looks: str = "any",
    gold_drawn: str = "random",
    weights: Path | None = None,
    strata: Path | None = None,
    share: str | None = None,
    draw: Path | None = None,
    seed: int = 0,
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

    files [MODEL] VOTES: A model written by `unelisa fit --save` and its votes, or only the votes,
        which are then fitted. A model that was saved with --keep-votes needs no votes.
    --gold GOLD: Table with columns item and label: true labels of items drawn at random, which the
        model was not fitted to. Without it, the plan: how many answers certify how much.
    --per file|automatic|class: Share of what: of all certified and gold labels; of the certified
        ones only; or of the labels of each class.
    --loss wrong|far|squared: What counts as an error; of ordered classes also: off by more than one
        class, or the mean squared difference.
    --looks any|once: once: the number of gold labels was decided before the first look.
    --gold-drawn random|by-hand: How the items with gold labels were chosen.
    --weights weights.csv: Table with columns item and weight, such as a value: shares are then of
        the sum of weights, and items are drawn by weight.
    --strata strata.csv: Table with columns item and stratum, if the chances to be drawn differed:
        they were equal within each stratum.
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
    from unelisa.analysis.certified_draws import draw_gold, plan_certification
    from unelisa.analysis.certify import certify as certify_labels
    from unelisa.cli.fitting import open_model
    from unelisa.sources.labels import RANDOM, DrawnTable, read_design

    if check is not None:
        _check(check, files)
        return
    run.check(certificate, tables=(out, draw), inputs=(*files, gold, weights, strata))
    shares = options.read_promise(error, confidence)
    weighed = weights and read_by_item(weights, "weight", float)
    model, votes = open_model(files[0], files[1:], form, 1)
    if gold is None:
        part = share and options.read_share("--share", share)
        wanted: Any = {"loss": loss, "share": part, "weights": weighed}
        with busy("planning"):
            plan = plan_certification(model, votes, *shares, **(wanted | {"looks": looks}))
            drawn = draw_gold(model, votes, shares[0], seed=seed, **wanted)
        _show_plan(run.screen(draw), plan, shares[0], loss)
        _write_plan(plan, drawn, draw, run)
        return
    known = read_sample(gold, votes, DrawnTable)
    drawn_how: Any = read_design(gold) if gold_drawn == RANDOM else gold_drawn
    asked: Any = {"looks": looks, "per": per, "loss": loss, "drawn": drawn_how}
    asked |= {"weights": weighed, "strata": strata and read_by_item(strata, "stratum", str)}
    with busy("certifying"):
        found = certify_labels(model, votes, known, *shares, **asked)
    facts, table = found.certificate, found.labels.copy()
    table["probability"] = [f"{x:.6g}" for x in table["probability"]]
    with run.files() as written:
        written.write_csv(out, COLUMNS, table[[*COLUMNS]].itertuples(index=False))
        for path in (run.json, certificate):
            written.write_json(path, facts)
    _show_certificate(run.screen(out), facts)
    tell_written(run.screen(out), out, certificate, run.json)
    if require and not found.n_certified:
        raise typer.Exit(NOT_CERTIFIED)


def _show_certificate(screen: Console, facts: dict[str, Any]) -> None:
    screen.print(f"[bold]{facts['guarantee']}[/bold]", soft_wrap=True)
    screen.print(
        f"{facts['n_certified']:,} certified, {facts['n_gold']:,} gold, {facts['n_look']:,} to "
        f"look at; {facts['n_wrong']:,} of {facts['n_drawn']:,} random labels were wrong"
    )


def read_by_item(path: Path, column: str, kind: Callable[[str], Any]) -> dict[str, Any]:
    """Return the values of a column by item, from a CSV file."""
    from unelisa.sources.files import TextTable, check_readable, reading
    from unelisa.sources.labels import list_rows

    check_readable(path)
    with reading(path):
        table = TextTable(path)
        if not {"item", column} <= set(table.header):
            raise VotesError(f"{path.name} must have columns item and {column}")
        rows = list(list_rows(table, ("item", column)))
    found = {}
    for number, (item, text) in enumerate(rows, 2):
        if item in found:
            raise VotesError(f"row {number} of {path.name} names an item again; keep one row each")
        try:
            found[item] = kind(text)
        except ValueError:
            reason = f"the {column} in row {number} of {path.name} is not a number"
            raise VotesError(reason) from None
    return found


def _write_plan(
    plan: "Sequence[Plan]", drawn: "Drawn", draw: Path | None, run: options.RunForm
) -> None:
    """Write the items to be answered, and how many answers certify how much."""
    from unelisa.sources.labels import CHOSEN

    asked_about = drawn.items[: TWICE * plan[-1].answers]
    with run.files() as written:
        rows = ((item, "", drawn.design) for item in asked_about)
        written.write_csv(draw, ("item", "label", CHOSEN), rows)
        written.write_json(run.json, {"plan": [row._asdict() for row in plan]})
    tell_written(run.screen(draw), draw, run.json)


def _show_plan(screen: Console, plan: "Sequence[Plan]", promised: float, loss: str) -> None:
    error = f"{promised:g}" if loss == "squared" else f"{100 * promised:g}%"
    rows = [
        (f"{row.answers:,}", f"{row.certified:.0%}", f"{row.low:.0%} to {row.high:.0%}")
        for row in plan
    ]
    heads = "random answers", "items certified", "if the labels are worse or better"
    screen.print(make_table(dict.fromkeys(heads, ">"), rows, 2))
    last = plan[-1]
    sentence = (
        f"About {last.answers:,} random answers would certify {last.certified:.0%} of the items at "
        f"an error of {error} ({last.low:.0%} to {last.high:.0%}), by the model's own "
        "probabilities. Label them with unelisa review --aim certify, or in the file that --draw "
        "writes."
    )
    if not last.certified:
        sentence = (
            f"By the model's own probabilities, {last.answers:,} random answers would certify "
            f"nothing at an error of {error}; allow a larger --error."
        )
    screen.print(sentence, soft_wrap=True)


def _check(certificate: Path, files: Sequence[Path]) -> None:
    """Say whether a file of labels is the one that was certified; exit with 3 if not."""
    import pandas as pd

    from unelisa.analysis.certify import check_labels, read_certificate

    if len(files) != 1:
        raise ModelError("--check takes one file of labels")
    facts = read_certificate(certificate)
    try:
        table = pd.read_csv(files[0], dtype=str, keep_default_na=False)
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise VotesError(f"{files[0].name} cannot be read as a CSV file of labels") from error
    if missing := [name for name in LABELED if name not in table]:
        raise VotesError(f"{files[0].name} has no column {missing[0]}")
    if not check_labels(facts, *(table[name].tolist() for name in LABELED)):
        results().print(f"{files[0].name} is not the file that was certified: it was changed")
        raise typer.Exit(NOT_CERTIFIED)
    results().print(f"{files[0].name} is the certified file: {facts['guarantee']}")
