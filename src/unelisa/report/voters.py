"""The voters' table: verdict, reason, figures, and whom each depends on."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from unelisa.aggregators import Aggregator
from unelisa.report.network import Network
from unelisa.report.plain import make_plain
from unelisa.votes import Votes

Floats = NDArray[np.float64]

NAMED_LINKS = 5  # the strongest links of a voter are named, the others counted


def rank_voters(model: Aggregator) -> list[int]:
    """Return the voters, the heaviest first; equals in their own order."""
    sizes = np.abs(np.nan_to_num(model.weights_))
    return [int(s) for s in np.argsort(-sizes, kind="stable")]


def list_voters(
    model: Aggregator, ranking: list[int], network: Network, rates: dict[str, Floats]
) -> list[dict[str, Any]]:
    """Return one row per voter in the order of the ranking.

    Parameters
    ----------
    model
        The fitted model, whose `voters_` gives most columns; any further one is kept.
    ranking
        The order of the rows.
    network
        Who is linked to whom.
    rates
        Columns for voters where the model has none of that name, see `estimate_rates`.
    """
    table = {**rates, **{name: column.to_numpy() for name, column in model.voters_.items()}}
    place = {voter: row for row, voter in enumerate(ranking)}
    neighbors = network.neighbors()
    rows = []
    for s in ranking:
        row = {name: make_plain(column[s]) for name, column in table.items()}
        near = neighbors[s]
        row["voter"] = str(model.voter_names_[s])
        row["links"] = len(near)
        row["depends_on"] = [{"voter": place[t], "weight": w} for t, w in near[:NAMED_LINKS]]
        rows.append(row)
    return rows


def estimate_rates(votes: Votes, shares: Floats) -> dict[str, Floats]:
    """Return every voter's sensitivity and specificity, judged by the items' own posteriors.

    sensitivity_s = sum_i tau_i [f_is = 1] / sum_i tau_i |f_is|, and the same for the other side;
    NaN where a voter never met that side.

    Examples
    --------
    >>> votes = Votes.of([[1, -1], [1, 0], [-1, -1]], coding="pm1")
    >>> estimate_rates(votes, np.array([1.0, 1.0, 0.0]))
    {'sensitivity': array([1., 0.]), 'specificity': array([1., 1.])}
    """
    signed, observed = votes.blocks.tally(np.ascontiguousarray(shares))
    no, yes = votes.sides
    other, met = yes - no - signed, yes + no - observed
    return {
        "sensitivity": _share((observed + signed) / 2, observed),
        "specificity": _share((met - other) / 2, met),
    }


def _share(part: Floats, whole: Floats) -> Floats:
    shares = np.full(len(whole), np.nan)
    np.divide(part, whole, out=shares, where=whole > 1e-6)  # less is rounding
    return shares
