"""An OMOP database: a DuckDB file, a folder of tables, a PostgreSQL server, or any Ibis engine.

Connections are read-only unless a cohort is to be written. DuckDB opens the named files only: no
others, no network, no extensions; it keeps to the memory limit, in a private folder beyond it.
"""

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from unelisa.errors import RecordsError, UnelisaError, missing_extra
from unelisa.memory import LEAST, memory_limit
from unelisa.sources.files import find_delimiter, read_beginning

_ENDINGS = (".parquet", ".csv", ".csv.gz")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)?")
# Ibis opens the others by their addresses; only the rights of the account keep them read-only
_SERVERS = {
    *("postgresql", "postgres", "mssql", "snowflake", "bigquery", "databricks", "trino", "mysql"),
    *("oracle", "clickhouse"),
}
_SECRET = re.compile(r"jdbc:|pass|pwd|secret|token|credential", re.IGNORECASE)
_LISTED = 12
_EXTENSIONS = (
    "autoinstall_known_extensions",
    "autoload_known_extensions",
    "allow_community_extensions",
)
_UNREADABLE = "an identifier is not a whole number, or a date is neither YYYY-MM-DD nor YYYYMMDD"
# tables of the vocabulary, which many servers keep in a schema of their own
VOCABULARY = frozenset({"concept", "concept_ancestor", "concept_relationship", "vocabulary"})
_PARTS = {"cohort": "results"}
_SYSTEM = ("pg_", "information_schema")
_MOST_SCHEMAS = 50
_SMALL_FILE = 5_000_000  # bytes of a text file that is held in memory
# what to write where a table is absent
_INSTEAD = {
    "person": 'every OMOP database has it: name its schema under [cdm], such as schema = "cdm"',
    "note": 'without notes, write utilization = "visit_count", or "none", and no NLP: features',
    "note_nlp": "without mentions in notes, leave out the NLP: features",
    "visit_occurrence": 'without visits, write utilization = "note_count", or "none"',
    "concept": "without it, name concepts by number, or use source codes such as ICD:714.0",
    "concept_ancestor": "without it, name concepts without +, or combine source codes (ICD:714.+)",
    "condition_era": "without eras, count the records: CONCEPT: instead of CONCEPT.era:",
    "drug_era": "without eras, count the records: RX: instead of RX.era:",
    "cohort": "create it, name its schema under [results], or write a file with --cohort",
}
# what a kind of engine's error means, where its message cannot be shown
_MEANINGS = {
    "PermissionException": "a view in it reads a file outside of it; copy the table into it",
    "OutOfMemoryException": (
        "it needs more memory than the limit: raise it with UNELISA_MEMORY or --memory, or request "
        "fewer features"
    ),
    "ConversionException": _UNREADABLE,
    "InvalidTextRepresentation": _UNREADABLE,  # PostgreSQL's kinds
    "InvalidDatetimeFormat": _UNREADABLE,
    "DatetimeFieldOverflow": _UNREADABLE,
}


@contextmanager
def open_database(database: Any, *, read_only: bool = True) -> Iterator[Any]:
    """Give an Ibis connection to a database, closed afterward unless it was given as one."""
    if isinstance(database, require_ibis().backends.BaseBackend):
        yield database
        return
    connection = _connect(database, read_only)
    try:
        yield connection
    finally:
        connection.disconnect()


def is_server(database: Any) -> bool:
    """Return whether a database is the address of a server."""
    return isinstance(database, str) and database.partition("://")[0] in _SERVERS


def require_ibis() -> Any:
    """Return Ibis, or raise an error that names the extra it comes with."""
    try:
        import ibis  # noqa: PLC0415 - optional, and it takes most of a second
    except ImportError:
        raise missing_extra("databases need Ibis", "omop") from None
    return ibis


