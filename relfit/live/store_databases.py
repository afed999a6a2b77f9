"""The two databases of a store, a DuckDB file or PostgreSQL, behind one interface."""

from __future__ import annotations

import io
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from relfit.base.errors import RelfitError
from relfit.base.text import on_one_line
from relfit.live.sources.source_base import missing_extra, of_extra, password_from

if TYPE_CHECKING:
    import pyarrow as pa

_MEMORY = "512MB"
_BATCH = 250_000  # rows held as text at a time
_ROWS = 100_000  # rows sent at a time
_LOCK = 7_265_696_974  # number of the advisory lock that allows one round at a time
_PG_TYPES = {16: "bool", 20: "int64", 23: "int32", 25: "string", 701: "double", 1114: "timestamp[us]"}
"""Arrow's names of PostgreSQL's types, by type number."""


class Database(ABC):
    """A database of a store: statements with ``?`` for values, tables in and out, transactions."""

    further: ClassVar[tuple[str, ...]] = ()
    """Further statements of this kind of database when the tables are created."""
    _mark: ClassVar[str] = "?"
    _cursor: Any

    def execute(self, sql: str, values: Sequence[object] = ()) -> None:
        """Run a statement."""
        self._cursor.execute(sql.replace("?", self._mark), list(values))

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        self.execute(sql, values)
        return list(self._cursor.fetchall())

    def insert(self, name: str, *values: object) -> None:
        """Add a row to a table."""
        self.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(values))})", values)

    @abstractmethod
    def frame(self, sql: str, texts: Sequence[str] = ()) -> pd.DataFrame:
        """The rows of a query as a table; columns of `texts` are categorical."""

    def load(self, name: str, frame: pd.DataFrame, like: str) -> None:
        """Create a temporary table of the rows of a frame, with the types that its columns have in the table `like`."""
        columns = ", ".join(frame.columns)
        self.keep(name, f"SELECT {columns} FROM {like} LIMIT 0")
        self._fill(name, columns, frame)

    def keep(self, name: str, sql: str, values: Sequence[object] = ()) -> None:
        """Create a temporary table of the rows of a query, in place of an earlier one of that name."""
        self.execute(f"DROP TABLE IF EXISTS {name}")
        self.execute(f"CREATE TEMP TABLE {name} AS {sql}", values)

    @abstractmethod
    def _fill(self, name: str, columns: str, frame: pd.DataFrame) -> None:
        """Insert the rows of a frame into a table."""

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A context whose changes are stored all or none."""
        connection = self._begun()
        try:
            yield
        except BaseException:
            connection.rollback()
            raise
        connection.commit()

    @abstractmethod
    def _begun(self) -> Any:
        """The connection, in a transaction."""

    def close(self) -> None:
        """Close the connection."""
        self._cursor.close()


def opened(url: str, password_env: str | None = None, *, read_only: bool = False) -> Database:
    """The database of a path or a ``postgresql://`` URL; a `RelfitError` if it cannot be opened, or is in use."""
    if "://" in url:
        return PostgresDatabase(url, password_from(password_env), read_only=read_only)
    return DuckDatabase(Path(url), read_only=read_only)


