"""Small functions of a watch, at texts and numbers worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd

import relfit as rf
from relfit.fleet.surveillance.rate_episodes import Windows, episodes
from relfit.live.live_records import Alarm
from relfit.live.prometheus_metrics import _labels, write_dashboard
from relfit.live.slurm_actions import drains_of
from relfit.live.sources.file_source import form_of
from relfit.live.sources.prometheus_source import PrometheusSource
from relfit.live.store_schema import unit_of


def test_an_alarm_ends_and_another_begins() -> None:
    p = np.array([[0.5, 1e-9, 1e-7, 0.5, 1e-9]])
    past = list(episodes(0, Windows(np.array([1]), p, 1.0 + p, p), 1e-8))
    assert [(each.first, each.last, each.lasts) for each in past] == [(1, 2, False), (4, 4, True)]


def test_labels_are_escaped() -> None:
    assert _labels({"subject": 'node "a"\\\n', "fleet": ""}) == r'{subject="node \"a\"\\\n"}'


def test_the_dashboard_is_json(tmp_path: Path) -> None:
    write_dashboard(tmp_path / "relfit.json")
    assert json.loads((tmp_path / "relfit.json").read_text())["title"] == "relfit watch"


def test_only_names_of_hosts_are_drained() -> None:
    at = pd.Timestamp("2024-01-01", tz="UTC")
    drains = drains_of([Alarm("node", f"node {name}", at, at, "3 failures.", "") for name in ("n1", "ALL", "-n $(x)")])
    command = "scontrol update NodeName=n1 State=DRAIN 'Reason=relfit watch: 3 failures.'"
    assert (drains.table["command"].tolist(), drains.skipped) == ([command], ("ALL", "-n $(x)"))


def test_the_form_of_the_sample() -> None:
    assert form_of(rf.datasets.load("white")) == "table: rack"


def test_a_query_of_prometheus_quotes_its_jobs() -> None:
    query = PrometheusSource(kind="prometheus", url="http://h", jobs=['a"b'], metric="up").query
    replaced = r"""up{job=~"a\"b"}, "relfit_node", "$1", "instance", "(.*?)(?::[0-9]+)?" """.strip()
    assert query == f"max by (relfit_node) (label_replace({replaced}))"


def test_the_unit_that_a_record_names() -> None:
    assert (unit_of('{"rack": "r1", "Slot": 2}'), unit_of('{"rack": "r1"}')) == ("Slot=2", "")
