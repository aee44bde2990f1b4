"""From a database of health records to the label of every patient."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unelisa.cli.phenotype_config import PhenotypeConfig
from unelisa.cli.phenotype_reviews import Charts
from unelisa.cli.screen import busy
from unelisa.ehr.charts import certify_flagged, draw_charts
from unelisa.ehr.omop.cohort import list_cohort
from unelisa.ehr.omop.counts import PatientCounts, count_patients, find_related
from unelisa.ehr.omop.database import OmopTables, open_database
from unelisa.ehr.omop.persons import (
    SEXES,
    Persons,
    Row,
    date_anchors,
    describe_groups,
    describe_persons,
    list_flaws,
)
from unelisa.ehr.omop.records import list_spans, name_concepts
from unelisa.ehr.phenotyper import Phenotyper
from unelisa.ehr.rules.members import Scope
from unelisa.errors import ModelError, RecordsError, UnelisaWarning, replay_warnings, warn_user
from unelisa.kernels.compilation import Stopwatch
from unelisa.report.health import describe_phenotype
from unelisa.storage import load

if TYPE_CHECKING:
    import pandas as pd


class Cases(NamedTuple):
    """Person, label, P(case) and note of all patients, the model, facts on them, the cohort."""

    labels: Iterable[tuple[Any, Any, str, str]]
    model: Phenotyper
    facts: dict[str, Any]
    cohort: Any
    # persons, chances: the eligible patients and their P(case)
    persons: NDArray[np.int64]
    chances: NDArray[np.float64]

    def certify(self, charts: Mapping[str, tuple[int | None, float]], error: float) -> "Cases":
        """Return the cases with a certificate among the facts, without those that charts refute."""
        flagged = self.chances >= self.model.threshold_
        facts, out = certify_flagged(self.persons, self.chances, flagged, charts, error)
        no_case, refuted = self.model.classes_.tolist()[0], set(out)
        labels = (
            (person, no_case, chance, "left out by the chart review")
            if person in refuted
            else (person, label, chance, note)
            for person, label, chance, note in self.labels
        )
        left = self.cohort
        if left is not None:
            left = left[~left["subject_id"].isin(refuted)]
        return self._replace(labels=labels, cohort=left, facts={**self.facts, "certificate": facts})

    def draw(self, n: int, seed: int) -> Iterator[tuple[int, str, str, str]]:
        """Yield person, an empty label, P(case) and share drawn of charts worth reviewing."""
        sample = draw_charts(self.chances, n, np.random.default_rng(seed))
        for row, share in zip(sample.rows, sample.drawn, strict=True):
            yield int(self.persons[row]), "", f"{self.chances[row]:.6f}", f"{share:.6g}"


def load_kept(
    path: Path | None, wanted: PhenotypeConfig
) -> tuple[Phenotyper | None, PhenotypeConfig]:
    """Return a saved phenotyper, and the configuration narrowed to its features if they fit."""
    if path is None:
        return None, wanted
    model = load(path, Phenotyper)
    if set(model.anchors) != set(wanted.anchor_names):
        anchors = " and ".join(str(name)[:60] for name in model.anchors)
        raise ModelError(
            f"{path.name} was fitted with the anchors {anchors}; the configuration names others"
        )
    if model.utilization != wanted.request.utilization:
        raise ModelError(
            f"{path.name} was fitted with utilization {str(model.utilization)[:60]}; "
            "the configuration has a different one"
        )
    try:
        request = wanted.request.narrow(model.feature_names_in_.tolist())
    except RecordsError as error:
        raise RecordsError(
            f"{error} by the configuration; {path.name} was fitted with a different one"
        ) from None
    return model, replace(wanted, request=request)


class Records(NamedTuple):
    """The tables of a database, what was counted, who the patients are, and which days count."""

    tables: OmopTables
    counts: PatientCounts
    people: Persons
    scope: Scope
    status: Any  # what is shown while it works


@contextmanager
def read_records(
    database: str, wanted: PhenotypeConfig, check: Callable[[Any], None] = lambda _: None
) -> Iterator[Records]:
    """Give the records of a database; `check` is called with its connection before counting."""
    request, (cdm, vocabulary, *_) = wanted.request, wanted.schemas
    with busy("opening the database") as status, open_database(database) as connection:
        tables = OmopTables.of(connection, cdm, vocabulary)
        check(connection)
        counts = count_patients(tables, request, lambda what: status.update(f"{what} ..."))
        status.update("checking the records ...")
        scope = Scope(request.record_window, list_spans(tables, request))
        people = describe_persons(tables, counts.table.index, wanted.limits, *scope)
        yield Records(tables, counts, people, scope, status)


def find_cases(
    database: str,
    wanted: PhenotypeConfig,
    kept: Phenotyper | None,
    charts: Charts | None,
    *,
    dated: bool,
) -> Cases:
    """Return the labels of all patients in a database, by a kept phenotyper or a new one."""
    request = wanted.request
    with read_records(database, wanted) as (tables, counts, people, scope, status):
        flaws = list_flaws(tables, request, counts)
        related = find_related(tables, request, wanted.anchors) if kept is None else []
        status.update("finding the cases ...")
        labeled = _label_patients(counts.table, people, wanted, charts, kept or related)
        names = name_concepts(tables, labeled.list_selected())
        onset = date_anchors(tables, request, wanted.anchors, counts.table.index, people.born)
        rows = None
        if dated:
            status.update("dating the cohort ...")
            cases = counts.table.index.to_numpy()[labeled.flagged]
            rows = list_cohort(tables, cases, wanted.cohort, wanted.anchors, *scope)
    performance = None if kept is None else kept.expect_performance(labeled.counts)
    shown = labeled.chances[people.eligible]
    facts = describe_phenotype(wanted.title, labeled.model, shown, counts.steps, performance)
    facts.update(seconds=labeled.seconds if kept is None else None, warnings=labeled.warnings)
    facts.update(
        reliable=facts["reliable"] and labeled.doubt is None,
        unobserved=0 if people.observed is None else int((~people.observed).sum()),
        excluded=int((~people.possible).sum()),
        groups=_compare_groups(labeled, people, onset, request.utilization),
        flaws=[{**one._asdict(), "share": one.share} for one in flaws],
        rare=[
            {"domain": domain, "kept": frequent, "found": found}
            for domain, (frequent, found) in counts.screened.items()
        ],
    )
    for one in facts["features"]:
        one["name"] = names.get(one["feature"], "")
    active = (counts.table > 0).any(axis=1).to_numpy()
    able = labeled.persons[people.eligible], shown
    return Cases(_list_labels(labeled, people, active), labeled.model, facts, rows, *able)


class Labeled(NamedTuple):
    """The patients of a fit, the model, P(case) and label of everybody, and the warnings."""

    counts: "pd.DataFrame"
    model: Phenotyper
    chances: NDArray[np.float64]
    flagged: NDArray[np.bool_]
    persons: NDArray[np.int64]
    doubt: str | None
    warnings: list[str]
    seconds: float

    def list_selected(self) -> list[str]:
        """Return the features that the model uses."""
        table = self.model.features_
        return [str(name) for name in table["feature"][table["selected"]]]


def _label_patients(
    table: "pd.DataFrame",
    people: Persons,
    wanted: PhenotypeConfig,
    charts: Charts | None,
    given: Phenotyper | list[str],
) -> Labeled:
    """Label everybody by a kept phenotyper, or by a new one that is fitted to the eligible."""
    eligible = take_eligible(table, people)
    with warnings.catch_warnings(record=True) as caught, Stopwatch() as watch:
        warnings.simplefilter("always", UnelisaWarning)
        if isinstance(given, Phenotyper):
            model = given
            _warn_of_absent(model, table)
        else:
            model = fit_phenotyper(eligible, wanted, given, charts)
        chances = model.predict_proba(table)[:, 1]
        flagged = chances >= model.threshold_
        doubt = find_doubt(people, flagged)
    replay_warnings(caught)
    notes = [str(one.message) for one in caught if issubclass(one.category, UnelisaWarning)]
    flagged &= people.eligible
    persons = table.index.to_numpy()
    return Labeled(eligible, model, chances, flagged, persons, doubt, notes, watch.seconds)


def take_eligible(table: "pd.DataFrame", people: Persons) -> "pd.DataFrame":
    """Return the rows of the eligible patients, or raise an error if there are none."""
    if not people.eligible.any():
        raise RecordsError("no patient was observed in the window and can have the disease")
    # the table may be large: it is not copied if everybody is eligible
    return table if people.eligible.all() else table[people.eligible]


def fit_phenotyper(
    eligible: "pd.DataFrame",
    wanted: PhenotypeConfig,
    related: list[str],
    charts: Charts | None = None,
) -> Phenotyper:
    """Return a phenotyper with the settings of a configuration, fitted to counts."""
    anchors, utilization = wanted.anchor_names, wanted.request.utilization
    model = Phenotyper(anchors, utilization, wanted.prevalence, wanted.seed, related)
    return model.fit(eligible, charts)


def find_doubt(people: Persons, flagged: NDArray[np.bool_]) -> str | None:
    """Return why labels that include ineligible patients are doubtful, with a warning."""
    doubt = people.doubt(flagged)
    if doubt is not None:
        warn_user(f"the phenotype is not reliable: {doubt}", UnelisaWarning)
    return doubt


def _compare_groups(
    labeled: Labeled, people: Persons, onset: NDArray[np.float64] | None, utilization: str | None
) -> list[Row]:
    able, female = people.eligible, None
    if people.sex is not None:
        recorded = np.isin(people.sex, list(SEXES.values()))
        female = np.where(recorded, people.sex == SEXES["female"], np.nan)
    facts = {"age in years": people.age, "age at the first anchor": onset, "female": female}
    known = {name: None if one is None else one[able] for name, one in facts.items()}
    anchors = [str(name) for name in labeled.model.anchors]
    return describe_groups(labeled.counts, labeled.flagged[able], known, utilization, anchors)


def _list_labels(
    labeled: Labeled, people: Persons, active: NDArray[np.bool_]
) -> Iterator[tuple[Any, Any, str, str]]:
    labels = labeled.model.classes_[labeled.flagged.astype(int)].tolist()
    chances = np.where(people.possible, labeled.chances, 0.0)
    observed = np.ones(len(chances), dtype=bool) if people.observed is None else people.observed
    rows = zip(
        labeled.persons.tolist(), labels, chances, observed, people.note(active), strict=True
    )
    for person, label, chance, seen, note in rows:
        yield (person, label, f"{chance:.6f}", note) if seen else (person, "", "", note)


def _warn_of_absent(model: Phenotyper, counts: "pd.DataFrame") -> None:
    table = model.features_
    used = table["feature"][table["selected"]].tolist()
    absent = [name for name in used if not counts[name].any()]
    if absent:
        warn_user(
            f"{len(absent)} of the {len(used)} features that the model uses never occur here, such "
            f"as {absent[0][:60]}; check that this database writes its codes as the one of the fit",
            UnelisaWarning,
        )
