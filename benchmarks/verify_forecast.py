"""Do prediction intervals hold what was counted? Forecasts of held-out months of LANL's systems, of simulated fleets.

    python benchmarks/verify_forecast.py [--log FILE] [--systems 2 20] [--step 61] [--fleets 200]

Every `--step` days of a system's log, from a year after its start on, it is forecast from what was known then, and the
records, hours of repair and records by cause of the next 30 and 90 days are counted in the rows themselves. The
table has the share of forecasts whose nominal 90 % interval holds the count. The simulated fleets are steady: nodes of
unequal exponential or Weibull lives, racks, and outages of the whole system, drawn with plain NumPy.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from scipy.special import gamma

import relfit as rf
from relfit.base.errors import RelfitError

SYSTEMS = ("2", "8", "16", "18", "19", "20", "3", "4", "5", "9", "10", "11", "12", "13", "23")
HORIZONS = (30, 90)
DAY = pd.Timedelta("1D")
FEWEST = 30  # records before a first forecast
YEAR = 8766.0


def held_out(log: rf.FailureLog, system: str, step: int, n_draws: int) -> list[dict]:
    """Forecasts of one system against the rows of its log."""
    part = log.where(system=system)
    begin, end = part.window.start, part.window.end
    events = part.events
    rows = []
    for origin in pd.date_range(begin.ceil("D") + 365 * DAY, end - 30 * DAY, freq=f"{step}D"):
        before = part.between(None, origin)
        if len(before) < FEWEST:
            continue
        try:
            ahead = rf.forecast(before, [f"{days}d" for days in HORIZONS], level=0.9, n_draws=n_draws)
        except RelfitError as error:
            print(f"system {system}, {origin:%Y-%m-%d}: {error}")
            continue
        for days in HORIZONS:
            until = origin + days * DAY
            if until > end:
                continue
            coming = events[(events["start"] >= origin) & (events["start"] < until)]
            found = ahead.table[ahead.table["horizon"] == days * 24.0]
            hours = float(((coming["end"] - coming["start"]) / pd.Timedelta("1h")).sum())
            total = found[found["of"] == "all"].iloc[0]
            rows.append(_row(system, days, "failures", len(coming), total))
            rows.append(_row(system, days, "repair_hours", hours, total))
            for _, cause in found[found["of"] == "cause"].iterrows():
                if cause["failures"] >= 0.5:
                    rows.append(_row(system, days, "cause", int((coming["cause"] == cause["name"]).sum()), cause))
    return rows


def _row(system: str, days: int, what: str, counted: float, row: pd.Series) -> dict:
    name = "repair_hours" if what == "repair_hours" else "failures"
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return {
        "system": system,
        "days": days,
        "what": what,
        "held": low <= counted <= high,
        "below": counted < low,
        "above": counted > high,
        "width": (high - low) / max(row[name], 1.0),
        "stock": np.nan if what != "cause" or pd.isna(row["stock"]) else float(counted <= row["stock"]),
    }


def steady_fleet(rng: np.random.Generator, hours: float, shape: float) -> pd.DataFrame:
    """Records of 200 nodes in 10 racks: own failures at unequal rates, racks, outages of the whole system.

    Nodes have run for long when the records begin; instants are hours.
    """
    scale = 2000.0 / rng.gamma(2.0, 0.5, 200) / gamma(1.0 + 1.0 / shape)
    rows = []
    for node in range(200):
        own = np.cumsum(scale[node] * rng.weibull(shape, 400)) - 20.0 * scale[node]
        rows += [(f"n{node}", at, rng.exponential(3.0)) for at in own if 0.0 < at < hours]
    for rack in range(10):
        for at in np.cumsum(rng.exponential(1500.0, 100)):
            rows += [(f"n{node}", at, 4.0) for node in range(20 * rack, 20 * rack + 20) if at < hours]
    rows += [(None, at, 2.0) for at in np.cumsum(rng.exponential(400.0, 200)) if at < hours]
    table = pd.DataFrame(rows, columns=["node", "start", "hours"])
    cause = rng.choice(["hardware", "software"], len(table), p=[0.7, 0.3])
    table["cause"] = np.where(table["node"].isna(), "network", np.where(table["hours"] == 4.0, "power", cause))
    return table.sort_values("start", ignore_index=True)


def simulated(shape: float, seed: int, n_draws: int) -> list[dict]:
    """One steady fleet: a forecast at the end of its first year against what follows."""
    records = steady_fleet(np.random.default_rng(seed), YEAR + max(HORIZONS) * 24.0, shape)
    zero = pd.Timestamp("2010-01-01", tz="UTC")
    with TemporaryDirectory() as folder:
        log = as_log(records[records["start"] < YEAR], zero, Path(folder))
    ahead = rf.forecast(log, [f"{days}d" for days in HORIZONS], level=0.9, n_draws=n_draws)
    rows, name = [], f"steady, shape {shape:g}"
    for days in HORIZONS:
        coming = records[(records["start"] >= YEAR) & (records["start"] < YEAR + days * 24.0)]
        found = ahead.table[ahead.table["horizon"] == days * 24.0]
        total = found[found["of"] == "all"].iloc[0]
        rows.append(_row(name, days, "failures", len(coming), total))
        rows.append(_row(name, days, "repair_hours", float(coming["hours"].sum()), total))
        for _, cause in found[found["of"] == "cause"].iterrows():
            rows.append(_row(name, days, "cause", int((coming["cause"] == cause["name"]).sum()), cause))
        rack = "r" + (coming["node"].dropna().str[1:].astype(int) // 20).astype(str)
        for _, one in found[(found["of"] == "rack") & found["name"].str.startswith("r")].iterrows():
            rows.append(_row(name, days, "rack", int((rack == one["name"]).sum()), one))
    return rows


def as_log(records: pd.DataFrame, zero: pd.Timestamp, folder: Path) -> rf.FailureLog:
    """The records of the first year as a log of 200 nodes."""
    start = zero + pd.to_timedelta(records["start"], unit="h")
    end = (start + pd.to_timedelta(records["hours"], unit="h")).clip(upper=zero + pd.Timedelta(hours=YEAR))
    scope = np.where(records["node"].isna(), "system", "node")
    table = pd.DataFrame(
        {"node": records["node"], "start": start, "end": end, "cause": records["cause"], "scope": scope}
    )
    table.to_csv(folder / "log.csv", index=False)
    pd.DataFrame({"node": [f"n{i}" for i in range(200)], "rack": [f"r{i // 20}" for i in range(200)]}).to_csv(
        folder / "nodes.csv", index=False
    )
    return rf.read(
        folder / "log.csv",
        population=str(folder / "nodes.csv"),
        window_start=str(zero),
        window_end=str(zero + pd.Timedelta(hours=YEAR)),
    )


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--log", default="../shared/data/lanl-failures-1996-2005.csv.xz")
    options.add_argument("--systems", nargs="*", default=SYSTEMS)
    options.add_argument("--step", type=int, default=61)
    options.add_argument("--fleets", type=int, default=200)
    options.add_argument("--draws", type=int, default=2000)
    given = options.parse_args()
    rows: list[dict] = []
    if given.systems and Path(given.log).exists():
        log = rf.read(given.log)
        for system in given.systems:
            rows += held_out(log, system, given.step, given.draws)
            show([row for row in rows if row["system"] == system])
        show([{**row, "system": "all systems"} for row in rows])
    for shape in (1.0, 0.7):
        show([row for seed in range(given.fleets) for row in simulated(shape, seed, given.draws)])


def show(rows: list[dict]) -> None:
    """Shares in percent, one line per system, horizon and what was counted."""
    if not rows:
        return
    for (system, days, what), part in pd.DataFrame(rows).groupby(["system", "days", "what"], sort=False):
        held, below, above, stock = (100.0 * part[name].mean() for name in ("held", "below", "above", "stock"))
        print(
            f"| {system} | {days} | {what} | {len(part)} | {held:.0f} | {below:.0f} | {above:.0f} | "
            f"{part['width'].mean():.2f} | {'-' if np.isnan(stock) else f'{stock:.0f}'} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
