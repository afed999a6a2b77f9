"""Slurm's own records as a source: its commands run without a shell, their output as files, or its accounting database.

Every command prints UTC. Each round reads again from the oldest outage in progress, at least two days, for late events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import pandas as pd
from pydantic import Field, model_validator

from relfit.base.errors import ReadError
from relfit.base.programs import output_of
from relfit.base.text import on_one_line
from relfit.fleet.calibration.parameter_values import rejection
from relfit.io import READERS
from relfit.io.frames import with_nodes
from relfit.io.parsing.opening import Content
from relfit.io.raw_logs import RecordTally
from relfit.io.slurm_events import log_of_node_events, read_node_events
from relfit.live.live_records import Fetched
from relfit.live.sources.file_source import FileSource, form_of
from relfit.live.sources.source_base import FilePath, PlainUrl, SourceBase, SourceError
from relfit.live.sources.sql_source import query_rows
from relfit.log.failurelog import FailureLog

_EVENTS = "Cluster,ClusterNodes,NodeName,TimeStart,TimeEnd,State,StateRaw,Reason,User"
_PRINTED = ("TimeStart", "TimeEnd", "NodeName", "ClusterNodes", "StateRaw", "Reason")
"""Names of the database's columns in the output of the commands."""
_SACCT = ("sacct", "--parsable2", "--duplicates", "--allusers", "--allocations", "--state=NODE_FAIL,BOOT_FAIL")
_JOBS = "JobID,State,Start,End,NodeList"
_REASONS = "%200E %12U %19H %6t %N"
_EPOCH = "SLURM_TIME_FORMAT"
_EARLIEST = 946_684_800  # seconds since 1970: Slurm is younger
_SECOND = 1_000_000_000
_REACH = "check the URL, the user and its password"
_CLOSED = 5  # most seconds between two rows of one outage


