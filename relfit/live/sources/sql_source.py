"""A query of a database as a source: read-only, with a time limit, and with the meaning of its columns."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Literal

import pandas as pd
from pydantic import Field, ValidationInfo, field_validator

from relfit.base.errors import RelfitError
from relfit.base.text import on_one_line
from relfit.base.units import hours
from relfit.fleet.calibration.parameter_values import rejection
from relfit.io import read
from relfit.io.table_mapping import TableMapping
from relfit.live.live_records import Fetched
from relfit.live.sources.file_source import form_of
from relfit.live.sources.source_base import (
    Located,
    SourceBase,
    SourceError,
    missing_extra,
    of_extra,
    password_from,
    without_password,
)

_DRIVERS = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql", "mariadb": "mariadb+pymysql"}
_MOST_ROWS = 20_000_000
_TOGETHER = 50_000  # rows fetched at a time
_LATER = 2.0  # seconds to wait beyond the time limit for the server's own timeout
_FILES = ("sqlite:///", "duckdb:///")
_MOST_COLUMNS = 200  # columns beyond the named ones


def query_rows(
    url: str, query: str, values: Mapping[str, object], *, password_env: str | None = None, timeout: float = 120.0
) -> pd.DataFrame:
    """The rows of a query, with values of its parameters such as ``:since``; the URL is SQLAlchemy's, without a
    password.

    The server may take `timeout` seconds to connect, to answer, and between batches of rows. A `SourceError`, one line
    that holds no password, when it refuses, is silent for longer, or gives too many rows.
    """
    password = password_from(password_env)
    try:
        answers = _awaited(_parts(url, query, values, password, timeout), timeout)
        _, names = next(answers), next(answers)
        rows = [row for part in answers for row in part]
    except RelfitError:
        raise
    except Exception as error:  # each driver has its own errors
        text = str(getattr(error, "orig", None) or error)
        told = text.replace(password, "...") if password else text
        raise SourceError(f"{type(error).__name__}: {on_one_line(told)}") from None
    return pd.DataFrame(rows, columns=names)


def _awaited(parts: Iterator[list[Any]], timeout: float) -> Iterator[list[Any]]:
    """The parts of an answer, read in a thread of its own, which is abandoned when nothing comes for too long."""
    answers: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue()
    left = threading.Event()

    def ask() -> None:
        try:
            for part in parts:
                answers.put((part, None))
                if left.is_set():
                    return
        except BaseException as error:
            answers.put((None, error))
        else:
            answers.put((None, None))

    threading.Thread(target=ask, daemon=True).start()
    while True:
        try:
            part, error = answers.get(timeout=timeout + _LATER)
        except queue.Empty:
            left.set()
            raise SourceError(f"the server did not answer within {timeout:g} s", remedy="is the network up?") from None
        if error is not None:
            raise error
        if part is None:
            return
        yield part


def _parts(
    url: str, query: str, values: Mapping[str, object], password: str | None, timeout: float
) -> Iterator[list[Any]]:
    """An empty part once connected; the names of the columns; then batches of rows."""
    try:
        import sqlalchemy

        place = sqlalchemy.make_url(url)
        place = place.set(drivername=_DRIVERS.get(place.drivername, place.drivername))
        if password is not None:
            place = place.set(password=password)
        limits = _limits(place.get_driver_name(), timeout)
        engine = sqlalchemy.create_engine(place, connect_args=limits, poolclass=sqlalchemy.pool.NullPool)
    except ImportError as error:
        raise missing_extra(str(error.name)) from None
    with engine.connect() as connection:
        yield []
        result = connection.execution_options(stream_results=True).execute(sqlalchemy.text(query), dict(values))
        yield [str(name) for name in result.keys()]  # noqa: SIM118 - a result is no mapping
        number = 0
        for part in result.partitions(_TOGETHER):
            number += len(part)
            if number > _MOST_ROWS:
                raise SourceError(f"the query gives more than {_MOST_ROWS:,} rows", remedy="ask for less with :since")
            yield [tuple(row) for row in part]
        connection.rollback()


def _limits(driver: str, timeout: float) -> dict[str, Any]:
    """Options of a driver for time limits, and for read-only access where it has one."""
    seconds = max(int(timeout), 1)
    if driver in ("psycopg", "psycopg2"):
        options = f"-c statement_timeout={int(1000 * timeout)} -c default_transaction_read_only=on"
        return {"connect_timeout": seconds, "options": options}
    if driver == "pymysql":
        read_only = "SET SESSION TRANSACTION READ ONLY"
        return {"connect_timeout": seconds, "read_timeout": timeout, "init_command": read_only}
    return {"timeout": timeout, "uri": False} if driver == "pysqlite" else {}


class SqlSource(SourceBase):
    """A query of SQLite, PostgreSQL, MariaDB, MySQL or DuckDB.

    The parameter ``:since`` of a query gets the start of the last record, less `overlap`; a query without it returns
    all records in every round.
    """

    kind: Literal["sql"]
    url: str = Field(description="as of SQLAlchemy, without a password: mariadb://reader@db/slurm_acct_db")
    password_env: str | None = Field(None, description="environment variable with the password")
    query: str = Field(description="SELECT ...; with :since only what is newer")
    columns: dict[str, Any] = Field(default_factory=dict, description="start = 'time_start', time_format = 'unix', ...")
    overlap: str = Field("30d", description="how far back of the last record is asked again, for late corrections")
    timeout: float = Field(120.0, gt=0.0, le=86_400.0, description="seconds that the server may be silent")

    @field_validator("url")
    @classmethod
    def _reachable(cls, url: str, info: ValidationInfo) -> str:
        without_password(url)
        start = next((start for start in _FILES if url.startswith(start)), None)
        return start + Located.of(url.removeprefix(start), info) if start else url

    @field_validator("overlap")
    @classmethod
    def _a_time(cls, text: str) -> str:
        try:
            hours(text)
        except RelfitError as error:
            raise rejection(error.what, remedy="write 30d or the like") from None
        return text

    @property
    def place(self) -> str:
        """The database, without user and host."""
        return self.url.partition("://")[0] + " " + self.url.rpartition("/")[2].partition("?")[0]

    def fetch(self, cursor: Mapping[str, object], now: pd.Timestamp) -> Fetched:
        """The rows of the query, read as a table."""
        since = pd.Timestamp("1970-01-01", tz="UTC")
        if "until" in cursor:
            since = max(
                since, pd.Timestamp(str(cursor["until"])).tz_convert("UTC") - pd.Timedelta(hours=hours(self.overlap))
            )
        table = self._rows(since)
        if table.empty:
            return Fetched(None, dict(cursor))
        log = read(self._few(table), timezone=self.timezone, **self.columns)
        latest = log.window.end if log.events.empty else log.events["start"].max()
        return Fetched(None, {"until": latest.isoformat()}, form_of(log), log.source.notes, ((self.title, log),))

    def _rows(self, since: pd.Timestamp) -> pd.DataFrame:
        moment = since.tz_convert(self.timezone or "UTC").tz_localize(None).to_pydatetime()
        if self.url.startswith("duckdb:"):
            return self._of_duckdb(moment)
        given = {"since": str(moment) if self.url.startswith("sqlite:") else moment} if ":since" in self.query else {}
        return query_rows(self.url, self.query, given, password_env=self.password_env, timeout=self.timeout)

    def _of_duckdb(self, moment: object) -> pd.DataFrame:
        duckdb = of_extra("duckdb")
        given = {"since": moment} if ":since" in self.query else None
        try:
            with duckdb.connect(self.url.removeprefix("duckdb:///"), read_only=True) as connection:
                return connection.execute(self.query.replace(":since", "$since"), given).df()
        except duckdb.Error as error:
            raise SourceError(f"{type(error).__name__}: {on_one_line(error)}") from None

    def _few(self, table: pd.DataFrame) -> pd.DataFrame:
        """The named columns, and the first 200 of the others, with values of plain types."""
        named = {str(self.columns[name]) for name in TableMapping.model_fields if name in self.columns}
        parts = {part for name in named for part in name.split("+")}
        further = [name for name in table if name not in named | parts][:_MOST_COLUMNS]
        few = table[[name for name in table if name in {*named, *parts, *further}]]
        return few.assign(**{str(name): few[name].map(_plain) for name in few if few[name].dtype == object})


def _plain(value: object) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    return value.decode(errors="replace") if isinstance(value, bytes) else value
