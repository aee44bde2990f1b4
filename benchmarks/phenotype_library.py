"""Cohort definitions of the OHDSI PhenotypeLibrary: does the reader find Circe's patients?

    python benchmarks/phenotype_library.py FOLDER [--only 1215,10] [--first 100] [--seed 0]

FOLDER holds the library unpacked: cohorts/ID.json and sql/sql_server/ID.sql, the SQL that Circe
itself generated. Nothing of it is part of this project. For each definition a small database is
made up in DuckDB whose patients sit on the edges: records a day inside and outside of every window,
on the first and last day of observation, twice on one day, without an end or ending before they
start; concepts that are excluded, below others, invalid, or mapped to others; several observation
periods, one right after another. `find_members` reads the JSON. The reference is Circe's SQL, run
by DuckDB with a few macros for functions of SQL Server; where it leaves the order of two events
on one day open, they are ordered by their number.
"""

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd

from unelisa.ehr.omop.database import OmopTables
from unelisa.ehr.rules.atlas import CRITERIA, parse_definition
from unelisa.ehr.rules.members import find_members
from unelisa.errors import ModelError

PATIENTS, RECORDS = 250, 14  # and records of a patient and kind, at most
RESULTS = Path(__file__).parent / "results" / "phenotype_library.json"
MACROS = """
CREATE MACRO dateadd(unit, days, day) AS CAST(day + to_days(CAST(days AS INTEGER)) AS DATE);
CREATE MACRO datefromparts(y, m, d) AS make_date(y, m, d);
CREATE MACRO count_big(x) AS count(x);
"""
DAY_ZERO = np.datetime64("2012-01-01")
BELOW, MAPPED = 1_500_000_000, 1_700_000_000  # numbers of made-up concepts
FAMILY = 4  # concepts of a set that get descendants


def list_parts(part: Any, key: str) -> Iterator[Any]:
    """Yield every value of a key anywhere in some JSON."""
    for name, value in part.items() if isinstance(part, dict) else ():
        if name == key:
            yield value
        yield from list_parts(value, key)
    for value in part if isinstance(part, list) else ():
        yield from list_parts(value, key)


