"""A round for Prometheus: metrics for node exporter with a dashboard of Grafana, and alerts for Alertmanager."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relfit.base.errors import ArgumentError
from relfit.base.text import on_one_line
from relfit.base.writing import complete
from relfit.live.live_records import Alarm
from relfit.live.sources.source_base import SourceError, of_extra
from relfit.study import Study

METRICS = {
    "relfit_round_timestamp_seconds": "When the last round ended.",
    "relfit_alarm_since_timestamp_seconds": "Since when an alarm stands.",
    "relfit_alarms": "Alarms that stand, by kind.",
    "relfit_records": "Failures in the store, by system.",
    "relfit_nodes": "Nodes that are watched, by system.",
    "relfit_nodes_down": "Nodes that are down, by system.",
    "relfit_recent_failures": "Failures in the last 30 days under observation, by system and cause.",
    "relfit_mtbf_seconds": "Mean time between failures of a node in the last 90 days under observation, by system.",
    "relfit_last_record_timestamp_seconds": "Time of the last record, the start or end of an outage.",
}
"""The help text of each metric; all are gauges."""
_CAUSES = 50  # per system, the most frequent ones
Rows = list[tuple[Mapping[str, str], float]]
"""Labels and values of one metric."""
_STANDS = pd.Timedelta(hours=50)  # alerts vanish only after two missed nightly rounds
_SECONDS = 30.0


def write_metrics(
    alarms: Sequence[Alarm], study: Study | None, path: str | Path, *, fleet: str = "", now: pd.Timestamp | None = None
) -> None:
    """Write the metrics of a round whole, with the fleet as a label of each; the study is None without a record."""
    place = Path(path)
    if place.suffix != ".prom":
        raise ArgumentError(f"{place} does not end in .prom", remedy="node exporter reads no other files")
    values = _values(alarms, study, now or pd.Timestamp.now(tz="UTC"))
    lines = []
    for name, about in METRICS.items():
        if not values.get(name):
            continue
        lines += [f"# HELP {name} {about}", f"# TYPE {name} gauge"]
        lines += [f"{name}{_labels({'fleet': fleet, **labels})} {value!r}" for labels, value in values[name]]
    with complete(place) as part:
        part.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="replace")
        part.chmod(0o644)  # node exporter is another user


def _values(alarms: Sequence[Alarm], study: Study | None, now: pd.Timestamp) -> dict[str, Rows]:
    """Labels and value of the rows of each metric."""
    kinds = Counter(alarm.kind for alarm in alarms)
    values: dict[str, Rows] = {
        "relfit_round_timestamp_seconds": [({}, now.timestamp())],
        "relfit_alarm_since_timestamp_seconds": [
            ({"kind": alarm.kind, "subject": alarm.subject}, alarm.since.timestamp()) for alarm in alarms
        ],
        "relfit_alarms": [({"kind": kind}, float(number)) for kind, number in sorted(kinds.items())],
    }
    if study is None:
        return values
    log = study.log
    events, people, last = log.events, log.population, log.window.end
    seen = events[~events["start_cut"].to_numpy(bool)]
    record = pd.concat([events["start"], events["end"].mask(events["end_cut"].to_numpy(bool))]).max()
    month = seen[seen["start"] >= last - pd.Timedelta(days=30)]
    causes = month.groupby([month["system"].astype(str), month["cause"].astype(object).fillna("unknown")]).size()
    causes = causes.sort_values(ascending=False, kind="stable").groupby(level=0).head(_CAUSES)
    begin = last - pd.Timedelta(days=90)
    inside = people["left"] - people["entered"].where(people["entered"] > begin, begin)
    watched = inside.dt.total_seconds().clip(lower=0.0).groupby(people["system"].astype(str)).sum()
    recent = seen[seen["start"] >= begin]
    between = watched / recent.groupby(recent["system"].astype(str)).size().reindex(watched.index)
    there = people[people["left"] >= last]
    down = events[events["end_cut"].to_numpy(bool) & events["node"].notna()].drop_duplicates(["system", "node"])
    systems = people["system"].astype(str).unique()

    def by_system(frame: pd.DataFrame) -> Rows:
        sizes = frame.groupby(frame["system"].astype(str)).size()
        return [({"system": name}, float(sizes.get(name, 0))) for name in systems]

    further: dict[str, Rows] = {
        "relfit_records": by_system(events),
        "relfit_nodes": by_system(there),
        "relfit_nodes_down": by_system(down),
        "relfit_recent_failures": [
            ({"system": str(key[0]), "cause": str(key[1])}, float(n))  # type: ignore[index]
            for key, n in causes.items()
        ],
        "relfit_mtbf_seconds": [({"system": str(k)}, float(v)) for k, v in between.items() if np.isfinite(v)],
        "relfit_last_record_timestamp_seconds": [({}, record.timestamp())] if pd.notna(record) else [],
    }
    return values | further


def _labels(labels: Mapping[str, str]) -> str:
    """Labels as text, their values escaped."""
    shown = [f'{name}="{escaped(text)}"' for name, text in labels.items() if text]
    return "{" + ",".join(shown) + "}" if shown else ""


def escaped(text: str) -> str:
    """A text between the quotes of a label, in a file of metrics as in a filter of alerts."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def write_dashboard(path: str | Path) -> None:
    """Write the dashboard as JSON; Grafana asks for the Prometheus to use when it is imported."""
    with complete(Path(path)) as part:
        part.write_bytes(resources.files("relfit.live").joinpath("files/grafana.json").read_bytes())


