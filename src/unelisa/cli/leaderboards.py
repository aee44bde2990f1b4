"""What `unelisa jury` shows of logs without labels: preferences between systems, and scores."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from unelisa.cli.options import RunForm
from unelisa.cli.screen import busy, make_table, printable, tell_written
from unelisa.errors import VotesError
from unelisa.jury import Logs
from unelisa.jury.grades import find_mixed, suggest_cut
from unelisa.jury.intervals import Estimate, Ranked
from unelisa.jury.preferences import Leaderboard, Preferences, agree, rank_systems
from unelisa.jury.scores import ScoredPanel, Scores, fit_scores
from unelisa.outputs import make_plain
from unelisa.report.wording import show_rank

_SUGGESTED = (
    "The share of answers of quality {:g} or more is an example: --cut SCORE sets the lowest score "
    "that passes."
)


def show_without_labels(found: Logs, run: RunForm) -> None:
    """Print and write the leaderboard of preferences, or that of scores."""
    with busy("ranking the systems"):
        if found.panel.preferences:
            data, tables, lines = _rank_pairs(found)
        else:
            data, tables, lines = _rank_scores(found)
    data["source"] = found.source
    with run.files() as files:
        files.write_json(run.json, data)
    screen = run.screen()
    for table in tables:
        screen.print(table)
        screen.print()
    for line in lines:
        screen.print(printable(line, longest=600))
    if data["reason"]:
        screen.print(Text("Do not trust these ranks:", "bold red"))
        screen.print(printable(f"{data['reason']}.", longest=600))
    tell_written(screen, run.json)


def _spell(row: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(row)
    for key, value in row.items():
        if isinstance(value, Estimate):
            found[key] = {part: make_plain(end) for part, end in value._asdict().items()}
    return found


def _describe_ranked(row: Ranked, name: str, counted: str, **more: Any) -> dict[str, Any]:
    ranks = {"rank_low": row.rank_low, "rank_high": row.rank_high}
    found = {"system": row.system or None, name: row.estimate, counted: row.n, **ranks, **more}
    return _spell(found)


def _rank_pairs(found: Logs) -> tuple[dict[str, Any], list[Table], list[str]]:
    board = rank_systems(Preferences.of(found.panel))
    people = [row for row in found.panel.preferences if row.human]
    others = [row for row in found.panel.preferences if not row.human]
    data = describe_board(board)
    lines = tell_board(board)
    if people and others:
        boards = (rank_systems(Preferences.of_rows(rows)) for rows in (people, others))
        agreed = make_plain(agree(*boards))
        data["human_agreement"] = {"rank_correlation": agreed, "comparisons": len(people)}
        lines.append(
            f"Rank correlation of the models' strengths with those of people "
            f"({len(people):,} comparisons): {'unknown' if agreed is None else f'{agreed:.2f}'}."
        )
    systems = [
        (row["system"], _show_ranks(row), _show(row["strength"]),
         f"{row['win_rate']:.1%}", f"{row['comparisons']:,}")
        for row in data["systems"]
    ]  # fmt: skip
    judges = [
        (row["name"], _show(row["reliability"]), f"{row['weight']:.2f}", f"{row['comparisons']:,}")
        for row in data["judges"]
    ]
    heads = ("system", "rank", "strength", "win rate", "comparisons")
    own = ("judge", "reliability", "weight", "comparisons")
    return data, [fill_table(heads, systems), fill_table(own, judges)], lines


def _rank_scores(found: Logs) -> tuple[dict[str, Any], list[Table], list[str]]:
    board = fit_scores(Scores.of(found.panel))
    data = describe_scores(board)
    judges = [
        (row["name"], *(f"{row[key]:.2f}" for key in ("location", "scale", "noise", "reliability")),
         f"{row['scores']:,}")
        for row in data["judges"]
    ]  # fmt: skip
    own = ("judge", "adds", "scale", "noise", "reliability", "scores")
    tables = [tabulate_means(data), fill_table(own, judges)]
    return data, tables, tell_scores(board, data["cut"])


def describe_means(found: Logs, cut: float | None) -> dict[str, Any]:
    """Return the means of scores that are read as ordered classes; nothing of other marks."""
    grades = found.panel.grades
    if cut is not None or len(grades) < 4 or not all(isinstance(x, float) for x in grades):
        return {}
    try:
        scores = describe_scores(fit_scores(Scores.of(found.panel)))
    except VotesError:  # too few
        return {}
    return {"scores": scores}


def tabulate_means(data: dict[str, Any]) -> Table:
    """Return the systems by mean quality, with the share that reaches the cut if there is one."""
    heads = ["system", "rank", "mean quality", "items"]
    rows = [
        [row["system"] or "all answers", _show_ranks(row), _show(row["mean"]), f"{row['items']:,}"]
        for row in data["systems"]
    ]
    if data["cut"] is not None:
        heads.insert(3, f"reach {data['cut']:g}")
        for cells, row in zip(rows, data["systems"], strict=True):
            cells.insert(3, _show(row["pass_rate"]))
    return fill_table(heads, rows)


def describe_board(board: Leaderboard) -> dict[str, Any]:
    """Return a leaderboard as data that JSON can hold."""
    biases = _spell({"position_bias": board.first, "length_bias": board.longer})
    return {
        "kind": "preferences",
        "n_judges": len(board.judges),
        "n_questions": board.n_questions,
        "n_comparisons": board.n_comparisons,
        "systems": [
            _describe_ranked(row, "strength", "comparisons", win_rate=board.win_rates[row.system])
            for row in board.systems
        ],
        "judges": [*map(_spell, board.judges)],
        "families": board.families,
        **biases,
        "reliable": not board.reason,
        "reason": board.reason,
    }


def describe_scores(found: ScoredPanel) -> dict[str, Any]:
    """Return systems and judges of scores as data that JSON can hold."""
    mixed = find_mixed(found.scores.ranges) is not None
    cut = None if mixed else suggest_cut(found.scores.values.tolist())
    rates = {} if cut is None else found.pass_rates(cut)
    return {
        "kind": "scores",
        "n_judges": len(found.judges),
        "n_items": len(found.scores.items),
        "effective_judges": found.effective_judges,
        "cut": cut,
        "systems": [
            _describe_ranked(row, "mean", "items", pass_rate=rates.get(row.system))
            for row in found.systems
        ],
        "judges": found.judges,
        "left_out": found.left_out,
        "reliable": not found.reason,
        "reason": found.reason,
    }


def fill_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a table: names at the left, and figures."""
    first, *others = columns
    cells = [(printable(name, 80), *rest) for name, *rest in rows]
    return make_table({first: 40, **dict.fromkeys(others, ">")}, cells)


