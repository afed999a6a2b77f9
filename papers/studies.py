"""Simulate the papers' batch studies: ``python papers/studies.py [STUDY...] [--full] [--runs N]``.

Studies are waits, pairs, variants, width, twice, waste and moldable. Without ``--full`` there are a tenth of the
papers' jobs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from papers import batch_allocation, batch_pairs, batch_waits
from relfit.text import duration
from relfit.workloads import shares

__all__ = ["STUDIES", "main"]


def waits(full: bool, runs: int) -> None:
    """Figures 5, 7 and 8 of the paper on repair time and reliability, and the break-even pairs."""
    jobs = batch_waits.grizzly(2018, None if full else 13_000)
    print(f"{jobs.headline}\nshares of jobs in percent (Figure 5)")
    print((100.0 * shares(jobs)).round(1).to_string(), "\n")
    sweep = batch_waits.waits(jobs, runs)
    print(sweep.headline)
    columns = [duration(hours) for hours in sweep.repairs]
    for what, values in (("hours (Figure 7)", sweep.mean), ("over that at 1 minute (Figure 8)", sweep.relative)):
        print(f"mean wait, {what}")
        table = pd.DataFrame(values.T, index=columns, columns=[f"{rate:g}X" for rate in sweep.rates])
        print(table.round(3).to_string(), "\n")
    print("break-even pairs, days")
    print(batch_waits.break_even(sweep, jobs).round(1).to_string(), "\n")
    limit = 1.2 * float(sweep.mean[0, 0])
    print(f"repair allowed for a mean wait of {limit:.2f} h, hours")
    print(sweep.repair_allowed(limit).round(1).to_string(index=False), "\n")
    print(f"time between failures needed for a mean wait of {limit:.2f} h, hours")
    print(sweep.mtbf_needed(limit).round(1).to_string(index=False))


def pairs(full: bool, runs: int) -> None:
    """The break-even pairs of Figure 7 alone: the cells that they need, with many runs."""
    jobs = batch_waits.grizzly(2018, None if full else 13_000)
    for measure, sweeps in batch_pairs.pairs(jobs, runs).items():
        print(f"waits {measure}")
        for sweep in sweeps:
            better, worse = sweep.rates
            cells = sweep.to_frame().drop(columns="relative")
            cells = cells[(cells["rate"] == better) | (cells["repair"] == sweep.repairs[0])]
            print(cells.round(4).to_string(index=False))
            even = sweep.break_even(worse, better, sweep.repairs[0])
            days = [round(float(value) / 24.0, 1) for value in (even.estimate, even.low, even.high)]
            what = f"{better:g}X with repairs of so many days = {worse:g}X with 1 minute"
            print(f"{what} (estimate and 95 % limits): {days}\n")


def variants(full: bool, runs: int) -> None:
    """The break-even pairs where load, queue, checkpoints, jobs or what a wait is are others."""
    for table in batch_pairs.variants(None if full else 13_000, runs):
        print(table.round(2).to_string(index=False), "\n", flush=True)


def width(full: bool, runs: int) -> None:
    """Figures 3, 4 and 6 and Table II: waits by width under the original and the modified EASY, time for decisions."""
    for year in (2018, 2022):
        n_jobs = batch_waits.JOBS[year] // (1 if full else 10)
        jobs = batch_waits.grizzly(year, n_jobs)
        print(f"{year}: {jobs.headline}\nshares of jobs in percent (Figures 5 and 6)")
        print((100.0 * shares(jobs)).round(1).to_string(), "\n")
        table = batch_waits.waits_by_width(jobs)
        print("mean waits in hours by width, share of the backfilled jobs and difference in percent (Figures 3 and 4)")
        print(table.round(2).to_string())
        print(f"seconds (Table II): {table.attrs['seconds']}\n")
        if runs > 2:
            print(f"difference in percent over {runs} workloads, 95 % limits")
            print(batch_waits.scatter_by_width(year, n_jobs, runs).round(1).to_string(), "\n")


def twice(full: bool, runs: int) -> None:
    """A second cluster, or one of twice the size."""
    jobs = batch_waits.grizzly(2018, None if full else 13_000)
    print("mean waits in hours, two clusters and one of twice the nodes, repairs of a day")
    print(batch_waits.twice_the_cluster(jobs).round(3).to_string())


def waste(full: bool, runs: int) -> None:
    """Figures 5.2, 5.3, 5.5 and 5.6 of the dissertation."""
    for which, n_jobs in batch_allocation.JOBS.items():
        jobs = batch_allocation.all_at_once(which, None if full else n_jobs // 10)
        table, by_policy = batch_allocation.waste(jobs)
        print(f"{which}: {jobs.headline}\nprinted: less waste than round robin by {batch_allocation.PRINTED[which]} %")
        print(table.round(1).to_string(), "\n")
        for measure, by in (("total_waste", "length"), ("%MWT", "length"), ("%MWT", "width")):
            print(f"{measure} by {by}")
            columns = {name: run.by_class(by)[measure] for name, run in by_policy.items()}
            print(pd.DataFrame(columns).round(3).to_string(), "\n")
        unequal = batch_allocation.unequal_failures()
        half = batch_allocation.all_at_once(which, len(jobs), load=0.5)
        for what, some, failures in (
            ("waste at a load of one half", half, None),
            ("waste on nodes that differ more: scales of lives spread lognormally by 1.5", jobs, unequal),
            ("both", half, unequal),
        ):
            print(what)
            print(batch_allocation.waste(some, failures)[0].round(1).to_string(), "\n")


def moldable(full: bool, runs: int) -> None:
    """Figures 6.8 and 6.9 of the dissertation."""
    for lives in (0.2, 0.05):
        table, lengths = batch_allocation.moldable(300 if full else 100, lives=lives)
        print(f"lives of nodes: {lives:g} times those of Figure 6.3 (a)")
        print(table.round(4).to_string(), "\n")
        print("hours by length on one node")
        print(lengths.round(3).to_string(), "\n")


STUDIES: dict[str, Callable[[bool, int], None]] = {
    study.__name__: study for study in (waits, pairs, variants, width, twice, waste, moldable)
}


def main(arguments: list[str]) -> int:
    """Run the studies named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=", ".join(STUDIES))
    parser.add_argument("--full", action="store_true", help="as many jobs as the papers have")
    parser.add_argument("--runs", type=int, default=2, help="simulations of each cell of waits; workloads of width")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.studies if name not in STUDIES]
    if unknown:
        print(f"there is no study {unknown[0]!r}; it is one of {', '.join(STUDIES)}", file=sys.stderr)
        return 2
    for name in options.studies or STUDIES:
        print(f"== {name}: {(STUDIES[name].__doc__ or '').splitlines()[0]}\n", flush=True)
        STUDIES[name](options.full, options.runs)
        print(flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
