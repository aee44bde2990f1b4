"""Counts as they arrive from a database: sparse, until the features are known."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unelisa.ehr.omop.requests import DOMAINS, Request
from unelisa.errors import RecordsError
from unelisa.memory import refuse_beyond

if TYPE_CHECKING:
    import pandas as pd

MOST_FEATURES = 20_000
FEWER = "request fewer, or leave rare ones out with least_share = 0.05"
_BYTES = 4  # of a count
Numbers = NDArray[np.int32]


class Tallies:
    """Counts of the patients `persons`: places of patient and feature, and the count."""

    def __init__(self, persons: "pd.Index[int]") -> None:
        self.persons = persons
        self._places: dict[str, int] = {}  # of columns, by name
        self._order: list[str] = []  # of columns
        self._parts: list[tuple[Numbers, Numbers, Numbers]] = []
        self.repeated: dict[str, tuple[int, int]] = {}  # records and counted days, by domain

    def add(self, asked: Sequence[Request], batches: Iterable[Any]) -> None:
        """Add the counts of one domain, first the features requested by name."""
        domain, records, days = asked[0].domain, 0, 0
        named = [one.column for one in asked if one.reach != "each"]
        for column in named:
            self._place(column)
        found: set[str] = set()
        for batch in batches:
            coded = batch["feature"].combine_chunks().dictionary_encode()
            names = coded.dictionary.to_pylist()
            found.update(names)
            places = np.array([self._place(f"{domain}:{one}") for one in names], dtype=np.int32)
            who = self.persons.get_indexer(batch["person"].to_numpy())
            known = who >= 0  # records may name persons that the table person does not
            counts = batch["days"].to_numpy().astype(np.int32)
            features = places[coded.indices.to_numpy()]
            self._parts.append((who[known].astype(np.int32), features[known], counts[known]))
            records += int(batch["records"].to_numpy()[known].sum())
            days += int(counts[known].sum())
        reject_unmatched(found, asked)
        listed = [*named, *(f"{domain}:{name}" for name in sorted(found))]
        self._order += dict.fromkeys(listed)
        self.repeated[domain] = (records, days)

    def _place(self, column: str) -> int:
        return self._places.setdefault(column, len(self._places))

    def arrange(self) -> "pd.DataFrame":
        """Return one column per feature, by domain; in a domain those requested by name first."""
        import pandas as pd  # noqa: PLC0415 - only tables need it

        n_patients, n_features = len(self.persons), len(self._places)
        if n_features > MOST_FEATURES:
            raise RecordsError(
                f"{n_features} features were found, more than {MOST_FEATURES}; {FEWER}"
            )
        try:
            what = f"a table of {n_patients:,} patients and {n_features:,} features"
            refuse_beyond(_BYTES * n_patients * n_features, what, RecordsError)
        except RecordsError as error:
            raise RecordsError(f"{error}; or {FEWER}") from None
        order = np.empty(n_features, dtype=np.int32)
        order[[self._places[column] for column in self._order]] = np.arange(n_features)
        values = np.zeros((n_patients, n_features), dtype=np.int32, order="F")
        while self._parts:
            who, features, counts = self._parts.pop()
            values[who, order[features]] = counts
        return pd.DataFrame(values, self.persons, self._order)


def reject_unmatched(names: Iterable[str], asked: Sequence[Request], who: str = "") -> None:
    """Reject a pattern without a match: a typing error would silently lose features.

    `who` says which patients were asked about.
    """
    for one in asked:
        if one.reach == "each" and not any(name.startswith(one.code) for name in names):
            raise RecordsError(
                f"no patient{who} has a record that matches {one.text[:60]!r}; compare it with the "
                f"codes in the table {DOMAINS[one.domain].table}"
            )
