"""Kills rounds of `relfit watch` at random moments: in the end the store is the same as without.

Files come, grow, are corrected and rotated while rounds are killed; a twin of the fleet sees the same files and is left
alone. At the end both have one more round each, and records, nodes and where sources are must be equal.

Run: python benchmarks/stress_watch.py --kills 200
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from relfit.live.fleet_store import FleetStore
from relfit.live.watch_round import watch
from relfit.live.watch_settings import read_watch_settings

SETTINGS = 'store = "{}"\n[[sources]]\nkind = "file"\npath = "logs/*.csv"\n[outputs]\njson = "{}.json"\n'
HEAD = "node,start,end,cause,rack\n"


def rows(rng: np.random.Generator, day: int) -> list[str]:
    """Records of a day, one of which is not over yet."""
    out = []
    for hour in np.sort(rng.choice(20, 6, replace=False)):
        node, start = rng.integers(40), pd.Timestamp("2024-01-01") + pd.Timedelta(days=day, hours=int(hour))
        out.append(f"n{node:02d},{start},{start + pd.Timedelta('90min')},disk,r{node // 8}\n")
    return [*out[:-1], out[-1].replace(out[-1].split(",")[2], "")]


def change(logs: Path, day: int, rng: np.random.Generator) -> None:
    """What happens to the files from one round to the next."""
    (logs / f"{day:03d}.csv").write_text(HEAD + "".join(rows(rng, day)))
    files = sorted(logs.glob("*.csv"))
    chosen = files[rng.integers(len(files))]
    kind = rng.integers(4)
    if kind == 0:  # an outage ended
        chosen.write_text(chosen.read_text().replace(",,disk", ",2024-12-31 00:00:00,disk"))
    elif kind == 1:  # a cause was wrong
        chosen.write_text(chosen.read_text().replace("disk", "memory", 1))
    elif kind == 2:  # overlapping
        (logs / f"again-{day:03d}.csv").write_text(chosen.read_text())
    elif len(files) > 3:  # rotated
        chosen.rename(logs / f"old-{chosen.name}")


def state(store: Path) -> tuple[list[object], ...]:
    """What a store holds."""
    with FleetStore.open(str(store), read_only=True) as opened:
        queries = (
            "SELECT system, node, began, cause, scope, ended, detail, more, start_cut, source FROM events",
            "SELECT system, node, source, declared, more, entered, leaving FROM nodes",
            "SELECT kind, subject, since, raised, text FROM alarms",
        )
        return tuple(sorted(map(str, opened._database.rows(query))) for query in queries)


def main() -> None:
    """Kill rounds, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    rng, killed = np.random.default_rng(chosen.seed), 0
    random.seed(chosen.seed)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "logs").mkdir()
        for name in ("killed", "twin"):
            (folder / f"{name}.toml").write_text(SETTINGS.format(f"{name}.duckdb", name))
        settings = {name: read_watch_settings(folder / f"{name}.toml") for name in ("killed", "twin")}
        day, began, took = 0, time.perf_counter(), 1.0
        while killed < chosen.kills:
            change(folder / "logs", day, rng)
            time.sleep(0.01)
            now = pd.Timestamp("2024-01-02", tz="UTC") + pd.Timedelta(days=day)
            child = os.fork()
            if child == 0:
                try:
                    watch(settings["killed"], now)
                finally:
                    os._exit(0)
            time.sleep(random.uniform(0.0, took))
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            killed += os.WIFSIGNALED(status)
            start = time.perf_counter()
            watch(settings["twin"], now)
            took = time.perf_counter() - start
            watch(settings["killed"], now)  # it goes on
            day += 1
        later = now + pd.Timedelta("1d")
        records = {name: watch(each, later).records for name, each in settings.items()}
        same = state(folder / "killed.duckdb") == state(folder / "twin.duckdb")
        parts = [file.name for file in folder.iterdir() if file.name.endswith(".part")]
        seconds = time.perf_counter() - began
    print(f"{killed} rounds killed in {seconds:.0f} s, {day} rounds: {records}; the same state: {same}")
    print(f"parts of files left behind: {len(parts)}")
    if not same:
        sys.exit(1)


if __name__ == "__main__":
    main()
