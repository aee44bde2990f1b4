"""What notebooks show: a fitted model, votes and graphs as small pieces of HTML without scripts."""

from html import escape

import numpy as np

from unelisa.aggregators import Aggregator
from unelisa.paper.ising import VoterGraph
from unelisa.report import wording
from unelisa.report.answer import list_figures, list_origin
from unelisa.report.findings import collect_findings
from unelisa.report.page import fill_template
from unelisa.report.voters import draw_dots
from unelisa.votes import Votes

MOST_DOTS = 30  # voters in a picture, the worst first
MOST_ROWS, MOST_COLUMNS = 5, 8  # of a table of votes
MOST_CLASSES = 12
MOST_NODES = 60  # voters of a graph, those with most edges
SIDE, ROOM = 360.0, 24.0  # of the picture of a graph, and around it
COLORS = {True: "#0b5cad", False: "#b3261e"}


def show_model(model: Aggregator) -> str:
    """Return the answer, what to know before trusting it, and how good the voters are."""
    findings = collect_findings(model)
    return fill_template(
        "notebook.html.j2",
        f=findings,
        figures=list_figures(findings),
        origin=list_origin(findings),
        dots=draw_dots(findings["voters"], findings["graph"]["families"]),
        most=MOST_DOTS,
    )


def show_votes(votes: Votes) -> str:
    """Return the sizes of a table of votes, its classes and its first rows."""
    import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

    rows = np.arange(min(MOST_ROWS, votes.n_items))
    codes = votes.blocks.take(rows).expand()[:, :MOST_COLUMNS]
    named = votes.name_codes(codes.ravel()).reshape(codes.shape).astype(object)
    named[codes == 0] = ""
    columns = [wording.show_name(name) for name in votes.voters[:MOST_COLUMNS]]
    items = pd.Index([wording.show_name(item) for item in votes.items[rows]], name="item")
    shown: str = pd.DataFrame(named, index=items, columns=columns).to_html(notebook=True)
    silent = 1 - votes.vote_counts().sum() / max(votes.n_items * votes.n_voters, 1)
    classes = ", ".join(map(wording.quote, votes.classes[:MOST_CLASSES]))
    more = "" if votes.n_classes <= MOST_CLASSES else f" and {votes.n_classes - MOST_CLASSES} more"
    sizes = (
        f"{wording.count_noun(votes.n_items, 'item')}, "
        f"{wording.count_noun(votes.n_voters, 'voter')}, {silent:.1%} of the votes missing; "
        f"classes {classes}{more}"
    )
    return f"<div><p>{escape(sizes)}</p>{shown}</div>"


def show_graph(graph: VoterGraph) -> str:
    """Return a picture of the voters on a circle: blue edges agree, red ones contradict."""
    shown = np.sort(np.argsort(-graph.degrees, kind="stable")[:MOST_NODES])
    angles = 2 * np.pi * np.arange(len(shown)) / max(len(shown), 1)
    radius = SIDE / 2 - ROOM
    points = SIDE / 2 + radius * np.column_stack([np.sin(angles), -np.cos(angles)])
    at = dict(zip(shown.tolist(), points.round(1).tolist(), strict=True))
    heaviest = float(np.abs(graph.weights).max(initial=0.0)) or 1.0
    lines = [
        f'<line x1="{at[s][0]}" y1="{at[s][1]}" x2="{at[t][0]}" y2="{at[t][1]}" '
        f'stroke="{COLORS[w >= 0]}" stroke-opacity=".6" '
        f'stroke-width="{0.5 + 3 * abs(w) / heaviest:.1f}"/>'
        for s, t, w in graph.edges
        if s in at and t in at
    ]
    nodes = [
        f'<circle cx="{x}" cy="{y}" r="9" fill="#7d868f"/><text x="{x}" y="{y + 3.5}" '
        f'font-size="9" text-anchor="middle" fill="#fff">{s}</text>'
        for s, (x, y) in at.items()
    ]
    sizes = escape(repr(graph).removeprefix("VoterGraph(").removesuffix(")"))
    rest = graph.n_voters - len(shown)
    more = f", {rest} voters with the fewest edges left out" if rest else ""
    picture = f'<svg width="{SIDE}" height="{SIDE}" role="img" aria-label="Graph of the voters">'
    return f"<div><p>{sizes}{more}</p>{picture}{''.join([*lines, *nodes])}</svg></div>"
