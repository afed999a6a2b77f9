"""LANL's failures of 1996-2005 replayed day by day: the alarms there would have been, and how the forecasts did.

    RELFIT_SHARED=DIR python benchmarks/replay_lanl.py [--systems "18,19,20"] [--forecasts-every 10] [--check 10]

Each system is a fleet of its own. Alarms are those of `alarm_history`, which sees of every day only the records until
then; ``--check`` days drawn at random are asked of the log cut there, as a watch would have had it, and the alarms that
differ are counted. Forecasts of 7 and 30 days are made on the log cut at their day, every so many days, and scored by
what came. Beside each rate alarm stands what was counted in the 90 days before it was raised and the 90 days after it
began: whether the change lasted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import pandas as pd

import relfit as rf
from relfit.base.errors import RelfitError
from relfit.fleet.surveillance import scored
from relfit.live._fleet_alarms import alarm_history, fleet_alarms
from relfit.live._forecast_record import forecast_record

SHARED = Path(os.environ.get("RELFIT_SHARED", "shared"))
SYSTEMS = "2,8,9,12,13,16,18,19,20"  # with 200 records and 400 days or more
KINDS = ("rate", "node", "repeat", "repair time")


def counted(log: rf.FailureLog, since: pd.Timestamp, raised: pd.Timestamp) -> tuple[float, float]:
    """Records a week in the 90 days before an alarm's beginning, and in the 90 days after it was raised."""
    start, quarter = log.events["start"], pd.Timedelta(days=90)
    before = start.between(since - quarter, since).sum() / 13.0
    return float(before), float(start.between(raised, raised + quarter).sum() / 13.0)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--systems", default=SYSTEMS)
    options.add_argument("--forecasts-every", type=int, default=30, help="days")
    options.add_argument("--check", type=int, default=5, help="days that are asked of the log cut there")
    given = options.parse_args()
    every = rf.read(SHARED / "data" / "lanl-failures-1996-2005.csv.xz")
    rng = np.random.default_rng(1)
    print("| system | nodes | years | incidents a week | " + " | ".join(KINDS) + " | alarms a year |")
    print("|---|--:|--:|--:|" + "--:|" * (len(KINDS) + 1))
    rates, forecasts, different, asked = [], [], 0, 0
    for name in given.systems.split(","):
        log = every.where(system=name)
        past = alarm_history(log)
        number, years = Counter(each.alarm.kind for each in past), log.window.hours / 8766.0
        week = len(rf.incidents(log)) / (log.window.hours / 168.0)
        each = " | ".join(str(number[kind]) for kind in KINDS)
        print(f"| {name} | {log.n_nodes:,} | {years:.1f} | {week:.3g} | {each} | {len(past) / years:.1f} |", flush=True)
        of_system = [one for one in past if one.alarm.kind == "rate" and one.alarm.subject.startswith("system")]
        rates += [(one, *counted(log, one.alarm.since, one.alarm.raised)) for one in of_system]
        days = pd.date_range(log.window.start.normalize() + pd.Timedelta(days=180), log.window.end, freq="D")
        for now in rng.choice(days, min(given.check, len(days)), replace=False):
            stamp = pd.Timestamp(now).tz_convert("UTC") if pd.Timestamp(now).tzinfo else pd.Timestamp(now, tz="UTC")
            then = {
                (e.alarm.key, e.alarm.raised)
                for e in past
                if e.alarm.raised <= stamp and (e.ended is None or e.ended > stamp)
            }
            cut = {(alarm.key, alarm.raised) for alarm in fleet_alarms(log, now=stamp)}
            asked, different = asked + len(then | cut), different + len(then ^ cut)
        for now in days[:: given.forecasts_every]:
            try:
                forecasts.append(forecast_record(rf.Study(log.between(None, now))))
            except RelfitError as error:
                print(f"no forecast of {name} on {now:%Y-%m-%d}: {error}", file=sys.stderr)
    print(f"\nOf {asked} alarms on {given.check} days of each system, {different} differ when the log ends there.\n")
    print("| system | rate | since | noticed | over | failures a week before | in the 90 days after |")
    print("|---|---|---|---|---|--:|--:|")
    for one, before, after in rates:
        alarm = one.alarm
        what = "fell" if alarm.subject.endswith(" down") else "rose"
        over = "" if one.ended is None else f"{one.ended:%Y-%m-%d}"
        system = alarm.subject.removeprefix("system ").removesuffix(" down")
        print(
            f"| {system} | {what} {alarm.evidence['ratio']:.2g} times | {alarm.since:%Y-%m-%d} | "
            f"{alarm.raised:%Y-%m-%d} | {over} | {before:.1f} | {after:.1f} |"
        )
    made = pd.concat(forecasts, ignore_index=True)
    parts = [scored(rows.reset_index(drop=True), every.where(system=name)) for name, rows in made.groupby("system")]
    made = pd.concat(parts, ignore_index=True).dropna(subset="happened")
    made["inside"] = made["happened"].between(made["lower"], made["upper"])
    print("\n| horizon | forecasts | came inside | should | mean width / mean count | mean miss / mean count |")
    print("|---|--:|--:|--:|--:|--:|")
    for hours, rows in made.groupby("horizon_hours"):
        size, inside = rows["happened"].mean(), rows["inside"].mean()
        width, miss = (
            (rows["upper"] - rows["lower"]).mean() / size,
            (rows["happened"] - rows["mean"]).abs().mean() / size,
        )
        days = float(str(hours)) / 24.0
        print(f"| {days:.0f} days | {len(rows):,} | {inside:.1%} | 95% | {width:.2f} | {miss:.2f} |")


if __name__ == "__main__":
    main()
