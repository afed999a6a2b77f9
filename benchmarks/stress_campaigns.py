"""Kills a campaign at random moments: nothing lost that was reported done, nothing counted twice, every value right.

    python benchmarks/stress_campaigns.py --kills 200

What is killed: the process that hands out the work, one of its workers, the scheduler of a Dask cluster. Writing fails,
too, as on a full disk, and half-written parts lie in the store. A campaign that comes to its end begins in a new store.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

import relfit as rf
from relfit.simulation.campaigns.campaign_store import CampaignStore

KINDS = ("parent", "parent", "worker", "worker", "scheduler", "full disk", "half-written part")
CELLS, REPLICATIONS, SEED = 20, int(os.environ.get("STRESS_REPLICATIONS", "400")), 11
HERE = Path(__file__).resolve()


def work(rng: np.random.Generator, x: float) -> float:
    """A run of some milliseconds."""
    time.sleep(0.004)
    return x + rng.random()


def campaign() -> Any:
    """The campaign, whose every value is known."""
    values = [float(i) for i in range(CELLS)]
    return rf.campaigns.Campaign(
        run="stress_campaigns:work", parameters={"x": values}, replications=REPLICATIONS, seed=SEED
    )


def child(store: str, executor: str) -> int:
    """Sweep, and say after every part how much is stored."""
    sys.path.insert(0, str(HERE.parent))
    try:
        rf.campaigns.sweep(
            campaign(), store, executor=executor, workers=2, progress=lambda text, _: print(text, flush=True)
        )
    except rf.RelfitError as error:
        print(f"error: {error}", flush=True)
        return 2
    return 0


def reported_by(said: str) -> int:
    """The most runs that a campaign said are stored."""
    counts = re.findall(r"^([\d,]+) of [\d,]+ runs stored", said, re.MULTILINE)
    return max([int(text.replace(",", "")) for text in counts], default=0)


class Started:
    """A process of our own in a session of its own; what it says goes to a file."""

    def __init__(self, *command: str, **options: Any) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), str(HERE.parent)])}
        self.output = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, *command],
            env=environment,
            stdout=self.output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            **options,
        )

    @property
    def said(self) -> str:
        """All that it said so far."""
        size = os.fstat(self.output.fileno()).st_size
        return os.pread(self.output.fileno(), size, 0).decode(errors="replace")

    def wait_for(self, more: int, seconds: float) -> None:
        """Until it reported more than so many runs, or ended."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self.process.poll() is None and reported_by(self.said) <= more:
            time.sleep(0.1)

    def end(self) -> str:
        """Kill its session; what it said."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        return self.said


def children(number: int) -> list[int]:
    """Processes that a process of ours began, and are at work."""
    with suppress(OSError):
        pids = [int(pid) for pid in Path(f"/proc/{number}/task/{number}/children").read_text().split()]
        return [pid for pid in pids if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    return []


def small_files() -> None:
    """Files of a kilobyte at most: every part fails to be written."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


def cluster(folder: Path) -> tuple[str, list[Started]]:
    """A Dask scheduler and a worker, each a process of its own."""
    address = folder / "scheduler.json"
    address.unlink(missing_ok=True)
    options = ("--scheduler-file", str(address))
    begun = [Started("-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard", *options)]
    deadline = time.monotonic() + 60
    while not address.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    begun.append(Started("-m", "distributed.cli.dask_worker", "--nthreads", "1", "--no-dashboard", *options))
    return str(json.loads(address.read_text())["address"]), begun


def strike(kind: str, store: Path, before: int, chance: random.Random) -> str:
    """Let a campaign run, and kill something of it; what the campaign said."""
    executor, others = cluster(store.parent) if kind == "scheduler" else ("processes", [])
    options: dict[str, Any] = {"preexec_fn": small_files} if kind == "full disk" else {}
    if kind == "half-written part":
        for part in list((store / "runs").glob("[!h]*.parquet"))[:1]:
            data = part.read_bytes()
            (part.parent / f"half-{chance.randrange(10**9)}.parquet").write_bytes(data[: chance.randrange(len(data))])
    sweep = Started(str(HERE), "--child", str(store), executor, **options)
    if chance.random() < 0.7:  # else while it begins
        sweep.wait_for(before, 20)
    time.sleep(chance.uniform(0.0, 3.0))
    if kind == "worker":
        for pid in chance.sample(at_work, 1) if (at_work := children(sweep.process.pid)) else []:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(chance.uniform(0.0, 3.0))
    if kind == "scheduler":
        others[0].end()
        time.sleep(chance.uniform(0.0, 4.0))
    if kind == "full disk":
        sweep.wait_for(before, 10)
    said = sweep.end()
    for each in others:
        each.end()
    return said


def expected() -> np.ndarray:
    """Every value, from numpy alone."""
    drawn = [np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(r,))).random() for r in range(REPLICATIONS)]
    return np.add.outer(np.arange(float(CELLS)), drawn)


def check(store: Path, reported: int, right: np.ndarray) -> int:
    """How many runs are stored: at least those reported, each once, each with its value."""
    rows = CampaignStore(store).rows()
    result = rf.campaigns.load(store)
    assert not rows.duplicated(["cell", "replication"]).any(), "a run is counted twice"
    assert len(result.runs) >= reported, f"{reported} were reported done, {len(result.runs)} are there"
    assert result.failed.empty, result.failed
    values = result.samples("value").to_numpy() if len(result.runs) else np.zeros((0, 0))
    there = np.isfinite(values)
    assert int(there.sum()) == len(result.runs), "a run is counted twice"
    assert np.array_equal(values[there], right[:, : values.shape[1]][there] if values.size else []), "a value is wrong"
    return len(result.runs)


def stress(kills: int, seed: int, folder: Path, kinds: Sequence[str] = KINDS) -> Counter[str]:
    """Kill so many times; how often each kind."""
    chance, right, done = random.Random(seed), expected(), Counter[str]()
    number, reported = 0, 0
    for i in range(kills):
        kind, store = kinds[i % len(kinds)], folder / f"store-{number}"
        said = strike(kind, store, reported, chance)
        done[kind] += 1
        assert "Traceback" not in said or kind in ("worker", "scheduler"), said
        reported = max(reported, reported_by(said))
        if (store / "campaign.json").exists():
            stored = check(store, reported, right)
            print(f"{i + 1:4d} {kind:18s} reported {reported:6,d}, stored {stored:6,d} of {right.size:,}", flush=True)
            reported = stored
            if stored == right.size:
                number, reported = number + 1, 0
    store = folder / f"store-{number}"
    rf.campaigns.sweep(campaign(), store, executor="processes", workers=2)
    assert check(store, reported, right) == right.size
    return done


def main() -> int:
    """Run; 0 where nothing was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", nargs=2)
    given = parser.parse_args()
    if given.child:
        return child(*given.child)
    sys.path.insert(0, str(HERE.parent))
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        done = stress(given.kills, given.seed, Path(folder))
    print(f"{sum(done.values())} kills in {time.monotonic() - begun:.0f} s: {dict(done)}; nothing lost, nothing twice")
    return 0


if __name__ == "__main__":
    sys.exit(main())
