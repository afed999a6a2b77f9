"""Do predictions of real fleets beat a count by hand? Rolling origins; the future is counted in the raw files.

    python benchmarks/verify_real.py [--data ../shared/data] [--log lanl] [--systems 2,20] [--part forecast,jobs,nodes]
                                     [--step 122] [--processes 1] [--json FILE]

``lanl``: systems of Los Alamos with a year and 30 records. ``grid5000``: by site, from half a year on, every 30 days.
``titan``: bus and memory errors of the slots of Titan, every 61 days. A log is cut at each origin and relfit is asked
for what follows:

- forecast: failures (records) of 30 and 90 days; mean interval scores by those of counts, as in `verify_moving.py`;
- jobs of 1, 16, 64 consecutive nodes for 24 hours over the next 90 days against the share of the last 180 days;
- nodes: which of them fail in the next 30 days; the area under the curve of their rates, and of their failures in the
  last 90 and 365 days.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
import pandas as pd
import predictor
from hand_counts import DAY, SIZES, Outages, area_under_curve
from scoring import (
    HORIZONS,
    forecast_rows,
    forecast_table,
    job_rows,
    job_table,
    overall,
    said,
    shown,
    targets,
    tried,
)

FEWEST = 30  # records before the first origin
RANKED = 16  # nodes at least, for ranks to be compared
PARTS = ("forecast", "jobs", "nodes")
# those of the first measurement, which later ones are compared with
FIRST_FORECASTS = ("2", "8", "16", "18", "19", "20", "3", "4", "5", "9", "10", "11", "12", "13", "23")
JOBS = ("2", "8", "16", "18", "19", "20")


@dataclass(frozen=True)
class Fleet:
    """A fleet as counted by hand, times in UTC: `events` has node, start, end; `nodes` has node and entered, in the
    order in which jobs are packed. `log` gives relfit's log of it, whole."""

    name: str
    events: pd.DataFrame
    nodes: pd.DataFrame
    begin: pd.Timestamp
    end: pd.Timestamp
    log: Callable[[], Any]
    first: int = 365  # days from the start to the first origin
    jobs: bool = True


# ------------------------------------------------------------------------ Los Alamos


def lanl(data: Path) -> dict[str, Fleet]:
    file = data / "lanl-failures-1996-2005.csv.xz"
    rows = pd.read_csv(file, low_memory=False).drop_duplicates()
    for column, name in (("Prob Started", "start"), ("Prob Fixed", "end")):
        local = pd.to_datetime(rows[column], format="%m/%d/%Y %H:%M")
        clock = local.dt.tz_localize("America/Denver", ambiguous=np.ones(len(rows), bool), nonexistent="shift_forward")
        rows[name] = clock.dt.tz_convert("UTC")
    rows = rows[(rows["end"] >= rows["start"]) & rows["nodenum"].notna()].sort_values("start", kind="stable")
    last = rows[["start", "end"]].max().max()
    fleets = {}
    for number, part in rows.groupby("System"):
        name = str(number)
        one = part.drop_duplicates("nodenum").set_index("nodenum").sort_index()
        entered = pd.to_datetime(one["node prod"].map(month), utc=True)
        left = pd.to_datetime(one["node decom"].map(month), utc=True).fillna(last)
        begin = min(entered.min(), part["start"].min()) if entered.notna().any() else part["start"].min()
        low = int(one.index.min() - part["nodenumz"].min())
        numbers = pd.RangeIndex(low, low + max(int(part["nodes"].iloc[0]), int(part["nodenumz"].max()) + 1))
        nodes = pd.DataFrame({"node": numbers.astype(str), "entered": entered.reindex(numbers).array})
        events = part.assign(node=part["nodenum"].astype(int).astype(str))[["node", "start", "end"]]
        end = min(last, left.max() + pd.DateOffset(months=1)) if (left < last).all() else last
        fleets[name] = Fleet(name, events, nodes, begin, end, lambda n=name: whole(file).where(system=n))
    return fleets


def month(text: Any) -> str | None:
    """``5-Apr`` is April 2005, ``Nov-96`` November 1996."""
    first, _, second = str(text).partition("-")
    year, name = (first, second) if first.isdigit() else (second, first)
    if not year.isdigit():
        return None
    when = pd.to_datetime(f"1 {name} {int(year) + (1900 if int(year) > 50 else 2000)}", format="%d %b %Y")
    return str(when)


@cache
def whole(file: Path) -> Any:
    return predictor.rf.read(file)


# ------------------------------------------------------------------------ Grid'5000


