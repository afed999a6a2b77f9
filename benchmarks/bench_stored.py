"""Stored logs larger than memory to fits of every node: seconds, and the memory of all processes together.

Makes a fleet of known truth (Weibull, shape 0.8), written as logs in which each node stands in several files, and runs
``relfit fit --stream``. Run: python benchmarks/bench_stored.py [--nodes 1000000] [--events 100] [--families core]
[--folder /tmp]; what it makes there is deleted afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from math import gamma
from pathlib import Path

import numpy as np
import pandas as pd

import relfit as rf
from relfit.log.failurelog import Window

SHAPE, SCALE = 0.8, 400.0
BEGIN = pd.Timestamp("2004-01-01", tz="UTC")
BLOCK = 50_000  # nodes that are made at once
SLICES = 4  # files of a block, by time


def make(folder: Path, nodes: int, events: int) -> int:
    """Files of blocks of nodes and slices of time; how many events there are, `events` of a node on average."""
    rng = np.random.default_rng(0)
    hours, made = SCALE * gamma(1.0 + 1.0 / SHAPE) * events, 0
    window = Window(BEGIN, BEGIN + pd.Timedelta(hours=hours), True, True)
    for block in range(0, nodes, BLOCK):
        count = min(BLOCK, nodes - block)
        names = pd.Index([f"node{i:07d}" for i in range(block, block + count)], dtype=object)
        gaps = np.maximum(3600.0 * SCALE * rng.weibull(SHAPE, (count, events + 8 * int(events**0.5))), 120.0).astype(
            np.int64
        )
        start = np.cumsum(gaps, axis=1)
        seen = start < 3600.0 * hours
        until = np.minimum(start + 7200, np.roll(start, -1, axis=1) - 60)[seen]  # it works again before it fails again
        until = np.minimum(until, int(3600.0 * hours))
        code, at = np.repeat(np.arange(count, dtype=np.int32), seen.sum(axis=1)), start[seen]
        made += at.size
        cause = rng.integers(0, 4, at.size, dtype=np.int8)
        people = pd.DataFrame(
            {
                "system": pd.Categorical(["fleet"] * count),
                "node": pd.Categorical(names, names),
                "entered": BEGIN,
                "left": window.end,
                "entered_known": True,
                "left_known": True,
                "declared": True,
            }
        )
        people = people.astype(dict.fromkeys(("entered", "left"), "datetime64[ns, UTC]"))
        order = np.argsort(at, kind="stable")
        for i, rows in enumerate(np.array_split(order, SLICES)):
            frame = pd.DataFrame(
                {
                    "system": _one("fleet", rows.size),
                    "node": pd.Categorical.from_codes(code[rows], names),
                    "start": _instants(at[rows]),
                    "end": _instants(until[rows]),
                    "cause": pd.Categorical.from_codes(cause[rows], ["cpu", "disk", "memory", "power"]),
                    "detail": _one("", rows.size),
                    "scope": _one("node", rows.size),
                    "start_cut": False,
                    "end_cut": False,
                    "line": np.arange(rows.size),
                }
            )
            rf.write(rf.FailureLog(frame, people, window), folder / f"{block:07d}-{i}.parquet")
    return made


def _one(word: str, size: int) -> pd.Categorical:
    return pd.Categorical.from_codes(np.zeros(size, np.int8), [word])


def _instants(seconds: np.ndarray) -> pd.DatetimeIndex:
    return pd.DatetimeIndex(BEGIN.value + seconds * 1_000_000_000).tz_localize("UTC")


def processes(first: int) -> Iterator[int]:
    """A process and those that it started (Linux)."""
    yield first
    with suppress(OSError):
        for thread in Path(f"/proc/{first}/task").iterdir():
            for child in (thread / "children").read_text().split():
                yield from processes(int(child))


def held_by(process: int) -> int:
    """Bytes of a process and those that it started, pages that they share counted once (Linux)."""
    size = 0
    for each in processes(process):
        with suppress(OSError):
            share = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{each}/smaps_rollup").read_text(), re.MULTILINE)
            size += 1024 * int(share[1]) if share else 0
    return size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--events", type=int, default=100, help="of a node, on average")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--families", default="core")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        logs, out = Path(name, "logs"), Path(name, "fits.parquet")
        logs.mkdir()
        began = time.perf_counter()
        made = make(logs, options.nodes, options.events)
        files = list(logs.iterdir())
        size = sum(file.stat().st_size for file in files)
        print(
            f"{made:,} events of {options.nodes:,} nodes in {len(files)} files, "
            f"{size / 1e9:.2f} GB, made in {time.perf_counter() - began:.0f} s"
        )
        command = [sys.executable, "-m", "relfit", "fit", str(logs), "--stream", "--period", "all", "--json"]
        command += ["--families", options.families, "--out", str(out)]
        before, began, most, used = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter(), 0, 0
        with subprocess.Popen(
            [*command, "--families", options.families, "--out", str(out)], stdout=subprocess.PIPE, text=True
        ) as run:
            while run.poll() is None:
                most = max(most, held_by(run.pid))
                kept = [file for place in Path(name).glob(".relfit-*") for file in place.glob("*")]
                with suppress(OSError):
                    used = max(used, sum(file.stat().st_size for file in kept))
                time.sleep(0.2)
            answer = json.loads(run.stdout.read() if run.stdout else "")
        took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        if run.returncode:
            raise SystemExit(f"relfit fit: exit code {run.returncode}")
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(
            f"fits of {options.families} families: {took:.0f} s (limit 600), {spent:.0f} s of processor time on "
            f"{len(os.sched_getaffinity(0))} cores, at most {most / 2**30:.2f} GiB in all processes (limit 12), "
            f"{used / 1e9:.1f} GB of parts, {out.stat().st_size / 1e9:.2f} GB of fits"
        )
        expected = made + options.nodes  # the times after the last failure, too
        print(f"nodes {answer['groups']:,} of {options.nodes:,}, durations {answer['durations']:,} of {expected:,}")
        fits = pd.read_parquet(out, columns=["family", "status", "shape"], filters=[("family", "==", "weibull")])
        print(
            f"shape of the Weibull: {fits['shape'].median():.3f} in the median, {SHAPE} in truth; "
            f"{(fits['status'] == 'ok').mean():.2%} ok"
        )


if __name__ == "__main__":
    main()
