"""What a round of `relfit watch` takes over 10,000 nodes and five million stored records: seconds and memory.

The store is filled from a CSV a month, which is the first round of a site with years of records; then a day of new
records comes, and the round over it is measured as a process of its own.

Run: python benchmarks/bench_watch.py [--nodes 10000] [--records 5000000] [--folder DIR] [--store postgresql://...]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

YEARS, DAYS = 3, 1096


def write_months(folder: Path, nodes: int, records: int, rng: np.random.Generator) -> pd.DataFrame:
    """Records of a steady fleet, a file a month, but for those of the last day, which are returned."""
    begun = np.sort(rng.uniform(0.0, DAYS * 86_400.0, records)).astype(np.int64)
    node = rng.integers(0, nodes, records)
    lasted = rng.lognormal(8.0, 1.2, records).astype(np.int64) + 1
    start = pd.Timestamp("2023-01-01") + pd.to_timedelta(begun, unit="s")
    table = pd.DataFrame(
        {
            "node": np.array([f"n{i:05d}" for i in range(nodes)], dtype=object)[node],
            "start": start,
            "end": (start + pd.to_timedelta(lasted, unit="s")).where(begun + lasted < DAYS * 86_400),
            "cause": np.array(["hardware", "software", "network", "memory", "disk"], dtype=object)[
                rng.integers(0, 5, records)
            ],
            "rack": np.array([f"r{i:03d}" for i in range(nodes // 32 + 1)], dtype=object)[node // 32],
        }
    )
    last = table["start"] >= table["start"].iloc[-1] - pd.Timedelta("1d")
    for month, rows in table[~last].groupby(table["start"].dt.strftime("%Y-%m")):
        rows.to_csv(folder / f"{month}.csv", index=False)
    return table[last]


def measured(settings: Path) -> str:
    """Wall seconds, processor seconds and the most memory of a round."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "relfit", "watch", "run", str(settings)]
    done = subprocess.Popen(command, cwd=Path(__file__).parents[1])
    _, status, usage = os.wait4(done.pid, 0)
    if status not in (0, 3 << 8):
        raise SystemExit(f"the round ended with status {status}")
    wall, processor = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
    return f"{wall:.0f} s ({processor:.0f} s of processor), {usage.ru_maxrss / 1024.0:,.0f} MB"


def main() -> None:
    """Print seconds and memory of the first round and of a daily one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=10_000)
    parser.add_argument("--records", type=int, default=5_000_000)
    parser.add_argument("--folder", type=Path, help="where to keep the store; a temporary one if left out")
    parser.add_argument("--store", default="fleet.duckdb")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = chosen.folder or Path(temporary)
        (folder / "logs").mkdir(parents=True, exist_ok=True)
        settings = folder / "watch.toml"
        settings.write_text(f'store = "{chosen.store}"\n[[sources]]\nkind = "file"\npath = "logs/*.csv"\n')
        last = write_months(folder / "logs", chosen.nodes, chosen.records, np.random.default_rng(1))
        print(f"first round, {chosen.records - len(last):,} records: {measured(settings)}")
        last.to_csv(folder / "logs" / "today.csv", index=False)
        print(f"a day of {len(last):,} records more: {measured(settings)} (bounds: 60 s, 2,048 MB)")


if __name__ == "__main__":
    main()