def grid5000(data: Path) -> dict[str, Fleet]:
    """By site. Nodes are in the file's order within their clusters; a node's first interval has no start."""
    folder = data / "grid5000-fta"
    names = ["event", "component", "node_id", "platform", "node", "type", "start", "end", "reason"]
    rows = padded(folder / "event_trace.tab.xz", names)
    rows = rows.astype({"type": int, "start": float, "end": float})
    rows[["start", "end"]] = rows[["start", "end"]].apply(lambda t: pd.to_datetime(t, unit="s", utc=True))
    first = rows.groupby("node", sort=False)["start"].min()
    events = rows[(rows["type"] == 0) & (rows["start"] > rows["node"].map(first)) & (rows["end"] > rows["start"])]
    site = first.index.to_series().str.split("/").str[1]
    fleets = {}
    for name in sorted(site.unique()):
        mine = site.index[site == name]
        clusters = sorted({node.rpartition("/")[0] for node in mine})
        nodes = pd.DataFrame({"node": sorted(mine, key=natural), "entered": pd.NaT})
        nodes["entered"] = nodes["node"].map(first)
        part = events[events["node"].isin(mine)].sort_values("start", kind="stable")
        fleets[name] = Fleet(
            name,
            part[["node", "start", "end"]],
            nodes,
            first[mine].min(),
            rows["end"].max(),
            lambda c=clusters: whole(folder).where(location=c),
            first=180,
        )
    return fleets


def padded(file: Path, names: list[str]) -> pd.DataFrame:
    rows = pd.read_csv(file, sep="\t", comment="#", header=None, names=names, dtype=str)
    return rows.apply(lambda column: column.str.strip())


def natural(node: str) -> tuple[Any, ...]:
    return tuple(int(part) if part.isdigit() else part for part in pd.Series([node]).str.findall(r"\d+|\D+")[0])


# ------------------------------------------------------------------------ Titan


def titan(data: Path) -> dict[str, Fleet]:
    """Bus errors and double-bit errors by slot; how long a slot was without its GPU is not said."""
    rows = pd.read_csv(data / "titan-gpu-lifetimes.csv.xz", low_memory=False)
    hits = rows[rows["event"].notna() & rows["remove"].notna()]
    clock = pd.to_datetime(hits["remove"]).dt.tz_localize(
        "America/New_York", ambiguous=np.ones(len(hits), bool), nonexistent="shift_forward"
    )
    events = pd.DataFrame({"node": hits["location"], "start": clock.dt.tz_convert("UTC"), "cause": hits["event"]})
    events = events[events["node"].notna()].sort_values("start", kind="stable", ignore_index=True).assign(end=pd.NaT)
    events["end"] = pd.to_datetime(events["end"], utc=True)
    nodes = pd.DataFrame({"node": sorted(rows["location"].dropna().unique(), key=natural), "entered": pd.NaT})
    begin, end = events["start"].min().floor("D"), events["start"].max().ceil("D")
    nodes["entered"] = begin

    def log() -> Any:
        text = events[["node", "start", "cause"]].assign(start=events["start"].dt.strftime("%Y-%m-%d %H:%M:%S"))
        days = (f"{t:%Y-%m-%d}" for t in (begin, end))
        return predictor.log_of_table(
            text, population=nodes[["node"]], **dict(zip(("window_start", "window_end"), days, strict=True))
        )

    return {"titan": Fleet("titan", events, nodes, begin, end, log, jobs=False)}


LOGS: dict[str, tuple[Callable[[Path], dict[str, Fleet]], int]] = {
    "lanl": (lanl, 122),
    "grid5000": (grid5000, 30),
    "titan": (titan, 61),
}


# ------------------------------------------------------------------------ origins


@cache
def fleets_of(log: str, data: Path) -> dict[str, Fleet]:
    return LOGS[log][0](data)


def origins(fleet: Fleet, step: int, ahead: int) -> list[pd.Timestamp]:
    """Midnights from the first origin on, as long as so many days follow, with enough records before them."""
    every = pd.date_range(fleet.begin.ceil("D") + fleet.first * DAY, fleet.end - ahead * DAY, freq=f"{step}D")
    return [at for at in every if (fleet.events["start"] < at).sum() >= FEWEST]


def one_fleet(job: tuple[str, Path, str, tuple[str, ...], int]) -> dict[str, list[dict[str, Any]]]:
    """All rows of one fleet."""
    name, data, system, parts, step = job
    fleet = fleets_of(name, data)[system]
    rows: dict[str, list[dict[str, Any]]] = {part: [] for part in parts}
    dates = origins(fleet, step, min(HORIZONS))
    if not dates:
        return rows
    log, starts = fleet.log(), fleet.events["start"]
    outages = Outages(fleet.events, fleet.nodes, fleet.begin)
    for i, origin in enumerate(dates):
        left = (fleet.end - origin) / DAY
        horizons = tuple(days for days in HORIZONS if days <= left)
        tag = {"system": system, "origin": f"{origin:%Y-%m-%d}"}
        part = predictor.cut(log, origin)
        if "forecast" in parts:
            answers = tried(predictor.ask_forecast, part, horizons)
            found = forecast_rows(answers, starts, fleet.begin, origin, horizons)
            rows["forecast"] += [{**tag, **row} for row in found]
        if "jobs" in parts and fleet.jobs and left >= HORIZONS[-1] and (name != "lanl" or system in JOBS):
            most = min(part.n_nodes, (fleet.nodes["entered"].fillna(fleet.begin) <= origin).sum())
            sizes = tuple(size for size in SIZES if size <= most)
            answers = tried(predictor.ask_jobs, part, sizes)
            rng = np.random.default_rng([7, i])
            rows["jobs"] += [{**tag, **r} for r in job_rows(answers, outages, origin, HORIZONS[-1], rng, sizes)]
        if "nodes" in parts and len(fleet.nodes) >= RANKED:
            rows["nodes"].append({**tag, **node_row(tried(predictor.ask_nodes, part), fleet.events, origin)})
    return rows


