"""Where a round goes: the page of the day, JSON, Prometheus, Alertmanager, Slurm, parameters for planners."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relfit.base.errors import RelfitError
from relfit.base.writing import complete
from relfit.live.live_records import Alarm
from relfit.live.watch_settings import WatchSettings

if TYPE_CHECKING:
    from relfit.live.fleet_store import FleetStore
    from relfit.live.watch_results import Round
    from relfit.study import Study

__all__ = ["write_outputs"]


def write_outputs(
    settings: WatchSettings, result: Round, study: Study | None, previous: Sequence[Alarm], store: FleetStore
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Write what the settings ask for; where it went, and what could not be written."""
    outputs = settings.outputs
    written, problems = [], []

    def attempt(place: str | None, write: Callable[[str], Any]) -> None:
        if place is None:
            return
        try:
            write(place)
        except (RelfitError, OSError) as error:
            problems.append(f"{place} was not written: {error}")
        else:
            written.append(place)

    def page(asked: Study, place: str) -> None:
        from relfit.live._day_page import day_page

        day_page(asked, result.alarms, previous, store.forecasts(), place)

    def metrics(place: str) -> None:
        from relfit.live.prometheus_metrics import write_metrics

        write_metrics(result.alarms, study, place, fleet=settings.fleet, now=result.made)

    def alerts(place: str) -> None:
        from relfit.live.alertmanager_alerts import post_alerts

        post_alerts(result.alarms, study, place, fleet=settings.fleet, now=result.made)

    def slurm(place: str) -> None:
        from relfit.live.slurm_actions import write_slurm

        write_slurm(result.alarms, study, place)

    def params(asked: Study, place: str) -> None:
        from relfit.fleet.calibration.files import write_parameters

        write_parameters(asked.parameters, Path(place))

    if study is not None:  # of no record there is no page
        attempt(outputs.page, partial(page, study))
    attempt(outputs.metrics, metrics)
    attempt(outputs.alertmanager, alerts)
    attempt(outputs.slurm, slurm)
    if study is not None:
        attempt(outputs.params, partial(params, study))
    attempt(outputs.json_file, lambda place: _write_json(result.to_dict(), Path(place)))
    return tuple(written), tuple(problems)


def _write_json(document: dict[str, object], path: Path) -> None:
    with complete(path) as part:
        part.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")
