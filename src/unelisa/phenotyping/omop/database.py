"""Where an OMOP database is: a DuckDB file, a folder of tables, a PostgreSQL server, or any engine.

Everything is opened for reading only, unless a cohort shall be written.
"""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from unelisa.errors import RecordsError, missing_extra

_ENDINGS = (".parquet", ".csv", ".csv.gz")
_DELIMITERS = ",;|\t"


@contextmanager
def open_database(database: Any, *, read_only: bool = True) -> Iterator[Any]:
    """Give an Ibis connection, or raise `RecordsError` with one sentence; close what was opened.

    Parameters
    ----------
    database
        Path of a DuckDB file; path of a folder with one Parquet or CSV file per table; address of
        a PostgreSQL server (postgresql://user@host/name); or an Ibis connection, which is used as
        it is and stays open.
    read_only
        Whether nothing shall be written.
    """
    if isinstance(database, require_ibis().backends.BaseBackend):
        yield database
        return
    connection = _connect(database, read_only)
    try:
        yield connection
    finally:
        connection.disconnect()


def _connect(database: Any, read_only: bool) -> Any:
    if is_server(database):
        return _connect_postgres(str(database), read_only)
    path = Path(database)
    if not _is_there(path):
        raise RecordsError(_tell_absent(path))
    if not path.is_dir():
        return _connect_duckdb(path, read_only)
    if not read_only:
        raise RecordsError(f"{path.name} is a folder: a cohort can be written to a database")
    return _connect_folder(path)


def _is_there(path: Path) -> bool:
    try:
        return path.is_dir() or path.is_file()
    except OSError:  # no file has such a name
        return False


def _tell_absent(path: Path) -> str:
    ways = (
        "name a DuckDB file, a folder of Parquet or CSV tables, or a server as "
        "postgresql://user@host/name"
    )
    if _may_hold_secrets(str(path)):
        return f"the database is neither a file nor a folder; {ways}"
    return f"there is no database {path.name} in {path.parent}; {ways}"


def is_server(database: Any) -> bool:
    """Return whether a database is the address of a server.

    Examples
    --------
    >>> is_server("postgresql://ann@host/cdm"), is_server("ra.duckdb")
    (True, False)
    """
    return isinstance(database, str) and database.startswith(("postgresql://", "postgres://"))


def require_ibis() -> Any:
    """Return Ibis, or say which extra brings it."""
    try:
        import ibis  # noqa: PLC0415 - optional, and it takes most of a second
    except ImportError:
        raise missing_extra("databases need Ibis", "omop") from None
    return ibis


def _connect_duckdb(path: Path, read_only: bool) -> Any:
    import duckdb  # noqa: PLC0415 - optional

    try:
        return require_ibis().duckdb.connect(path, read_only=read_only)
    except duckdb.Error as error:
        raise RecordsError(
            f"{path.name} cannot be opened as a DuckDB database ({type(error).__name__}): it may "
            "be damaged, of another kind, in use by another program, or written by a DuckDB newer "
            f"than {duckdb.__version__}"
        ) from None


def _connect_folder(folder: Path) -> Any:
    """Return a database in memory whose tables are views of the folder's files."""
    import duckdb  # noqa: PLC0415 - optional

    files = _list_files(folder)
    if not files:
        raise RecordsError(
            f"the folder {folder.resolve().name} holds no {', '.join(_ENDINGS)} file; each OMOP "
            "table is one"
        )
    connection = require_ibis().duckdb.connect()
    for table, file in files.items():
        try:
            if file.suffix.lower() == ".parquet":
                # some programs write a table as a folder of parts
                parts = file / "*.parquet" if file.is_dir() else file
                connection.read_parquet(parts, table_name=table)
            else:
                # as text: a guess would turn the code 714.10 into the number 714.1
                connection.read_csv(file, table_name=table, all_varchar=True, **_find_form(file))
        except (duckdb.Error, OSError, EOFError) as error:
            raise RecordsError(
                f"{file.name} cannot be read as a table ({type(error).__name__})"
            ) from None
    return connection


def _find_form(file: Path) -> dict[str, Any]:
    """Return how a text file is written, by its header.

    A guess from some rows may take a record for the header, or miss a first quote further down.
    Vocabularies are handed out as tab-separated text, in which a quote is an ordinary letter.
    """
    reader = gzip.open if file.name.lower().endswith(".gz") else open
    with reader(file, "rt", encoding="utf-8", errors="replace") as lines:
        header = str(lines.readline())
    delimiter = max(_DELIMITERS, key=header.count)
    quotes = {"quote": ""} if delimiter == "\t" else {"quote": '"', "escape": '"'}
    return {"delim": delimiter, "header": True, "skip": 0, **quotes}


def _list_files(folder: Path) -> dict[str, Path]:
    """Return the file of each table; Parquet is preferred where both are there."""
    files: dict[str, Path] = {}
    for ending in reversed(_ENDINGS):
        for file in sorted(folder.iterdir()):
            if file.name.lower().endswith(ending):
                files[file.name[: -len(ending)].lower()] = file
    return files


def _connect_postgres(address: str, read_only: bool) -> Any:
    ibis = require_ibis()
    try:
        import psycopg  # noqa: PLC0415 - optional
    except ImportError:
        raise missing_extra("PostgreSQL needs psycopg", "omop") from None
    try:
        connection = psycopg.connect(address, autocommit=True)
    except psycopg.Error as error:
        raise RecordsError(
            f"the PostgreSQL server cannot be reached: {_tell(error, address)}"
        ) from None
    if read_only:
        connection.execute("SET default_transaction_read_only = on")
    return ibis.postgres.from_connection(connection)


def _tell(error: Exception, address: str) -> str:
    """Return the driver's first line; it may quote a password where the address holds one."""
    if _may_hold_secrets(address.partition("://")[2]):
        return (
            f"{type(error).__name__}; the driver's words are left out because the address may hold "
            "a password, which is safer in ~/.pgpass or PGPASSWORD"
        )
    return str(error).partition("\n")[0] or type(error).__name__


def _may_hold_secrets(text: str) -> bool:
    """Return whether a text may have a password in it; a mistyped address has it anywhere.

    Examples
    --------
    >>> _may_hold_secrets("ann:x@host/cdm"), _may_hold_secrets("ann@host:5432/cdm")
    (True, False)
    """
    user, at, _ = text.rpartition("@")
    return "password" in text.lower() or (bool(at) and ":" in user)