class DuckDatabase(Database):
    """A DuckDB file."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        duckdb = of_extra("duckdb")
        if read_only and not path.exists():
            raise RelfitError(f"there is no store {path}", remedy="relfit watch run creates it")
        settings: dict[str, Any] = {"memory_limit": _MEMORY, "preserve_insertion_order": False}
        try:
            self._cursor = duckdb.connect(str(path), read_only=read_only, config=settings)
        except duckdb.Error as error:
            if isinstance(error, duckdb.IOException) and "lock" in str(error):
                raise RelfitError(f"{path} is in use by another round", remedy="wait until that has ended") from None
            what = f"{path} cannot be opened as a store: {on_one_line(error)}"
            raise RelfitError(what, remedy="name another file") from None
        self.execute("SET TimeZone = 'UTC'")

    def frame(self, sql: str, texts: Sequence[str] = ()) -> pd.DataFrame:  # noqa: D102
        return _categorical(self._cursor.sql(sql).to_arrow_reader(_BATCH), texts)

    def _fill(self, name: str, columns: str, frame: pd.DataFrame) -> None:
        self._cursor.register("frame_in_memory", _arrow(frame))
        try:
            self.execute(f"INSERT INTO {name} SELECT {columns} FROM frame_in_memory")
        finally:
            self._cursor.unregister("frame_in_memory")

    def _begun(self) -> Any:
        return self._cursor.begin()


class PostgresDatabase(Database):
    """The schema ``relfit`` of a PostgreSQL database."""

    further: ClassVar[tuple[str, ...]] = ("CREATE INDEX events_began ON events (began)",)
    _mark: ClassVar[str] = "%s"

    def __init__(self, url: str, password: str | None, *, read_only: bool = False) -> None:
        try:
            import psycopg  # noqa: F401 - the driver
            import sqlalchemy
        except ImportError as error:
            raise missing_extra(str(error.name)) from None
        where = sqlalchemy.make_url(url).set(drivername="postgresql+psycopg")
        self._engine = sqlalchemy.create_engine(where.set(password=password) if password else where)
        try:
            self._raw: Any = self._engine.raw_connection()
        except sqlalchemy.exc.OperationalError as error:
            what = f"{where.render_as_string()}: {on_one_line(error.orig)}"
            raise RelfitError(what, remedy="is the server up?") from None
        self._cursor = self._raw.cursor()
        self._cursor.execute("SET TIME ZONE 'UTC'")
        if not read_only and not self.rows(f"SELECT pg_try_advisory_lock({_LOCK})")[0][0]:
            raise RelfitError(
                f"{where.render_as_string()} is in use by another round", remedy="wait until that has ended"
            )
        if not read_only:
            self._cursor.execute("CREATE SCHEMA IF NOT EXISTS relfit")
        self._cursor.execute("SET search_path TO relfit, pg_temp")
        self._raw.commit()

    def frame(self, sql: str, texts: Sequence[str] = ()) -> pd.DataFrame:  # noqa: D102
        from pyarrow import csv

        # a query without rows gives the column types
        self.execute(f"SELECT * FROM ({sql}) AS q LIMIT 0")
        types = {column.name: _PG_TYPES[column.type_code] for column in self._cursor.description}
        options = csv.ConvertOptions(
            column_types=types, true_values=["t"], false_values=["f"], null_values=[""], strings_can_be_null=False
        )
        parsing = csv.ParseOptions(newlines_in_values=True)
        with tempfile.TemporaryFile() as taken:
            with self._cursor.copy(f"COPY ({sql}) TO STDOUT (FORMAT csv, HEADER)") as copy:
                for part in copy:
                    taken.write(part)
            taken.seek(0)
            return _categorical(csv.open_csv(taken, parse_options=parsing, convert_options=options), texts)

    def _fill(self, name: str, columns: str, frame: pd.DataFrame) -> None:
        from pyarrow import csv

        writing = csv.WriteOptions(include_header=False, quoting_style="all_valid")  # null is written without quotes
        with self._cursor.copy(f"COPY {name} ({columns}) FROM STDIN (FORMAT csv)") as copy:
            for begin in range(0, len(frame), _ROWS):
                part = io.BytesIO()
                csv.write_csv(_arrow(frame.iloc[begin : begin + _ROWS]), part, writing)
                copy.write(part.getvalue())
        self.execute(f"ANALYZE {name}")

    def _begun(self) -> Any:
        return self._raw

    def close(self) -> None:  # noqa: D102
        self._raw.invalidate()  # closing the connection releases the lock
        self._engine.dispose()


def _arrow(frame: pd.DataFrame) -> Any:
    import pyarrow as pa

    return pa.Table.from_pandas(frame, preserve_index=False)


def _categorical(batches: pa.RecordBatchReader, texts: Sequence[str]) -> pd.DataFrame:
    """Batches of Arrow as a frame; texts become categories batch by batch, in a tenth of the memory."""
    import pyarrow as pa

    parts = []
    for batch in batches:
        part = pa.Table.from_batches([batch])
        for name in texts:
            part = part.set_column(part.column_names.index(name), name, part[name].dictionary_encode())
        parts.append(part)
    table = pa.concat_tables(parts or [batches.schema.empty_table()]).unify_dictionaries().combine_chunks()
    del parts
    frame: pd.DataFrame = table.to_pandas(self_destruct=True, split_blocks=True)
    return frame.astype(dict.fromkeys(texts, "category"))  # no batch, no categories yet
