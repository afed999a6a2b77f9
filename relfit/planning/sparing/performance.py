"""How fast a block computes: power freed by idle trays, and a model that gains from larger blocks.

Source: sparing paper, equations 8 to 10. Both are first approximations for want of measurements; a measured gain comes
in as a function of (GPUs a block, working GPUs a block).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from relfit.arguments import positive, share, whole
from relfit.errors import ArgumentError

__all__ = ["Performance", "PowerHeadroom", "TensorParallel", "same_speed"]

FloatArray = npt.NDArray[np.float64]
Scale = Callable[[FloatArray, FloatArray], npt.ArrayLike]


def same_speed(block: FloatArray, working: FloatArray) -> FloatArray:
    """No gain: every block computes at the speed of its working GPUs."""
    return np.ones(np.broadcast_shapes(np.shape(block), np.shape(working)))


@dataclass(frozen=True)
class PowerHeadroom:
    """The gain when idle spare trays leave their power to the working ones: 1 + (1 - ECC)(sqrt(P_S / P_R) - 1).

    Attributes
    ----------
    exposed : float
        ECC, the share of time in which communication is exposed.
    idle : float
        Power of an idle tray, as a share of one at its limit; fixes P_S / P_R = (K - J idle) / (K - J).
    ratio : float, optional
        P_S / P_R as measured, for every block with spare trays; `idle` is then not used.

    Notes
    -----
    Source: sparing paper, equation 8. With 4 idle trays of 36 at 28 % of the limit the others have 9 % more, and at an
    exposure of 0.228 gain 3.4 %, the values of its section 4.1 (which prints neither share).

    Examples
    --------
    >>> PowerHeadroom(exposed=0.228, idle=0.28)(72, 64).round(3).tolist()
    1.034
    """

    exposed: float
    idle: float = 0.0
    ratio: float | None = None

    def __post_init__(self) -> None:
        share("exposed", self.exposed)
        share("idle", self.idle)
        if self.ratio is not None:
            positive("ratio", self.ratio)

    def __call__(self, block: npt.ArrayLike, working: npt.ArrayLike) -> FloatArray:
        """Scale factor of blocks of `block` GPUs, `working` of which work."""
        size, used = np.asarray(block, dtype=np.float64), np.asarray(working, dtype=np.float64)
        power = (size - (size - used) * self.idle) / used
        if self.ratio is not None:
            power = np.where(used < size, self.ratio, 1.0)
        return np.asarray(1.0 + (1.0 - self.exposed) * (np.sqrt(power) - 1.0))


@dataclass(frozen=True)
class TensorParallel:
    """The gain of a model from tensor parallelism over the working GPUs of a block, relative to `baseline` GPUs.

    Attributes
    ----------
    alpha : float
        Exposed communication as the parallelism grows without bound.
    baseline : int
        GPUs at which the factor is one.

    Notes
    -----
    Source: sparing paper, equations 9 and 10; its table takes alpha = 0.204 (not printed) and a baseline of 16.

    Examples
    --------
    >>> TensorParallel(0.204, 16)(72, [72, 64, 36, 32, 18, 16]).round(2).tolist()
    [1.18, 1.17, 1.12, 1.11, 1.02, 1.0]
    """

    alpha: float
    baseline: int = 16

    def __post_init__(self) -> None:
        positive("alpha", self.alpha, zero=True)
        whole("baseline", self.baseline)

    def __call__(self, block: npt.ArrayLike, working: npt.ArrayLike) -> FloatArray:
        """Scale factor of blocks with `working` GPUs at work."""
        used = np.asarray(working, dtype=np.float64)
        time = 1.0 / used + self.alpha * (used - 1.0) / used
        start = 1.0 / self.baseline + self.alpha * (self.baseline - 1.0) / self.baseline
        return np.asarray(start / time)


@dataclass(frozen=True)
class Performance:
    """Speed of a working GPU relative to a baseline: of the hardware and of the model.

    Attributes
    ----------
    hardware, model : callable
        From GPUs a block and working GPUs a block to a factor.

    Examples
    --------
    >>> Performance(model=TensorParallel(0.204)).scales(72, 64)[1].round(2).tolist()
    1.17
    """

    hardware: Scale = field(default=same_speed)
    model: Scale = field(default=same_speed)

    def scales(self, block: npt.ArrayLike, working: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """The two factors.

        Raises
        ------
        ArgumentError
            When one is not a positive number.
        """
        size, used = np.asarray(block, dtype=np.float64), np.asarray(working, dtype=np.float64)
        found = []
        for name in ("hardware", "model"):
            values = np.asarray(getattr(self, name)(size, used), dtype=np.float64)
            if not np.all(np.isfinite(values) & (values > 0.0)):
                raise ArgumentError(f"{name} returned a factor that is not above zero")
            found.append(np.broadcast_to(values, np.broadcast_shapes(size.shape, used.shape)))
        return found[0], found[1]

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        names = {}
        for key in ("hardware", "model"):
            value = getattr(self, key)
            names[key] = getattr(value, "__name__", None) or repr(value)
        return names
