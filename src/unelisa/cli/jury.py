"""`unelisa jury`: logs of judges in; which system wins and what the judges are worth out."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from unelisa.aggregators import Aggregator
from unelisa.analysis.certified_shares import certify_rates
from unelisa.analysis.certify import BY_HAND
from unelisa.analysis.judged import Judged
from unelisa.analysis.suggestions.advice import find_smaller_panel
from unelisa.cli import options
from unelisa.cli.fitting import LONGEST_FAMILIES, fit_model, tell_worst
from unelisa.cli.leaderboards import describe_means, fill_table, show_without_labels, tabulate_means
from unelisa.cli.screen import (
    busy,
    figure,
    list_names,
    make_table,
    printable,
    tell_end,
    tell_written,
)
from unelisa.errors import ModelError, VotesError
from unelisa.jury import Jury, Logs, read_logs
from unelisa.jury.grades import PASS
from unelisa.jury.panel import (
    compare_with_gold,
    describe_jury,
    find_truth,
    read_gold,
    read_gold_codes,
)
from unelisa.jury.systems import Truth
from unelisa.outputs import make_plain
from unelisa.report.findings import collect_findings
from unelisa.report.page import render_report
from unelisa.report.wording import (
    count_noun,
    show_difference,
    show_labels_needed,
    show_lean,
    show_pass_rate,
    show_rank,
    show_smaller_panel,
    show_verdict,
    show_worth,
)
from unelisa.sources.labels import RANDOM

MOST_PAIRS = 10  # of systems, on the terminal


@options.takes_form
def jury(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    logs: list[Path],
    source: str | None = None,
    cut: float | None = None,
    question: str | None = None,
    judges: str | None = None,
    item: str | None = None,
    judge: str | None = None,
    label: str | None = None,
    score: str | None = None,
    system: str | None = None,
    criterion: str | None = None,
    gold: Path | None = None,
    gold_drawn: str = BY_HAND,
    out: Path | None = None,
    report: Path | None = None,
    show_items: bool = False,
    labels: str | None = None,
    order: str | None = None,
    strict: bool = False,
    jobs: int = -1,
    run: options.RunForm = options.USUAL_RUN,
) -> None:
    """Say which system wins, by how much, and what the panel of judges is worth.

    logs LOGS: Files or folders: Inspect AI (.eval, .json), promptfoo, OpenAI evals, LangSmith,
        Opik, MLflow, Label Studio, Argilla, Prodigy, pairs (as MT-bench), or records (item, judge,
        label) as JSON Lines, CSV, Parquet or Arrow.
    --source NAME: The format, one of argilla, inspect, label-studio, langsmith, long, mlflow,
        openai-evals, opik, pairs, prodigy, promptfoo.
    --cut SCORE: The lowest score that passes; by default no cut.
    --question NAME: Which question to read if annotators answered several; NAME: OPTION asks for
        one of several options.
    --judges A,B: Which judges to read; all by default.
    --item COL: Column of the items.
    --judge COL: Column of the judges.
    --label COL: Column of labels.
    --score COL: Column of scores.
    --system COL: Column of systems.
    --criterion COL: Column of what was asked, where each judge answered several questions.
    --gold gold.csv: Gold labels of some items, a table with columns item and label; instead of
        those in the logs.
    --gold-drawn random|by-hand: How the items with gold labels were chosen; if at random, bounds of
        each system's pass rate are guaranteed, whatever the judges are.
    --out labels.csv: Write every item's label.
    --report page.html: Write a report to read.
    --labels NO,YES: Your own two labels, the negative one first.
    --order A,B,C: All classes in their order, from the lowest to the highest.
    """
    run.check(page=report, tables=(out,), inputs=(*logs, gold))
    coding = options.VotesForm(labels=labels, order=order).choose_coding("auto")
    names = None if judges is None else [name.strip() for name in judges.split(",")]
    columns: Any = dict(item=item, judge=judge, label=label, score=score)  # noqa: C408
    columns |= {"system": system, "criterion": criterion}
    with busy("reading the logs"):
        found = read_logs(
            logs, source=source, cut=cut, question=question, judges=names, coding=coding, **columns
        )
        panel = _read_votes(found)
    if panel is None:
        _refuse_outputs(out, report, gold)
        show_without_labels(found, run)
        return
    model = options.build_method(options.DEFAULT_METHOD, 0, jobs)
    random = gold_drawn == RANDOM
    y = panel.gold or None if gold is None else _read_gold(gold, panel, random)
    check_drawn(gold_drawn, panel, y)
    seconds, notes = fit_model(model, panel, y)
    judged = Judged.of(model, panel)
    how = jobs, show_items, random
    data = _describe(model, judged, panel, y, how) | describe_means(found, cut)
    with busy("writing"), run.files() as files:
        files.write_labels(out, judged)
        if report is not None:
            findings = collect_findings(model, judged, None, seconds, notes, show_items=show_items)
            if findings["prevalence"] is not None:  # the gold labels of systems may correct it
                rate = data["pass_rate"]
                findings["prevalence"] |= {end: rate[end] for end in ("share", "low", "high")}
            named = ", ".join(path.name for path in logs)
            files.write_text(report, render_report({**findings, "jury": data}, judged, named))
        files.write_json(run.json, {"kind": "votes", "source": panel.source, **data})
    screen = run.screen(out)
    show_jury(screen, panel, model, data)
    tell_written(screen, out, report, run.json)
    tell_end(screen, *sum_up(data, report), "judges")
    options.end_strictly(strict, model)


def sum_up(found: dict[str, Any], report: Path | None = None) -> tuple[str, str, str]:
    """Return how far to trust the panel, its worst judges if they are known, and what is next."""
    known = any(row["accuracy"] is not None for row in found["judges"])
    trust, then = "nothing speaks against the panel", ""
    if found["reliable"] is False:
        trust = "not without labels of your own"
        then = "label some items by hand and pass them with --gold gold.csv"
    elif report is None:
        then = "--report jury.html shows systems, judges and items to look at"
    return trust, tell_worst(found["judges"]) if known else "", then


def _refuse_outputs(*given: Path | None) -> None:
    """Raise `ModelError` if anything is given that only votes have."""
    if any(path is not None for path in given):
        raise ModelError(
            "preferences and scores have no labels; omit --out, --report and --gold, or "
            "declare the lowest score that passes with --cut"
        )


def _describe(
    model: Aggregator, judged: Judged, panel: Jury, y: Any, how: tuple[int, bool, bool]
) -> dict[str, Any]:
    jobs, show_items, random = how
    truth, kappas, certified = _use_gold(panel, y, jobs, random=random)
    asked = panel.questions
    data = describe_jury(
        model, judged, panel.systems, questions=asked, truth=truth, show_items=show_items
    )
    with busy("trying smaller panels"):
        data["cheaper_panel"] = _find_cheaper(model, panel, y)
    return data | {
        "failures": panel.failures,
        "checks": panel.checks,
        "notes": [*panel.notes],
        "human_kappa": kappas,
        "certified": certified,
        "n_questions": len(set(asked.values())),
    }


def _read_votes(found: Logs) -> Jury | None:
    """Return the votes; None where the logs hold preferences, or scores on a scale."""
    if found.panel.preferences:
        if found.panel.grades:
            raise ModelError(
                "the logs hold preferences and verdicts; name the judges of one kind (--judges)"
            )
        return None
    try:
        return found.as_jury()
    except VotesError as error:
        if not error.about.get("scores"):
            raise
        return None


def _read_gold(gold: Path, panel: Any, random: bool) -> Any:
    known = read_gold(gold, panel, random=random)
    return options.warn_of_unvoted(known, gold, "are ignored").as_gold()


def check_drawn(gold_drawn: str, panel: Jury, y: Any) -> None:
    """Raise `ModelError` where nothing can be guaranteed of the systems."""
    if gold_drawn not in (RANDOM, BY_HAND):
        raise ModelError(f"--gold-drawn must be random or by-hand, found {gold_drawn[:60]!r}")
    if gold_drawn == RANDOM and (y is None or (panel.n_classes > 2 and not panel.ordered)):
        need = "gold labels: pass them with --gold" if y is None else "a best class: pass --order"
        raise ModelError(f"--gold-drawn random needs {need}")


def _use_gold(
    panel: Jury, y: Any, jobs: int, *, random: bool
) -> tuple[Truth | None, dict[str, Any], list[dict[str, Any]] | None]:
    """Return gold labels beside a model that has not seen them, kappas, and guaranteed bounds."""
    if y is None:
        return None, {}, None
    gold = read_gold_codes(panel, y)
    blind = options.build_method(options.DEFAULT_METHOD, 0, jobs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the model that people see has warned already
        blind.fit(panel)
        truth = find_truth(panel, gold, Judged.of(blind, panel))
    rows = None
    if random:
        groups = panel.systems or dict.fromkeys(panel.items.tolist(), "all items")
        rows = certify_rates(blind, panel, y, groups).reset_index().to_dict("records")
    return truth, compare_with_gold(panel, gold), rows


def _find_cheaper(model: Aggregator, panel: Jury, gold: Any) -> dict[str, Any]:
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
    rate = found["pass_rate"]
    if rate is not None and rate["systems"]:
        screen.print(system_table(rate["systems"]))
        screen.print()
        for line in describe_differences(rate):
            screen.print(line)
    show_certified(screen, found["certified"])
    if "scores" in found:
        screen.print(tabulate_means(found["scores"]))
        screen.print()
    screen.print(printable(show_worth(found), longest=2000), style="bold")
    screen.print(tell_read(panel, found))
    for line in describe_agreement(panel, found):
        screen.print(line)
    for family in found["families"]:
        screen.print(Text("Family: ") + list_names(family, LONGEST_FAMILIES))
    if rate is not None:
        screen.print(Text(show_pass_rate(rate)) + _name_pass(model))
    screen.print()
    screen.print(judge_table(found["judges"]))
    screen.print()
    for line in describe_doubts(found):
        screen.print(line)


def describe_agreement(panel: Jury, found: dict[str, Any]) -> Iterator[Text]:
    """Yield how far the judges agree with each other, and with gold labels if there are any."""
    if found["alpha"] is not None:
        scale = "ordinal" if panel.ordered else "nominal"
        fleiss = figure(found["fleiss_kappa"], ".2f")
        yield Text(
            f"Agreement: Krippendorff's alpha {found['alpha']:.2f} ({scale}), Fleiss' kappa "
            f"{fleiss}."
        )
    if found["human_kappa"]:
        listed = ((name, make_plain(one["kappa"])) for name, one in found["human_kappa"].items())
        told = ", ".join(f"{name[:60]} {figure(kappa, '.2f')}" for name, kappa in listed)
        yield printable(f"Cohen's kappa with the gold labels: {told}.", longest=2000)


def tell_read(panel: Jury, found: dict[str, Any]) -> str:
    """Return what was read, how, and what was counted apart."""
    items, questions = found["n_items"], found["n_questions"]
    told = count_noun(items, "item")
    told += f" on {count_noun(questions, 'question')}" if questions < items else ""
    lines = [f"{told}, read as {panel.source}."]
    lines += [f"{note[:1].upper()}{note[1:]}." for note in panel.notes]
    if panel.failures:
        failed = count_noun(sum(panel.failures.values()), "judgment")
        lines.append(f"{failed} failed and count as abstentions.")
    if panel.checks:
        listed = [f"{x[:40]} {good} of {n}" for x, (good, n) in list(panel.checks.items())[:10]]
        lines.append(f"Checks, which are not judges, passed: {', '.join(listed)}.")
    return " ".join(lines)


def _show_share(row: dict[str, Any], name: str = "share") -> str:
    ends = row["low"], row["high"]
    interval = "" if None in ends else f" ({ends[0]:.1%} to {ends[1]:.1%})"
    return f"{figure(row[name], '.1%')}{interval}"


def _name_pass(model: Aggregator) -> Text:
    label = model.classes_[-1]
    return Text(".") if label == PASS else Text("; to pass means ") + printable(label) + "."


def judge_table(judges: list[dict[str, Any]]) -> Table:
    """Return all judges with verdict, accuracy and leniency, the best first."""
    columns = {"judge": 32, "verdict": "<", "family": 16, "accuracy": ">", "verdicts": ">"}
    rows = [
        [
            printable(row["name"]),
            show_verdict(row["verdict"]),
            printable(row["family"]),
            _show_share(row, "accuracy"),
            figure(row["verdicts"], ",d"),
            show_lean(row["lean"]),
        ]
        for row in judges
    ]
    if not any(row["family"] for row in judges):
        del columns["family"]
        rows = [[*row[:2], *row[3:]] for row in rows]
    return make_table({**columns, "leniency": 0}, rows)


def system_table(systems: list[dict[str, Any]]) -> Table:
    """Return the estimated pass rate of each system, the best first."""
    rows = [
        (row["system"], show_rank(row["rank"]), _show_share(row), figure(row["items"], ",d"))
        for row in systems
    ]
    return fill_table(("system", "rank", "pass rate", "items"), rows)


def show_certified(screen: Console, rows: list[dict[str, Any]] | None) -> None:
    """Print the guaranteed bounds of each system's pass rate, if there are any."""
    if rows is None:
        return
    cells = [
        (row["group"], figure(row["low"], ".1%"), figure(row["high"], ".1%"), str(row["answers"]))
        for row in rows
    ]
    screen.print(fill_table(("system", "at least", "at most", "gold labels"), cells))
    screen.print(
        "With 95% confidence all of these bounds hold, whatever the judges are: gold labels are "
        "those of random items."
    )
    screen.print()


