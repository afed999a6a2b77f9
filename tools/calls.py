"""Which files of the package a piece of work goes through, and how often it goes from one package to another.

``python tools/calls.py`` prints both of a calibration of the sample, and of the way from a file to a plan.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from inspect import CO_OPTIMIZED
from pathlib import Path
from types import FrameType
from typing import Any

import relfit

PACKAGE = str(Path(relfit.__file__).parent) + "/"
STEPS = {"io", "log", "analyses", "fleet", "study", "system", "planning"}
"""Packages that a question goes through; the others are what all of them are written with."""


class Calls:
    """Calls of the package's own functions while some work is done.

    Attributes
    ----------
    total : int
    between : Counter
        Calls from one package to another, by both names.
    files : Counter
        Calls of functions in each file, in the order of the first.
    """

    def __init__(self, work: Callable[[], Any]) -> None:
        self.total = 0
        self.between: Counter[tuple[str, str]] = Counter()
        self.files: Counter[str] = Counter()
        sys.setprofile(self._event)
        try:
            work()
        finally:
            sys.setprofile(None)

    @property
    def steps(self) -> int:
        """Calls from one step of the way to another."""
        return sum(number for ends, number in self.between.items() if {*ends} <= STEPS)

    def _event(self, frame: FrameType, event: str, argument: Any) -> None:
        file = frame.f_code.co_filename
        if event != "call" or not file.startswith(PACKAGE) or not frame.f_code.co_flags & CO_OPTIMIZED:
            return
        caller = frame.f_back
        while caller is not None and not caller.f_code.co_filename.startswith(PACKAGE):
            caller = caller.f_back
        self.total += 1
        self.files[file.removeprefix(PACKAGE)] += 1
        if caller is not None and (ends := (package(caller.f_code.co_filename), package(file)))[0] != ends[1]:
            self.between[ends] += 1


def package(file: str) -> str:
    """The package, or the module beside them, that a file is of.

    Examples
    --------
    >>> package(PACKAGE + "fleet/now.py"), package(PACKAGE + "study.py")
    ('fleet', 'study')
    """
    return file.removeprefix(PACKAGE).partition("/")[0].removesuffix(".py")


def to_a_plan(path: Path) -> Any:
    """From a file to a plan of checkpoints."""
    study = relfit.Study(relfit.read(path))
    parameters = study.calibrate(parts=("mtbf", "mttr"))
    return relfit.planning.plan_checkpoints(parameters, relfit.jobs.Checkpoint(save="6min", restore="6min"), nodes=64)


def main() -> None:
    """Print both."""
    sample = relfit.datasets.path("white")
    works = {
        "calibration": lambda: relfit.calibrate(relfit.datasets.load("white")),
        "plan": lambda: to_a_plan(sample),
    }
    for name, work in works.items():
        relfit.datasets.load.cache_clear()
        calls = Calls(work)
        between = calls.between.total()
        print(f"{name}: {calls.total:,} calls in {len(calls.files)} files, {between:,} from one package to another")
        print(f"  {calls.steps:,} between steps of the way")
        for (first, then), number in calls.between.most_common(12 if "-v" in sys.argv else 0):
            print(f"  {number:6,}  {first} -> {then}")


if __name__ == "__main__":
    main()