class SlurmSource(SourceBase):
    """Slurm's records of its nodes.

    ``what = "events"`` is slurmdbd's record of node states, the most complete one. ``"jobs"`` are jobs that a node's
    failure ended; ``"nodes"`` and ``"reasons"`` are snapshots, for sites without slurmdbd.
    """

    kind: Literal["slurm"]
    what: Literal["events", "jobs", "nodes", "reasons"] = Field("events", description="which of its records")
    path: FilePath | None = Field(
        None, description="files or a pattern of what the command printed, instead of running it"
    )
    accounting: PlainUrl | None = Field(
        None, description="its database, as mysql+pymysql://reader@dbhost/slurm_acct_db"
    )
    password_env: str | None = Field(None, description="environment variable with the password of the database")
    cluster: str | None = Field(
        None, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$", description="one cluster of several"
    )
    rules: FilePath | None = Field(None, description="which states and reasons are failures")
    overlap_hours: float = Field(48.0, ge=0.0, le=8784.0, description="asked for again in each round")
    timeout: float = Field(120.0, gt=0.0, le=3600.0, description="seconds that a command or query may take")

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.accounting and (self.path or self.what != "events" or not self.cluster):
            raise rejection("the database holds events of one cluster", at="accounting", remedy='add cluster = "NAME"')
        return self

    @property
    def place(self) -> str:
        """The files, or the kind of records and the cluster."""
        return super().place or " ".join(filter(None, (self.what, self.cluster)))

    def fetch(self, cursor: Mapping[str, object], now: pd.Timestamp) -> Fetched:
        """New records of Slurm."""
        if self.path is not None:
            files = FileSource(kind="file", name=self.title, path=self.path, timezone=self.timezone)
            return files.model_copy(update={"rules": self.rules}).fetch(cursor, now)
        try:
            if self.what == "events":
                return self._events(cursor, now)
            return self._jobs(cursor, now) if self.what == "jobs" else self._snapshot(cursor, now)
        except ReadError as error:
            raise SourceError(f"{error.what}: Slurm answered in another form", remedy="read it from a file") from None

    def _again(self, now: pd.Timestamp) -> int:
        """Seconds since 1970 from which the next round reads again."""
        return int(now.timestamp() - 3600.0 * self.overlap_hours)

    def _run(self, *command: str, **environment: str) -> bytes:
        """The output of a command of Slurm."""
        cluster = [f"--clusters={self.cluster}"] if self.cluster and command[0] != "sacctmgr" else []
        return output_of([*command, *cluster], timeout=self.timeout, TZ="UTC", **{_EPOCH: "standard", **environment})

    def _events(self, cursor: Mapping[str, object], now: pd.Timestamp) -> Fetched:
        """Events since the cursor, from the command or the database."""
        since: Any = cursor.get("since")
        if since is not None and since >= now.timestamp():  # the clock was wrong at that time
            since = None
        if self.accounting is not None:
            log, oldest = self._accounting(since, now)
        else:
            span = "All_Time" if since is None else f"Start=uts{since - _CLOSED}"
            of = [f"Clusters={self.cluster}"] if self.cluster else []
            printed = self._run("sacctmgr", "-P", "show", "event", span, f"format={_EVENTS}", *of, **{_EPOCH: "%s"})
            log, oldest = read_node_events(
                Content(Path("sacctmgr show event"), printed),
                self.rules,
                until=now.value,
                since=None if since is None else since * _SECOND,
            )
        return Fetched(log, {"since": min(oldest // _SECOND, self._again(now))}, form_of(log), log.source.notes)

    def _accounting(self, since: int | None, now: pd.Timestamp) -> tuple[FailureLog, int]:
        """Events from the database of slurmdbd."""
        names = ["time_start", "time_end", "node_name", "cluster_nodes", "state", "reason"]
        query = f"SELECT {', '.join(names)} FROM `{self.cluster}_event_table`"
        query += "" if since is None else " WHERE time_end = 0 OR time_end >= :since"
        values = {} if since is None else {"since": since - _CLOSED}
        try:
            rows = query_rows(str(self.accounting), query, values, password_env=self.password_env, timeout=self.timeout)
        except SourceError as error:
            raise SourceError(f"the accounting database: {error.what}", remedy=_REACH) from None
        constant = {"Cluster": self.cluster, "State": "", "file": "accounting database"}
        events = [
            {**constant, **dict(zip(_PRINTED, map(str, row), strict=True)), "line": number}
            for number, row in enumerate(rows[names].fillna("").itertuples(index=False), 1)
        ]
        records = RecordTally([Content(Path("accounting database"), b"")], "slurm_events", "UTC", read=len(events))
        start = None if since is None else since * _SECOND
        return log_of_node_events(events, records, self.rules, until=now.value, since=start)

    def _jobs(self, cursor: Mapping[str, object], now: pd.Timestamp) -> Fetched:
        """Jobs that a node's failure ended; `sinfo` lists the nodes."""
        names = _JOBS
        if b"FailedNode" in self._run("sacct", "--helpformat"):
            names += ",FailedNode"
        since: Any = cursor.get("since", 0)
        begin = pd.Timestamp(max(since, _EARLIEST) if since < now.timestamp() else _EARLIEST, unit="s")
        until = now.tz_convert("UTC")
        printed = self._run(
            *_SACCT,
            f"--starttime={begin:%Y-%m-%dT%H:%M:%S}",
            f"--endtime={until:%Y-%m-%dT%H:%M:%S}",
            f"--format={names}",
        )
        if not printed.strip():
            raise SourceError("sacct prints nothing, not even a header")
        following = {"since": self._again(now)}
        if printed.count(b"\n") < 2:
            return Fetched(None, following)
        log = self._read("sacct", printed)
        there = self._run("sinfo", "--noheader", "--Node", "--format=%N").decode(errors="replace").split()
        quiet = sorted(set(there) - set(log.population["node"].astype(str)))
        log = replace(log, population=with_nodes(log.population, quiet, log.window))
        return Fetched(log, following, form_of(log), log.source.notes)

    def _snapshot(self, cursor: Mapping[str, object], now: pd.Timestamp) -> Fetched:
        """The nodes that are down now, with those down in the last round."""
        moment = f"{now.tz_convert('UTC'):%Y-%m-%dT%H:%M:%S}"
        reasons = ("sinfo", "--list-reasons", f"--format={_REASONS}")
        printed = self._run(*(("scontrol", "show", "node") if self.what == "nodes" else reasons))
        texts = [f"{moment}\n".encode() + printed]
        before: Any = cursor.get("down")
        if before is not None:
            rows = [f"{cause} relfit(0) {start} down {node}\n" for node, start, cause in before]
            texts.insert(0, f"{cursor['at']}\nREASON USER TIMESTAMP STATE NODELIST\n{''.join(rows)}".encode())
        log = self._read("slurm_nodes", *texts)
        still = log.events[log.events["end_cut"]]
        down = [
            [on_one_line(node), f"{start - pd.Timedelta(seconds=1):%Y-%m-%dT%H:%M:%S}", on_one_line(cause)]
            for node, start, cause in zip(still["node"], still["start"], still["cause"], strict=True)
        ]
        return Fetched(log, {"at": moment, "down": down}, form_of(log), log.source.notes)

    def _read(self, format: str, *texts: bytes) -> FailureLog:
        """The log of outputs of commands."""
        reader = next(each for each in READERS if each.name == format)
        contents = [Content(Path(f"{self.what} of Slurm"), text) for text in texts]
        return reader.read(contents, strict=False, timezone="UTC", rules=self.rules)
