"""What the studies print on a terminal of 80 columns."""

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from studies.classes.page import HEADS as CLASS_HEADS
from studies.classes.page import mean_figures
from studies.ehr.splits import FIGURES
from studies.ehr.tables import TITLES
from studies.jury.runs import MAJORITY as JURY_MAJORITY
from studies.jury.runs import OURS as JURY_OURS
from studies.markdown import group_by, share
from studies.paper.cells import CELLS, LEVELS, find_cell
from studies.paper.tables import LIMITS, CellTable, Figure, StudyTable, find_figure
from studies.rate.page import compare_figure, mean_coverage
from studies.real.runs import OURS, PEERS, rank_methods
from studies.records import Json
from studies.replay.policies import POLICIES, RANDOM
from studies.replay.summary import compare_areas
from studies.review.runs import compare_orders
from studies.rules.page import AIMS, mean_of
from studies.worlds.page import signed
from studies.worlds.runs import DAWID_SKENE, MAJORITY
from studies.worlds.runs import OURS as DEFAULT
from studies.worlds.summary import summarize_part
from studies.worth.page import mean_held
from unelisa.cli.screen import figure as show_figure

# A column's name in the study -> its header.
HEADS = {
    "hit_rate": "hit",
    "precision": "prec",
    "unelisa-bayes": "Bayes",
    "unelisa-amv": "AMV",
    "spectral-meta-learner": "SML",
    "latent-spectral-meta-learner": "SML-L",
    "dawid-skene": "DS",
    "majority-vote": "MV",
    "latent-ising": "Lat",
    "unelisa-intercepts": "Icpt",
    "oracle": "best",
}
_MARKS = {"within": ("=", "green"), "above": ("+", "blue"), "below": ("-", "red"), None: (" ", "")}


def show_study(screen: Console, table: StudyTable, up_to_sign: bool) -> None:
    """Print the tables, the errors against the paper and the cost of a trial."""
    for shown in (*study_tables(table, up_to_sign), show_errors(table), show_seconds(table)):
        screen.print(shown)
        screen.print()


def show_stored(screen: Console, archive: Json) -> None:
    """Print the studies of the paper's archive."""
    for table in archive["studies"]:
        show_study(screen, table, up_to_sign=False)


def show_stale(screen: Console, found: Sequence[Json]) -> None:
    """Print how many of each study's rows are stale, and the command that computes them again."""
    shown = _new_table(["study"], ["rows", "stale"])
    for row in found:
        shown.add_row(row["study"], str(row["rows"]), str(row["stale"]))
    screen.print(shown)
    again = [row["again"] for row in found if row["stale"]]
    for line in ("", "run again:", *again) if again else ():
        screen.print(line, markup=False, soft_wrap=True)


def _new_table(left: list[str], right: list[str], space: int = 1) -> Table:
    shown = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, space, 0, 0))
    for name in left:
        shown.add_column(name, no_wrap=True)
    for name in right:
        shown.add_column(name, justify="right", no_wrap=True)
    return shown


def study_tables(table: StudyTable, up_to_sign: bool = False) -> Iterator[Group]:
    """Yield one table with its title per signal-to-noise ratio, as in the paper."""
    sign = "up to a global sign" if up_to_sign else "majority sign"
    how = f"{table['sampler']} sampler, {table['graph']} graph; {sign}"
    for level in LEVELS:
        cells = [cell for cell in table["cells"] if find_cell(cell["cell"]).snr == level]
        if cells:
            title = Text(f"Table {cells[0]['table']}, {level} SNR; {how}", "bold")
            yield Group(title, _level_table(cells, up_to_sign))


def _level_table(cells: list[CellTable], up_to_sign: bool) -> Table:
    columns = [name for name in HEADS if _find(cells[0], name, up_to_sign)]
    if len(columns) == len(HEADS):
        columns.remove("unelisa-intercepts")  # all of them are wider than 80 characters
    shown = _new_table(["p/d0", ""], [*(HEADS[column] for column in columns), "truth"], 0)
    for cell in cells:
        _add_cell(shown, cell, columns, up_to_sign)
    return shown


