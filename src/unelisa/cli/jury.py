"""`unelisa jury`: logs of judges in; what the panel is worth and each system's pass rate out."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from unelisa.aggregators import Aggregator
from unelisa.analysis.judged import Judged
from unelisa.analysis.suggestions.smaller import find_smaller_panel
from unelisa.cli import options
from unelisa.cli.files import STDOUT, check_outputs, output_files
from unelisa.cli.fitting import LONGEST_FAMILIES, fit_model, tell_worst
from unelisa.cli.screen import (
    bare_table,
    busy,
    figure,
    printable,
    results,
    tell_end,
    tell_written,
)
from unelisa.jury import SOURCES, Jury, read_jury
from unelisa.jury.gold import read_gold
from unelisa.jury.grades import PASS
from unelisa.jury.panel import describe_jury
from unelisa.report.findings import collect_findings
from unelisa.report.labels import label_columns, label_rows
from unelisa.report.page import render_report, require_jinja
from unelisa.report.wording import (
    count_noun,
    show_lean,
    show_rank,
    show_verdict,
    tell_difference,
    tell_labels_needed,
    tell_smaller_panel,
)

MOST_PAIRS = 10  # of systems, on the terminal


def jury(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    logs: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOGS...",
            help="Files or folders: Inspect AI (.eval, .json), promptfoo, OpenAI evals, LangSmith, "
            "Opik, Label Studio, Argilla, Prodigy, or records (item, judge, label) as JSON Lines, "
            "CSV, Parquet or Arrow.",
        ),
    ],
    source: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"The format, one of {', '.join(SOURCES)}."),
    ] = None,
    cut: Annotated[
        float | None,
        typer.Option(metavar="SCORE", help="The lowest score that passes; else only 0 and 1."),
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which question to read if annotators answered several."),
    ] = None,
    gold: Annotated[
        Path | None,
        typer.Option(
            metavar="gold.csv",
            help="Gold labels of some items, a table with columns item and label; instead of those "
            "in the logs.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="labels.csv", help="Write every item's label.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(metavar="page.html", help="Write a report to read.")
    ] = None,
    json: options.JsonFile = None,
    show_items: options.ShowItems = False,
    labels: options.Labels = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    strict: options.Strict = False,
    jobs: options.Jobs = -1,
    _memory: options.Memory = None,
) -> None:
    """Say what a panel of judges is worth, and how many items of each system under test pass."""
    check_outputs(report, tables=(out,), json=json, inputs=(*logs, gold), force=force)
    if report is not None:
        require_jinja()
    coding = options.VotesForm(None, labels, None, None, None, None).choose_coding("auto")
    with busy("reading the logs"):
        panel = read_jury(logs, source=source, cut=cut, question=question, coding=coding)
    model = options.build_method(options.DEFAULT_METHOD, 0, jobs)
    y = panel.gold or None if gold is None else read_gold(gold, panel).as_gold()
    seconds, notes = fit_model(model, panel, y)
    judged = Judged.of(model, panel)
    found = describe_jury(model, judged, panel.systems, show_items=show_items)
    with busy("trying smaller panels"):
        found["cheaper_panel"] = _find_cheaper(model, panel, y)
    with busy("writing"), output_files(force) as files:
        files.write_csv(out, label_columns(judged), label_rows(judged))
        if report is not None:
            findings = collect_findings(model, judged, None, seconds, notes, show_items=show_items)
            named = ", ".join(path.name for path in logs)
            files.write_text(report, render_report({**findings, "jury": found}, judged, named))
        files.write_json(json, {"source": panel.source, **found})
    screen = results(quiet=quiet or STDOUT in (out, json))
    show_jury(screen, panel, model, found)
    tell_written(screen, out, report, json)
    tell_end(screen, *sum_up(found))
    options.end_strictly(strict, model)


def sum_up(found: dict[str, Any]) -> tuple[str, str, str]:
    """Return how far to trust the panel, its worst judges, and what is next."""
    if found["reliable"] is False:
        return (
            "not without labels of your own",
            tell_worst(found["judges"]),
            ("label some items by hand and pass them with --gold gold.csv"),
        )
    worth = f"{found['n_judges']} judges worth {figure(found['effective_judges'], '.1f')}"
    return (
        f"nothing speaks against the panel, {worth}",
        tell_worst(found["judges"]),
        ("--report jury.html shows systems, judges and items to look at"),
    )


def _find_cheaper(model: Aggregator, panel: Jury, gold: Any) -> dict[str, Any]:
    """Return which judges can be dropped, as data that JSON can hold."""
    found = find_smaller_panel(model, panel, gold)
    return {
        "drop": [str(name) for name in found.dropped],
        "keep": [str(name) for name in found.kept],
        "labels_kept": found.labels_kept,
        "accuracy_change": found.accuracy_change,
        "items": found.items,
    }


def show_jury(screen: Console, panel: Jury, model: Aggregator, found: dict[str, Any]) -> None:
    """Print the answer, the judges, the systems and when not to trust the panel."""
    items, judges = count_noun(found["n_items"], "item"), count_noun(found["n_judges"], "judge")
    worth = figure(found["effective_judges"], ".1f")
    screen.print(f"{judges} worth {worth} equally good independent ones.", style="bold")
    screen.print(f"{items}, read as {panel.source}.")
    for family in found["families"]:
        names = Text(", ").join(printable(name) for name in family[:LONGEST_FAMILIES])
        more = len(family) - LONGEST_FAMILIES
        screen.print(Text("Family: ") + names + (f" and {more} more." if more > 0 else "."))
    if (rate := found["pass_rate"]) is not None:
        screen.print(Text(f"Estimated pass rate {_show_share(rate)}") + _name_pass(model))
    screen.print()
    screen.print(judge_table(found["judges"]))
    screen.print()
    if rate is not None and rate["systems"]:
        screen.print(system_table(rate["systems"]))
        screen.print()
        for line in describe_differences(rate["differences"]):
            screen.print(line)
    for line in describe_doubts(found):
        screen.print(line)


def _show_share(row: dict[str, Any], name: str = "share") -> str:
    """Return a share with its interval, where there is one."""
    ends = row["low"], row["high"]
    interval = "" if None in ends else f" ({ends[0]:.1%} to {ends[1]:.1%})"
    return f"{figure(row[name], '.1%')}{interval}"


def _name_pass(model: Aggregator) -> Text:
    label = model.classes_[-1]
    return Text(".") if label == PASS else Text("; to pass means ") + printable(label) + "."


def judge_table(judges: list[dict[str, Any]]) -> Table:
    """Return all judges with verdict, accuracy and lean, the best first."""
    table = bare_table(1)
    table.add_column("judge", max_width=32, overflow="fold")
    table.add_column("verdict", no_wrap=True)
    related = any(row["family"] for row in judges)
    if related:
        table.add_column("family", max_width=16, overflow="fold")
    for name in ("accuracy", "verdicts"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("lean", overflow="fold")
    for row in judges:
        kin = [printable(row["family"])] if related else []
        counts = _show_share(row, "accuracy"), figure(row["verdicts"], ",d")
        verdict = show_verdict(row["verdict"])
        table.add_row(printable(row["name"]), verdict, *kin, *counts, show_lean(row["lean"]))
    return table


def system_table(systems: list[dict[str, Any]]) -> Table:
    """Return the estimated pass rate of each system, the best first."""
    table = bare_table(1)
    table.add_column("system", max_width=40, overflow="fold")
    for name in ("rank", "pass rate", "items"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in systems:
        figures = show_rank(row["rank"]), _show_share(row), figure(row["items"], ",d")
        table.add_row(printable(row["system"], 80), *figures)
    return table


def describe_differences(pairs: list[dict[str, Any]]) -> Iterator[Text]:
    """Yield which differences between systems hold, and how they were compared."""
    if not pairs:
        return
    for row in pairs[:MOST_PAIRS]:
        yield printable(f"{tell_difference(row)}.", longest=300)
    if len(pairs) > MOST_PAIRS:
        yield Text(f"{len(pairs) - MOST_PAIRS} more pairs are in the report and in --json.")
    paired = min(row["paired"] for row in pairs)
    how = (
        f"question by question, on {count_noun(paired, 'question')} or more" if paired else "apart"
    )
    yield Text(f"All intervals hold together with 95%; systems were compared {how}.\n")


def describe_doubts(found: dict[str, Any]) -> Iterator[Text]:
    """Yield on how many items the judges disagree, which ones, and when not to trust the panel."""
    divided = found["disagreement"]
    listed = "." if divided["most"] is not None else "; --show-items names those worth a look."
    yield Text(f"The judges disagree on {count_noun(divided['items'], 'item')}") + (
        f" ({divided['share']:.1%}){listed}"
    )
    for row in divided["most"] or ():
        told = f": {row['against']} of {row['judges']} judges against the others; label "
        sure = "" if row["probability"] is None else f" ({row['probability']:.0%})"
        yield Text("  ") + printable(row["item"]) + told + printable(row["label"]) + sure
    yield printable(f"{tell_smaller_panel(found['cheaper_panel'])}.", longest=2000)
    if found["reliable"] is False:
        yield Text("Do not trust this panel without labels of your own (--gold):", "bold red")
        yield printable(found["reason"], longest=2000) + "."
        yield Text(f"{tell_labels_needed(found['labels_needed'])}.")
