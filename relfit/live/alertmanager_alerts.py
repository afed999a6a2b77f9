"""Alarms passed to Alertmanager: each an alert that stands until a later round ends it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from relfit.base.text import on_one_line
from relfit.live.live_records import Alarm
from relfit.live.prometheus_metrics import escaped
from relfit.live.sources.source_base import SourceError, of_extra

_STANDS = pd.Timedelta(hours=50)  # alerts vanish only after two missed nightly rounds
_SECONDS = 30.0


def post_alerts(alarms: Sequence[Alarm], url: str, *, fleet: str = "", now: pd.Timestamp | None = None) -> None:
    """Post alarms to ``/api/v2/alerts``, and end the alerts of this fleet whose alarms are over.

    Names and texts are sent as JSON data: labels and annotations of an alert. A login comes from ``~/.netrc``. Alerts
    of other fleets are not changed. A `SourceError` when Alertmanager cannot be reached or refuses them.
    """
    at = now or pd.Timestamp.now(tz="UTC")
    alerts = [
        {
            "labels": _labels(alarm, fleet),
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


def _labels(alarm: Alarm, fleet: str) -> dict[str, str]:
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