def _add_cell(shown: Table, cell: CellTable, columns: list[str], up_to_sign: bool) -> None:
    """Add a cell's three lines; the last column shows whether the chain mixed."""
    figures = [_find(cell, name, up_to_sign) for name in columns]
    name = f"{find_cell(cell['cell']).n_voters}/{cell['n_experts']}"
    shown.add_row(name, "ours", *(_marked(x) for x in figures), f"|{short(cell['mean_truth'], 2)}|")
    errors = (_plain(x, "standard_error") for x in figures)
    shown.add_row("", "s.e.", *errors, f"{cell['flips']:.0f} fl")
    paper = (_plain(figure, "published") for figure in figures)
    shown.add_row(f"T={cell['trials']}", "paper", *paper, end_section=True)


def _find(cell: CellTable, column: str, up_to_sign: bool) -> Figure | None:
    if up_to_sign and column in cell["up_to_sign"]:
        return cell["up_to_sign"][column]
    return find_figure(cell, column)


def _marked(figure: Figure | None) -> Text:
    if figure is None:
        return Text()
    mark, color = _MARKS[figure["mark"]]
    return Text.assemble(short(figure["mean"]), (mark, color))


def _plain(figure: Figure | None, key: str) -> Text:
    value = None if figure is None else figure[key]  # type: ignore[literal-required]
    return Text("" if value is None else f"{short(value)} ", "dim")


def short(value: float, digits: int = 3) -> str:
    """Return a share without its leading zero, 1 with one digit less, so that widths agree.

    Examples
    --------
    >>> short(.9864), short(1)
    ('.986', '1.00')
    """
    text = f"{value:.{digits}f}"
    return text.removeprefix("0") if text[0] == "0" else text[:-1]


def show_errors(table: StudyTable) -> Text:
    """Return the mean absolute errors against the published cells, with their bounds.

    The bounds apply to the faithful study and all cells together.
    """
    cells = len(table["cells"])
    faithful = (table["sampler"], table["graph"], cells) == ("paper", "half", len(CELLS))
    shown = []
    for column, error in table["errors"].items():
        limit = LIMITS.get(column) if faithful else None
        bound = "" if limit is None else f" ({'<=' if error <= limit else '>'} {short(limit, 2)})"
        shown.append(f"{HEADS[column]} {short(error)}{bound}")
    legend = (
        "\n= within two standard errors of the paper, + above, - below. Icpt: Bayes with "
        "intercepts; best: the Bayes rule with the true model; truth: |its mean|, near 1 if the "
        "chain was stuck, and its flips."
    )
    head = f"Mean absolute error against the {cells} published cells: "
    return Text.assemble((head, "bold"), ", ".join(shown), (legend, "dim"))


def show_seconds(table: StudyTable) -> str:
    """Return the milliseconds of CPU time per trial, in total and by part."""
    parts = sorted(table["seconds"].items(), key=lambda part: -part[1])
    listed = ", ".join(f"{name} {1000 * seconds:.1f}" for name, seconds in parts)
    return f"CPU time per trial {1000 * sum(table['seconds'].values()):.0f} ms: {listed}"


def show_ranks(screen: Console, archive: Json) -> None:
    """Print the methods on real votes by mean rank."""
    rows = [row for row in archive["rows"] if row["kind"] in (OURS, PEERS)]
    figures = ("accuracy", "balanced_accuracy", "auc")
    ranks = {name: rank_methods(rows, name) for name in figures}
    table = _new_table(["method"], ["accuracy", "balanced", "AUC", "mean accuracy", "sets"])
    for method in sorted(ranks["accuracy"], key=lambda name: ranks["balanced_accuracy"][name]):
        mine = [row["figures"] for row in rows if row["method"] == method and row["figures"]]
        found = [figures["accuracy"][0] for figures in mine]
        mean = show_figure(sum(found) / len(found) if found else None)
        cells = [f"{ranks[name][method]:.1f}" for name in figures]
        table.add_row(method, *cells, mean, str(len(found)))
    screen.print(f"[bold]Mean ranks over {len(archive['sets'])} sets; 1 is best[/bold]\n")
    screen.print(table)


