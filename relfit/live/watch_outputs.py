"""Outputs of a round: the page of the day, JSON, Prometheus, Alertmanager, Slurm, parameters for planners."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from relfit.base.errors import RelfitError
from relfit.base.writing import complete
from relfit.fleet.calibration.files import write_parameters
from relfit.live._day_page import day_page
from relfit.live.alertmanager_alerts import post_alerts
from relfit.live.fleet_store import FleetStore
from relfit.live.live_records import Alarm
from relfit.live.prometheus_metrics import write_metrics
from relfit.live.slurm_actions import write_slurm
from relfit.live.watch_results import Round
from relfit.live.watch_settings import WatchSettings
from relfit.study import Study


def write_outputs(
    settings: WatchSettings, result: Round, study: Study | None, previous: Sequence[Alarm], store: FleetStore
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Write the outputs of the settings; returns where they went, and what could not be written."""
    outputs, alarms, made = settings.outputs, result.alarms, result.made
    writing: list[tuple[str | None, Callable[[str], object]]] = [
        (outputs.metrics, lambda place: write_metrics(alarms, study, place, fleet=settings.fleet, now=made)),
        (outputs.alertmanager, lambda place: post_alerts(alarms, place, fleet=settings.fleet, now=made)),
        (outputs.slurm, lambda place: write_slurm(alarms, study, place)),
        (outputs.json_file, lambda place: _write_json(result.to_dict(), Path(place))),
    ]
    if study is not None:  # no page without records
        page = partial(day_page, study, alarms, previous, store.forecasts(), fleet=settings.fleet, made=made)
        page = partial(page, notes=result.findings[1 + len(alarms) :])
        writing += [(outputs.page, page), (outputs.params, partial(_write_params, study))]
    written, problems = [], []
    for place, write in writing:
        if place is None:
            continue
        try:
            write(place)
        except (RelfitError, OSError) as error:
            problems.append(f"{place} was not written: {error}")
        else:
            written.append(place)
    return tuple(written), tuple(problems)


def _write_params(study: Study, place: str) -> None:
    write_parameters(study.parameters, Path(place))


def _write_json(document: dict[str, object], path: Path) -> None:
    with complete(path) as part:
        part.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