def _connect(database: Any, read_only: bool) -> Any:
    if is_server(database):
        if str(database).startswith("postgres"):
            return _connect_postgres(str(database), read_only)
        return _connect_elsewhere(str(database))
    path = Path(database)
    try:
        is_folder, is_file = path.is_dir(), path.is_file()
    except OSError:  # not a valid file name
        is_folder = is_file = False
    if is_file:
        return _connect_duckdb(path, read_only)
    if is_folder and read_only:
        return _connect_folder(path)
    if is_folder:
        raise RecordsError(f"{path.name} is a folder; a cohort can be written to a database only")
    absent = f"there is no database {path.name} in {path.parent}"
    if _may_hold_secrets(str(path)):
        absent = "the database is neither a file nor a folder"
    raise RecordsError(
        f"{absent}; name a DuckDB file, a folder of Parquet or CSV tables, or a server as "
        "postgresql://user@host/name, or as Ibis writes that of another engine (mssql://, "
        "snowflake://, bigquery://, databricks://)"
    )


def _connect_duckdb(path: Path, read_only: bool) -> Any:
    import duckdb  # noqa: PLC0415 - optional

    try:
        # an absolute path: DuckDB reads a name such as "sqlite:a" as a request for an extension
        none = dict.fromkeys(_EXTENSIONS, False)
        connect = require_ibis().duckdb.connect
        connection = connect(path.absolute(), read_only=read_only, **bound_memory(), **none)
        _allow_only(connection, [])
        return connection
    except duckdb.Error as error:
        raise RecordsError(
            f"{path.name} cannot be opened as a DuckDB database ({type(error).__name__}): it may "
            "be damaged, not a DuckDB file, in use by this or another program, or written by a "
            f"DuckDB newer than {duckdb.__version__}"
        ) from None


def _connect_folder(folder: Path) -> Any:
    import duckdb  # noqa: PLC0415 - optional

    files = _list_files(folder)
    if not files:
        raise RecordsError(
            f"the folder {folder.resolve().name} has no {', '.join(_ENDINGS)} file; it needs one "
            "per OMOP table"
        )
    parts = {table: _list_parts(file) for table, file in files.items()}
    connection = require_ibis().duckdb.connect(**bound_memory())
    _allow_only(connection, [part for listed in parts.values() for part in listed])
    for table, file in files.items():
        # a folder named a=1 would otherwise add a column
        form: dict[str, Any] = {"table_name": table, "hive_partitioning": False}
        names = [_write_literally(part) for part in parts[table]]
        try:
            if file.suffix.lower() == ".parquet":
                connection.read_parquet(names, **form)
            else:
                # as text: type inference would turn the code 714.10 into the number 714.1
                view = connection.read_csv(names, all_varchar=True, **form, **_find_form(file))
                if file.stat().st_size <= _SMALL_FILE:  # parsed once, not for every query
                    content = view.to_pyarrow()
                    connection.drop_view(table)
                    connection.create_table(table, content)
        except (duckdb.Error, OSError, EOFError) as error:
            raise RecordsError(
                f"{file.name} cannot be read as a table ({type(error).__name__})"
            ) from None
    return connection


def _list_parts(file: Path) -> list[Path]:
    """Return the files of a table: some programs write one as a folder of parts."""
    folder = file.suffix.lower() == ".parquet" and file.is_dir()
    parts = sorted(file.glob("*.parquet")) if folder else [file]
    for part in parts:
        if not part.is_file():  # reading a pipe would wait
            raise RecordsError(f"{part.name} is not a regular file")
    if not parts:
        raise RecordsError(f"the folder {file.name} has no .parquet file")
    return [part.absolute() for part in parts]


def _allow_only(connection: Any, files: Sequence[Path]) -> None:
    """Let a DuckDB connection read its database, these files and nothing else."""
    names = [name for file in files for name in (str(file), _write_literally(file))]
    if names:  # another connection to a database may have closed it already
        connection.con.execute("SET allowed_paths = ?", [names])
    for setting in (*_EXTENSIONS, "enable_external_access"):
        connection.raw_sql(f"SET {setting} = false")