def node_row(rates: pd.Series | str, events: pd.DataFrame, origin: pd.Timestamp) -> dict[str, Any]:
    """Areas under the curve of relfit's rates and of two counts."""
    if isinstance(rates, str):
        return {"why": rates}

    def failures(since: pd.Timestamp, until: pd.Timestamp) -> np.ndarray:
        inside = events[(events["start"] >= since) & (events["start"] < until)]
        return inside["node"].value_counts().reindex(rates.index, fill_value=0).to_numpy()

    failed = failures(origin, origin + 30 * DAY) > 0
    row = {"nodes": len(rates), "failed": int(failed.sum()), "area": area_under_curve(rates.to_numpy(), failed)}
    return row | {f"area{d}": area_under_curve(failures(origin - d * DAY, origin), failed) for d in (90, 365)}


def node_table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Mean areas by system, and over all origins in the last line."""
    columns = ["area", "area90", "area365"]
    frame = pd.DataFrame(rows).reindex(columns=["system", "failed", *columns])
    good = frame[frame["area"].notna()]
    if good.empty:
        return pd.DataFrame()
    by = good.groupby("system", sort=False).agg(n=("area", "size"), **{c: (c, "mean") for c in ("failed", *columns)})
    table = by.reset_index()
    table.loc[len(table)] = {"system": "all", "n": len(good), **good[["failed", *columns]].mean().to_dict()}
    return table


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--log", choices=LOGS, default="lanl")
    options.add_argument("--systems", help="or sites, separated by commas; all by default")
    options.add_argument("--part", default=",".join(PARTS), help="some of these, separated by commas")
    options.add_argument("--step", type=int, help="days from one origin to the next")
    options.add_argument("--processes", type=int, default=1, choices=(1, 2))
    options.add_argument("--json", help="write rows and averages here, too")
    given = options.parse_args()
    parts = tuple(given.part.split(","))
    if not set(parts) <= set(PARTS):
        sys.exit(f"no part {given.part!r}; there is {', '.join(PARTS)}")
    if not given.data.exists():
        print(f"no data at {given.data}: nothing is checked")
        return
    began = time.perf_counter()
    fleets = fleets_of(given.log, given.data)
    systems = given.systems.split(",") if given.systems else list(fleets)
    if not set(systems) <= set(fleets):
        sys.exit(f"no such system; there is {', '.join(fleets)}")
    step = given.step or LOGS[given.log][1]
    tasks = [(given.log, given.data, system, parts, step) for system in systems]
    if given.processes == 1:
        done = [one_fleet(task) for task in tasks]
    else:
        with ProcessPoolExecutor(given.processes) as pool:
            done = list(pool.map(one_fleet, tasks))
    rows = {part: [row for one in done for row in one.get(part, [])] for part in PARTS}
    forecasts, jobs = forecast_table(rows["forecast"], "system"), job_table(rows["jobs"], "system")
    nodes = node_table(rows["nodes"])
    averages = {given.log: overall(forecasts, jobs)}
    print(*(shown(table) for table in (forecasts, jobs, nodes)), sep="\n\n", end="\n\n")
    print(said(given.log, averages[given.log]), end="\n\n")
    if given.log == "lanl" and len(forecasts) and not given.systems:
        averages["first"] = overall(forecasts[forecasts["system"].isin(FIRST_FORECASTS)], jobs.head(0))
        print(said(f"{len(FIRST_FORECASTS)} systems of the first measurement", averages["first"]), end="\n\n")
    print(targets(averages[given.log]))
    if len(nodes):
        last = nodes.iloc[-1]
        print(
            f"nodes that fail in 30 days ({last['n']:.0f} origins), area under the curve: {last['area']:.3f}, by the "
            f"failures of 90 days {last['area90']:.3f}, of 365 {last['area365']:.3f}"
        )
        averages["nodes"] = last.to_dict()
    for why in sorted({str(row["why"]) for part in rows.values() for row in part if "why" in row}):
        print(f"no answer: {why}")
    print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr)
    if given.json:
        Path(given.json).write_text(json.dumps({"averages": averages, **rows}, default=str))


if __name__ == "__main__":
    main()
