"""The report of the sample and of a log, in processor time, against importing what it cannot do without.

The bound is ``import numpy, pandas, numba, matplotlib.figure`` and the reading of the log, in turn with the report, so
that both meet the same machine; processor time is that of both processes of the report. The wall time is what this
machine gave, with whatever else it does. Bytecode is kept, as that of an installed package is. With ``--first`` the
report is written as on the first run of an installation: compiled functions and fonts are not there yet.

Run: python benchmarks/bench_report.py [LOG] [--repeats 5] [--first]
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_BOUND = (
    "import sys, numpy, pandas, numba, matplotlib.figure, relfit as rf; "
    "rf.datasets.load('white') if sys.argv[1] == 'white' else rf.read(sys.argv[1])"
)


def spent(command: list[str], bytecode: str, folder: str | None) -> tuple[float, float]:
    """Processor and wall seconds of a command with its own; caches of compiled functions and fonts in `folder`."""
    around = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    around |= {} if folder is None else {"NUMBA_CACHE_DIR": folder, "MPLCONFIGDIR": folder}
    around["PYTHONPYCACHEPREFIX"] = bytecode
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=around)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", nargs="?", default="white")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--first", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page, bytecode = str(Path(folder) / "report.html"), str(Path(folder) / "bytecode")
        ours = [sys.executable, "-m", "relfit", "report", given.log, "--out", page]
        theirs = [sys.executable, "-c", _BOUND, given.log]
        spent(ours, bytecode, None)
        pairs = []
        for i in range(given.repeats):
            cold = str(Path(folder) / str(i)) if given.first else None
            pairs.append((spent(ours, bytecode, cold), spent(theirs, bytecode, None)))
    ratio = sorted(a / b for (a, _), (b, _) in pairs)[len(pairs) // 2]
    (report, wall), (bound, _) = (map(min, zip(*times, strict=True)) for times in zip(*pairs, strict=True))
    print(
        f"{given.log}: report {report:.1f} s, imports and reading {bound:.1f} s of processor time: ratio {ratio:.1f}; "
        f"report {wall:.1f} s of wall time"
    )


if __name__ == "__main__":
    main()
