"""Mutated inputs over all readers, mappings, rules and parameter files.

What is mutated is read to the end or refused with an error of relfit's: no traceback, no row lost, no input over its
time.
Run: python benchmarks/fuzz_reading.py [--seconds 60] [--seed 0] [--keep FOLDER]; a kept corpus holds what failed.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf
from relfit.calibration.files import read_parameters, write_parameters
from relfit.io import FORMATS
from tests.io.made import good_files
from tests.io.test_fuzzing import RAW, checked

_TOKENS = [
    b"\x00", b'"', b"\n", b"\r", b"\r\n", b",", b";", b"|", b"[", b"]", b"{", b"}", b"\\", b"9" * 30, b"3e2500000000",
    b"-1", b"nan", b"inf", "İ".encode(), b"\t", b"2024-02-30", b"n[0-999999999]", b"1e400", b"\x1b[31m", b"=1+1", b"=",
    b"NULL", b"\xef\xbb\xbf", "\u202e".encode(), b"'", b"\xff\xfe", b"0", b"1801-01-01", b"2261-12-31", b"23:59:60",
    b"60", b"1.5", b"1,5", b"9223372036854775807", b"(?P<node>", b"(a+)+", b"\\", b"^", b"$", b"true", b"Jan 35",
]  # fmt: skip
_RULES = (b'states = ["DOWN"]\nseverities = ["FATAL"]\nharmless = ["-"]\n[tags]\nK = "x"\n'
          b"[[rule]]\npattern = 'Xid (?P<node>\\S+)'\ncause = \"c\"\nends = \"job\"\n")  # fmt: skip
_MAPPING = b'node = "a+b"\nstart = "start"\nend = "end"\ntime_format = "unix"\nday_first = true\nduration_unit = "h"\n'
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    chance = random.Random(options.seed)
    found: Counter[str] = Counter()
    done: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seeds = {kind: text.encode() for kind, text in RAW.items()}
        seeds |= {kind: path.read_bytes() for kind, path in good_files(folder).items()}
        log = rf.read(folder / "table.txt")
        seeds["relfit"] = rf.write(log, folder / "good.parquet").read_bytes()
        seeds["json"] = b'[{"node":"a","start":"2024-01-01 10:00","end":"2024-01-01 11:00"},{"node":"b","start":7}]'
        fleet = rf.calibrate(rf.datasets.load("white").between(since="2004-01-01"))
        parameters = write_parameters(fleet, folder / "params.toml").read_bytes()
        path, settings = folder / "mutated", folder / "settings.toml"
        end = time.monotonic() + options.seconds
        while time.monotonic() < end:
            kind = chance.choice([*seeds, "rules", "mapping", "parameters"])
            begun = time.process_time()
            data = mutated({"rules": _RULES, "mapping": _MAPPING, "parameters": parameters, **seeds}[kind], chance)
            try:
                if kind == "parameters":
                    path.write_bytes(data)
                    read_parameters(path)
                elif kind == "rules":
                    settings.write_bytes(data)
                    reader = chance.choice(("syslog", "slurmctld", "loghub", "sacct", "slurm_nodes", "blue_gene"))
                    path.write_bytes(seeds[reader])
                    checked(rf.read(path, reader, rules=settings))
                elif kind == "mapping":
                    settings.write_bytes(data)
                    path.write_bytes(seeds["table"])
                    checked(rf.read(path, mapping=settings))
                else:
                    path.write_bytes(data)
                    forced = kind if kind in FORMATS and chance.random() < 0.5 else None
                    checked(rf.read(path, chance.choice(FORMATS) if chance.random() < 0.05 else forced))
                done["read"] += 1
            except rf.RelfitError:
                done["refused"] += 1
            except Exception as error:
                frames = traceback.extract_tb(error.__traceback__)
                where = next((frame for frame in reversed(frames) if "/relfit/" in frame.filename), frames[-1])
                key = (
                    f"{kind}: {type(error).__name__} at {Path(where.filename).name}:{where.lineno}: {str(error)[:100]}"
                )
                found[key] += 1
                if options.keep is not None and found[key] == 1:
                    options.keep.mkdir(parents=True, exist_ok=True)
                    (options.keep / f"{kind}-{len(found)}").write_bytes(data)
            if time.process_time() - begun > _SECONDS:
                found[f"{kind}: took {time.process_time() - begun:.0f} s"] += 1
    print(f"{sum(done.values()) + sum(found.values()):,} inputs: {done['read']:,} read, {done['refused']:,} refused")
    for key, times in found.most_common():
        print(f"{times:6d} {key}")
    return bool(found)


if __name__ == "__main__":
    raise SystemExit(main())
