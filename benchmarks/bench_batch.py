"""A year of a batch cluster under EASY with failures, against sorting its events with NumPy; processor time.

Run: python benchmarks/bench_batch.py [--compile] [--million]
With --compile also what the first run of an installation takes; with --million also a million jobs on 10,000 nodes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf
from benchmarks.timing import spent
from relfit.io.workloads import Workload
from relfit.simulation.batch import Saving, SystemFailures, simulate_batches

ROOT = Path(__file__).resolve().parents[1]
PREPARE = """
import time, relfit.simulation.batch
start = time.process_time()
relfit.simulation.batch.prepare()
print(f"  rf.batch.prepare() {time.process_time() - start:7.3f} s")
"""


def compilation() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for what in ("nothing kept on disk", "kept on disk"):
            print(what, flush=True)
            environment = {**os.environ, "NUMBA_CACHE_DIR": folder, "PYTHONPATH": str(ROOT)}
            subprocess.run([sys.executable, "-c", PREPARE], env=environment, check=True)


def published() -> None:
    """The 20,000 jobs whose schedule BatSim gave: how long they take, and how far the starts are from its own."""
    path = Path(os.environ.get("RELFIT_SHARED", ROOT.parent / "shared")) / "data" / "batsim-easy-20k.csv.xz"
    if not path.exists():
        print(f"no {path}")
        return
    table = pd.read_csv(path)
    columns = ("job_id", "submission_time", "nodes", "run_time", "walltime")
    jobs = Workload(*(table[name] for name in columns), 1000)
    run = rf.simulate_batch(jobs)
    apart = float(np.abs(run.jobs["starting_time"] - table["starting_time"]).max())
    ours = spent(lambda: rf.simulate_batch(jobs), 9, time.process_time)[0]
    print(f"BatSim's 20,000 jobs {ours:7.3f} s; starts differ by {apart:.4f} s at most")


def case(n_jobs: int, n_nodes: int) -> tuple[Workload, SystemFailures]:
    """Jobs at load 0.95, and failures at 8X."""
    source = rf.workloads.TwoStage(
        n_nodes,
        load=0.95,
        serial=0.47,
        power_of_two=0.36,
        widest=1024,
        first_stage=0.998,
        stages_apart=3.5,
        short="15min",
        long="10h",
        walltime=(1.0, 3.0),
    )
    jobs = rf.workloads.scale_load(source.sample(n_jobs, rng=1), 0.95, n_nodes)
    return jobs, SystemFailures(mtbf=24 * 20_000 / n_nodes / 8, repair="24h")


def year(n_jobs: int, n_nodes: int, rounds: int) -> None:
    jobs, failures = case(n_jobs, n_nodes)
    run = rf.simulate_batch(jobs, failures=failures)
    ours = spent(lambda: rf.simulate_batch(jobs, failures=failures), rounds, time.process_time)[0]
    times = np.concatenate([run.jobs["submission_time"], run.jobs["finish_time"]])
    bound = spent(lambda: np.sort(times), rounds, time.process_time)[0]
    print(f"{run.headline}\n{len(jobs):,} jobs, {run.counts['events']:,} events, least of {rounds} rounds")
    print(f"  rf.simulate_batch  {ours:7.3f} s, {1e6 * ours / run.counts['events']:.2f} microseconds an event")
    print(f"  sort of the events {bound:7.3f} s   relfit takes {ours / bound:.0f} times that (limit 100)")


def years(n_runs: int) -> None:
    """Years with failures of their own on two threads, and what 1,000 of them would take on two processors."""
    jobs, failures = case(130_000, 1490)
    took = spent(lambda: simulate_batches(jobs, n_runs=n_runs, failures=failures, rng=1), 1, time.process_time)[0]
    two = 500 * took / n_runs
    print(f"{n_runs} Monte-Carlo years {took:7.2f} s of processor time: 1,000 on two processors {two:.0f} s")


def files() -> None:
    """What a file to go on from costs: the year, once without files and once with one after every tenth of it."""
    jobs, failures = case(130_000, 1490)
    tenth = float(jobs.submit[-1] - jobs.submit[0]) / 36_000.0
    with tempfile.TemporaryDirectory() as folder:
        saving = Saving(path=Path(folder, "state.npz"), every_simulated=tenth)
        without, with_files = (
            spent(lambda given=given: rf.simulate_batch(jobs, failures=failures, saving=given), 5, time.process_time)[0]
            for given in (None, saving)
        )
    each = max(with_files - without, 0.0) / 10.0
    print(f"a file             {each:7.3f} s of processor time: {100 * each / 3600:.4f} % with one an hour")


def main(arguments: list[str]) -> None:
    if "--compile" in arguments:
        compilation()
    published()
    year(130_000, 1490, 5)
    years(100)
    files()
    if "--million" in arguments:
        year(1_000_000, 10_000, 3)


if __name__ == "__main__":
    main(sys.argv[1:])