def post_alerts(alarms: Sequence[Alarm], url: str, *, fleet: str = "", now: pd.Timestamp | None = None) -> None:
    """Post alarms to ``/api/v2/alerts`` (login from ``~/.netrc``) and end this fleet's alerts whose alarms are over."""
    at = now or pd.Timestamp.now(tz="UTC")
    alerts = [
        {
            "labels": _alert_labels(alarm, fleet),
            "annotations": {"summary": alarm.text, "description": alarm.advice},
            "startsAt": alarm.raised.isoformat(),
            "endsAt": (at + _STANDS).isoformat(),
        }
        for alarm in alarms
    ]
    place = f"{url.rstrip('/')}/api/v2/alerts"
    standing = [alert["labels"] for alert in alerts]
    for alert in _request("get", place, params={"filter": ['generator="relfit"', f'fleet="{escaped(fleet or "-")}"']}):
        labels = {name: text for name, text in alert["labels"].items() if text}
        if labels not in standing:
            told = {name: alert[name] for name in ("annotations", "startsAt")}
            alerts.append({"labels": labels, **told, "endsAt": at.isoformat()})
    if alerts:
        _request("post", place, json=alerts)


def _alert_labels(alarm: Alarm, fleet: str) -> dict[str, str]:
    name = "Relfit" + "".join(word.capitalize() for word in alarm.kind.split())
    labels = {"alertname": name, "generator": "relfit", "fleet": fleet or "-"}
    labels |= {"kind": alarm.kind, "subject": alarm.subject}
    return {key: text.encode(errors="replace").decode() for key, text in labels.items()}


def _request(method: str, place: str, **content: Any) -> Any:
    """The answer of Alertmanager to a GET, parsed from JSON; None to a POST."""
    requests = of_extra("requests")
    try:
        answer = requests.request(method, place, timeout=_SECONDS, **content)
        if answer.status_code == 200:
            return answer.json() if method == "get" else None
    except (requests.RequestException, ValueError) as error:
        raise SourceError(
            f"{place}: {type(error).__name__}", remedy="is an Alertmanager running at this address?"
        ) from None
    raise SourceError(f"{place} answers {answer.status_code}: {on_one_line(answer.text)}")
