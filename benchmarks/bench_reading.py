"""Reading, against what else reads the same bytes in the same run.

A Failure Trace Archive trace and a table against pandas, raw lines against ``grep -F``, daily rows of drives against
pyarrow, all in processor time; the memory that a table needs, in a process of its own. Run: python
benchmarks/bench_reading.py [--shared ../shared] [--memory] [--large 10], with ``--memory`` the last only, with
``--large`` only so many GB of raw lines, made on the spot; without the real trace one of the same size is made.
"""

from __future__ import annotations

import argparse
import io
import lzma
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from pyarrow import csv

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


_PLAIN = (
    b"kernel: [%d.%06d] eth0: link is up, some ordinary message text here, and a little more of it",
    b"sshd[%d]: Accepted publickey for user%d from 10.0.0.7 port 50122 ssh2: RSA SHA256:abcdefghijk",
    b"slurmd[%d]: launch task StepId=%d.0 request from UID:1000 GID:1000 HOST:10.1.2.3 PORT:48912",
    b"CROND[%d]: (root) CMD (run-parts /etc/cron.hourly %d)",
)
_ALERTS = (
    b"kernel: [9.1] NVRM: Xid (PCI:0000:3b:00): 79, pid=%d%d, GPU has fallen off the bus.",
    b"kernel: [9.1] NVRM: Xid (PCI:0000:3b:00): 31, pid=%d%d, name=python, Ch 00000008, intr 10000000.",
    b"kernel: EDAC MC%d: %d CE memory read error on CPU_SrcID#0_Ha#0_Chan#1_DIMM#0",
    b"kernel: Out of memory: Killed process %d (python) total-vm:%dkB, anon-rss:1kB",
)


def made_lines(share: float, count: int = 1_000_000) -> bytes:
    """Lines of kernels and daemons, `share` of them alerts of which one in four ends a node."""
    rng = np.random.default_rng(0)
    alert = (rng.random(count) < share).tolist()
    kind = rng.integers(0, 4, count).tolist()
    numbers = rng.integers(0, 99_999, (count, 2)).tolist()
    return b"".join(
        b"Jan %2d %02d:%02d:%02d node%03d %b\n"
        % (
            1 + i // 80_000,
            i // 3600 % 24,
            i // 60 % 60,
            i % 60,
            i % 997,
            (_ALERTS if alert[i] else _PLAIN)[kind[i]] % tuple(numbers[i]),
        )
        for i in range(count)
    )


def made_days(drives: int = 30_000, days: int = 8, attributes: int = 60) -> list[bytes]:
    """Daily rows of drives with as many columns of attributes as these have."""
    rng = np.random.default_rng(0)
    names = ",".join(f"smart_{i}_raw" for i in range(attributes))
    files = []
    for day in range(days):
        numbers = rng.integers(0, 10**6, (drives, attributes)).astype(str)
        rows = [
            f"2024-01-{day + 1:02d},S{i:08d},ST{i % 7}000,4000787030016,{int(i % 9973 == day)},{','.join(numbers[i])}"
            for i in range(drives)
        ]
        files.append("\n".join([f"date,serial_number,model,capacity_bytes,failure,{names}", *rows, ""]).encode())
    return files


def made_table(rows: int = 500_000) -> pd.DataFrame:
    """Outages with a node, two times, a cause and a rack."""
    rng = np.random.default_rng(0)
    start = np.datetime64("2020-01-01T00:00:00") + np.sort(rng.integers(0, 10**8, rows)).astype("timedelta64[s]")
    frame = pd.DataFrame(
        {
            "node": rng.integers(0, 20_000, rows),
            "start": start,
            "end": start + rng.integers(60, 10**5, rows).astype("timedelta64[s]"),
            "cause": rng.choice(["disk", "memory", "cpu"], rows),
            "rack": rng.integers(0, 500, rows),
        }
    )
    return frame.assign(node="n" + frame["node"].astype(str))


