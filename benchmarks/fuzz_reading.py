"""Mutated inputs over all readers, mappings, rules and parameter files.

What is mutated is read to the end or refused with an error of relfit's: no traceback, no row lost, no input over its
time. Slow readers get fewer inputs than quick ones, and files lie in memory where the system has a place for that.
With ``--guided`` atheris chooses the mutations by what they reach; it has to be installed. What reached something new
stays in FOLDER/corpus, and ``--pack`` writes it as the one file that `tests/io/test_corpus.py` reads again.
Run: python benchmarks/fuzz_reading.py [--seconds 60] [--seed 0] [--keep FOLDER] [--guided | --pack]; a kept folder
holds what failed.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import io
import random
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pandas as pd

import relfit as rf
from relfit.fleet.calibration.files import read_parameters, write_parameters
from relfit.io import FORMATS
from relfit.io.table_mapping import TableMapping
from tests.io.made import good_files
from tests.io.test_fuzzing import RAW, checked

_TOKENS = [
    b"\x00",
    b'"',
    b"\n",
    b"\r",
    b"\r\n",
    b",",
    b";",
    b"|",
    b"[",
    b"]",
    b"{",
    b"}",
    b"\\",
    b"9" * 30,
    b"3e2500000000",
    b"-1",
    b"nan",
    b"inf",
    "İ".encode(),
    b"\t",
    b"2024-02-30",
    b"n[0-999999999]",
    b"1e400",
    b"\x1b[31m",
    b"=1+1",
    b"=",
    b"NULL",
    b"\xef\xbb\xbf",
    "\u202e".encode(),
    b"'",
    b"\xff\xfe",
    b"0",
    b"1801-01-01",
    b"2261-12-31",
    b"23:59:60",
    b"60",
    b"1.5",
    b"1,5",
    b"9223372036854775807",
    b"(?P<node>",
    b"(a+)+",
    b"\\",
    b"^",
    b"$",
    b"true",
    b"Jan 35",
]
_RULES = (
    b'states = ["DOWN"]\nseverities = ["FATAL"]\nharmless = ["-"]\n[tags]\nK = "x"\n'
    b'[[rule]]\npattern = \'Xid (?P<node>\\S+)\'\ncause = "c"\nends = "job"\n'
)
_MAPPING = b'node = "a+b"\nstart = "start"\nend = "end"\ntime_format = "unix"\nday_first = true\nduration_unit = "h"\n'
_PEOPLE = b"node,system,entered,left,rack\nn1,system,2023-01-01,2024-06-01,r1\nn2,,2023-02-01,,r2\nn3,,,2024-07-01,r2\n"
_WORDS = (
    "node",
    "start",
    "end",
    "cause",
    "rack",
    "node+rack",
    "",
    "unix",
    "unix_ms",
    "%d.%m.%Y %H:%M",
    "%z",
    "true",
    ",",
    ".",
    "hours",
    "weeks",
    "2024-01-01",
    "2023-12-31 23:00",
    "-5",
    "3",
    "Europe/Berlin",
    "Mars/Base",
    "\x00",
    "NaN",
    True,
    False,
    0,
    -1,
    3,
    1e300,
    float("nan"),
    None,
    [],
    {},
)
_RULED = ("syslog", "slurmctld", "loghub", "sacct", "slurm_events", "slurm_nodes", "blue_gene")
_OFTEN = {"lanl": 1, "titan": 1, "parameters": 8, "relfit": 8, "prometheus": 8}
"""Inputs of a kind where others have 4, by what one costs."""
CORPUS = Path(__file__).resolve().parents[1] / "tests" / "io" / "corpus.zip"
_SECONDS = 10.0  # of the processor, for a kilobyte


def mutated(data: bytes, chance: random.Random) -> bytes:
    """A few changes to some bytes."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        at = chance.randrange(len(changed) + 1)
        what = chance.randrange(6)
        if what == 0 and at < len(changed):
            changed[at] = chance.randrange(256)
        elif what == 1:
            del changed[at : at + chance.randrange(1, 20)]
        elif what == 2:
            changed[at:at] = chance.choice(_TOKENS)
        elif what == 3:
            begin = chance.randrange(len(changed) + 1)
            changed[at:at] = changed[begin : begin + chance.randrange(1, 80)]
        elif what == 4:
            lines = bytes(changed).split(b"\n")
            chance.shuffle(lines)
            changed = bytearray(b"\n".join(lines))
        else:
            token = chance.choice(_TOKENS)
            changed[at : at + len(token)] = token
    return bytes(changed)