def _write_literally(file: Path) -> str:
    """Return a path in which DuckDB expands nothing."""
    return re.sub(r"([*?\[])", r"[\1]", str(file))


def _find_form(file: Path) -> dict[str, Any]:
    """Return how a text file is written, by its header; vocabularies have quotes as characters."""
    delimiter = find_delimiter(read_beginning(file), ",")
    quotes = {"quote": ""} if delimiter == "\t" else {"quote": '"', "escape": '"'}
    return {"delim": delimiter, "header": True, "skip": 0, **quotes}


def _list_files(folder: Path) -> dict[str, Path]:
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
        # the driver's message may quote a password if the address contains one
        reason = str(error).partition("\n")[0] or type(error).__name__
        if _may_hold_secrets(address.partition("://")[2]):
            reason = (
                f"{type(error).__name__}; the driver's message is omitted because the address may "
                "contain a password, which is safer in ~/.pgpass or PGPASSWORD"
            )
        raise RecordsError(f"the PostgreSQL server cannot be reached: {reason}") from None
    if read_only:
        connection.execute("SET default_transaction_read_only = on")
        # every join here is by equality; where the planner expects one row (it cannot estimate
        # conditions on parts of a code), it would otherwise repeat a subquery for each of many
        connection.execute("SET enable_nestloop = off")
    return ibis.postgres.from_connection(connection)


def _connect_elsewhere(address: str) -> Any:
    """Return a connection of another engine of Ibis, which brings its own driver and sign-in."""
    engine = address.partition("://")[0]
    try:
        return require_ibis().connect(address)
    except ImportError:
        raise RecordsError(
            f"the driver of {engine} is not installed: pip install 'ibis-framework[{engine}]'"
        ) from None
    except Exception as error:  # each driver has its own kinds, and may quote a password
        raise RecordsError(
            f"the {engine} server cannot be reached ({type(error).__name__}); the driver's message "
            "is omitted because the address may contain a password; try the address in Ibis"
        ) from None


def _may_hold_secrets(text: str) -> bool:
    """Return whether a text may contain a password, anywhere in a mistyped address."""
    user, at, _ = text.rpartition("@")
    return bool(_SECRET.search(text) or (at and re.search(r"[:/]", user)))


class OmopTables:
    """Tables by their OMOP names, whatever the letter case of the engine."""

    def __init__(
        self,
        names: Sequence[str],
        open_table: Callable[[str], Any],
        where: str = "",
        find_elsewhere: Callable[[str], list[str]] | None = None,
        vocabulary: "OmopTables | None" = None,
    ) -> None:
        self.names = {name.lower(): name for name in names}
        self.where, self.vocabulary = where, vocabulary
        # an engine looks at a table whenever it is opened: once is enough
        self._open, self._find = cache(open_table), find_elsewhere

    @classmethod
    def of(
        cls,
        connection: Any,
        schema: str | None = None,
        vocabulary: str | None = None,
        cohort: str = "cohort",
    ) -> "OmopTables":
        """Return the tables of a connection, or of one of its schemas; the vocabulary has one."""
        place = split_schema(schema)
        with explain_engine("listing the tables"):
            names = connection.list_tables(database=place)
        shown = schema or (connection.current_database if connection.name == "postgres" else None)
        found = cls(
            names,
            lambda name: connection.table(name, database=place),
            "" if shown is None else f" in the schema {shown}",
            lambda name: _find_schemas(connection, name),
            None if vocabulary is None else cls.of(connection, vocabulary),
        )
        if cohort.lower() != "cohort":
            if cohort.lower() not in found.names:
                raise RecordsError(f"there is no table {cohort[:60]}{found.where}; create it")
            found.names["cohort"] = found.names[cohort.lower()]
        return found

    def __contains__(self, name: str) -> bool:
        return name in self._home(name).names

    def _home(self, name: str) -> "OmopTables":
        return self.vocabulary if self.vocabulary and name in VOCABULARY else self

    def take(self, name: str, **columns: str) -> Any:
        """Return an Ibis table of some columns, renamed; or say which of them are missing."""
        home = self._home(name)
        if name not in home.names:
            raise home.miss(name)
        with explain_engine(f"opening {name}"):
            table = home._open(home.names[name])
        present = {column.lower(): column for column in table.columns}
        missing = [column for column in columns.values() if column not in present]
        if missing:
            # if no column is right, the "header" may be the first record of a text file
            sure = len(missing) < len(columns)
            found = [one for one in present if sure or one.endswith(("_id", "_date"))]
            raise RecordsError(
                f"the table {name} has no column {' and no '.join(missing)}; "
                f"found {_list_names(found)}"
            )
        return table.select(**{new: table[present[old]] for new, old in columns.items()})

    def miss(self, name: str) -> RecordsError:
        """Return the error for an absent table, with what to write instead."""
        found = f"there is no table {name}{self.where}; found {_list_names(self.names)}"
        schemas = [] if self._find is None else self._find(name)
        if not schemas:
            return RecordsError(f"{found}; {_INSTEAD[name]}" if name in _INSTEAD else found)
        part = _PARTS.get(name, "vocabulary" if name in VOCABULARY else "cdm")
        others = f" (or {', '.join(schemas[1:])})" if len(schemas) > 1 else ""
        return RecordsError(
            f'{found}; there is one in another schema: write schema = "{schemas[0]}"{others} under '
            f"[{part}] in the TOML file, or pass the schema in Python"
        )


