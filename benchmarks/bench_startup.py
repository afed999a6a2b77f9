"""Start-up: `relfit --help` against `python -c "import numpy"`, in turn, so that both meet the same machine.

Run: python benchmarks/bench_startup.py [--repeats 15]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15)
    repeats = parser.parse_args().repeats
    script = Path(sys.executable).with_name("relfit")
    ours = [str(script), "--help"] if script.exists() else [sys.executable, "-m", "relfit", "--help"]
    theirs = [sys.executable, "-c", "import numpy"]
    for command in (ours, theirs):  # bytecode is written once
        seconds(command)
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(repeats)]
    median = [sorted(times)[repeats // 2] for times in zip(*pairs, strict=True)]
    ratio = sorted(a / b for a, b in pairs)[repeats // 2]
    print(f"relfit --help {median[0] * 1e3:.0f} ms, import numpy {median[1] * 1e3:.0f} ms: ratio {ratio:.2f} (limit 2)")


if __name__ == "__main__":
    main()
