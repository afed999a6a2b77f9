"""One call that fits one family to lives of any kind by the quickest way that is exact for them."""

from __future__ import annotations

from relfit.families import CORE, Family
from relfit.fitting.general import fit_general
from relfit.fitting.plain import Estimates, fit_plain
from relfit.lifedata import LifeData
from relfit.numeric.batches import sort_lives

__all__ = ["estimate"]


def estimate(family: type[Family], lives: LifeData, workers: int | None = None) -> Estimates:
    """Maximum likelihood: compiled kernels for core families on plain lives, Newton's method for all else.

    Parameters
    ----------
    family : type
        A subclass of `Family`.
    lives : LifeData
    workers : int, optional
        Threads; does not change the numbers.
    """
    if lives.plain and family.name in CORE:
        return fit_plain(
            family.name, sort_lives(lives.durations, lives.observed, lives.offsets, workers), workers=workers
        )
    return fit_general(family, lives, workers=workers)
