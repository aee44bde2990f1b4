"""How long a phenotype takes from the database to the posterior, on two engines.

    python benchmarks/ehr.py                       46,568 simulated patients, into results/ehr.json
    python benchmarks/ehr.py --patients 5000 --engines duckdb

Each engine is asked from a process of its own, whose CPU seconds and peak memory are told. A
PostgreSQL server works apart from it: there the clock on the wall counts, from the load of the
tables to the posterior.
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
from urllib.parse import parse_qs, urlparse

from unelisa.ehr.datamart import simulate_ehr
from unelisa.ehr.omop.counts import count_patients
from unelisa.ehr.omop.database import OmopTables, open_database
from unelisa.ehr.omop.datamart import write_datamart
from unelisa.ehr.omop.requests import CountRequest
from unelisa.ehr.phenotyper import Phenotyper

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "ehr.json"
sys.path.insert(0, str(HERE.parent / "tests"))
from postgres_server import load_tables, start_server  # noqa: E402 - the tests' own server

FEATURES = ["ICD:714.%", "NLP:%"]
ENTRY = ["ICD:714.%", "LAB:anti-cyclic citrullinated peptide test"]
ANCHORS = ["ICD:714.0", "NLP:rheumatoid arthritis"]


def simulate(patients: int, file: Path) -> dict:
    """Write the datamart; the time it takes."""
    start, rows = _clock(), {}
    drawn = simulate_ehr(patients)
    drawing = _since(start)
    write_datamart(
        drawn, file, advance=lambda table, n: rows.update({table: rows.get(table, 0) + n})
    )
    return {"rows": rows, "drawing": drawing, "drawing_and_writing": _since(start)} | _peak()


def phenotype(database: str, schema: str | None) -> dict:
    """Count, then learn; the time of each."""
    start = _clock()
    with open_database(database) as connection:
        tables = OmopTables.of(connection, schema)
        counts = count_patients(tables, CountRequest.of(FEATURES, entry=ENTRY))
    counted, memory, start = _since(start), _peak(), _clock()
    model = Phenotyper(ANCHORS, "note_count", random_state=0).fit(counts.table)
    model.predict_proba(counts.table)
    return {
        "patients": len(counts.table),
        "features": counts.table.shape[1] - 1,
        "steps": {step.what: [step.rows, round(step.seconds, 2)] for step in counts.steps},
        "counting": counted,
        "peak_mb_counting": memory["peak_mb"],
        "posterior": _since(start),
    } | _peak()


def with_server(file: Path) -> dict:
    """Load the datamart into a PostgreSQL server, then count there and learn."""
    with start_server() as address:
        start = _clock()
        load_tables(file, address, "cdm")
        loaded = _since(start)
        found = _apart("phenotype", address, "cdm")
        everything = _since(start)
        server = server_cpu(address)
    return found | {
        "load": loaded,
        "load_to_posterior_seconds": everything["seconds"],
        "server_cpu": server,
    }


def server_cpu(address: str) -> float:
    """CPU seconds of all sessions that have ended, as their parent counts them."""
    folder = Path(parse_qs(urlparse(address).query)["host"][0])
    parent = (folder / "store" / "postmaster.pid").read_text().split()[0]
    numbers = Path(f"/proc/{parent}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, numbers[11:15])) / os.sysconf("SC_CLK_TCK")


def _apart(*arguments: str) -> dict:
    command = [sys.executable, __file__, "--part", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def _clock() -> tuple[float, float]:
    return time.process_time(), time.perf_counter()


def _since(start: tuple[float, float]) -> dict:
    now = _clock()
    return {"cpu": round(now[0] - start[0], 2), "seconds": round(now[1] - start[1], 2)}


def _peak() -> dict:
    return {"peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)}


def machine() -> dict:
    return {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "date": time.strftime("%Y-%m-%d"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--patients", type=int, default=46568)
    parser.add_argument("--engines", nargs="+", default=["duckdb", "postgres"])
    parser.add_argument("--part", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--results", type=Path, default=RESULTS)
    asked = parser.parse_args()
    if asked.part:
        part, *rest = asked.part
        done = (
            simulate(int(rest[0]), Path(rest[1]))
            if part == "simulate"
            else phenotype(rest[0], rest[1] if len(rest) > 1 else None)
        )
        print(json.dumps(done))
        return
    found: dict = {"machine": machine(), "patients": asked.patients}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ra.duckdb"
        found["simulate"] = _apart("simulate", str(asked.patients), str(file))
        print(f"simulate: {found['simulate']}")
        for engine in asked.engines:
            found[engine] = (
                _apart("phenotype", str(file)) if engine == "duckdb" else with_server(file)
            )
            print(f"{engine}: {found[engine]}")
    asked.results.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
