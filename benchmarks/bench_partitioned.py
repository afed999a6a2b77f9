"""Fits of a Dask DataFrame on a local cluster, against `relfit.fit` on the same table: time, memory, differences.

Run: python benchmarks/bench_partitioned.py [--groups 100000] [--lives 20] [--partitions 8] [--workers 2]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

import relfit as rf


def peak_gib() -> float:
    """Largest memory that this process has held (Linux; ru_maxrss would be that of the parent)."""
    held = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(held[0].split()[1]) / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=100_000)
    parser.add_argument("--lives", type=int, default=20)
    parser.add_argument("--partitions", type=int, default=8)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    size = options.groups * options.lives
    life, limit = 1000.0 * rng.weibull(0.8, size), rng.exponential(2500.0, size)
    frame = pd.DataFrame(
        {
            "node": np.repeat(np.arange(options.groups), options.lives),
            "hours": np.minimum(life, limit),
            "failed": life <= limit,
        }
    )
    frame = frame.iloc[rng.permutation(size)].reset_index(drop=True)
    columns = {"duration": "hours", "observed": "failed", "by": "node", "n_resamples": 0}
    rf.fit(frame.head(1000), **columns).summary()
    start = time.perf_counter()
    expected = rf.fit(frame, **columns).summary().reset_index()
    alone = time.perf_counter() - start
    print(f"{options.groups} groups of {options.lives} durations, four families; in this process: {alone:.1f} s")
    with (
        LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        lazy = dd.from_pandas(frame, npartitions=options.partitions, sort=False).persist()
        client.run(lambda: rf.fit([[1.0, 2.0, 3.0]], n_resamples=0).summary())  # load the compiled kernels
        start = time.perf_counter()
        found = rf.fit(lazy, **columns).compute()
        together = time.perf_counter() - start
        print(f"{options.workers} workers, {options.partitions} partitions, shuffled: {together:.1f} s")
        print(f"ratio {together / alone:.2f}")
        found = found.sort_values("node", kind="stable").reset_index(drop=True)
        alike = True
        for name in expected.columns:
            if expected[name].dtype.kind != "f":
                alike &= bool((found[name] == expected[name]).all())
                continue
            ours, theirs = found[name].to_numpy(), expected[name].to_numpy()
            alike &= np.array_equal(np.isnan(ours), np.isnan(theirs))
            with np.errstate(all="ignore"):
                apart = np.where(ours == theirs, 0.0, np.abs(ours - theirs) / np.abs(theirs))
            if np.nanmax(apart) > 0.0:
                print(f"{name}: largest relative difference {np.nanmax(apart):.1e}")
        print(f"counts, words and missing values alike: {alike}")
        lives = size / options.partitions
        for address, peak in client.run(peak_gib).items():
            print(f"worker {address}: at most {peak:.2f} GiB, partitions of {lives:.0f} durations")


if __name__ == "__main__":
    main()
