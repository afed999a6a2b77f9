"""Reading a Failure Trace Archive trace, against pandas' own parse of the same bytes.

Run: python benchmarks/bench_reading.py [--shared ../shared]; without the real trace one of the same size is made.
"""

from __future__ import annotations

import argparse
import io
import lzma
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf
from benchmarks.timing import spent


def made_trace(rows: int = 588_463, nodes: int = 1288) -> bytes:
    """A trace of the same shape as Grid'5000's, padded with blanks as it is."""
    rng = np.random.default_rng(0)
    each = rows // nodes
    steps = rng.integers(60, 100_000, (nodes, each + 1)).cumsum(axis=1) + 1_115_811_139
    names = "event_id component_id node_id platform_id node_name event_type event_start_time event_stop_time"
    lines = [f"# {names} event_end_reason"]
    for node in range(nodes):
        lines += [
            f"{node * each + i:>5}\t    0\t{node:>5}\t    5\t{'site/c1/node' + str(node):>22}\t{i % 2:>10}\t"
            f"{steps[node, i]:>13}\t{steps[node, i + 1]:>13}\t      NULL"
            for i in range(each)
        ]
    return ("\n".join(lines) + "\n").encode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, default=Path(__file__).resolve().parents[2] / "shared")
    options = parser.parse_args()
    real = options.shared / "data" / "grid5000-fta" / "event_trace.tab.xz"
    data = lzma.decompress(real.read_bytes()) if real.is_file() else made_trace()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "event_trace.tab")
        path.write_bytes(data)
        contenders: dict[str, Callable[[], object]] = {
            "relfit.read": lambda: rf.read(path),
            "pandas, C engine": lambda: pd.read_csv(io.BytesIO(data), sep="\t", skiprows=1, header=None),
            "pandas, pyarrow": lambda: pd.read_csv(
                io.BytesIO(data), sep="\t", skiprows=1, header=None, engine="pyarrow"
            ),
        }
        for work in contenders.values():
            work()
        rounds = [{name: spent(work)[0] for name, work in contenders.items()} for _ in range(7)]
    print(f"{'real' if real.is_file() else 'made'} trace, {len(data) / 1e6:.1f} MB decompressed, median of 7 rounds")
    for name in contenders:
        own = sorted(r[name] for r in rounds)[3]
        ratio = sorted(r["relfit.read"] / r[name] for r in rounds)[3]
        print(
            f"  {name:<18}{own:7.3f} s"
            + ("" if name == "relfit.read" else f"   relfit takes {ratio:.2f} times that (limit 2)")
        )


if __name__ == "__main__":
    main()
