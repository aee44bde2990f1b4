"""What to ask next: the votes that are worth most, as a section of the report."""

import warnings
from typing import Any

from unelisa.aggregators import Aggregator
from unelisa.analysis.suggestions import can_suggest, suggest_votes
from unelisa.errors import UnelisaWarning
from unelisa.report.items import tell_votes
from unelisa.report.judged import MOST_LISTED, Judged
from unelisa.report.wording import make_plain

VOTES = 50
MOST_CELLS = 50_000_000  # items x voters beyond which a report does not look for them


def describe_next(
    model: Aggregator, judged: Judged | None, *, show_items: bool = False
) -> dict[str, Any]:
    """Return the section's data by its name in the findings; nothing where there is no section.

    Whom to ask how often, and what it is expected to gain; items only where they may be named.

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = ue.simulate_classes(n_classes=3, n_voters=6, n_items=100, random_state=0).votes
    >>> model = ue.DawidSkene().fit(votes)
    >>> list(describe_next(model, Judged.of(model, votes)))
    ['next_votes']
    """
    if judged is None or not can_suggest(model):
        return {}
    votes = judged.votes
    if votes.n_items * votes.n_voters > MOST_CELLS:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnelisaWarning)  # the note says why there are fewer
        rows = suggest_votes(model, votes, n=VOTES)
    sums = rows.groupby("voter", sort=False).agg(votes=("gain", "size"), gain=("gain", "sum"))
    sums = sums.sort_values(["votes", "gain"], ascending=False, kind="stable")
    listed = rows.head(MOST_LISTED).to_dict("records") if show_items else []
    place = {item: i for i, item in enumerate(votes.items.tolist())} if listed else {}
    said = tell_votes(judged, [place[row["item"]] for row in listed])
    found = {
        "n": len(rows),
        "items": int(rows["item"].nunique()),
        "gain": float(rows["gain"].sum()),
        **{key: rows.attrs[key] for key in ("stop", "expected_errors", "note")},
        "voters": [
            {"voter": name, "votes": int(row.votes), "gain": float(row.gain)}
            for name, row in sums.iterrows()
        ],
        "rows": [
            {**{key: make_plain(value) for key, value in row.items()}, "said": who}
            for row, who in zip(listed, said, strict=True)
        ],
    }
    return {"next_votes": found}
