"""`unelisa phenotype`: who has a disease, from a database of health records."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from unelisa.cli import options
from unelisa.cli.phenotype_cases import find_cases, load_kept
from unelisa.cli.phenotype_config import read_config
from unelisa.cli.phenotype_reviews import read_charts, read_drawn, read_reviews
from unelisa.cli.screen import figure, make_table, printable, tell_end, tell_written
from unelisa.ehr.omop.cohort import COLUMNS, check_cohort, write_cohort
from unelisa.ehr.omop.database import is_server, open_database
from unelisa.errors import ModelError
from unelisa.report.health import render_phenotype
from unelisa.storage import save as save_model

LONGEST_TABLE = 15
COLUMNS_OF_LABELS = ("person_id", "label", "probability", "note")
COLUMNS_OF_CHARTS = ("person_id", "label", "probability", "drawn")


@options.takes_form
def phenotype(  # noqa: PLR0913, PLR0917 - a command's parameters are its options
    database: str,
    config: Path,
    out: Path | None = None,
    report: Path | None = None,
    cohort: Path | None = None,
    insert: bool = False,
    gold: Path | None = None,
    reviews: Path | None = None,
    save: Path | None = None,
    model: Path | None = None,
    charts: int | None = None,
    charts_out: Path = Path("charts.csv"),
    certify: Path | None = None,
    error: str = "10%",
    strict: bool = False,
    run: options.RunForm = options.USUAL_RUN,
) -> None:
    """Count in an OMOP database, learn a disease from its anchors, and label every patient.

    database DATABASE: OMOP tables: a DuckDB file, a folder of Parquet or CSV files, or
        postgresql://user@host/name.
    --config ra.toml: What to count, and the anchors.
    --out phenotype.csv: Write person_id, label, probability and note.
    --report report.html: Write a report, which names no patient.
    --cohort cohort.csv: Write the cases as OMOP cohort rows.
    insert --insert-cohort: Insert the cases into the database's cohort table.
    --gold FILE: Table of reviewed charts: person_id and label, for some patients.
    --reviews FILE: Table of reviews by several readers, such as LLMs: person_id, reviewer, isCase,
        and drawn, as --charts wrote it.
    --save MODEL: Save the fitted model to a file.
    --model MODEL: Label with a saved model instead of fitting one.
    --charts N 10-: Draw N charts worth reviewing.
    --charts-out charts.csv: Where to write them; fill in the labels (0 or 1) and pass the file as
        --gold.
    --certify charts.csv: Reviewed charts that --charts drew with this --model: without any
        assumption, at most --error of the cohort are not cases, with 95% confidence.
    --error 10%: The largest share of the certified cohort that are not cases; 10% is a PPV of 90%.
    """
    drawn = None if charts is None else charts_out
    inputs = (config, gold, reviews, model, certify, *list_database(database))
    run.check(save, page=report, tables=(out, cohort, drawn), inputs=inputs)
    _check_model(model, certify, (gold, reviews, save))
    wanted, limit = read_config(config), options.read_share("--error", error)
    reviewed = None if gold is None else read_charts(gold)
    reviewed = reviewed if reviews is None else read_reviews(reviews, reviewed)
    kept, wanted = load_kept(model, wanted)
    if insert:  # before counting, which may take long
        with open_database(database, read_only=False) as connection:
            check_cohort(connection, wanted.cohort, *wanted.schemas[2:])
    found = find_cases(database, wanted, kept, reviewed, dated=cohort is not None or insert)
    found = found if certify is None else found.certify(read_drawn(certify), limit)
    with run.files() as files:
        files.write_csv(out, COLUMNS_OF_LABELS, found.labels)
        if cohort is not None:
            files.write_csv(cohort, COLUMNS, found.cohort.itertuples(index=False))
        files.write_csv(drawn, COLUMNS_OF_CHARTS, found.draw(charts or 0, wanted.seed))
        if report is not None:
            files.write_text(report, render_phenotype(found.facts))
        if save is not None:
            save_model(found.model, files.draft(save))
        files.write_json(run.json, found.facts)
        if insert:
            with open_database(database, read_only=False) as connection:
                write_cohort(connection, found.cohort, *wanted.schemas[2:])
    screen = run.screen(out)
    show_phenotype(screen, found.facts)
    tell_written(screen, out, report, cohort, drawn, save, run.json)
    sure = "nothing was found that speaks against the phenotype"
    doubt = "this phenotype cannot be relied on, see the warnings"
    then = _say_next(drawn, model is not None, reviewed is not None or certify is not None)
    tell_end(screen, sure if found.model.reliable_ else doubt, "", then)
    options.end_strictly(strict, found.model)


def _check_model(model: Path | None, certify: Path | None, of_fit: tuple[Path | None, ...]) -> None:
    """Raise `ModelError` where a saved model is missing, or given beside what a fit takes."""
    if certify is not None and model is None:
        raise ModelError("--certify needs --model: charts were drawn with a saved model")
    if model is not None and any(path is not None for path in of_fit):
        raise ModelError("--gold, --reviews and --save apply to a fit; omit them with --model")


def _say_next(drawn: Path | None, kept: bool, reviewed: bool) -> str:
    if drawn is not None:
        way = "--certify" if kept else "--gold"
        return f"fill in the column label of {drawn.name} (0 or 1), and pass the file as {way}"
    return "" if reviewed else "--charts 100 draws charts to review; pass them back with --gold"


def list_database(database: str) -> list[Path]:
    """Return the files of a database: none for a server, and DuckDB keeps a log beside its file."""
    return [] if is_server(database) else [Path(database), Path(f"{database}.wal")]


def show_phenotype(screen: Console, facts: dict[str, Any]) -> None:
    """Print what was counted and found."""
    for step in facts["steps"]:
        took = f"{step['rows']:,} rows in {step['seconds']:.1f} s"
        screen.print(f"{step['what']}: {took}", markup=False)
    for one in facts["rare"]:
        kept = f"{one['kept']:,} of {one['found']:,} features are frequent enough"
        screen.print(f"{one['domain']}: {kept}", markup=False)
    for one in facts["flaws"]:
        if one["number"]:
            screen.print(f"{one['what']}: {one['share']:.1%}", markup=False)
    screen.print(Text(facts["answer"], "bold"))
    if "certificate" in facts:
        screen.print(Text(facts["certificate"]["guarantee"], "bold"), soft_wrap=True)
    words = {"ppv": "PPV", "npv": "NPV", "sensitivity": "sensitivity"}
    known = {word: facts[name] for name, word in words.items() if facts[name] is not None}
    intervals = [f"{word} {one['low']:.0%} to {one['high']:.0%}" for word, one in known.items()]
    screen.print(f"{', '.join(intervals)} (95% intervals)")
    selected = [one for one in facts["features"] if one["selected"]]
    rest = len(selected) - LONGEST_TABLE
    caption = f"and {rest} more" if rest > 0 else None
    rows = [
        (
            printable(one["feature"] + (f" ({one['name']})" if one.get("name") else "")),
            figure(one["weight"], "+.2f"),
            Text(one["reason"]),
        )
        for one in selected[:LONGEST_TABLE]
    ]
    columns = {"feature": 32, "weight": ">", "reason": 0}
    screen.print(make_table(columns, rows, caption=caption, caption_justify="left"))
