"""Functions that the campaigns of the tests run."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np


def noisy(rng: np.random.Generator, x: float = 1.0, y: float = 0.0, scale: float = 1.0) -> dict[str, float]:
    """A mean that is known: x + y."""
    noise = scale * rng.standard_normal()
    return {"value": x + y + noise, "noise": noise}


def product(rng: np.random.Generator, a: float, b: float) -> float:
    """One number."""
    return a * b + 0.1 * rng.standard_normal()


def ishigami(x1: float, x2: float, x3: float) -> float:
    """The function of Ishigami and Homma, whose Sobol indices are known."""
    return float(np.sin(x1) + 7.0 * np.sin(x2) ** 2 + 0.1 * x3**4 * np.sin(x1))


def square(x: float) -> float:
    """Without randomness."""
    return x * x


def fails_at(rng: np.random.Generator, x: float) -> float:
    """Always fails at 2, and now and then at 3."""
    if x == 2 or (x == 3 and rng.random() < 0.3):
        raise ValueError("this cannot be")
    return x + rng.random()


def dies(rng: np.random.Generator, x: float) -> float:
    """Takes its process with it at 2."""
    if x == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return x


def slow(rng: np.random.Generator, x: float, seconds: float = 0.05) -> float:
    """Takes its time."""
    time.sleep(seconds)
    return x + rng.random()


def counted(rng: np.random.Generator, x: float, folder: str) -> float:
    """Leaves a file for each run."""
    (Path(folder) / f"{x}-{rng.integers(1 << 60)}-{time.time_ns()}").touch()
    return x


def anything(**values: Any) -> float:
    """Takes every parameter."""
    return float(len(values))


def no_number(rng: np.random.Generator, x: str) -> Any:
    """What a function must not return."""
    return {"text": "abc", "list": [1.0, 2.0], "none": None}[x]


def no_value(rng: np.random.Generator, x: float) -> float:
    """Gives no number."""
    return float("nan")


def ends(rng: np.random.Generator, x: float) -> float:
    """Prints, and ends its process at 2 as a program does."""
    print("a word of the function")
    if x == 2:
        raise SystemExit(3)
    return x


def killed(rng: np.random.Generator, x: float) -> dict[str, float]:
    """Jobs of which the walltime ends the more, the larger x is."""
    return {"mean_wait": 100.0 - x + 0.01 * rng.random(), "killed_at_walltime": 100.0 * x}
