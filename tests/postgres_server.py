"""A real PostgreSQL server on a socket in a temporary folder, and OMOP tables loaded into it."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import duckdb
import psycopg

from unelisa.ehr.omop.datamart import TABLES

OWNER = "postgres"
# for a server that is thrown away: nothing need survive a crash, and counting may use memory
SETTINGS = {
    "listen_addresses": "''",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "4GB",
    "shared_buffers": "256MB",
    "work_mem": "128MB",
}


def find_programs() -> Path | None:
    """The folder of the newest installed server's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@contextmanager
def start_server() -> Iterator[str]:
    """Give the address of an empty server that ends with the block."""
    programs = find_programs()
    assert programs is not None
    # the path of a socket must be short
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))
    # the server refuses to run as root
    user = {"user": OWNER, "group": OWNER} if os.geteuid() == 0 else {}
    if user:
        shutil.chown(folder, OWNER, OWNER)
    store = str(folder / "store")
    settings = {**SETTINGS, "unix_socket_directories": str(folder)}
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())

    def call(program: str, *arguments: str) -> None:
        command = [str(programs / program), "-D", store, *arguments]
        subprocess.run(command, check=True, cwd=folder, stdout=subprocess.DEVNULL, **user)

    try:
        call("initdb", "-U", OWNER, "-A", "trust", "-E", "UTF8", "--no-sync")
        call("pg_ctl", "-w", "-o", options, "-l", str(folder / "log"), "start")
        try:
            yield f"postgresql://{OWNER}@/{OWNER}?host={quote(str(folder), safe='')}"
        finally:
            call("pg_ctl", "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


def load_tables(file: Path, address: str, schema: str = "public") -> None:
    """Copy the OMOP tables of a DuckDB file to a server, leaving out columns without any value."""
    with (
        duckdb.connect(str(file), read_only=True) as source,
        psycopg.connect(address) as target,
        tempfile.TemporaryDirectory() as folder,
    ):
        target.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        target.execute(f"SET search_path TO {schema}")
        for table, statement in TABLES.items():
            target.execute(statement)
            columns, text = list_filled(source, table), Path(folder) / table
            rows = f"(SELECT {columns} FROM {table})"  # noqa: S608
            source.execute(f"COPY {rows} TO '{text}' (FORMAT csv, HEADER false, NULLSTR '\\N')")
            take = f"COPY {table} ({columns}) FROM STDIN (FORMAT csv, NULL '\\N')"
            with text.open("rb") as lines, target.cursor() as cursor, cursor.copy(take) as copy:
                while block := lines.read(1 << 20):
                    copy.write(block)
            text.unlink()
    with psycopg.connect(address, autocommit=True) as target:
        target.execute("ANALYZE")


def list_filled(source: duckdb.DuckDBPyConnection, table: str) -> str:
    """The columns that hold anything, for a statement."""
    columns = [row[0] for row in source.execute(f"DESCRIBE {table}").fetchall()]
    counts = ", ".join(f'count("{column}")' for column in columns)
    filled = source.execute(f"SELECT {counts} FROM {table}").fetchone()  # noqa: S608
    return ", ".join(f'"{c}"' for c, n in zip(columns, filled, strict=True) if n)