def describe_differences(rate: dict[str, Any]) -> Iterator[Text]:
    """Yield which differences between systems hold, how they were compared, and what is assumed."""
    pairs = rate["differences"]
    for favor in rate["favors"]:
        yield printable(
            f"Judges differ on {favor['system']} beyond what their accuracy explains (p = "
            f"{favor['p_value']:.3f}): {favor['judge']} passes {abs(favor['more']):.0%} more of "
            f"its answers than expected, {favor['strictest']} {abs(favor['less']):.0%} fewer. The "
            "intervals allow for it; gold labels of each system's answers would settle it.",
            longest=400,
        )
    for row in pairs[:MOST_PAIRS]:
        yield printable(f"{show_difference(row)}.", longest=300)
    if len(pairs) > MOST_PAIRS:
        yield Text(f"{len(pairs) - MOST_PAIRS} more pairs are in the report and in --json.")
    if pairs:
        least = min(row["paired"] for row in pairs)
        how = f"question by question, on {count_noun(least, 'question')} or more"
        how = how if least else "apart"
        yield Text(f"All intervals hold together with 95%; systems were compared {how}.")
    if rate["assumption"]:
        yield Text(f"This assumes that {rate['assumption']}.")
    if pairs or rate["assumption"]:
        yield Text()


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
    yield printable(f"{show_smaller_panel(found['cheaper_panel'])}.", longest=2000)
    if found["reliable"] is False:
        yield Text("Do not trust this panel without labels of your own (--gold):", "bold red")
        yield printable(found["reason"], longest=2000) + "."
        yield Text(f"{show_labels_needed(found['labels_needed'])}.")