def _show_ranks(row: dict[str, Any]) -> str:
    return show_rank([row["rank_low"], row["rank_high"]])


def _show(one: dict[str, Any]) -> str:
    return f"{one['value']:.2f} ({one['low']:.2f} to {one['high']:.2f})"


def tell_board(board: Leaderboard) -> list[str]:
    """Return what was compared, and the biases of the judges."""
    lines = [
        f"{board.n_comparisons:,} comparisons on {board.n_questions:,} questions. Strengths are "
        "log-odds of winning with 90% intervals; a judge's reliability is 1 on average, 0 for a "
        "guess; all ranks hold together with 95%."
    ]
    lines += [f"Family: {', '.join(names)}." for names in board.families]
    for bias, what in (
        (board.first, "what is shown first"),
        (board.longer, "an answer e times as long, which strengths leave out"),
    ):
        if bias is not None:
            verb = (
                "prefer" if bias.low > 0 else "avoid" if bias.high < 0 else "do not visibly prefer"
            )
            lines.append(f"Judges {verb} {what}: log-odds {_show(bias._asdict())}.")
    if board.first is None:
        lines.append(
            "No pair was shown in both orders, so that a preference for the first is unknown."
        )
    return lines


def tell_scores(found: ScoredPanel, cut: float | None) -> list[str]:
    """Return what the means are, and what the panel is worth."""
    judges = len(found.judges)
    values = found.scores.values
    said = f"The scores of {', '.join(found.left_out)} are all equal, and left out."
    return [said] * bool(found.left_out) + [
        f"{judges} judges, whose precision is that of about {found.effective_judges:.1f} of equal "
        "precision; scores alone do not show errors that judges have in common.",
        f"Scores range from {values.min():g} to {values.max():g}; quality is on the scale of "
        "the average judge, with 90% intervals."
        + (f" {_SUGGESTED.format(cut)}" if cut is not None else ""),
    ]