def show_methods(screen: Console, archive: Json) -> None:
    """Print every method of the EHR study under every protocol."""
    for facts in archive["sets"]:
        titles = ["F" if name == "f_score" else TITLES[name] for name in FIGURES]
        table = _new_table(["labels", "method"], titles)
        for row in archive["methods"]:
            if row["set"] == facts["set"]:
                found = [row["figures"].get(name) for name in FIGURES]
                cells = ["" if x is None else share(x[0]) for x in found]
                table.add_row(row["protocol"], row["method"], *cells)
        screen.print(f"[bold]{facts['set']}[/bold], means over the splits")
        screen.print(table)
        screen.print()
    screen.print(
        "labels: paper = all charts, which leaks the test; train = the training half. "
        "F: harmonic mean of PPV and NPV."
    )


def show_worlds(screen: Console, archive: Json) -> None:
    """Print every kind of world, the worst first, and the means of each part."""
    names, shares = (DEFAULT, MAJORITY, DAWID_SKENE), ("losing", "silent", "reliable")
    for (part,), kinds in group_by(archive["kinds"], "part").items():
        table = _new_table(["kind"], ["n", "ours", "MV", "DS", "diff", "lose", "silent", "rel"])
        for row in sorted(kinds, key=lambda row: row["difference"]):
            found = [share(row["methods"][name]["accuracy"]) for name in names]
            cells = [signed(row["difference"]), *(f"{row[name]:.0%}" for name in shares)]
            table.add_row(row["kind"], str(row["worlds"]), *found, *cells)
        whole = summarize_part(kinds)
        screen.print(f"[bold]{part.capitalize()} part[/bold], {whole.worlds} worlds")
        screen.print(table)
        screen.print(", ".join(f"{name} {whole.shares[name]:.1%}" for name in shares))
        screen.print()
    if archive["kinds"]:
        screen.print(
            "diff: accuracy minus that of the better of majority vote and Dawid-Skene; lose: more "
            "than .02 on a world; silent: more than .05, unflagged; rel: called reliable."
        )


def show_classes(screen: Console, archive: Json) -> None:
    """Print every method's means over the sets of more than two classes, by accuracy."""
    rows, names = archive["rows"], [facts["set"] for facts in archive["sets"]]
    heads = {key: head for key, head in CLASS_HEADS.items() if key != "mean_absolute_error"}
    table = _new_table(["method"], [*heads.values()])
    means = {
        method: mean_figures(mine, names) for (method,), mine in group_by(rows, "method").items()
    }
    for method in sorted(means, key=lambda name: -means[name].get("accuracy", 0.0)):
        found = [means[method].get(key) for key in heads]
        table.add_row(method, *("–" if x is None else share(x) for x in found))  # noqa: RUF001
    screen.print(f"[bold]Means over {len(names)} sets[/bold]\n")
    screen.print(table)


def show_rate(screen: Console, archive: Json) -> None:
    """Print how often the intervals of shares hold on every set, and how wide they are."""
    table = _new_table(["set"], ["labels", "coverage", "gold alone", "width"])
    for row in archive["sets"]:
        covered = share(mean_coverage(row)), share(mean_coverage(row, "alone_"))
        width = share(compare_figure(row, "width"), 2)
        table.add_row(row["set"], str(row["labels"]), *covered, width)
    screen.print(table)


def show_worth(screen: Console, archive: Json) -> None:
    """Print how often the intervals of the voters' accuracies hold, by part and kind."""
    table = _new_table(["part", "crowd"], ["number", "coverage", "width"])
    for (part, kind), rows in group_by(archive["voters"], "part", "kind").items():
        found = mean_held(rows, "accuracy")
        cells = ("-", "-") if found is None else (share(found[0]), share(found[1], 2))
        table.add_row(part, kind, str(len(rows)), *cells)
    screen.print(table)


