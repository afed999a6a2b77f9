"""A real Prometheus with a past of its own, node exporter and Alertmanager: what goes in comes out, counted."""

from __future__ import annotations

import json
import subprocess
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import relfit as rf
from relfit.live.live_records import Alarm
from relfit.live.prometheus_metrics import METRICS, post_alerts, write_dashboard, write_metrics
from relfit.live.sources import SOURCES, SourceError

pytestmark = [pytest.mark.live, pytest.mark.slow]
STEP = 60
HOUR = 60  # steps
NODES = ["n1", "n2", "n3", "n4"]
DOWN = {("n1", 100): 30, ("n1", 500): 5, ("n2", 0): 40, ("n3", 700): 200, ("n4", 860): 40}
"""Steps that a node is down from a step on, of 900 in 15 hours: n2 at its first sample, n4 to the end."""
GAP = range(750, 800)
"""Steps without samples of n3."""


def past(path: Path, start: int) -> None:
    """Samples of two jobs: an exporter beside the node's own that crashes takes no node down."""
    lines = ["# HELP up x", "# TYPE up gauge"]
    for node in NODES:
        down = {s for (name, first), size in DOWN.items() if name == node for s in range(first, first + size)}
        for job, port in (("node", 9100), ("gpu", 9400)):
            for step in range(900):
                if node == "n3" and step in GAP:
                    continue
                crashed = job == "gpu" and node == "n4" and 200 <= step < 300
                value = 0 if step in down or crashed else 1
                lines.append(f'up{{instance="{node}:{port}",job="{job}"}} {value} {start + STEP * step}')
    lines.append("# EOF")
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def prometheus(live: Any, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    start = (int(time.time()) // STEP - 2000) * STEP
    path = tmp_path_factory.mktemp("past") / "past.txt"
    past(path, start)
    return {**live("exporter", "prometheus", "alertmanager", LIVE_PAST=str(path)), "start": str(start)}


def source(values: dict[str, str], **settings: Any) -> Any:
    return SOURCES["prometheus"](kind="prometheus", url=values["LIVE_PROMETHEUS"], days=3.0, **settings)


def steps(log: rf.FailureLog, start: int) -> list[tuple[Any, ...]]:
    """Events as node, steps from and to, whether cut at either end."""
    from_start = [
        ((row.start.timestamp() - start) / STEP, (row.end.timestamp() - start) / STEP)
        for row in log.events.itertuples()
    ]
    rows = zip(log.events["node"].astype(str), from_start, log.events["start_cut"], log.events["end_cut"], strict=True)
    return sorted((node, *map(round, span), bool(before), bool(after)) for node, span, before, after in rows)


def test_targets_that_stop_answering_are_counted(prometheus: dict[str, str]) -> None:
    start = int(prometheus["start"])
    both = source(prometheus, jobs=["node", "gpu"])
    now = pd.Timestamp(start + 899 * STEP, unit="s", tz="UTC")
    log = both.fetch({}, now).log
    assert log.source.rows_read == 4 * 900 - (len(GAP) - 5)  # the last value is given for five minutes
    assert steps(log, start) == [
        ("n1", 100, 130, False, False),
        ("n1", 500, 505, False, False),
        ("n2", 0, 40, True, False),
        ("n3", 700, 754, False, True),
        ("n3", 800, 899, True, True),
        ("n4", 860, 899, False, True),
    ]
    gpu = source(prometheus, jobs=["gpu"]).fetch({}, now).log
    assert ("n4", 200, 300, False, False) in steps(gpu, start)
    assert gpu.n_nodes == 4


def test_rounds_that_overlap_count_once(prometheus: dict[str, str], tmp_path: Path) -> None:
    from relfit.live.fleet_store import FleetStore

    start = int(prometheus["start"])
    one = source(prometheus, jobs=["node"])
    cursor: Any = {}
    with FleetStore.open(str(tmp_path / "fleet.duckdb")) as store:
        for step in (110, 110, 120, 128, 502, 720, 899):
            now = pd.Timestamp(start + step * STEP, unit="s", tz="UTC")
            fetched = one.fetch(cursor, now)
            cursor = fetched.cursor
            store.add("prometheus", fetched, now, "", None)
        log = store.log()
    failures = [row for row in steps(log, start) if not row[3]]
    assert [row[:2] for row in failures] == [("n1", 100), ("n1", 500), ("n3", 700), ("n4", 860)]
    assert failures[0][2] == 130


def test_pages(prometheus: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = pd.Timestamp(int(prometheus["start"]) + 899 * STEP, unit="s", tz="UTC")
    one = source(prometheus, jobs=["node"])
    whole = one.fetch({}, now).log
    monkeypatch.setattr("relfit.live.sources.prometheus_source._SAMPLES", 300)
    assert one.fetch({}, now).log.events.equals(whole.events)


def test_what_goes_wrong_is_one_line(prometheus: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = pd.Timestamp.now(tz="UTC")
    with pytest.raises(SourceError, match="cannot be reached"):
        SOURCES["prometheus"](kind="prometheus", url="http://127.0.0.1:1").fetch({}, now)
    with pytest.raises(SourceError, match=r"404|405"):
        SOURCES["prometheus"](kind="prometheus", url=prometheus["LIVE_ALERTMANAGER"]).fetch({}, now)
    with pytest.raises(SourceError, match="check the names of jobs"):
        source(prometheus, jobs=['a"} or vector(1) #', ".*"]).fetch({}, now)
    monkeypatch.setenv("SECRET", "s3cret")
    with pytest.raises(SourceError) as error:
        SOURCES["prometheus"](kind="prometheus", url="http://127.0.0.1:1", user="u", password_env="SECRET").fetch(
            {}, now
        )
    assert "s3cret" not in str(error.value)


HOSTILE = ['n1"} 1\nup{x="', "a\\b", "`id` $(x)", "<b>n</b>", "ALL", "-n", "ü\ud800", "{{ .Labels }}"]


def alarms() -> list[Alarm]:
    at = pd.Timestamp("2024-01-01", tz="UTC")
    return [Alarm("node", f"node {name}", at, at, f"Node {name} stands out.", f"Test {name}.") for name in HOSTILE]


def answer(values: dict[str, str], query: str) -> list[dict[str, Any]]:
    place = f"{values['LIVE_PROMETHEUS']}/api/v1/query?{urllib.parse.urlencode({'query': query})}"
    with urllib.request.urlopen(place) as reply:
        return json.load(reply)["data"]["result"]


@pytest.mark.long
def test_metrics_reach_prometheus_by_node_exporter(prometheus: dict[str, str], tmp_path: Path) -> None:
    log = rf.datasets.load("white")
    path = Path(prometheus["LIVE_TEXTFILES"], "relfit.prom")
    now = pd.Timestamp("2024-02-01", tz="UTC")
    write_metrics(alarms(), rf.Study(log), path, fleet='a "fleet"\n', now=now)
    checked = subprocess.run(["promtool", "check", "metrics"], input=path.read_bytes(), capture_output=True, check=True)
    assert checked.stdout + checked.stderr == b""
    end = time.monotonic() + 20
    while len(shown := answer(prometheus, "relfit_alarm_since_timestamp_seconds")) < 8 and time.monotonic() < end:
        time.sleep(0.5)
    names = [f"node {name}".encode(errors="replace").decode() for name in HOSTILE]
    assert sorted(each["metric"]["subject"] for each in shown) == sorted(names)
    assert {each["metric"]["fleet"] for each in shown} == {'a "fleet"\n'}
    assert float(answer(prometheus, "relfit_alarms")[0]["value"][1]) == 8
    assert float(answer(prometheus, "sum(relfit_records)")[0]["value"][1]) == len(log.events)
    assert float(answer(prometheus, "relfit_nodes")[0]["value"][1]) == len(log.population)
    last = log.window.end
    month = (log.events["start"] >= last - pd.Timedelta(days=30)).sum()
    assert float(answer(prometheus, "sum(relfit_recent_failures)")[0]["value"][1]) == month
    with pytest.raises(rf.RelfitError, match="prom"):
        write_metrics([], None, tmp_path / "relfit.txt")
    dashboard = tmp_path / "relfit.json"
    write_dashboard(dashboard)
    document = json.loads(dashboard.read_text())
    for panel in document["panels"]:  # each panel has something to show
        for target in panel["targets"]:
            assert answer(prometheus, target["expr"].replace("$fleet", "(?s:.*)")), panel["title"]
            assert any(name in target["expr"] for name in METRICS)


def alerts(values: dict[str, str]) -> dict[str, dict[str, Any]]:
    with urllib.request.urlopen(f"{values['LIVE_ALERTMANAGER']}/api/v2/alerts") as reply:
        return {f"{each['labels']['fleet']}: {each['labels']['subject']}": each for each in json.load(reply)}


def test_alerts_stand_and_end(prometheus: dict[str, str]) -> None:
    place = prometheus["LIVE_ALERTMANAGER"]
    post_alerts(alarms(), place, fleet='one "x"')
    post_alerts(alarms()[:1], place, fleet="two")
    names = [f'one "x": node {name}'.encode(errors="replace").decode() for name in HOSTILE]
    assert set(alerts(prometheus)) == {*names, f"two: node {HOSTILE[0]}"}
    told = alerts(prometheus)[names[3]]
    assert told["annotations"] == {"summary": "Node <b>n</b> stands out.", "description": "Test <b>n</b>."}
    post_alerts(alarms(), place, fleet='one "x"')  # again: the same alerts
    assert len(alerts(prometheus)) == 9
    post_alerts(alarms()[:2], place, fleet='one "x"')
    end = time.monotonic() + 10
    while len(alerts(prometheus)) > 3 and time.monotonic() < end:
        time.sleep(0.2)
    assert set(alerts(prometheus)) == {*names[:2], f"two: node {HOSTILE[0]}"}
    with pytest.raises(SourceError, match="running"):
        post_alerts(alarms(), "http://127.0.0.1:1")
