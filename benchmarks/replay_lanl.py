"""LANL's failures of 1996-2005 replayed day by day: the alarms there would have been, and how the forecasts did.

    RELFIT_SHARED=DIR python benchmarks/replay_lanl.py [--systems "18,19,20"] [--forecasts-every 10] [--rounds-every 7]

Each system is a fleet of its own. Alarms are those of `alarm_history`: its detectors see of every day only the records
until then, but which records are one incident is estimated from all. With ``--rounds-every`` the log is also cut every
so many days, as a watch would have had it, and what is new in each of these rounds is listed. Forecasts of 7 and 30
days are made on the log cut at their day, every so many days, and scored by what came. Beside each rate alarm stands
what was counted in the 90 days before it was raised and the 90 days after it began: whether the change lasted.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pandas as pd

import relfit as rf
from relfit.base.errors import RelfitError
from relfit.fleet.surveillance import scored
from relfit.live._day_page import forecast_record
from relfit.live._fleet_alarms import alarm_history, fleet_alarms
from relfit.live.live_records import Episode

SHARED = Path(os.environ.get("RELFIT_SHARED", "shared"))
SYSTEMS = "2,8,9,12,13,16,18,19,20"  # with 200 records and 400 days or more
KINDS = ("rate", "node", "repeat", "repair time")


def counted(log: rf.FailureLog, since: pd.Timestamp, raised: pd.Timestamp) -> tuple[float, float]:
    """Records a week in the 90 days before an alarm's beginning, and in the 90 days after it was raised."""
    start, quarter = log.events["start"], pd.Timedelta(days=90)
    before = start.between(since - quarter, since).sum() / 13.0
    return float(before), float(start.between(raised, raised + quarter).sum() / 13.0)


def as_rounds(
    log: rf.FailureLog, days: pd.DatetimeIndex, past: list[Episode]
) -> tuple[int, list[tuple[pd.Timestamp, str]], float]:
    """How many rounds a watch makes, the alarms that are new in one, and the share with those that `past` has then."""
    before, new, same = set(), [], 0
    for now in days:
        keys = {alarm.key for alarm in fleet_alarms(log, now=now) if alarm.kind != "burst"}
        new += [(now, key) for key in sorted(keys - before)]
        same += keys == {e.alarm.key for e in past if e.alarm.raised <= now and (e.ended is None or e.ended > now)}
        before = keys
    return len(days), new, same / len(days)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--systems", default=SYSTEMS)
    options.add_argument("--forecasts-every", type=int, default=30, help="days")
    options.add_argument("--rounds-every", type=int, default=0, help="days; the log is cut there, as for a watch")
    given = options.parse_args()
    every = rf.read(SHARED / "data" / "lanl-failures-1996-2005.csv.xz")
    print("| system | nodes | years | incidents a week | " + " | ".join(KINDS) + " | alarms a year |")
    print("|---|--:|--:|--:|" + "--:|" * (len(KINDS) + 1))
    rates, forecasts, rounds = [], [], []
    for name in given.systems.split(","):
        log = every.where(system=name)
        past = alarm_history(log)
        number, years = Counter(each.alarm.kind for each in past), log.window.hours / 8766.0
        week = len(rf.incidents(log)) / (log.window.hours / 168.0)
        each = " | ".join(str(number[kind]) for kind in KINDS)
        print(f"| {name} | {log.n_nodes:,} | {years:.1f} | {week:.3g} | {each} | {len(past) / years:.1f} |", flush=True)
        of_system = [one for one in past if one.alarm.kind == "rate" and one.alarm.subject.startswith("system")]
        rates += [(one, *counted(log, one.alarm.since, one.alarm.raised)) for one in of_system]
        days = pd.date_range((log.window.start + pd.Timedelta(days=180)).normalize(), log.window.end, freq="D")
        if given.rounds_every:
            rounds.append((name, *as_rounds(log, days[:: given.rounds_every], past)))
        for now in days[:: given.forecasts_every]:
            try:
                forecasts.append(forecast_record(rf.Study(log.between(None, now))))
            except RelfitError as error:
                print(f"no forecast of {name} on {now:%Y-%m-%d}: {error}", file=sys.stderr)
    for name, each, new, same in rounds:
        print(f"\nSystem {name}: {each} rounds, {same:.0%} with the alarms that the table has then; new in them:")
        print("\n".join(f"  {now:%Y-%m-%d} {key}" for now, key in new))
    print("\n| system | rate | since | noticed | over | failures a week before | in the 90 days after |")
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