def show_prior(screen: Console, archive: Json) -> None:
    """Print what the default reaches on sets whose source was left out."""
    table = _new_table(["set", "source"], ["accuracy", "share", "log loss", "expected", "reliable"])
    for row in archive["sets"]:
        expected = "-" if row["expected"] is None else share(row["expected"], 2)
        scores = share(row["accuracy"]), share(row["share"]["accuracy"]), share(row["log_loss"])
        table.add_row(row["set"], row["source"], *scores, expected, str(row["reliable"]))
    screen.print(table)


def show_reviews(screen: Console, archive: Json) -> None:
    """Print how many answers a review needs on every set, and how many a random order."""
    table = _new_table(["set"], ["labels", "goal", "review", "gain alone", "random order"])
    for row in archive["reviews"]:
        goal, ours, plain, drawn = compare_orders(row)
        counts = str(ours), str(plain), f"{drawn:.0f}"
        table.add_row(row["set"], str(row["labels"]), share(goal), *counts)
    screen.print(table)


def show_certified(screen: Console, archive: Json) -> None:
    """Print of every set how often a promise was broken, at worst, and how much was certified."""
    table = _new_table(["set"], ["answers", "broken at most", "certified at 5%", "peeked"])
    for row in archive["certified"]:
        worst = max(one["broken"] - (1 - one["confidence"]) for one in row["any"])
        five = next(x for x in row["any"] if (x["error"], x["confidence"]) == (0.05, 0.95))
        cells = f"{worst:+.3f}", share(five["certified"]), share(row["peeked"])
        table.add_row(row["set"], str(row["answers"]), *cells)
    screen.print(table)


def show_panels(screen: Console, archive: Json) -> None:
    """Print every panel: accuracy, effective judges, and how they change with a judge twice."""
    heads = ["judges", "worth", "copied", "stay", "accuracy", "majority"]
    table = _new_table(["panel"], heads)
    for row in archive["panels"]:
        copied = [one for one in row["repeats"] if not one["differ"]]
        effective = max(
            (one["effective"] for one in copied), key=lambda x: abs(x - row["effective"])
        )
        stay = share(min(one["labels_kept"] for one in copied))
        scores = [share(row["labels"][name]["accuracy"]) for name in (JURY_OURS, JURY_MAJORITY)]
        worth = f"{row['effective']:.2f}", f"{effective:.2f}"
        table.add_row(row["set"], str(row["judges"]), *worth, stay, *scores)
    screen.print(table)


def show_rules(screen: Console, archive: Json) -> None:
    """Print the mean absolute errors of what is told of rules, and how often intervals hold."""
    table = _new_table(["part", "disease", "prevalence"], list(AIMS))
    for (part, disease, prevalence), cells in group_by(
        archive["cells"], "part", "simulator", "prevalence"
    ).items():
        found = [mean_of(cells, quantity, "records") for quantity in AIMS]
        shown = [
            "–" if one["error"] is None else f"{share(one['error'])}, {share(one['held'], 2)}"  # noqa: RUF001
            for one in found
        ]
        table.add_row(part, disease, f"{prevalence:.1%}", *shown)
    screen.print(table)


def show_replays(screen: Console, archive: Json) -> None:
    """Print how far the area under every policy's accuracy curve is above random's."""
    found = compare_areas(archive["replays"])
    shown = [name for name in POLICIES if name != RANDOM]
    policies = [name for name in shown if any(key[1] == name for key in found)]
    table = _new_table(["set"], [name.removeprefix("knowledge-") for name in policies])
    for name in dict.fromkeys(name for name, _ in found):
        cells = [found.get((name, policy)) for policy in policies]
        table.add_row(name, *("–" if x is None else f"{x.mean:+.4f}" for x in cells))  # noqa: RUF001
    screen.print("[bold]Area under the accuracy curve, above that of random votes[/bold]\n")
    screen.print(table)