def seeds_of(folder: Path) -> dict[str, bytes]:
    """One small good input of every kind."""
    seeds = {kind: text.encode() for kind, text in RAW.items()}
    seeds |= {kind: path.read_bytes() for kind, path in good_files(folder).items()}
    log = rf.read(folder / "table.txt")
    seeds["relfit"] = rf.write(log, folder / "good.parquet").read_bytes()
    seeds["json"] = b'[{"node":"a","start":"2024-01-01 10:00","end":"2024-01-01 11:00"},{"node":"b","start":7}]'
    seeds["json lines"] = b'{"node":"a","start":"2024-01-01","duration":"2h"}\n{"node":"b","start":1704067200}\n'
    seeds["states"] = b"time,node,state\n1704067200,a,UP\n1704070800,a,DOWN\n1704074400,a,UP\n1704074400,b,UP\n"
    seeds["durations"] = b"node;hours;failed\na;1.5;yes\nb;3h 20min;no\nb;1-02:30:00;1\n"
    seeds["dates"] = b"host\tbegan\tstart\nn1\t31.10.2021 02:30\t31/10/2021\nn2\tFri Mar  1 10:00:00 2024\t02/03/2021\n"
    table = io.BytesIO()
    pd.read_csv(folder / "table.txt", parse_dates=["start"]).to_parquet(table, compression=None)
    seeds["parquet"] = table.getvalue()
    fleet = rf.calibrate(rf.datasets.load("white").between(since="2004-01-01"))
    seeds["parameters"] = write_parameters(fleet, folder / "params.toml").read_bytes()
    return seeds | {"rules": _RULES, "mapping": _MAPPING, "people": _PEOPLE, "options": seeds["table"]}


@dataclass
class Trial:
    """Inputs tried so far, and what became of them."""

    folder: Path
    seeds: dict[str, bytes]
    keep: Path | None
    found: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)

    def read(self, kind: str, data: bytes) -> None:
        """Read an input as what it is, or may be; what is drawn depends on the input alone."""
        chance = random.Random(data)
        path, settings = self.folder / "mutated", self.folder / "settings.toml"
        if kind == "parameters":
            path.write_bytes(data)
            read_parameters(path)
        elif kind == "rules":
            settings.write_bytes(data)
            reader = chance.choice(_RULED)
            path.write_bytes(self.seeds[reader])
            checked(rf.read(path, reader, rules=settings))
        elif kind == "mapping":
            settings.write_bytes(data)
            path.write_bytes(self.seeds["table"])
            checked(rf.read(path, mapping=settings))
        elif kind == "people":
            path.write_bytes(self.seeds["table"])
            (self.folder / "people.csv").write_bytes(data)
            checked(rf.read(path, population=self.folder / "people.csv"))
        elif kind == "options":
            path.write_bytes(data)
            names = chance.sample(sorted(TableMapping.model_fields), chance.randrange(1, 4))
            options: dict[str, Any] = {name: chance.choice(_WORDS) for name in names}
            checked(rf.read(path, **options))
        else:
            path.write_bytes(data)
            forced = kind if kind in FORMATS and chance.random() < 0.5 else None
            checked(rf.read(path, chance.choice(FORMATS) if chance.random() < 0.05 else forced))

    def __call__(self, kind: str, data: bytes) -> None:
        """Read an input, and count what became of it."""
        begun = time.process_time()
        self.done[kind] += 1
        try:
            self.read(kind, data)
            self.done["read"] += 1
        except rf.RelfitError:
            self.done["refused"] += 1
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            where = next((frame for frame in reversed(frames) if "/relfit/" in frame.filename), frames[-1])
            self._failed(
                kind, f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}: {str(error)[:100]}", data
            )
        if time.process_time() - begun > _SECONDS:
            self._failed(kind, f"took {time.process_time() - begun:.0f} s", data)

    def _failed(self, kind: str, how: str, data: bytes) -> None:
        self.found[f"{kind}: {how}"] += 1
        if self.keep is not None and self.found[f"{kind}: {how}"] == 1:
            self.keep.mkdir(parents=True, exist_ok=True)
            (self.keep / f"{kind}-{len(self.found)}").write_bytes(data)
            print(f"{kind}: {how}", flush=True)

    def tell(self) -> None:
        """Say how many inputs there were, and what failed."""
        kinds = {kind: self.done[kind] for kind in self.seeds}
        print(f"{sum(kinds.values()):,} inputs: {self.done['read']:,} read, {self.done['refused']:,} refused")
        print(", ".join(f"{kind} {number:,}" for kind, number in kinds.items()))
        for key, times in self.found.most_common():
            print(f"{times:6d} {key}")