def split_schema(schema: str | None) -> str | tuple[str, ...] | None:
    """Return a schema as Ibis names it; reject anything but a plain name."""
    if schema is not None and not _IDENTIFIER.fullmatch(schema):
        raise RecordsError(
            "the schema must be a plain name of letters, digits and underscores, such as cdm"
        )
    return tuple(schema.split(".")) if schema is not None and "." in schema else schema


def _find_schemas(connection: Any, table: str) -> list[str]:
    try:
        schemas = [one for one in connection.list_databases() if not one.startswith(_SYSTEM)]
        return [
            schema
            for schema in schemas[:_MOST_SCHEMAS]
            if table in map(str.lower, connection.list_tables(database=schema))
            and _IDENTIFIER.fullmatch(schema)
        ]
    except Exception:  # a hint must not hide the error it belongs to
        return []


@contextmanager
def explain_engine(doing: str) -> Iterator[None]:
    """Replace an engine's error by one without its message, which may quote records."""
    try:
        yield
    except (UnelisaError, AttributeError, NameError, ImportError):
        raise  # ours, or a programming error
    except Exception as error:
        kind = type(error).__name__
        meaning = f"; {_MEANINGS[kind]}" if kind in _MEANINGS else ""
        raise RecordsError(
            f"the database failed while {doing} ({kind}){meaning}; its message is omitted because "
            "it may quote records"
        ) from None


def fetch(expression: Any, doing: str) -> Any:
    """Return the result of a query as an Arrow table, or as a scalar."""
    with explain_engine(doing):
        return expression.to_pyarrow()


def _list_names(names: Iterable[str]) -> str:
    shown = sorted(names)
    if not shown:
        return "none"
    more = f" and {len(shown) - _LISTED} more" if len(shown) > _LISTED else ""
    return ", ".join(name[:40] for name in shown[:_LISTED]) + more


_opening = Lock()  # threads must find the same folder


def bound_memory() -> dict[str, Any]:
    """Return DuckDB's settings of memory, and of its folder for what does not fit."""
    with _opening:
        folder = _open_folder(os.getpid())
    return {"memory_limit": f"{max(memory_limit(), LEAST)}B", "temp_directory": folder.name}


@cache
def _open_folder(process: int) -> "tempfile.TemporaryDirectory[str]":  # noqa: ARG001 - the key
    """Return one folder for all connections: DuckDB opens a file twice only with equal settings."""
    return tempfile.TemporaryDirectory(prefix="unelisa-")
