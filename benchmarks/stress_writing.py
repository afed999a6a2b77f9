"""Writers that are killed, and many writers and readers of one file: nothing broken, nothing left behind.

Writers that are killed while a part of a file lies beside it leave the old file or the new one. Writers and readers of
one file, in processes that all believe to have one number, never meet a file in part. What killed writers left goes
with the first write a minute later.
Run: python benchmarks/stress_writing.py [--kills 20] [--accesses 2000] [--seed 0]
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf
from relfit.base.writing import complete

_FORK: Any = multiprocessing.get_context("fork")
_WHOLE_LOG = 50  # of so many accesses one is that of a whole log
_PATIENCE = 20.0  # seconds until a writer begins
_MANY = 50  # kills of which most have to strike a writing
_MOST_PARTS = 4  # written before one is struck
_PARTS = ".relfit-*.part"


def two_logs() -> list[rf.FailureLog]:
    """Logs of different length."""
    log = rf.datasets.load("white")
    return [log, log.between(since="2004-01-01")]


def write_text(path: Path, size: int) -> None:
    """A file that says itself whether it is whole."""
    body = os.urandom(size).hex()
    with complete(path) as part:
        part.write_text(f"{hashlib.sha256(body.encode()).hexdigest()} {body}")


def is_whole(path: Path) -> bool:
    """Whether a file of `write_text` is."""
    digest, _, body = path.read_text().partition(" ")
    return hashlib.sha256(body.encode()).hexdigest() == digest


def access(folder: Path, logs: list[rf.FailureLog], chance: random.Random, number: int) -> str:
    """One writing or reading, and what was found."""
    whole_log, writes = number % _WHOLE_LOG == 0, chance.random() < 0.5
    if whole_log and writes:
        rf.write(chance.choice(logs), folder / "log.parquet")
        return "written"
    if whole_log:
        return "read" if len(rf.read(folder / "log.parquet")) in {len(log) for log in logs} else "broken"
    if writes:
        write_text(folder / "text", chance.randrange(1, 20_000))
        return "written"
    return "read" if is_whole(folder / "text") else "broken"


def _accesses(folder: Path, logs: list[rf.FailureLog], seed: int, count: int, answers: Any) -> None:
    chance, found = random.Random(seed), Counter[str]()
    with mock.patch("os.getpid", return_value=1):  # as in containers that share a folder
        for number in range(count):
            try:
                found[access(folder, logs, chance, number)] += 1
            except Exception as error:
                found[f"{type(error).__name__}: {error}"[:200]] += 1
    answers.put(found)


def _write_for_ever(folder: Path, logs: list[rf.FailureLog]) -> None:
    while True:
        for log in logs:
            rf.write(log, folder / "log.parquet")
            write_text(folder / "text", 20_000)


def _started(work: Callable[..., None], *arguments: Any) -> Any:
    process = _FORK.Process(target=work, args=arguments)
    process.start()
    return process


def _strike(folder: Path, writer: Any, chance: random.Random, old: set[str]) -> None:
    """Kill a writer at a random moment of the life of one of its first parts."""
    begun, seen, target = time.monotonic(), set(old), chance.randrange(1, _MOST_PARTS + 1)
    while len(seen) < len(old) + target and time.monotonic() - begun < _PATIENCE:
        seen.update(part.name for part in folder.glob(_PARTS))
    time.sleep(chance.uniform(0.0, 0.001) if chance.random() < 0.5 else 0.0)
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()


def killed(folder: Path, logs: list[rf.FailureLog], count: int, seed: int) -> Counter[str]:
    """What is found after writers were killed, and how many left a part behind."""
    chance, found = random.Random(seed), Counter[str]()
    for _ in range(count):
        before = {part.name for part in folder.glob(_PARTS)}
        _strike(folder, _started(_write_for_ever, folder, logs), chance, before)
        try:
            good = is_whole(folder / "text") and len(rf.read(folder / "log.parquet")) in {len(log) for log in logs}
            found["whole" if good else "broken"] += 1
        except Exception as error:
            found[f"{type(error).__name__}: {error}"[:200]] += 1
        found["left a part"] += not {part.name for part in folder.glob(_PARTS)} <= before
    for part in folder.glob(_PARTS):
        os.utime(part, (time.time() - 100.0,) * 2)
    write_text(folder / "text", 10)
    return found


def together(folder: Path, logs: list[rf.FailureLog], count: int, seed: int, processes: int = 4) -> Counter[str]:
    """What is found by processes that write and read the same files at once."""
    answers = _FORK.Queue()
    workers = [_started(_accesses, folder, logs, seed + i, count // processes, answers) for i in range(processes)]
    found = sum((answers.get() for _ in workers), Counter[str]())
    for worker in workers:
        worker.join()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--accesses", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    logs = two_logs()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rf.write(logs[0], folder / "log.parquet")
        write_text(folder / "text", 10)
        after_kills = killed(folder, logs, options.kills, options.seed)
        print(f"{options.kills:,} writers killed: {dict(after_kills)}")
        found = together(folder, logs, options.accesses, options.seed)
        print(f"{sum(found.values()):,} accesses of 4 processes at once: {dict(found)}")
        left = sorted(file.name for file in folder.iterdir() if file.name not in ("log.parquet", "text"))
        print(f"left behind: {left or 'nothing'}")
    missed = options.kills >= _MANY and 2 * after_kills["left a part"] < options.kills  # most struck no writing
    return int(
        missed or bool(left) or set(after_kills) > {"whole", "left a part"} or not set(found) <= {"written", "read"}
    )


if __name__ == "__main__":
    raise SystemExit(main())