def guided(trial: Trial, seconds: float, seed: int, corpus: Path) -> None:
    """Inputs that atheris chooses, and counts itself: the first byte is the kind; the process ends with it."""
    atheris = importlib.import_module("atheris")
    for name in sorted(name for name in sys.modules if name.startswith(("relfit.io", "relfit.io.parsing"))):
        for value in list(vars(sys.modules[name]).values()):
            if getattr(value, "__module__", None) == name and hasattr(value, "__code__"):
                atheris.instrument_func(value)
    kinds = list(trial.seeds)
    corpus.mkdir(parents=True, exist_ok=True)
    for i, data in enumerate(trial.seeds.values()):
        (corpus / f"seed-{i}").write_bytes(bytes([i]) + data)

    def one(data: bytes) -> None:
        if data:
            trial(kinds[data[0] % len(kinds)], data[1:])

    arguments = [
        f"-max_total_time={seconds:.0f}",
        f"-seed={seed + 1}",
        "-timeout=60",
        "-rss_limit_mb=4096",
        "-max_len=16384",
        "-verbosity=0",
        "-print_final_stats=1",
    ]
    atheris.Setup([sys.argv[0], *arguments, str(corpus)], one)
    atheris.Fuzz()


def pack(corpus: Path, kinds: list[str], target: Path) -> None:
    """The inputs of a guided search as one archive, each under its kind."""
    found = {(kinds[data[0] % len(kinds)], data[1:]) for data in map(Path.read_bytes, corpus.iterdir()) if data}
    with zipfile.ZipFile(target, "w") as archive:
        for kind, data in sorted(found):
            entry = zipfile.ZipInfo(f"{kind}/{hashlib.sha256(data).hexdigest()[:16]}")
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED, 9)
    print(f"{len(found)} inputs in {target}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--guided", action="store_true")
    parser.add_argument("--pack", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    chance = random.Random(options.seed)
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        trial = Trial(Path(name), seeds_of(Path(name)), options.keep)
        if options.pack:
            pack(options.keep / "corpus", list(trial.seeds), CORPUS)
            return 0
        if options.guided:
            guided(trial, options.seconds, options.seed, (options.keep or Path(name)) / "corpus")
        kinds = list(trial.seeds)
        weights = [_OFTEN.get(kind, 4) for kind in kinds]
        end = time.monotonic() + options.seconds
        while time.monotonic() < end:
            kind = chance.choices(kinds, weights)[0]
            trial(kind, mutated(trial.seeds[kind], chance))
        trial.tell()
    return bool(trial.found)


if __name__ == "__main__":
    raise SystemExit(main())
