"""Alarms handed to Alertmanager: each an alert that stands until the next round says otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from relfit.live.live_records import Alarm
from relfit.live.prometheus_metrics import escaped
from relfit.live.sources.source_base import missing_extra
from relfit.live.sources.source_errors import SourceError, on_one_line

__all__ = ["post_alerts"]

_STANDS = pd.Timedelta(hours=50)  # without a further round: two nights are missed before alerts vanish
_SECONDS = 30.0


def post_alerts(alarms: Sequence[Alarm], url: str, *, fleet: str = "", now: pd.Timestamp | None = None) -> None:
    """Post alarms to ``/api/v2/alerts``, and end the alerts of this fleet that no alarm stands for any more.

    Names and texts are labels and annotations of an alert, in JSON: data. A login comes from ``~/.netrc``.

    Parameters
    ----------
    alarms : sequence of Alarm
    url : str
        As ``http://localhost:9093``.
    fleet : str
        A label of every alert; alerts of other fleets are left alone.
    now : pandas.Timestamp, optional
        That of the clock when left out.

    Raises
    ------
    SourceError
        When Alertmanager does not take them.
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
    """What Alertmanager answers, as JSON where there is any."""
    try:
        import requests
    except ImportError:
        raise missing_extra("requests") from None
    try:
        answer = requests.request(method, place, timeout=_SECONDS, **content)
        if answer.status_code == 200:
            return answer.json() if method == "get" else None
    except (requests.RequestException, ValueError) as error:
        raise SourceError(
            f"{place}: {type(error).__name__}", remedy="is an Alertmanager running at this address?"
        ) from None
    raise SourceError(f"{place} answers {answer.status_code}: {on_one_line(answer.text)}")