class World:
    """A database of patients who sit on the edges of one definition."""

    def __init__(self, content: dict, seed: int) -> None:
        self.rng, self.content = np.random.default_rng(seed), content
        self.connection = ibis.duckdb.connect()
        self.run = self.connection.con.execute
        self.run("SET threads = 1")
        self.offsets = self._list_offsets()
        self.concepts = self._write_vocabulary()
        self._write_people()
        for table in {one.name: one for one in CRITERIA.values()}.values():
            if table.name not in {"observation_period", "visit_occurrence"}:
                self._write_records(table)

    def _list_offsets(self) -> np.ndarray:
        """Days from the index day that are a day inside or outside of some window."""
        days = {int(d or 0) for d in list_parts(self.content, "Days")}
        days |= {int(self.content["PrimaryCriteria"]["ObservationWindow"]["PriorDays"]), 30}
        near = {side * d + k for d in days for side in (-1, 1) for k in (-1, 0, 1)}
        return np.array(sorted(d for d in near if abs(d) < 4000))

    def _write_vocabulary(self) -> np.ndarray:
        """Write the concepts of the sets, with descendants and mapped ones; return some of them."""
        named: list[int] = []
        for one in self.content.get("ConceptSets", ()):
            items = [item["concept"]["CONCEPT_ID"] for item in one["expression"]["items"]]
            out = [
                i["concept"]["CONCEPT_ID"]
                for i in one["expression"]["items"]
                if i.get("isExcluded")
            ]
            named += [*items[:FAMILY], *out[:FAMILY], *self.rng.permutation(items)[:FAMILY]]
        named = list(dict.fromkeys(int(x) for x in named)) or [1]
        everything = {
            int(i["concept"]["CONCEPT_ID"])
            for one in self.content.get("ConceptSets", ())
            for i in one["expression"]["items"]
        } | set(named)
        below = [(x, BELOW + 2 * k + j) for k, x in enumerate(named) for j in (0, 1)]
        below += [(x, int(y)) for x, y in zip(named, self.rng.permutation(named), strict=True)]
        maps = [(MAPPED + k, int(x)) for k, (_, x) in enumerate(below)]
        maps += [(MAPPED + len(below) + k, x) for k, x in enumerate(named)]
        absent = set(self.rng.permutation(named)[: len(named) // 20].tolist())
        rows = [(x, None) for x in everything - absent]
        rows += [(y, "D" if k % 4 == 1 else None) for k, (_, y) in enumerate(below) if y >= BELOW]
        rows += [(x, None) for x, _ in maps]
        self.run("CREATE TABLE concept (concept_id bigint, invalid_reason varchar)")
        self.run(
            "CREATE TABLE concept_ancestor (ancestor_concept_id bigint, "
            "descendant_concept_id bigint)"
        )
        self.run(
            "CREATE TABLE concept_relationship (concept_id_1 bigint, concept_id_2 bigint, "
            "relationship_id varchar, invalid_reason varchar)"
        )
        links = [*below, *((x, x) for x in everything)]
        related = [
            (a, b, "Maps to" if k % 3 else "Is a", "D" if k % 5 == 4 else None)
            for k, (a, b) in enumerate(maps)
        ]
        for table, content in (
            ("concept", rows),
            ("concept_ancestor", links),
            ("concept_relationship", related),
        ):
            self._insert(
                table, [np.array(part, dtype=object) for part in zip(*content, strict=True)]
            )
        return np.array([*named, *(y for _, y in below), *(x for x, _ in maps)])

    def _insert(self, table: str, columns: list[np.ndarray]) -> None:
        self.connection.con.register(
            "made_up", pd.DataFrame({f"c{k}": x for k, x in enumerate(columns)})
        )
        self.run(f"INSERT INTO {table} SELECT * FROM made_up")  # noqa: S608
        self.connection.con.unregister("made_up")

    def _write_people(self) -> None:
        """Write persons, some unknown to the table, with one to three observation periods."""
        persons = np.arange(1, PATIENTS + 1)
        known = persons[persons % 25 != 0]
        self.run(
            "CREATE TABLE person (person_id bigint, gender_concept_id integer, "
            "year_of_birth integer, race_concept_id integer, ethnicity_concept_id integer)"
        )
        ages = sorted(
            {int(x["Value"]) for x in list_parts(self.content, "Age") if x} | {18, 40, 65}
        )
        born = 2012 - self.rng.choice(ages, len(known)) + self.rng.integers(-1, 2, len(known))
        self._insert(
            "person",
            [
                known,
                self.rng.choice([8507, 8532], len(known)),
                born,
                np.zeros(len(known), int),
                np.zeros(len(known), int),
            ],
        )
        self.run("CREATE TABLE provider (provider_id bigint, specialty_concept_id integer)")
        special = [
            x["CONCEPT_ID"] for s in list_parts(self.content, "ProviderSpecialty") for x in s or ()
        ]
        self._insert("provider", [np.arange(1, 5), np.array([*special[:2], 1, 2, 3, 4][:4])])
        self.index = self.rng.integers(0, 700, PATIENTS)
        spans = []
        for place, person in enumerate(persons):
            day = self.index[place]
            cuts = np.sort(day + self.rng.choice(self.offsets, 4))
            if person % 3 == 0:
                spans.append((person, day - 3000, day + 3000))
            elif person % 3 == 1:
                spans += [(person, cuts[0] - 400, cuts[1]), (person, cuts[1] + 1, cuts[3] + 400)]
            else:
                spans.append((person, cuts[0], max(cuts[3], cuts[0] + 1)))
        self.run(
            "CREATE TABLE observation_period (observation_period_id bigint, person_id bigint, "
            "observation_period_start_date date, observation_period_end_date date, "
            "period_type_concept_id integer)"
        )
        person, first, last = (np.array(part) for part in zip(*spans, strict=True))
        kept = first <= last
        self._insert(
            "observation_period",
            [
                np.arange(kept.sum()),
                person[kept],
                DAY_ZERO + first[kept],
                DAY_ZERO + last[kept],
                np.zeros(kept.sum(), int),
            ],
        )
        self._write_visits(persons)

    def _write_visits(self, persons: np.ndarray) -> None:
        who = np.repeat(persons, 6)
        day = self.index[who - 1] + self.rng.choice(self.offsets, len(who))
        stay = self.rng.choice([0, 1, 3, 30], len(who))
        end = (DAY_ZERO + day + stay).astype(object)
        kinds = [x["CONCEPT_ID"] for s in list_parts(self.content, "VisitType") for x in s or ()]
        pool = np.array([*kinds, *self.concepts[:60]])
        self.run(
            "CREATE TABLE visit_occurrence (visit_occurrence_id bigint, person_id bigint, "
            "visit_concept_id bigint, visit_start_date date, visit_end_date date, "
            "visit_source_concept_id bigint, visit_type_concept_id bigint, provider_id bigint)"
        )
        self._insert(
            "visit_occurrence",
            [
                np.arange(len(who)),
                who,
                self.rng.choice(pool, len(who)),
                DAY_ZERO + day,
                end,
                self.rng.choice(pool, len(who)),
                self.rng.choice([1, 2], len(who)),
                self.rng.integers(1, 5, len(who)),
            ],
        )

    def _write_records(self, table) -> None:
        """Write one kind of records around the index days, some of them twice."""
        rng = self.rng
        who = np.repeat(np.arange(1, PATIENTS + 1), rng.integers(0, RECORDS, PATIENTS))
        if table.name == "death":
            who = np.unique(who)
        day = self.index[who - 1] + rng.choice(self.offsets, len(who)) * (
            rng.random(len(who)) < 0.8
        )
        concept = rng.choice(self.concepts, len(who))
        again = np.flatnonzero(rng.random(len(who)) < (0.15 if table.name != "death" else 0.0))
        who, day = np.append(who, who[again]), np.append(day, day[again])
        concept = np.append(concept, concept[again])
        n = len(who)
        stay = rng.choice(
            [-5, 0, 1, 29, 30, 31, 400], n, p=[0.05, 0.15, 0.2, 0.15, 0.15, 0.15, 0.15]
        )
        end = (DAY_ZERO + day + stay).astype(object)
        end[rng.random(n) < (0.3 if table.open_days is not None else 0)] = None
        units = [x["CONCEPT_ID"] for s in list_parts(self.content, "Unit") for x in s or ()]
        answers = [
            x["CONCEPT_ID"] for s in list_parts(self.content, "ValueAsConcept") for x in s or ()
        ]
        numbers = [
            float(x[k])
            for key in ("ValueAsNumber", "RangeLow", "RangeHigh")
            for x in list_parts(self.content, key)
            for k in ("Value", "Extent")
            if x.get(k) is not None
        ]
        columns: dict[str, tuple[str, Any]] = {
            f"{table.name}_id": ("bigint", rng.permutation(n)),
            "person_id": ("bigint", who),
            f"{table.kind}_concept_id": ("bigint", concept),
            f"{table.kind}_source_concept_id": ("bigint", rng.choice(self.concepts, n)),
            f"{table.kind}_type_concept_id": ("bigint", rng.choice([32817, 32818], n)),
            table.start: ("date", DAY_ZERO + day),
            "visit_occurrence_id": (
                "bigint",
                np.where(rng.random(n) < 0.2, None, (who - 1) * 6 + rng.integers(0, 6, n)),
            ),
            "days_supply": ("integer", np.where(rng.random(n) < 0.4, None, rng.integers(1, 60, n))),
            "provider_id": ("bigint", rng.integers(1, 5, n)),
            "unit_concept_id": ("bigint", rng.choice(units or [0], n)),
            "value_as_concept_id": ("bigint", rng.choice([*answers, 0], n)),
            "condition_occurrence_count": ("integer", rng.integers(0, 3, n)),
            "drug_exposure_count": ("integer", rng.integers(0, 3, n)),
        }
        for name in (
            "value_as_number",
            "range_low",
            "range_high",
            "quantity",
            "dose_value",
            "refills",
            "gap_days",
        ):
            columns[name] = (
                "double",
                rng.choice([*numbers, 0.0, 5.0], n) * rng.choice([1, 1, 1.1, 6], n),
            )
        if table.end is not None:
            columns[table.end] = ("date", end)
        kinds = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items())
        self.run(f"CREATE TABLE {table.name} ({kinds})")
        self._insert(table.name, [values for _, values in columns.values()])


def list_statements(text: str) -> list[str]:
    """Circe's statements up to the cohort's rows, in DuckDB's dialect."""
    text = text[: text.index("DELETE FROM @target_database_schema")]
    text = re.sub(
        r"\{(\d+) != 0\}\?\{(.*?)\n\}", lambda m: m[2] if int(m[1]) else "", text, flags=re.S
    )
    text = re.sub(r"--[^\n]*", "", text).replace("#", "tmp_")
    text = re.sub(r"@\w+\.", "", text).replace("DATEDIFF(d,", "DATEDIFF('day',")
    text = re.sub(r"(?i)(order by (\w+\.)?start_date ASC)\)", r"\1, \2event_id)", text)
    statements = []
    for one in map(str.strip, text.split(";")):
        if not one or one.upper().startswith(("UPDATE STATISTICS", "TRUNCATE", "DROP")):
            continue
        made = re.search(r"\bINTO (tmp_\w+)\b", one, flags=re.I)
        if made and not one.upper().startswith("INSERT"):
            query = f"{one[: made.start()]}{one[made.end() :]}"
            statements.append(f"CREATE TABLE {made[1]} AS {query}")
        else:
            statements.append(one)
    return statements


def ask_circe(world: World, text: str) -> list[int]:
    """The members by Circe's own SQL."""
    for macro in filter(str.strip, MACROS.split(";")):
        world.run(macro)
    for statement in list_statements(text):
        world.run(statement)
    rows = world.run("SELECT DISTINCT person_id FROM tmp_final_cohort ORDER BY 1").fetchall()
    return [row[0] for row in rows]


def compare(folder: Path, numbers: list[str], seed: int) -> dict:
    """Read every definition, and compare its members with Circe's."""
    refused: Counter[str] = Counter()
    different, equal, empty, members = [], 0, 0, 0
    for place, number in enumerate(numbers):
        if place % 50 == 49:
            done = equal + len(different)
            print(f"{place} read, {done} accepted, {equal} equal, {members} members", flush=True)
        content = json.loads((folder / "cohorts" / f"{number}.json").read_text())
        try:
            definition = parse_definition(content)
        except ModelError as error:
            refused[str(error).partition(":")[0]] += 1
            continue
        world = World(content, seed + int(number))
        wanted = ask_circe(world, (folder / "sql" / "sql_server" / f"{number}.sql").read_text())
        found = find_members(OmopTables.of(world.connection), definition).tolist()
        world.connection.disconnect()
        equal, empty, members = (
            equal + (found == wanted),
            empty + (not wanted),
            members + len(wanted),
        )
        if found != wanted:
            different.append(number)
            odd = sorted(set(found) ^ set(wanted))
            print(
                f"{number}: {len(found)} members, Circe {len(wanted)}; for instance {odd[:5]}",
                flush=True,
            )
    return {
        "definitions": len(numbers),
        "accepted": equal + len(different),
        "equal": equal,
        "different": different,
        "without_members": empty,
        "members": members,
        "refused": dict(refused),
        "patients": PATIENTS,
        "seed": seed,
    }


def main() -> None:
    """Compare, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", help="numbers of definitions, separated by commas")
    parser.add_argument("--first", type=int, help="how many of them, in a random order")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    every = sorted((one.stem for one in (asked.folder / "cohorts").glob("*.json")), key=int)
    mixed = np.random.default_rng(0).permutation(every).tolist()  # a part says something of all
    numbers = asked.only.split(",") if asked.only else mixed[: asked.first]
    start = time.perf_counter()
    found = compare(asked.folder, numbers, asked.seed)
    print(
        f"{found['accepted']} of {found['definitions']} definitions accepted "
        f"({found['accepted'] / found['definitions']:.1%}), {found['equal']} with exactly Circe's "
        f"patients ({found['members']:,} members, {found['without_members']} cohorts empty); "
        f"refused: {found['refused']}; {time.perf_counter() - start:.0f} s"
    )
    if not (asked.only or asked.first):
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
