"""A query of a database as a source, with the meaning of its columns."""

from __future__ import annotations

from collections.abc import Mapping
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
from relfit.live.sources.source_base import Located, SourceBase, SourceError, of_extra, without_password
from relfit.live.sources.sql_reading import query_rows

_FILES = ("sqlite:///", "duckdb:///")
_MOST_COLUMNS = 200  # columns beyond the named ones


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
