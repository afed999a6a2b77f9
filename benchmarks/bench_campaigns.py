"""What a campaign costs beside its runs, whether memory grows, and the repair-time campaign.

python benchmarks/bench_campaigns.py overhead             runs of 1 ms: time beside them
python benchmarks/bench_campaigns.py memory --runs 1000000    on a local Dask cluster: memory over the runs
python benchmarks/bench_campaigns.py jobs FOLDER          draws jobs.swf for data/campaigns/repairs.toml
python benchmarks/bench_campaigns.py repairs STORE        Figures 7 and 8 and break-even pairs of what is stored
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import relfit as rf  # noqa: E402


def busy(rng: np.random.Generator, x: float, milliseconds: float) -> float:
    """A run that computes for so long."""
    end = time.process_time() + 1e-3 * milliseconds
    while time.process_time() < end:
        pass
    return x + rng.random()


def campaign(runs: int, milliseconds: float, cells: int = 100) -> Any:
    """So many runs in some cells."""
    return rf.campaigns.Campaign(
        run="bench_campaigns:busy",
        parameters={"x": [float(i) for i in range(cells)]},
        config={"milliseconds": milliseconds},
        replications=-(-runs // cells),
        output="value",
    )


def overhead(runs: int, milliseconds: float, folder: Path) -> None:
    """Processor time beside the runs: in the process that runs them, and in the one that hands them out."""
    plan = campaign(runs, milliseconds)
    rf.campaigns.sweep(campaign(200, milliseconds), folder / "warm", executor="serial")
    begun = time.process_time()
    for r in range(runs):
        busy(np.random.default_rng(np.random.SeedSequence(0, spawn_key=(r,))), 0.0, milliseconds)
    alone = time.process_time() - begun
    begun = time.process_time()
    rf.campaigns.sweep(plan, folder / "serial", executor="serial")
    serial = time.process_time() - begun
    print(
        f"{runs:,} runs of {milliseconds:g} ms: {alone:.2f} s alone, {serial:.2f} s as a campaign in one process",
        end="",
    )
    print(f" ({100 * (serial / alone - 1):.1f} % more)")
    for executor in ("processes", "dask"):
        begun = time.process_time()
        rf.campaigns.sweep(plan, folder / executor, executor=executor, workers=2)
        parent = time.process_time() - begun
        print(f"{executor}: the parent took {parent:.2f} s ({100 * parent / alone:.1f} % of the runs)")


def memory(runs: int, milliseconds: float, folder: Path) -> None:
    """Resident memory of the parent (with the scheduler) over the runs, on a local Dask cluster.

    Dask keeps the last thousands of lines of its own logs, which fill some 10 MiB within the first 1,500 tasks. Here it
    keeps a hundred, so that what grows after the first runs is relfit's.
    """
    import dask

    begun, seen = time.monotonic(), []

    def note(text: str, share: float) -> None:
        resident = int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20
        if not seen or int(10.0 * share) > int(10.0 * seen[-1][0]):
            print(f"{time.monotonic() - begun:7.0f} s  {text}  {resident:,.0f} MiB", flush=True)
        seen.append((share, resident))

    short = dict.fromkeys((f"distributed.admin.{name}" for name in ("log-length", "low-level-log-length")), 100)
    with dask.config.set(short):
        result = rf.campaigns.sweep(
            campaign(runs, milliseconds), folder / "store", executor="dask", workers=2, progress=note
        )
    quarter = max(resident for share, resident in seen if share <= 0.25)
    print(f"{len(result.runs):,} runs in {time.monotonic() - begun:,.0f} s; {quarter:,.0f} MiB at a quarter, ", end="")
    print(f"{seen[-2][1]:,.0f} MiB at the end")


def jobs(folder: Path) -> None:
    """Jobs like those of the paper's year 2018."""
    from papers.batch_waits import grizzly

    print(rf.workloads.write_workload(grizzly(2018), folder / "jobs.swf"))


def repairs(store: Path) -> None:
    """Figures 7 and 8 as tables, the break-even pairs, and what 900,000 runs would take."""
    result = rf.campaigns.load(store)
    print(result)
    mtbf, repair = "failures.0.mtbf", "failures.0.repair"
    table = result.heat_map(repair, mtbf) / 3600.0
    print("Figure 7: mean wait (h)", table.round(3).to_string(), sep="\n")
    print("Figure 8: over that of the shortest repair", (table / table.iloc[0]).round(3).to_string(), sep="\n")
    rates = list(table.columns)
    for worse, better, printed in ((1, 0, 13), (3, 2, 5)):
        at, instead = {mtbf: rates[worse], repair: "1min"}, {mtbf: rates[better]}
        even = rf.campaigns.break_even(result, repair, at, instead)
        days = [float(value) / 24.0 for value in (even.estimate, even.low, even.high)]
        pair = f"{2**worse}X with 1 minute = {2**better}X with "
        if str(even.status) == "ok":
            print(f"{pair}{days[0]:.1f} ({days[1]:.1f}-{days[2]:.1f}) days", end="")
        else:
            print(f"{pair}a repair {even.status}", end="")
        print(f"; printed {printed}")
    samples = result.samples().to_numpy()
    ratio = samples.std(axis=1, ddof=1) / samples.mean(axis=1)
    needed = (1.96 * ratio / 0.01) ** 2
    print(
        f"runs for an interval of 1 % to either side: {np.median(needed):.0f} of the median cell, {needed.max():.0f}",
        end="",
    )
    print(" of the worst")


def main() -> None:
    """Run one of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["overhead", "memory", "jobs", "repairs"])
    parser.add_argument("place", nargs="?", type=Path, default=Path())
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--milliseconds", type=float, default=1.0)
    options = parser.parse_args()
    if options.what in ("jobs", "repairs"):
        {"jobs": jobs, "repairs": repairs}[options.what](options.place)
        return
    with tempfile.TemporaryDirectory() as folder:
        {"overhead": overhead, "memory": memory}[options.what](options.runs, options.milliseconds, Path(folder))


if __name__ == "__main__":
    main()