def processor() -> float:
    """Seconds of processor time, of this process and of those that it started."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def compared(what: str, size: int, contenders: dict[str, Callable[[], object]], limit: str) -> None:
    """Print the median of three rounds of each, and the ratio of the first to the second, round by round."""
    for work in contenders.values():
        work()
    rounds = [{name: spent(work, clock=processor)[0] for name, work in contenders.items()} for _ in range(3)]
    print(f"{what}, {size / 1e6:.1f} MB, median of 3 rounds ({limit})")
    own = next(iter(contenders))
    for name in contenders:
        seconds = sorted(r[name] for r in rounds)[1]
        ratio = sorted(r[own] / r[name] for r in rounds)[1]
        told = "" if name == own else f"   relfit takes {ratio:.2f} times that"
        print(f"  {name:<18}{seconds:7.3f} s {size / 1e6 / seconds:7.0f} MB/s{told}")


def further(folder: Path) -> None:
    """Raw lines, drives and a table."""
    lines, table = folder / "messages", folder / "table.csv"
    for share in (1e-4, 0.01, 0.1):
        lines.write_bytes(made_lines(share))
        compared(
            f"raw lines, {share:.2%} of them alerts",
            lines.stat().st_size,
            {
                "relfit.read": lambda: rf.read(lines, year=2024),
                "grep -cF": lambda: subprocess.run(
                    ["grep", "-cF", "NVRM: Xid", lines], capture_output=True, check=True
                ),
            },
            "150 MB/s or half of grep, whichever is less",
        )
    days = folder / "days"
    days.mkdir()
    for i, data in enumerate(made_days()):
        (days / f"{i}.csv").write_bytes(data)
    compared(
        "drives by the day",
        sum(file.stat().st_size for file in days.iterdir()),
        {
            "relfit.read": lambda: rf.read(days),
            "pyarrow": lambda: [csv.read_csv(file, csv.ReadOptions(use_threads=False)) for file in days.iterdir()],
        },
        "1.5 times pyarrow",
    )
    made_table().to_csv(table, index=False)
    compared(
        "a table",
        table.stat().st_size,
        {"relfit.read": lambda: rf.read(table), "pandas": lambda: pd.read_csv(table, parse_dates=["start", "end"])},
        "3 times pandas",
    )


_HELD = """
import sys, time
from pathlib import Path
import relfit as rf

def most():
    held = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(held[0].split()[1]) * 1024

rf.read(sys.argv[1]).info()
before, start = most(), time.process_time()
log = rf.read(sys.argv[2])
log.info()
print(len(log), time.process_time() - start, before, most())
"""


def memory(folder: Path) -> None:
    """Bytes for a row of a table while it is read and its `info` is made, above what a table of two rows needs."""
    small, frame = folder / "small.csv", made_table(10_000_000)
    made_table(2).to_csv(small, index=False)
    print("memory and processor time of read() and info()")
    for rows, ending in ((500_000, "csv"), (1_000_000, "csv"), (1_000_000, "parquet"), (10_000_000, "parquet")):
        path, part = folder / f"table.{ending}", frame.iloc[:: len(frame) // rows]
        part.to_csv(path, index=False) if ending == "csv" else part.to_parquet(path, index=False)
        told = subprocess.run([sys.executable, "-c", _HELD, small, path], capture_output=True, check=True, text=True)
        size, seconds, before, held = (float(word) for word in told.stdout.split())
        print(
            f"  {size:11,.0f} rows of {ending:<8}{(held - before) / size:6.0f} B a row, {held / 1e9:.2f} GB in all, "
            f"{seconds:.1f} s"
        )


_MONTHS = (b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec")
_LINES = """
import resource, sys, time
import relfit as rf

start = time.process_time()
log = rf.read(sys.argv[1], year=2024)
print(len(log), time.process_time() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def large(folder: Path, size: float) -> None:
    """Raw lines of so many bytes in one file, of a month after a month, and what reading them takes."""
    path, month = folder / "messages", made_lines(0.01)
    count = round(size / len(month))
    with path.open("wb") as file:
        for i in range(count):
            file.write(month.replace(b"Jan ", _MONTHS[i % 12] + b" "))
    del month
    told = subprocess.run([sys.executable, "-c", _LINES, path], capture_output=True, check=True, text=True)
    number, seconds, held = (float(word) for word in told.stdout.split())
    print(
        f"{path.stat().st_size / 1e9:.1f} GB of raw lines in one file: {number:,.0f} failures, {seconds:.0f} s of "
        f"processor time, {path.stat().st_size / seconds / 1e6:.0f} MB/s (limit 150), at most {held / 2**30:.2f} GiB "
        "(limit 2)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, default=Path(__file__).resolve().parents[2] / "shared")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--large", type=float, metavar="GB", help="raw lines only, so many")
    options = parser.parse_args()
    if options.large:
        with tempfile.TemporaryDirectory() as folder:
            large(Path(folder), 1e9 * options.large)
        return
    if options.memory:
        with tempfile.TemporaryDirectory() as folder:
            memory(Path(folder))
        return
    real = options.shared / "data" / "grid5000-fta" / "event_trace.tab.xz"
    data = lzma.decompress(real.read_bytes()) if real.is_file() else made_trace()
    with tempfile.TemporaryDirectory() as folder:
        memory(Path(folder))
        further(Path(folder))
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
        rounds = [{name: spent(work, clock=processor)[0] for name, work in contenders.items()} for _ in range(7)]
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
