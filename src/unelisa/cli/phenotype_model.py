"""The phenotyper of a command: fitted to the counts, or kept from an earlier fit."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from unelisa.cli.phenotype_config import PhenotypeConfig
from unelisa.errors import ModelError, RecordsError, UnelisaWarning, warn_user
from unelisa.kernels.compilation import Stopwatch
from unelisa.phenotyping.phenotyper import Phenotyper
from unelisa.phenotyping.posterior import Estimate
from unelisa.storage import load

if TYPE_CHECKING:
    import pandas as pd


class Learned(NamedTuple):
    """A phenotyper, what it says of the share of true cases, and how that came about.

    Attributes
    ----------
    model, ppv
        The phenotyper, and the PPV among the patients of this database.
    seconds, notes
        The time it took to fit, None for a kept model, and what was warned of.
    """

    model: Phenotyper
    ppv: Estimate
    seconds: float | None
    notes: list[str]


def fit_phenotype(
    wanted: PhenotypeConfig, counts: "pd.DataFrame", charts: dict[str, Any] | None
) -> Learned:
    """Return a phenotyper fitted to the counts."""
    utilization, prevalence = wanted.request.utilization, wanted.prevalence
    model = Phenotyper(wanted.anchor_names, utilization, prevalence, wanted.seed)
    with _noted() as notes, Stopwatch() as watch:
        model.fit(counts, charts)
    return Learned(model, model.ppv_, watch.seconds, notes)


def load_phenotype(path: Path, wanted: PhenotypeConfig) -> tuple[Phenotyper, PhenotypeConfig]:
    """Return a kept phenotyper, and the configuration that counts what it needs and no more."""
    model = load(path, Phenotyper)
    if set(model.anchors) != set(wanted.anchor_names):
        told = f"the anchors {' and '.join(str(name)[:60] for name in model.anchors)}"
        raise ModelError(f"{path.name} was fitted with {told}; the configuration names others")
    if model.utilization != wanted.request.utilization:
        told = f"utilization {str(model.utilization)[:60]}"
        raise ModelError(f"{path.name} was fitted with {told}; the configuration has another one")
    try:
        request = wanted.request.narrow(model.feature_names_in_.tolist())
    except RecordsError as error:
        raise RecordsError(
            f"{error} by the configuration; {path.name} was fitted with another one"
        ) from None
    return model, replace(wanted, request=request)


def apply_phenotype(model: Phenotyper, counts: "pd.DataFrame") -> Learned:
    """Return a kept phenotyper for new patients; warn where they lack what it looks at."""
    table = model.features_
    used = table["feature"][table["selected"]].tolist()
    absent = [name for name in used if not counts[name].any()]
    with _noted() as notes:
        if absent:
            warn_user(
                f"no record here holds {len(absent)} of the {len(used)} features that the model "
                f"uses, such as {absent[0][:60]}; does this database write its codes as the one "
                "of the fit did?",
                UnelisaWarning,
            )
    return Learned(model, model.expect_ppv(counts), None, notes)


@contextmanager
def _noted() -> Iterator[list[str]]:
    """Give a list that holds, after the block, what was warned of in it; warn of it then."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnelisaWarning)
        yield notes
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    notes += [str(one.message) for one in caught if issubclass(one.category, UnelisaWarning)]
