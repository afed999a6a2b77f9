"""`watch`: one round over a fleet: fetch, store, raise alarms also of silent sources, forecast, write the outputs."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from relfit.base.errors import ArgumentError, DataError, ReadError, RelfitError
from relfit.base.settings_advice import in_settings
from relfit.base.text import count, duration, on_one_line
from relfit.base.units import instant
from relfit.base.writing import complete
from relfit.fleet.calibration.files import write_parameters
from relfit.fleet.surveillance import longest_pause, scored
from relfit.live._day_page import day_page, forecast_record
from relfit.live._fleet_alarms import fleet_alarms, unknown_stock
from relfit.live.fleet_store import FleetStore
from relfit.live.live_records import Alarm, Fetched, Gone, in_zone
from relfit.live.prometheus_metrics import post_alerts, write_metrics
from relfit.live.slurm_actions import write_slurm
from relfit.live.sources import SourceBase
from relfit.live.watch_results import Round, WatchStatus
from relfit.live.watch_settings import WatchSettings
from relfit.study import Study

Progress = Callable[[str, float], None]
_AGAIN = "its settings changed: it was read again, and records that it no longer gives for that time were removed"
_UNREAD = "its settings changed: it was read again; records stay stored where the former settings cannot read it"
_NODES = "alarms of single nodes need the number of nodes: give nodes = NUMBER, or a list of them"
_STAY, _DONE = "but stored (relfit watch run --remove-lost removes such)", "removed from the store"
_SKEW = pd.Timedelta("1h")  # clocks may differ by this
_NOT_TOLD_AGAIN = ("at", "down", "held")  # of a cursor: nodes down at the last reading, tables that had rows
SHARE = 0.1
"""Share of the allowed false alarms of a year for sources."""
_HOUR = pd.Timedelta("1h")
_FAILING = 48.0  # hours


def watch(
    settings: WatchSettings,
    now: pd.Timestamp | str | None = None,
    progress: Progress | None = None,
    *,
    remove_lost: bool = False,
) -> Round:
    """One round: fetch all sources, store new records, raise alarms, forecast, write the outputs.

    A source that fails is reported, and the round continues; stored records stay, whenever it is killed. Records after
    `now`, in the time zone of the settings if it has none, are stored, but not used. `progress` is called with the
    current step and the share of the round done. `remove_lost` removes the records that stay stored though their files
    no longer have them. A `RelfitError` when the store cannot be opened, or `now` is no time.
    """
    made = instant(pd.Timestamp.now(tz="UTC") if now is None else now, settings.timezone).tz_convert(settings.timezone)
    say = progress or (lambda what, share: None)
    problems, undone = tuple[str, ...](), tuple[str, ...]()
    with FleetStore.open(settings.store, settings.fleet, password_env=settings.password_env) as store:
        rows = []
        for number, source in enumerate(settings.sources):
            say(f"fetching {source.title}", 0.5 * number / len(settings.sources))
            rows.append(_fetched(store, source, settings, made))
        sources = pd.DataFrame([row[:-1] for row in rows], columns=["source", "new", "failure", "notes"])
        gone = [each for row in rows for each in row[-1]]
        stay = tuple(
            f"no longer in {place}, {_DONE if remove_lost else _STAY}: {count(n, 'record')}"
            for place, n in store.lost()
        )
        if remove_lost:
            store.remove_lost()
        before = store.open_alarms()
        say("looking for changes", 0.6)
        alarms: list[Alarm] | None = None
        study, forecasts = None, pd.DataFrame()
        of_sources = _source_alarms(store, settings, made)
        try:
            silent = [alarm for alarm in of_sources if "limit" in alarm.evidence and settings.observed_until]
            until = min([store.answered(made), *(alarm.since for alarm in silent)]) if settings.observed_until else None
            log = store.log(nodes=settings.population, timezone=settings.timezone, until=until)
            if now is not None and log.window.end > made:
                log = log.between(None, made)
            elif log.window.end > made + _SKEW:
                what = (
                    f"records later than now, up to {log.window.end:%Y-%m-%d %H:%M} {settings.timezone}, are left out"
                )
                problems, log = (f"{what}: is a clock or a timezone wrong?",), log.between(None, made)
            if silent:
                names, end = ", ".join(alarm.subject for alarm in silent), f"{log.window.end:%Y-%m-%d %H:%M}"
                problems += (f"silent: {names}; rates, forecasts and stock are as of {end}, the last time observed",)
        except (ArgumentError, DataError, ReadError) as error:
            problems = (in_settings(error),)
            undone = problems if store.size else ()
        else:
            study = Study(log)
            forecasts, alarms, wrong = _asked(store, study, settings)
            problems += tuple(wrong)
        problems += stay
        problems += tuple(each[0] for each in gone)
        undone += tuple(text for text, stored, _ in gone if stored)
        looked = alarms is not None or not store.size
        still = [alarm for alarm in before if alarm.kind != "source"] if alarms is None else alarms
        raised, over = store.save_alarms([*still, *of_sources], made)
        numbers = store.size, int(sources["new"].sum()), store.rejected()
        changes = in_zone(store.open_alarms(), settings.timezone), raised, over
        told = tuple(each[0] for each in gone), problems, undone
        result = Round(settings.fleet, made, *numbers, sources, looked, *changes, forecasts, (), *told)
        say("writing", 0.9)
        written, failed = _write_outputs(settings, result, study, before, store)
        result = replace(result, written=written, problems=(*problems, *failed), undone=(*undone, *failed))
        store.save_round(made, result.to_dict())
    return result


def _fetched(store: FleetStore, source: SourceBase, settings: WatchSettings, now: pd.Timestamp) -> tuple[Any, ...]:
    """Fetch and store one source; returns its name, number of new records, failure, notes and what is gone."""
    name, failure, new, gone, fields = source.title, "", 0, list[Gone](), type(source).model_fields
    if source.timezone is None:
        source = source.model_copy(update={"timezone": settings.timezone})
    fetched, cursor, reading = None, store.cursor(name), source.reading
    former = cursor.pop("reading", reading)
    again = reading["fingerprint"] != (former if isinstance(former, str) else former["fingerprint"])  # a text in 0.4.0
    if again:
        cursor = {key: cursor[key] for key in _NOT_TOLD_AGAIN if key in cursor}
    try:
        fetched = source.fetch(cursor, now)
    except RelfitError as error:
        failure, fetched = in_settings(error, fields), getattr(error, "fetched", None)
    except Exception as error:  # a driver may raise anything; one source must not end the round
        failure = f"{type(error).__name__}: {on_one_line(error)}"
    if fetched is not None:
        before, told = _said_before(source, former, cursor, now) if again else (None, [])
        fetched = replace(fetched, cursor={**fetched.cursor, "reading": former if failure else reading})  # try again
        try:
            new, gone = store.add(name, fetched, now, failure, before)
        except DataError as error:
            failure, fetched = str(error), None
    if fetched is None:
        store.failed(name, now, failure)
    notes = () if fetched is None else (*told, *fetched.notes)
    return name, new, failure, [in_settings(note, fields) for note in notes], gone


def _said_before(source: SourceBase, former: Any, cursor: Any, now: pd.Timestamp) -> tuple[Fetched, list[str]]:
    """What the former settings read from a source now, as far as they can, and a note about that."""
    try:
        return source.model_copy(update=former["settings"]).fetch(cursor, now), [_AGAIN]
    except Exception as error:  # a driver may raise anything; a store of 0.4.0 has no former settings
        return getattr(error, "fetched", None) or Fetched(None, {}), [_UNREAD]


def _asked(
    store: FleetStore, study: Study, settings: WatchSettings
) -> tuple[pd.DataFrame, list[Alarm] | None, list[str]]:
    """New forecasts, alarms (None where they are unknown), and problems: these do not end the round."""
    stock = settings.alarms.stock
    problems = [*([_NODES] if study.log.question else []), *unknown_stock(study.log, stock)]
    forecasts, alarms = pd.DataFrame(), None
    try:
        store.save_forecasts(scored(store.forecasts(), study.log))
        forecasts = forecast_record(study)
        store.save_forecasts(forecasts)
    except RelfitError as error:
        problems.append(f"no forecast: {in_settings(error)}")
    try:
        alarms = fleet_alarms(
            study.log,
            per_year=(1.0 - SHARE) * settings.alarms.per_year,
            stock=stock or None,
            forecasts=store.forecasts(),
        )
    except RelfitError as error:
        problems.append(f"no alarms: {in_settings(error)}")
    return forecasts, alarms, problems


def watch_status(settings: WatchSettings) -> WatchStatus:
    """The status of a watch, also while a round runs (PostgreSQL); a `RelfitError` when the store cannot be opened."""
    with FleetStore.open(settings.store, settings.fleet, password_env=settings.password_env, read_only=True) as store:
        table = store.sources().reindex(pd.Index([source.title for source in settings.sources], name="source"))
        sources = table.reset_index()[["source", "asked_at", "gave_at", "failure"]].fillna({"failure": "not asked yet"})
        sources = sources.rename(columns={"asked_at": "last_asked", "gave_at": "last_new"})
        alarms = in_zone(store.open_alarms(), settings.timezone)
        return WatchStatus(settings.fleet, store.size, store.rejected(), sources, alarms, store.last_round())


def _write_outputs(
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
        writing += [
            (outputs.page, page),
            (outputs.params, lambda place: write_parameters(study.parameters, Path(place))),
        ]
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


def _write_json(document: dict[str, object], path: Path) -> None:
    with complete(path) as part:
        part.write_text(json.dumps(document, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def _source_alarms(store: FleetStore, settings: WatchSettings, now: pd.Timestamp) -> list[Alarm]:
    """The alarms of the sources of a fleet at the end of a round."""
    alarms = []
    budget = SHARE * settings.alarms.per_year / len(settings.sources)
    table = store.sources()
    for source in settings.sources:
        if (name := source.title) not in table.index:
            continue
        row: Any = table.loc[name]
        gave, failing = (pd.Timestamp(row[key], tz="UTC") for key in ("gave_at", "failing_since"))
        failed = (now - failing) / _HOUR if row["failure"] else 0.0
        evidence: dict[str, float] = {}
        if row["form"] != row["form_before"] and not row["failure"]:
            since = now
            before, after = (row[key][:200].removesuffix(": ") for key in ("form_before", "form"))
            text = f"The format of source {name} changed from {before!r} to {after!r}."
            advice = "Check that its records are still read correctly."
        elif failed >= _FAILING:
            since, evidence = failing, {"hours": failed}
            text = f"Source {name} has failed for {duration(failed)}: {row['failure'][:300]}."
            advice = "Repair it: none of its records arrive."
        else:
            number, mean, longest, last = store.pauses(name, now)
            since, limit = max(gave, last), longest_pause(number, mean, longest, budget)
            silent = (now - since) / _HOUR
            if not silent > limit:
                continue
            text = (
                f"Source {name} has delivered nothing new for {duration(silent)}: its last record is from "
                f"{last.tz_convert(now.tz):%Y-%m-%d}, and pauses of more than {duration(limit)} are not expected."
            )
            advice, evidence = "Is it still written?", {"hours": silent, "limit": limit}
        alarms.append(Alarm("source", f"source {name}", since, now, text, advice, evidence))
    return alarms
