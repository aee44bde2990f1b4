"""Stability of a fit: which experts, edges and weights are found again in resampled items.

By the nonparametric bootstrap (Efron 1979; for networks Epskamp, Borsboom and Fried 2018), on int8
rows, which are repeated: their agreements are counted in bits.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from unelisa.aggregators.base import Aggregator
from unelisa.aggregators.known import read_gold, read_prior
from unelisa.base import clone
from unelisa.errors import (
    ConvergenceWarning,
    ModelError,
    UnelisaError,
    UnelisaWarning,
    replay_warnings,
    warn_user,
)
from unelisa.estimator import check_level, check_settings
from unelisa.kernels.threads import one_blas_thread
from unelisa.paper.ising import VoterGraph
from unelisa.paper.neighborhood import Neighborhoods
from unelisa.parallel import run_all
from unelisa.progress import show_progress
from unelisa.votes import Votes

Floats = NDArray[np.float64]

PAIRS = 4096  # pairs of voters whose draws are dense at a time: 16 MB for 500 resamples


@dataclass(frozen=True, eq=False)
class Stability:
    """How stable a fit is when its items are resampled; see `bootstrap`.

    Attributes
    ----------
    fitted
        The estimator fitted to all items (`voters_` with a column stability), or the function's
        result.
    voters
        A pandas table, one row per voter: weight, low, high, expert, frequency (share of the
        resamples in which it is one), stability (share with the same verdict), or None.
    edges
        A pandas table, one row per pair of voters with an edge in any fit, the most frequent
        first: voter, other, weight, low, high, edge, frequency. None without a graph.
    n_resamples, level, turned
        Resamples fitted, level of the intervals, share of the resamples whose sides were swapped.

    Examples
    --------
    >>> import unelisa as ue
    >>> votes = ue.simulate_votes(n_voters=10, n_experts=4, random_state=0).votes
    >>> ue.bootstrap(votes, ue.ExpertSelector(), 20, random_state=0)
    Stability(20 resamples of 10 voters and 13 edges)
    """

    fitted: Any
    voters: Any
    edges: Any
    n_resamples: int
    level: float
    turned: float

    def __repr__(self) -> str:
        sizes = [] if self.voters is None else [f"{len(self.voters)} voters"]
        sizes += [] if self.edges is None else [f"{int(self.edges['edge'].sum())} edges"]
        return f"Stability({self.n_resamples} resamples of {' and '.join(sizes)})"


def bootstrap(  # noqa: PLR0913 - the contract's parameters
    votes: Any,
    estimator: Any,
    n_resamples: int = 500,
    *,
    y: Any = None,
    prior: Any = None,
    level: float = 0.95,
    random_state: int | np.random.Generator | None = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Stability:
    """Return how stable edges, experts and weights are when the items are resampled.

    Resamples are flipped to the side of the fit to all items. Penalized weights and their intervals
    are shrunk toward 0: an interval that excludes 0 is not a test.

    Parameters
    ----------
    votes
        `Votes`, or what an estimator takes as X.
    estimator
        Any aggregator, or `ExpertSelector`; it is cloned. Or a function of votes that returns
        `Neighborhoods` or a `VoterGraph`, such as `select_neighborhoods`.
    n_resamples, level
        The number of resamples, and the level of the percentile intervals.
    y, prior
        Gold labels, and log-odds per item, for `fit`; resampled with their items.
    random_state
        Seed or generator of the draws, and of estimators without a seed.
    n_jobs
        Resamples fitted at once, each in one thread; the result does not depend on it.
    progress
        Whether to show a progress bar on stderr; by default if that is a terminal.

    Examples
    --------
    >>> import unelisa as ue
    >>> simulated = ue.simulate_votes(n_voters=10, n_experts=4, random_state=0)
    >>> stability = ue.bootstrap(simulated.votes, ue.UnElisa(), 50, random_state=0)
    >>> sorted(stability.voters.nlargest(4, "frequency").index) == sorted(simulated.experts)
    True
    """
    _check_estimator(estimator)
    check_settings({"n_resamples": n_resamples, "random_state": random_state, "n_jobs": n_jobs})
    check_level(level)
    votes = Votes.accept(votes)
    known = _spread_known(estimator, votes, y, prior)
    rng = np.random.default_rng(random_state)
    own = {} if getattr(estimator, "random_state", 0) is not None else _seed(rng)
    fitted = _fit(estimator, votes, known, own)
    whole = Learned.of(fitted)
    if whole.experts is None and whole.weights is None and whole.edges is None:
        raise ModelError(
            f"{_name(estimator)} learns no experts_, weights_ or graph_, whose stability could be "
            "measured"
        )

    def learn(generator: np.random.Generator) -> Learned:
        rows = draw_items(votes.n_items, generator)
        drawn = {name: values[rows] for name, values in known.items()}
        settings = {**_seed(generator), "n_jobs": 1}
        found = Learned.of(_fit(estimator, votes.take_items(rows), drawn, settings))
        return found.turn_to(whole) if votes.n_classes == 2 else found

    draws = repeat_fits(learn, rng.spawn(n_resamples), n_jobs, progress)
    return _sum_up(fitted, whole, draws, votes.voters, level)


class Edges(NamedTuple):
    """The edges of one fit."""

    pairs: NDArray[np.int64]  # s n_voters + t with s < t
    weights: Floats

    @classmethod
    def of(cls, graph: VoterGraph) -> "Edges":
        """Return the edges of a graph."""
        s, t = np.nonzero(np.triu(graph.adjacency, 1))
        return cls(s * graph.n_voters + t, graph.weights[s, t])


class Learned(NamedTuple):
    """What one fit learned of the voters; None for what it does not provide."""

    weights: Floats | None
    polarity: NDArray[np.int8] | None
    experts: NDArray[np.bool_] | None
    edges: Edges | None
    turned: bool = False

    @classmethod
    def of(cls, fitted: Any) -> "Learned":
        """Return what a fitted estimator, `Neighborhoods` or a `VoterGraph` holds."""
        graph, experts = getattr(fitted, "graph_", None), None
        if isinstance(fitted, Neighborhoods | VoterGraph):
            graph = VoterGraph.of(fitted.weights) if isinstance(fitted, Neighborhoods) else fitted
        weights = getattr(fitted, "weights_", None)
        polarity = getattr(fitted, "polarity_", None)
        if weights is not None:
            weights = np.asarray(weights, dtype=np.float64)
            polarity = np.sign(weights).astype(np.int8) if polarity is None else polarity
        chosen = getattr(fitted, "experts_", None)
        if chosen is not None and polarity is not None:
            experts = np.zeros(len(polarity), dtype=bool)
            experts[chosen] = True
            polarity = np.where(experts, polarity, 0)
        return cls(weights, polarity, experts, None if graph is None else Edges.of(graph))

    def turn_to(self, whole: "Learned") -> "Learned":
        """Return the same with both sides swapped if that is nearer to the fit to all items."""
        own = self.polarity if self.weights is None else self.weights
        other = whole.polarity if whole.weights is None else whole.weights
        if own is None or other is None or np.dot(own, other) >= 0:
            return self
        weights = None if self.weights is None else -self.weights
        polarity = None if self.polarity is None else -self.polarity
        return self._replace(weights=weights, polarity=polarity, turned=True)


def _check_estimator(estimator: Any) -> None:
    fits = hasattr(estimator, "fit") and hasattr(estimator, "get_params")
    if isinstance(estimator, type) or not (fits or callable(estimator)):
        raise ModelError(
            "estimator must be an estimator such as UnElisa(), or a function of votes such as "
            f"select_neighborhoods, found {_name(estimator)}"
        )


def _name(estimator: Any) -> str:
    if isinstance(estimator, type):
        return f"the class {estimator.__name__}"
    return str(getattr(estimator, "__name__", type(estimator).__name__))


def _spread_known(estimator: Any, votes: Votes, y: Any, prior: Any) -> dict[str, NDArray[Any]]:
    """Return what `fit` is given besides the votes, one value per item; None: truth unknown."""
    known: dict[str, NDArray[Any]] = {}
    if y is not None:
        known["y"] = votes.name_codes(read_gold(y, votes))
    if prior is not None:
        known["prior"] = read_prior(prior, votes)
    takes = signature(estimator.fit).parameters if hasattr(estimator, "fit") else {}
    for name in known.keys() - takes.keys():
        raise ModelError(f"{_name(estimator)} does not take {name}; omit it")
    return known


def _seed(generator: np.random.Generator) -> dict[str, int]:
    return {"random_state": int(generator.integers(2**31))}


def _fit(
    estimator: Any, votes: Votes, known: dict[str, NDArray[Any]], settings: dict[str, int]
) -> Any:
    if not hasattr(estimator, "fit"):
        return estimator(votes)
    model = clone(estimator)
    has = model.get_params(deep=False)
    model.set_params(**{name: value for name, value in settings.items() if name in has})
    return model.fit(votes, **known)


def draw_items(n_items: int, generator: np.random.Generator) -> NDArray[np.intp]:
    """Return the rows of one resample, sorted, so that they are read in order."""
    counts = np.bincount(generator.integers(n_items, size=n_items), minlength=n_items)
    return np.repeat(np.arange(n_items), counts)


def repeat_fits(
    learn: Callable[[np.random.Generator], Learned],
    generators: list[np.random.Generator],
    n_jobs: int | None,
    progress: bool | None,
) -> list[Learned]:
    """Return what is learned with each generator; resamples that cannot be fitted are left out."""

    def attempt(generator: np.random.Generator) -> Learned | UnelisaError:
        try:
            return learn(generator)
        except UnelisaError as error:  # for example, there are no votes on the items drawn
            return error

    # filters are global to the process, so they are set here and not in the threads
    with (
        show_progress("resamples", len(generators), progress) as advance,
        warnings.catch_warnings(record=True) as caught,
        one_blas_thread(),
    ):
        warnings.simplefilter("ignore", UnelisaWarning)
        warnings.simplefilter("always", ConvergenceWarning)
        tried = run_all(attempt, generators, n_jobs, each=lambda _: advance(1))
    limits = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
    if limits:
        first = f"some resamples did not converge; the first warning: {limits[0]}"
        warn_user(first, ConvergenceWarning)
    replay_warnings(w for w in caught if not issubclass(w.category, UnelisaWarning))
    draws = [one for one in tried if not isinstance(one, UnelisaError)]
    errors = [one for one in tried if isinstance(one, UnelisaError)]
    many = f"{len(errors)} of {len(tried)} resamples could not be fitted"
    if not draws:
        raise ModelError(f"{many}, the first because {errors[0]}")
    if errors:
        warn_user(f"{many} and are omitted, the first because {errors[0]}", UnelisaWarning)
    return draws


def _sum_up(
    fitted: Any, whole: Learned, draws: list[Learned], names: NDArray[Any], level: float
) -> Stability:
    voters = _tabulate_voters(whole, draws, names, level)
    none = Edges(np.empty(0, dtype=np.int64), np.empty(0))
    drawn = [none if draw.edges is None else draw.edges for draw in draws]
    edges = None if whole.edges is None else _tabulate_edges(whole.edges, drawn, names, level)
    if isinstance(fitted, Aggregator):
        fitted.add_voter_column("stability", voters["stability"].to_numpy())
    turned = float(np.mean([draw.turned for draw in draws]))
    return Stability(fitted, voters, edges, len(draws), level, turned)


def _tabulate_voters(
    whole: Learned, draws: list[Learned], names: NDArray[Any], level: float
) -> Any:
    import pandas as pd  # noqa: PLC0415 - a third of a second that only tables need

    columns: dict[str, Any] = {"voter": names}
    if whole.weights is not None:
        low, high = _interval(np.array([draw.weights for draw in draws]), level)
        columns |= {"weight": whole.weights, "low": low, "high": high}
    if whole.experts is not None:
        chosen = np.array([draw.experts for draw in draws])
        sides = np.array([draw.polarity for draw in draws])
        same = (chosen == whole.experts) & (sides == whole.polarity)
        columns |= {
            "expert": whole.experts,
            "frequency": chosen.mean(axis=0),
            "stability": same.mean(axis=0),
        }
    return pd.DataFrame(columns) if len(columns) > 1 else None


def _tabulate_edges(whole: Edges, draws: list[Edges], names: NDArray[Any], level: float) -> Any:
    import pandas as pd  # noqa: PLC0415

    resamples = np.repeat(np.arange(len(draws)), [len(draw.pairs) for draw in draws])
    chosen = np.concatenate([draw.pairs for draw in draws])
    weights = np.concatenate([draw.weights for draw in draws])
    pairs = np.union1d(chosen, whole.pairs)
    places = np.searchsorted(pairs, chosen)
    drawn = sp.csc_array((weights, (resamples, places)), shape=(len(draws), len(pairs)))
    low, high, weight = np.zeros((3, len(pairs)))
    for first in range(0, len(pairs), PAIRS):
        some = slice(first, first + PAIRS)
        low[some], high[some] = _interval(drawn[:, some].toarray(), level)
    own = np.searchsorted(pairs, whole.pairs)
    weight[own] = whole.weights
    table = pd.DataFrame(
        {
            "voter": names[pairs // len(names)],
            "other": names[pairs % len(names)],
            "weight": weight,
            "low": low,
            "high": high,
            "edge": np.isin(np.arange(len(pairs)), own),
            "frequency": np.diff(drawn.indptr) / len(draws),
        }
    )
    ranking = np.lexsort((-np.abs(weight), -table["frequency"].to_numpy()))
    return table.iloc[ranking].reset_index(drop=True)


def _interval(draws: Floats, level: float) -> Floats:
    return np.asarray(np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0))
