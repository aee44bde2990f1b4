"""What `unelisa jury` shows of logs without labels: preferences between systems, and scores."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from unelisa.cli.files import STDOUT, output_files
from unelisa.cli.screen import bare_table, busy, printable, results, tell_written
from unelisa.jury import Logs
from unelisa.jury.intervals import Estimate
from unelisa.jury.preferences import Leaderboard, Preferences, rank_systems
from unelisa.jury.scores import ScoredPanel, Scores, fit_scores
from unelisa.outputs import make_plain


def show_without_labels(
    found: Logs, *, force: bool, json: Path | None, quiet: bool = False
) -> None:
    """Print and write the leaderboard of preferences, or that of scores."""
    board: Leaderboard | ScoredPanel
    with busy("ranking the systems"):
        if found.panel.preferences:
            board = rank_systems(Preferences.of(found.panel))
            data = describe_board(board)
            tables, lines = [rank_table(data), judge_table(data)], tell_board(board)
        else:
            board = fit_scores(Scores.of(found.panel))
            data = describe_scores(board)
            tables, lines = [mean_table(data), scale_table(data)], tell_scores(board)
    data["source"] = found.source
    with output_files(force) as files:
        files.write_json(json, data)
    screen = results(quiet=quiet or json == STDOUT)
    for table in tables:
        screen.print(table)
        screen.print()
    for line in lines:
        screen.print(printable(line, longest=600))
    if data["reason"]:
        screen.print(Text("Do not trust these ranks:", "bold red"))
        screen.print(printable(f"{data['reason']}.", longest=600))
    tell_written(screen, json)


def _spell(estimate: Estimate | None) -> dict[str, Any] | None:
    if estimate is None:
        return None
    return {key: make_plain(value) for key, value in estimate._asdict().items()}


def describe_board(board: Leaderboard) -> dict[str, Any]:
    """Return a leaderboard as data that JSON can hold."""
    return {
        "kind": "preferences",
        "n_judges": len(board.judges),
        "n_questions": board.n_questions,
        "n_comparisons": board.n_comparisons,
        "systems": [{**row._asdict(), "strength": _spell(row.strength)} for row in board.systems],
        "judges": [
            {**row._asdict(), "reliability": _spell(row.reliability)} for row in board.judges
        ],
        "families": board.families,
        "position_bias": _spell(board.first),
        "length_bias": _spell(board.longer),
        "reliable": not board.reason,
        "reason": board.reason,
    }


def describe_scores(found: ScoredPanel) -> dict[str, Any]:
    """Return systems and judges of scores as data that JSON can hold."""
    return {
        "kind": "scores",
        "n_judges": len(found.judges),
        "n_items": len(found.scores.items),
        "effective_judges": found.effective_judges,
        "systems": [
            {**row._asdict(), "system": row.system or None, "mean": _spell(row.mean)}
            for row in found.systems
        ],
        "judges": [row._asdict() for row in found.judges],
        "reliable": not found.reason,
        "reason": found.reason,
    }


def _fill(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    table = bare_table(1)
    table.add_column(columns[0], max_width=40, overflow="fold")
    for name in columns[1:]:
        table.add_column(name, justify="right", no_wrap=True)
    for first, *rest in rows:
        table.add_row(printable(first, 80), *rest)
    return table


def _show_rank(row: dict[str, Any]) -> str:
    low, high = row["rank_low"], row["rank_high"]
    return str(low) if low == high else f"{low}\u2013{high}"


def _show(one: dict[str, Any]) -> str:
    return f"{one['value']:.2f} ({one['low']:.2f} to {one['high']:.2f})"


def rank_table(data: dict[str, Any]) -> Table:
    """Return the systems by strength."""
    rows = [
        (row["system"], _show_rank(row), _show(row["strength"]), f"{row['win_rate']:.1%}",
         f"{row['comparisons']:,}")
        for row in data["systems"]
    ]  # fmt: skip
    return _fill(("system", "rank", "strength", "win rate", "comparisons"), rows)


def judge_table(data: dict[str, Any]) -> Table:
    """Return the judges of pairs by reliability."""
    rows = [
        (row["name"], _show(row["reliability"]), f"{row['weight']:.2f}", f"{row['comparisons']:,}")
        for row in data["judges"]
    ]
    return _fill(("judge", "reliability", "weight", "comparisons"), rows)


def mean_table(data: dict[str, Any]) -> Table:
    """Return the systems by mean quality."""
    rows = [
        (row["system"] or "all answers", _show_rank(row), _show(row["mean"]), f"{row['items']:,}")
        for row in data["systems"]
    ]
    return _fill(("system", "rank", "mean quality", "items"), rows)


def scale_table(data: dict[str, Any]) -> Table:
    """Return how each judge uses the scale."""
    rows = [
        (row["name"], *(f"{row[key]:.2f}" for key in ("location", "scale", "noise", "reliability")),
         f"{row['scores']:,}")
        for row in data["judges"]
    ]  # fmt: skip
    return _fill(("judge", "adds", "scale", "noise", "reliability", "scores"), rows)


def tell_board(board: Leaderboard) -> list[str]:
    """Return what was compared, and the biases of the judges."""
    told = [
        f"{board.n_comparisons:,} comparisons on {board.n_questions:,} questions. Strengths are "
        "log-odds of winning with 90% intervals; a judge's reliability is 1 on average, 0 for a "
        "guess; all ranks hold together with 95%."
    ]
    told += [f"Family: {', '.join(names)}." for names in board.families]
    for bias, what in (
        (board.first, "what is shown first"),
        (board.longer, "an answer e times as long, which strengths leave out"),
    ):
        if bias is not None:
            verb = (
                "prefer" if bias.low > 0 else "avoid" if bias.high < 0 else "do not visibly prefer"
            )
            told.append(f"Judges {verb} {what}: log-odds {_show(bias._asdict())}.")
    if board.first is None:
        told.append(
            "No pair was shown in both orders, so that a preference for the first is unknown."
        )
    return told


def tell_scores(found: ScoredPanel) -> list[str]:
    """Return what the means are, and what the panel is worth."""
    judges = len(found.judges)
    values = found.scores.values
    return [
        f"{judges} judges, whose precision is that of about {found.effective_judges:.1f} of equal "
        "precision; errors that they have in common cannot be seen in scores alone.",
        f"Scores were seen from {values.min():g} to {values.max():g}; quality is on the scale of "
        "the average judge, with 90% intervals. --cut declares the lowest score that passes.",
    ]
