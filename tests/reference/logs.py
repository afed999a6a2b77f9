"""Topics: what is read, durations made from it, tallies, and what screening says of the logs."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

import relfit as rf
from relfit.analyses.screening.tallies import by_cause, by_node, over_time
from tests.reference.collect import (
    SEED,
    Values,
    attributes,
    cells,
    counts,
    hours_since_2000,
    log,
    random,
    spread,
    topic,
    under,
)

REAL_LOGS = ("lanl", "lanl_2", "lanl_18", "lanl_20", "grid5000", "titan")
ALL_LOGS = ("white", *REAL_LOGS)
HOUR = pd.Timedelta(hours=1)
PENALTY = 4.75  # of change points; simulated logs of a constant rate ask for 4.1 to 5.1, by log and seed


def _log_numbers(source: rf.FailureLog) -> Values:
    events, people, window = source.events, source.population, source.window
    return {
        "rows_read": source.source.rows_read,
        "rows_kept": source.source.rows_kept,
        "rows_rejected": len(source.rejected),
        "rows_deselected": source.source.rows_deselected,
        "events": len(source),
        "events_without_node": int(events["node"].isna().sum()),
        "events_without_cause": int(events["cause"].isna().sum()),
        "events_without_end": int(events["end"].isna().sum()),
        "events_cut_at_start": int(events["start_cut"].sum()),
        "events_cut_at_end": int(events["end_cut"].sum()),
        "nodes": source.n_nodes,
        "nodes_declared": int(people["declared"].sum()),
        "nodes_start_known": int(people["entered_known"].sum()),
        "systems": len(source.systems),
        "node_hours": float(((people["left"] - people["entered"]) / HOUR).sum()),
        "outage_hours": float(((events["end"] - events["start"]) / HOUR).sum()),
        "start_sum": float(((events["start"] - pd.Timestamp("2000-01-01", tz="UTC")) / HOUR).sum()),
        "window_start": hours_since_2000(window.start),
        "window_hours": window.hours,
        "window_known": [int(window.start_known), int(window.end_known)],
        "timezone": str(source.source.timezone),
        **under("scope", counts(events["scope"])),
        **under("cause", counts(events["cause"].dropna())),
    }


@topic()
def reading() -> Values:
    """Rows read, kept and rejected, nodes, events, window of every log; every LANL system; selections; tables."""
    values: Values = {}
    for name in ALL_LOGS:
        values |= under(name, _log_numbers(log(name)))
        values[f"{name}.sha256"] = log(name).source.sha256[0][:16]
    lanl = log("lanl")
    for system in lanl.systems:
        part = lanl.where(system=system)
        values[f"lanl_by_system.{system}"] = [len(part), part.n_nodes, round(part.window.hours, 6)]
    titan = log("titan").lifetimes
    values |= under(
        "titan.lifetimes",
        {
            "n": len(titan),
            "failed": int(titan["observed"].sum()),
            "hours": float(titan["duration"].sum()),
            **under("by_cage", titan.groupby("cage")["observed"].sum().astype(int).to_dict()),
        },
    )
    values |= under("white_between", _log_numbers(log("white_steady")))
    values["white_hardware.events"] = len(log("white").where(cause="hardware"))
    values["white_as_lanl.shape"] = list(rf.datasets.as_lanl("white").shape)
    for name in ("white", "lanl_20"):
        with tempfile.TemporaryDirectory() as folder:
            rf.write(log(name), Path(folder, "copy.parquet"))
            copy = rf.read(Path(folder, "copy.parquet"))
        values[f"{name}.parquet_copy"] = [len(copy), copy.n_nodes, len(copy.rejected)]
    return values | _table_formats()


def _table_formats() -> Values:
    """Small tables of every kind that the reader knows."""
    texts: dict[str, tuple[str, dict[str, Any], str]] = {
        "outages": (
            "outages.csv",
            {},
            "node,start,end,cause,rack\nn1,2024-01-01 10:00,2024-01-01 12:30,disk,r1\n"
            "n2,2024-01-05 08:00,,power,r1\nn1,2024-02-30 00:00,,disk,r1\n",
        ),
        "durations": (
            "odd.tsv",
            {
                "node": "box",
                "start": "went_down",
                "duration": "minutes",
                "duration_unit": "minutes",
                "time_format": "%d.%m.%Y %H:%M",
                "timezone": "Europe/Berlin",
            },
            "box\twent_down\tminutes\nalpha-7\t31.10.2021 02:30\t90\nalpha-8\t30.10.2021 02:30\t30\n",
        ),
        "lifetimes": ("lives.csv", {}, "node,duration,observed\na,100,1\nb,250.5,0\nc,-3,1\nd,inf,1\n"),
        "unix": (
            "unix.jsonl",
            {},
            '{"host": "a", "start": 1700000000, "end": 1700003600}\n'
            '{"host": "b", "start": 1700007200, "end": 1700007200}\n',
        ),
    }
    values: Values = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (file, options, text) in texts.items():
            path = Path(folder, file)
            path.write_text(text)
            table = rf.read(path, **options)
            kept = [table.source.rows_kept, len(table.rejected), table.n_nodes]
            values[f"table.{name}.kept_rejected_nodes"] = kept
            if table.lifetimes is not None:
                values[f"table.{name}.hours"] = float(table.lifetimes["duration"].sum())
                continue
            values[f"table.{name}.starts"] = [hours_since_2000(moment) for moment in table.events["start"]]
            values[f"table.{name}.hours"] = float(((table.events["end"] - table.events["start"]) / HOUR).sum())
    return values


@topic()
def tallies() -> Values:
    """Causes and their downtime, failures by node, bins along time."""
    values: Values = {}
    for name in ("white", "lanl_20", "lanl_2", "grid5000"):
        cause = by_cause(log(name)).table.select_dtypes("number")
        values |= under(f"{name}.cause", cells(cause, list(cause.columns)))
        values[f"{name}.nodes.events"] = spread(by_node(log(name))["events"])
        along = over_time(log(name))
        values |= under(f"{name}.over_time", {"unit": along.unit, "bins": len(along.edges) - 1})
    return values


# ---------------------------------------------------------------------- times to failure and to repair


def _durations(lives: rf.LifeData) -> Values:
    tally = {} if lives.counts is None else {name: int(lives.counts[name].sum()) for name in lives.counts.columns}
    totals = (lives.n_lives, lives.n_failures, lives.n_censored, lives.n_zeros)
    log_sum = float(np.log(lives.durations[lives.durations > 0]).sum())
    return {
        "groups_n_failures_censored_zeros": [lives.n_groups, *(int(np.sum(x)) for x in totals)],
        "hours_all_observed_log": [
            float(np.sum(lives.total_time)),
            float(lives.durations[lives.observed].sum()),
            log_sum,
        ],
        "by_group": spread(lives.sizes),
        **under("counts", {name: number for name, number in tally.items() if number}),
    }


@topic()
def times_to_failure() -> Values:
    """Times to failure by node, system and cause; every rule of making them; delayed entry; competing causes."""
    values: Values = {}
    for name in (*ALL_LOGS, "white_steady"):
        for per in ("node", "system", "cause"):
            if name == "titan" and per == "cause":
                continue  # times to failure that the source gives whole have no cause
            values |= under(f"{name}.{per}", _durations(log(name).ttf(per)))
    rules: dict[str, dict[str, Any]] = {
        "uncensored": {"censor": False},
        "first_never": {"first": "never"},
        "first_always": {"first": "always"},
        "from_repair": {"origin": "repair"},
        "overlaps_kept": {"overlaps": "keep"},
        "zeros_kept": {"zeros": "keep"},
        "competing": {"competing": "cause"},
        "since": {"since": "2003-04-01", "until": "2004-10-01"},
    }
    for name in ("white", "lanl_20"):
        for rule, options in rules.items():
            for per in ("node", "system"):
                if per == "system" and rule == "overlaps_kept":
                    continue
                lives = log(name).ttf(per, **options)
                values |= under(f"{name}.{per}.{rule}", _durations(lives))
                if lives.entry is not None:
                    values[f"{name}.{per}.{rule}.entry_hours"] = float(np.sum(lives.entry))
    values |= under("white.rack", _durations(log("white").ttf("rack")))
    values |= under("titan.cage", _durations(log("titan").ttf("cage")))
    return values


@topic()
def times_to_repair() -> Values:
    """Times to repair by node, system and cause."""
    values: Values = {}
    for name in (*(name for name in ALL_LOGS if name != "titan"), "white_steady"):
        for per in ("node", "system", "cause"):
            values |= under(f"{name}.{per}", _durations(log(name).ttr(per)))
    return values


# ---------------------------------------------------------------------- screening


@topic()
def incidents() -> Values:
    """Records of one incident joined: window, counts and rates by scope."""
    values: Values = {}
    cases: dict[str, tuple[rf.FailureLog, dict[str, Any]]] = {
        **{name: (log(name), {}) for name in ("white", "white_steady", "lanl_2", "lanl_18", "lanl_20", "grid5000")},
        "lanl_2_three_years": (log("lanl_2").between("1997-01-01", "2000-01-01"), {}),
        "white_10min": (log("white"), {"window": "10min"}),
        "white_by_rack": (log("white"), {"window": "10min", "place": "rack"}),
        "lanl_20_1h": (log("lanl_20"), {"window": "1h"}),
    }
    for name, (source, options) in cases.items():
        joined = rf.incidents(source, **options)
        window = joined.window
        values |= under(
            name,
            {
                "records": joined.records,
                "incidents": len(joined.table),
                "window": float(window.hours),
                **attributes(
                    window,
                    "resolution",
                    "by_chance",
                    "p",
                    "p_above",
                    gaps="n_times",
                    zero_gaps="n_zeros",
                    choice="status",
                ),
                "begun_before": int(joined.begun_before),
                "nodes_hit": spread(joined.table["nodes"]),
            },
        )
        columns = ["incidents", "records", "hours", "mtbf", "mtbf_low", "mtbf_high"]
        values |= under(f"{name}.scope", cells(joined.rates().set_index("scope"), columns))
    return values


def _changes(source: rf.FailureLog, penalty: float = PENALTY, **options: Any) -> Any:
    """Change points at a given penalty, not at the one that simulated logs ask for."""

    def gains(draw: Any, *_: Any) -> Any:
        rng = np.random.default_rng(SEED)
        for _ in range(20):  # how much their counts scatter is asked for, too
            draw(rng)
        return np.array([penalty]), np.nan

    with patch("relfit.analyses.screening.segmentation.null_gains", gains):
        ask = getattr(rf.change_points, "__wrapped__", rf.change_points)  # not what other tests keep, nor for them
        return ask(source, **options)


def _periods(changes: Any) -> Values:
    periods, stable = changes.periods, changes.stable_period
    return {
        "status_periods": [str(changes.status), len(periods)],
        "dispersion": float(changes.dispersion),
        "starts": [hours_since_2000(period.start) for period in periods],
        "start_low": [hours_since_2000(period.start_low) for period in periods],
        "start_high": [hours_since_2000(period.start_high) for period in periods],
        "failures": [period.failures for period in periods],
        "exposure": [period.exposure for period in periods],
        "rates": [period.rate for period in periods],
        "rates_low": [period.low for period in periods],
        "rates_high": [period.high for period in periods],
        "stable": [hours_since_2000(stable.start), hours_since_2000(stable.end)],
    }


@topic()
def change_points() -> Values:
    """Where the failure rate changed, at a given penalty."""
    values: Values = {}
    for name in ("white", "lanl_2", "lanl_18", "lanl_20", "grid5000", "titan"):
        values |= under(name, _periods(_changes(log(name))))
    for name in ("white", "lanl_20"):
        changes = _changes(log(name), 6.0, of="records", least_change=1.0)
        values |= under(f"{name}_records", _periods(changes))
    return values


@topic(slow=True)
def stable_periods() -> Values:
    """The stable period of every LANL system at a given penalty."""
    values: Values = {}
    for system in log("lanl").systems:
        stable = _changes(log(f"lanl_{system}")).stable_period
        ends = [hours_since_2000(stable.start), hours_since_2000(stable.end)]
        values[f"lanl_{system}"] = [*ends, stable.failures, stable.exposure]
    return values


@topic()
def stable_periods_default() -> Values:
    """Penalty, p-value and stable period as they come out by default (the penalty is simulated)."""
    values: Values = {}
    for name in ("white", "lanl_18", "lanl_20", "grid5000"):  # of lanl_2 and titan the seed decides the period
        changes = rf.change_points(log(name), rng=SEED)
        stable = changes.stable_period
        values |= under(
            name,
            {
                "stable": [hours_since_2000(stable.start), hours_since_2000(stable.end)],
                "rate": [stable.rate, stable.low, stable.high],
            },
        )
        values |= random(under(name, attributes(changes, "penalty", "p")))
    return values


@topic()
def outlier_nodes() -> Values:
    """Nodes that stand out, as a class, by degrees."""
    values: Values = {}
    for name in ("white", "white_steady", "lanl_18", "lanl_20", "grid5000"):
        screened = rf.outlier_nodes(log(name), n_resamples=0)
        row = screened.classes.drop(columns="p").select_dtypes("number").iloc[0]
        values |= under(
            name,
            {
                "found": len(screened.outliers),
                "description": str(screened.classes["description"].iloc[0]),
                "posterior": spread(screened.nodes["posterior"]),
                **{str(c): float(row[c]) for c in row.index},
            },
        )
    tested = rf.outlier_nodes(log("white_steady"), n_resamples=99, rng=SEED)
    values["white_steady.p~"] = float(tested.classes["p"].iloc[0])
    return values


@topic()
def kinds_of_repair() -> Values:
    """Repairs split into quick and slow ones."""
    values: Values = {}
    for name in ("white", "lanl_18", "lanl_20"):
        for per in ("cause", "system"):
            table = rf.screening.repair_kinds(log(name), per).table
            for _, row in table.iterrows():
                subject = f"{name}.{row[table.columns[0]]}.{row['model']}"
                # whether the search for a class of two repairs ends or runs away is a matter of rounding
                status = "none" if row["status"] in ("hollow", "not_found") else row["status"]
                values[f"{subject}.status"] = f"{status}/{row['one']}"
                values[f"{subject}.repairs"] = int(row["repairs"])
                if row["status"] in ("ok", "one_class", "no_split"):
                    groups = {
                        "share_quick": ("share_quick", "share_quick_low", "share_quick_high"),
                        "mean_quick_slow": ("mean_quick", "mean_slow"),
                        "mean": ("mean", "mean_low", "mean_high"),
                        "loglik_aic_one": ("loglik", "aic", "aic_one"),
                    }
                    numbers = {key: [float(row[c]) for c in columns] for key, columns in groups.items()}
                    values |= under(subject, {**numbers, "split": float(row["split"])})
    return values
