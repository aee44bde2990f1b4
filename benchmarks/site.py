"""Time and memory of a phenotype on a database of a site's size, every code a feature.

    python benchmarks/site.py          250,000 patients, 15 million records, into results/site.json
    python benchmarks/site.py --patients 20000 --records 60

Drawing the database and the command are processes of their own. A part whose result is in the file
of results is not repeated, and a database that was drawn is kept until the end.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

RESULTS = Path(__file__).parent / "results" / "site.json"
CONFIG = """title = "Type 2 diabetes, simulated"
[records]
features = ["ICD:%", "RX:%", "LAB:%"]
utilization = "visit_count"
[phenotype]
anchors = ["ICD:E11.9", "RX:metformin"]
"""
# per domain: share of the records, number of features, the table and its columns, and the names of
# the features that cases have more often
SHARE_OF_CASES, RELATED = 0.04, 12
DOMAINS = {
    "ICD": (0.55, 13_000, "condition_occurrence", "condition", "condition_start_date"),
    "RX": (0.25, 2_000, "drug_exposure", "drug", "drug_exposure_start_date"),
    "LAB": (0.20, 1_500, "measurement", "measurement", "measurement_date"),
}
MAIN = {"ICD": "E11.9", "RX": "metformin", "LAB": "hemoglobin a1c"}
BLOCK = 25_000  # patients


def draw(patients: int, records: float, file: Path) -> dict:
    """Write a database of simulated records; cases have more of a few features."""
    rng, rows = np.random.default_rng(0), {}
    use = rng.lognormal(0.0, 0.8, patients)
    use *= records / use.mean()
    case = rng.random(patients) < SHARE_OF_CASES
    with duckdb.connect(str(file)) as connection:
        _write_people(connection, patients, rng)
        for first in range(0, patients, BLOCK):
            some = slice(first, min(first + BLOCK, patients))
            visits = _spread(rng, np.arange(some.start, some.stop), use[some] / 6)
            _append(
                connection, "visit_occurrence", {"person_id": visits, "visit_start_date": None}, rng
            )
            for number, domain in enumerate(DOMAINS):
                rows[domain] = rows.get(domain, 0) + _write_records(
                    connection, domain, number, (some, use[some], case[some]), rng
                )
    return {"patients": patients, "cases": int(case.sum()), "records": rows}


def _write_people(
    connection: duckdb.DuckDBPyConnection, patients: int, rng: np.random.Generator
) -> None:
    people = pd.DataFrame({"person_id": np.arange(patients)})
    people["gender_concept_id"] = rng.choice([8507, 8532], patients)
    people["year_of_birth"] = rng.integers(1930, 2000, patients)
    connection.execute("CREATE TABLE person AS SELECT * FROM people")
    connection.execute(
        "CREATE TABLE observation_period AS SELECT person_id, DATE '2010-01-01' AS "
        "observation_period_start_date, DATE '2019-12-31' AS observation_period_end_date "
        "FROM people"
    )
    names = [
        (i * 100_000 + k, _name(domain, k))
        for i, domain in enumerate(DOMAINS)
        for k in range(DOMAINS[domain][1])
    ]
    concepts = pd.DataFrame(names, columns=["concept_id", "concept_name"])  # noqa: F841 - read by name
    connection.execute("CREATE TABLE concept AS SELECT * FROM concepts")


def _name(domain: str, k: int) -> str:
    return MAIN[domain] if k == 0 else f"{domain.lower()} {k:05d}"


def _write_records(connection, domain, number, patients, rng) -> int:
    """Write the records of one domain of some patients; return their number."""
    some, use, case = patients
    share, kinds, table, stem, day = DOMAINS[domain]
    person = _spread(rng, np.arange(some.start, some.stop), use * share)
    weights = 1 / (np.arange(kinds) + 5.0)
    weights[0] = 0.0  # the main feature of the disease
    kind = rng.choice(kinds, len(person), p=weights / weights.sum())
    sick = case[person - some.start]
    kind[~sick & (rng.random(len(kind)) < 0.002)] = 0
    kind[sick & (rng.random(len(kind)) < 0.08)] = 0
    other = sick & (rng.random(len(kind)) < 0.15)
    kind[other] = 200 + rng.integers(RELATED, size=int(other.sum()))
    codes = np.array([_name(domain, k) for k in range(kinds)], dtype=object)
    columns = {"person_id": person, day: None, f"{stem}_concept_id": number * 100_000 + kind}
    columns[f"{stem}_source_value"] = pd.Categorical.from_codes(kind, codes)
    _append(connection, table, columns, rng)
    return len(person)


def _spread(rng: np.random.Generator, persons: np.ndarray, means: np.ndarray) -> np.ndarray:
    return np.repeat(persons, rng.poisson(means))


def _append(connection, table: str, columns: dict, rng: np.random.Generator) -> None:
    n = len(columns["person_id"])
    days = np.datetime64("2010-01-01", "D") + rng.integers(3650, size=n)
    rows = pd.DataFrame({name: days if one is None else one for name, one in columns.items()})
    day = next(name for name, one in columns.items() if one is None)
    made = f"SELECT * REPLACE ({day}::DATE AS {day}) FROM rows"  # noqa: S608
    exists = connection.execute(
        "SELECT 1 FROM duckdb_tables() WHERE table_name = ?", [table]
    ).fetchone()
    connection.execute(
        f"INSERT INTO {table} {made}" if exists else f"CREATE TABLE {table} AS {made}"
    )
    del rows


def phenotype(file: Path, folder: Path) -> dict:
    """Run the command; what it told, and the time it took."""
    from typer.testing import CliRunner  # noqa: PLC0415

    from unelisa.cli import app  # noqa: PLC0415

    config, told = folder / "site.toml", folder / "site.json"
    config.write_text(CONFIG)
    outputs = ["--out", folder / "out.csv", "--report", folder / "out.html", "--json", told]
    arguments = ["phenotype", file, "--config", config, *outputs, "--force"]
    start = time.process_time(), time.perf_counter()
    result = CliRunner().invoke(app, list(map(str, arguments)))
    if result.exit_code:
        raise SystemExit(result.output)
    facts = json.loads(told.read_text())
    return {
        "cpu": round(time.process_time() - start[0], 1),
        "seconds": round(time.perf_counter() - start[1], 1),
        "rare": facts["rare"],
        "answer": facts["answer"],
        "steps": {
            step["what"]: [step["rows"], round(step["seconds"], 1)] for step in facts["steps"]
        },
    }


def _apart(*arguments: str) -> dict:
    command = [sys.executable, __file__, "--part", *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--patients", type=int, default=250_000)
    parser.add_argument("--records", type=float, default=60.0, help="per patient, on average")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "unelisa-site")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--part", nargs="+", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.part:
        name, *rest = asked.part
        found = (
            draw(int(rest[0]), float(rest[1]), Path(rest[2]))
            if name == "draw"
            else phenotype(Path(rest[0]), Path(rest[1]))
        )
        peak = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        print(json.dumps(found | {"peak_mb": peak}))
        return
    asked.folder.mkdir(exist_ok=True)
    file, draft = asked.folder / "site.duckdb", asked.folder / "draft.duckdb"
    found = json.loads(asked.results.read_text()) if asked.results.exists() else {}
    if "draw" not in found or not file.exists():
        draft.unlink(missing_ok=True)
        found = {"draw": _apart("draw", str(asked.patients), str(asked.records), str(draft))}
        draft.rename(file)
        asked.results.write_text(json.dumps(found, indent=1) + "\n")
    if "phenotype" not in found:
        found["phenotype"] = _apart("phenotype", str(file), str(asked.folder))
        found["machine"] = {
            "cores": os.cpu_count(),
            "load": round(os.getloadavg()[0], 2),
            "python": platform.python_version(),
            "date": time.strftime("%Y-%m-%d"),
        }
        asked.results.write_text(json.dumps(found, indent=1) + "\n")
    for left in asked.folder.iterdir():
        left.unlink()
    asked.folder.rmdir()


if __name__ == "__main__":
    main()
