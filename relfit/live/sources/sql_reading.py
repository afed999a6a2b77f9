"""The rows of a query, from a server that may refuse, be slow or fall silent: read-only, and with a time limit."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from relfit.base.errors import RelfitError
from relfit.base.text import on_one_line
from relfit.live.sources.source_base import SourceError, missing_extra, password_from

_DRIVERS = {"postgresql": "postgresql+psycopg", "mysql": "mysql+pymysql", "mariadb": "mariadb+pymysql"}
_MOST_ROWS = 20_000_000
_TOGETHER = 50_000  # rows fetched at a time
_LATER = 2.0  # seconds to wait beyond the time limit for the server's own timeout


def query_rows(
    url: str, query: str, values: Mapping[str, object], *, password_env: str | None = None, timeout: float = 120.0
) -> pd.DataFrame:
    """The rows of a query, with values of its parameters such as ``:since``.

    The URL is as for SQLAlchemy, without a password. The server may take `timeout` seconds to connect, to answer, and
    between batches of rows. A `SourceError`, one line that holds no password, when it refuses, is silent for longer, or
    gives too many rows.
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
