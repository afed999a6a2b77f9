"""A hundred million events of a million nodes to per-node fits, through Dask, kept parts reused after a kill.

Run: python benchmarks/bench_hundred_million.py FOLDER [--nodes 1000000] [--events 100] [--families core] [--kill]

FOLDER takes the logs (made once), a campaign's store and a Parquet file of fits for each block of 50,000 nodes. The
campaign's cells are the blocks, so a run that is killed goes on with those that are missing; ``--kill`` kills all its
processes when a third of the blocks are done, and starts it again. Processor time and memory are of all processes.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import relfit as rf  # noqa: E402
from benchmarks.bench_stored import BLOCK, SHAPE, held_by, make, processes  # noqa: E402
from relfit.base.writing import complete  # noqa: E402

LIMIT_SECONDS, LIMIT_GIB = 600.0, 12.0


def fit_block(block: int, folder: str, families: str) -> dict[str, float]:
    """Fit every node of one block of the logs and write its fits; how many nodes and times there are."""
    log = rf.read(f"{folder}/logs/{block:07d}-*.parquet")
    ttf = log.ttf()
    with complete(Path(folder, "fits", f"{block:07d}.parquet")) as part:
        rf.fit(ttf, families, n_resamples=0, workers=1).to_frame().to_parquet(part, index=False)
    return {"nodes": float(log.n_nodes), "durations": float(ttf.durations.size)}


def campaign(folder: Path, nodes: int, families: str) -> rf.campaigns.Campaign:
    """One cell per block."""
    return rf.campaigns.Campaign(
        run="benchmarks.bench_hundred_million:fit_block",
        parameters={"block": list(range(0, nodes, BLOCK))},
        config={"folder": str(folder), "families": families},
        replications=1,
        output="durations",
    )


def compute(folder: Path, nodes: int, families: str) -> None:
    """Fit what is missing on a local Dask cluster of two processes."""
    rf.campaigns.sweep(campaign(folder, nodes, families), folder / "store", executor="dask", workers=2)


def processor_seconds(process: int) -> dict[int, float]:
    """Processor time of a process and of those that it started, by process (Linux)."""
    seconds = {}
    for each in processes(process):
        with suppress(OSError):
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            seconds[each] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return seconds


def times_written(folder: Path) -> dict[str, int]:
    """When the fits of each block were written, in nanoseconds."""
    return {part.name: part.stat().st_mtime_ns for part in (folder / "fits").glob("*.parquet")}


def main() -> None:
    """Make the logs, fit them in a process of its own, and print what that took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--events", type=int, default=100, help="of a node, on average")
    parser.add_argument("--families", default="core")
    parser.add_argument("--kill", action="store_true", help="kill it when a third of the blocks are done, and go on")
    parser.add_argument("--compute", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder = options.folder.resolve()
    if options.compute:
        compute(folder, options.nodes, options.families)
        return
    (folder / "logs").mkdir(parents=True, exist_ok=True)
    (folder / "fits").mkdir(exist_ok=True)
    if not any((folder / "logs").iterdir()):
        print(f"{make(folder / 'logs', options.nodes, options.events):,} events made")
    blocks = -(-options.nodes // BLOCK)
    begun, most, spent = time.perf_counter(), 0, dict[int, float]()
    written: dict[str, int] = {}  # when each block was, at the kill
    while True:
        run = subprocess.Popen(
            [sys.executable, *sys.argv, "--compute"],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            start_new_session=True,
        )
        while run.poll() is None:
            most = max(most, held_by(run.pid))
            spent |= processor_seconds(run.pid)
            if options.kill and not written and len(parts := times_written(folder)) >= max(blocks // 3, 1):
                os.killpg(run.pid, signal.SIGKILL)
                run.wait()
                written = parts
            time.sleep(1.0)
        if run.returncode == 0:
            break
        if run.returncode != -signal.SIGKILL:
            raise SystemExit(f"exit code {run.returncode}")
    took = time.perf_counter() - begun
    result = rf.campaigns.load(folder / "store")
    durations = float(result.samples("durations").to_numpy().sum())
    fits = pd.read_parquet(folder / "fits", columns=["family", "shape"], filters=[("family", "==", "weibull")])
    print(
        f"{durations:,.0f} times of {len(fits):,} nodes: {took:.0f} s, {sum(spent.values()):.0f} s of processor time "
        f"(limit {LIMIT_SECONDS:.0f} on each of two cores), at most {most / 2**30:.2f} GiB (limit {LIMIT_GIB:.0f})"
    )
    if written:
        again = len(written.items() - times_written(folder).items())
        print(f"killed when {len(written)} of {blocks} blocks were written: {again} of these were computed again")
    print(f"shape of the Weibull: {fits['shape'].median():.3f} in the median, {SHAPE} in truth")


if __name__ == "__main__":
    main()
