"""`Replay`: jobs that were predicted and what became of them, with scores and calibration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.arrays import BoolArray, FloatArray, IntArray
from relfit.errors import ArgumentError
from relfit.results import Result, json_ready
from relfit.text import percent
from relfit.validation._block_means import BlockMeans, block_means, effective_sizes, wilson
from relfit.validation._calibration_curve import CalibrationCurve, calibration_curve, log_loss

__all__ = ["Replay"]


_JOBS_PER_BIN = 60


@dataclass(frozen=True, eq=False, repr=False)
class Replay(Result):
    """Jobs replayed over the held-out part of a log; `relfit.replay` makes it.

    Jobs overlap in time and in nodes, so they are not independent. All limits come from blocks of time (`block`),
    resampled as a whole, or from the variance between them.

    Attributes
    ----------
    families : tuple of str
        What predicted; the first is the one under test.
    parameters : str
        ``pooled``, ``fleet`` or ``node``: whose parameters a node has.
    split : pandas.Timestamp
        Fitted before, replayed after.
    window : tuple of pandas.Timestamp
        First instant that was fitted and last that was replayed.
    sizes, lengths : ndarray
        Nodes and hours of the jobs, rising.
    start : ndarray of float, shape (jobs,)
        Hours from the split to each instant.
    system : ndarray of str, shape (jobs,)
    chosen : ndarray of int, shape (jobs, largest size)
        Nodes as positions in `nodes`; a job of size k has the first k. -1 where fewer were up.
    age : ndarray of float, shape (jobs, largest size)
        Their ages in hours at the start.
    placed : ndarray of bool, shape (jobs, sizes)
        Whether enough nodes were up; jobs without them count nowhere.
    survived : ndarray of bool, shape (jobs, sizes, lengths)
    predicted : dict of ndarray, shape (jobs, sizes, lengths)
        Reliability by family.
    reference : ndarray, shape (sizes, lengths)
        Share of such jobs that survived in the fitted part: the forecast without a model that skill is measured by.
    block : ndarray of int, shape (jobs,)
    fitted_failures : int
        Failures in the fitted part.
    nodes : pandas.Index
    level : float
    seed : int
        Of the resampled blocks.
    """

    families: tuple[str, ...]
    parameters: str
    split: pd.Timestamp
    window: tuple[pd.Timestamp, pd.Timestamp]
    sizes: IntArray
    lengths: FloatArray
    start: FloatArray
    system: npt.NDArray[Any]
    chosen: npt.NDArray[np.int32]
    age: FloatArray
    placed: BoolArray
    survived: BoolArray
    predicted: dict[str, FloatArray]
    reference: FloatArray
    block: IntArray
    fitted_failures: int
    nodes: pd.Index
    level: float
    seed: int

    _not_in_json: ClassVar[tuple[str, ...]] = (
        "start", "system", "chosen", "age", "placed", "survived", "predicted", "block", "nodes",
    )  # fmt: skip

    @property
    def n_jobs(self) -> int:
        """Jobs of all sizes and lengths that could be placed."""
        return int(self.placed.sum()) * self.lengths.size

    @property
    def n_blocks(self) -> int:
        """Blocks of time in which jobs began."""
        return int(np.unique(self.block).size)

    def calibration(self, family: str | None = None, bins: int | npt.ArrayLike | None = None) -> CalibrationCurve:
        """Predicted against observed survival in bins of the prediction.

        Parameters
        ----------
        family : str, optional
            The first when left out.
        bins : int or array_like of float, optional
            See `relfit.validation.calibration_curve`; one for sixty jobs, from two to ten, when left out.
        """
        name = self._family(family)
        if bins is None:
            bins = int(np.clip(self.n_jobs // _JOBS_PER_BIN, 2, 10))
        mask = self._mask
        blocks = np.broadcast_to(self.block[:, None, None], mask.shape)
        return calibration_curve(
            self.predicted[name][mask], self.survived[mask], blocks=blocks[mask], bins=bins, level=self.level, name=name
        )

    @cached_property
    def scores(self) -> pd.DataFrame:
        """Scores of every family over all jobs, indexed by family.

        ``predicted`` and ``observed`` are mean reliability and share of survivors, ``excess`` the second minus the
        first. ``brier`` and ``log_score`` are means over jobs (lower is better), ``skill`` is the share by which the
        Brier score is lower than that of `reference`. Limits, ``_low`` and ``_high``, come from resampled blocks.
        """
        rows = {}
        y = self.survived.astype(np.float64)
        reference = np.broadcast_to(self.reference, y.shape)
        base = self._means((reference - y) ** 2)
        for name in self.families:
            p = self.predicted[name]
            excess, brier = self._excess(p), self._means((p - y) ** 2)
            loss = self._means(log_loss(p, self.survived))
            gain = self._ratio((reference - y) ** 2 - (p - y) ** 2, (reference - y) ** 2)
            rows[name] = {
                "predicted": float(p[self._mask].mean()),
                "observed": float(y[self._mask].mean()),
                **_three("excess", excess),
                **_three("brier", brier),
                "brier_reference": float(base.mean),
                **_three("skill", gain),
                **_three("log_score", loss),
            }
        return pd.DataFrame(rows).T.rename_axis("family")

    def compare(self, first: str | None = None, second: str | None = None) -> pd.DataFrame:
        """Paired difference of scores, `first` minus `second`: below zero the first is better.

        Parameters
        ----------
        first, second : str, optional
            The first and second family when left out.

        Returns
        -------
        pandas.DataFrame
            Indexed by score (``brier``, ``log_score``): ``difference``, ``low``, ``high`` from resampled blocks, and
            ``favours`` (missing where the limits hold zero).

        Raises
        ------
        ArgumentError
            When there is only one family, or none of this name.
        """
        if second is None and len(self.families) < 2:
            raise ArgumentError("there is one family only", remedy="replay with two, as weibull and exponential")
        one, two = self._family(first), self._family(second or self.families[1])
        y = self.survived.astype(np.float64)
        p, q = self.predicted[one], self.predicted[two]
        differences = {
            "brier": self._means((p - y) ** 2 - (q - y) ** 2),
            "log_score": self._means(log_loss(p, self.survived) - log_loss(q, self.survived)),
        }
        rows = {}
        for score, value in differences.items():
            favours = one if value.high < 0.0 else two if value.low > 0.0 else None
            rows[score] = [float(value.mean), float(value.low), float(value.high), favours]
        table = pd.DataFrame.from_dict(rows, orient="index", columns=["difference", "low", "high", "favours"])
        return table.assign(favours=pd.Series([r[3] for r in rows.values()], rows, dtype=object)).rename_axis("score")

    def by_size(self) -> pd.DataFrame:
        """One row per size, length and family: jobs, mean prediction, observed share with its limits, reference."""
        mask = self._mask.astype(np.float64)
        lived = self.survived * mask
        shape = (-1, self.reference.size)
        size, degrees = effective_sizes(self._by_block(lived).reshape(shape), self._by_block(mask).reshape(shape))
        jobs = mask.sum(axis=0).ravel()
        with np.errstate(invalid="ignore"):
            observed = lived.sum(axis=0).ravel() / jobs
            low, high = wilson(observed, size, self.level, degrees)
            predicted = {name: (p * mask).sum(axis=0).ravel() / jobs for name, p in self.predicted.items()}
        cells = pd.DataFrame(
            {
                "size": np.repeat(self.sizes, self.lengths.size),
                "length_hours": np.tile(self.lengths, self.sizes.size),
                "jobs": jobs.astype(np.int64),
                "observed": observed,
                "low": low,
                "high": high,
            }
        )
        frames = [
            cells.assign(family=name, predicted=predicted[name], reference=self.reference.ravel())
            for name in self.families
        ]
        table = pd.concat(frames, ignore_index=True)
        order = np.tile(np.arange(len(cells)), len(self.families)).argsort(kind="stable")
        first = ["size", "length_hours", "family", "jobs", "predicted"]
        return table.iloc[order][[*first, "observed", "low", "high", "reference"]].reset_index(drop=True)

    @property
    def headline(self) -> str:
        """How many jobs survived, how many were predicted to, and which family predicts better."""
        name = self.families[0]
        row = dict(zip(self.scores.columns, self.scores.loc[name].to_numpy(dtype=np.float64).tolist(), strict=True))
        low, high = row["excess_low"], row["excess_high"]
        fits = "agrees with" if low <= 0.0 <= high else "differs from"
        text = (
            f"Of {self.n_jobs} jobs after {self.split:%Y-%m-%d}, {percent(row['observed'], 1)} survived; {name} "
            f"predicted {percent(row['predicted'], 1)}, which {fits} it (observed minus predicted "
            f"{100 * row['excess']:+.1f} points, {percent(self.level)} limits {100 * low:+.1f} to {100 * high:+.1f}, "
            f"by {self.n_blocks} blocks of time)."
        )
        for other in self.families[1:]:
            brier = self.compare(name, other).loc["brier"]
            width = f"{brier['low']:+.4f} to {brier['high']:+.4f}"
            if brier["favours"] is None:
                text += f" Brier scores of {name} and {other} do not differ beyond chance ({width})."
            else:
                loser = other if brier["favours"] == name else name
                text += f" {brier['favours']} predicts better than {loser}: Brier score {width} ({name} minus {other})."
        return text

    def to_frame(self) -> pd.DataFrame:
        """One row per job: ``start`` (UTC), ``system``, ``size``, ``length_hours``, ``survived``, and each family's."""
        place = np.argwhere(self._mask)
        job, size, length = place.T
        frame = pd.DataFrame(
            {
                "start": self.split + pd.to_timedelta(self.start[job], unit="h"),
                "system": self.system[job],
                "size": self.sizes[size],
                "length_hours": self.lengths[length],
                "survived": self.survived[self._mask],
            }
        )
        return frame.assign(**{name: self.predicted[name][self._mask] for name in self.families})

    def to_dict(self) -> dict[str, Any]:
        """As of every result, with scores, comparisons, cells and calibration, without the single jobs."""
        first = self.families[0]
        tables = {
            "jobs": self.n_jobs,
            "not_placed": int((~self.placed).sum()) * self.lengths.size,
            "blocks": self.n_blocks,
            "scores": self.scores,
            "comparisons": {other: self.compare(first, other) for other in self.families[1:]},
            "by_size": self.by_size(),
            "calibration": [self.calibration(name) for name in self.families],
        }
        return {**super().to_dict(), **json_ready(tables)}

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(self.headline)}</p>{self.by_size().to_html(index=False, float_format='{:.4g}'.format)}"

    @cached_property
    def _mask(self) -> BoolArray:
        return np.array(np.broadcast_to(self.placed[:, :, None], self.survived.shape))

    def _family(self, name: str | None) -> str:
        if name is None:
            return self.families[0]
        if name not in self.predicted:
            raise ArgumentError(f"family {name!r} was not replayed", remedy=f"there is {', '.join(self.families)}")
        return name

    def _by_block(self, values: FloatArray) -> FloatArray:
        """Sums of values by block, further axes kept."""
        count = int(self.block.max()) + 1
        out = np.zeros((count, *values.shape[1:]))
        np.add.at(out, self.block, values)
        return out[np.bincount(self.block, minlength=count) > 0]

    def _excess(self, p: FloatArray) -> BlockMeans:
        """Observed minus predicted; where all jobs ended alike, by Wilson's limits, since nothing varies."""
        means = self._means(self.survived - p)
        lived = (self.survived & self._mask).sum(axis=(1, 2)).astype(np.float64)
        if 0 < lived.sum() < self._mask.sum():
            return means
        counts = self._by_block(self._mask.sum(axis=(1, 2)).astype(np.float64)[:, None])
        size, degrees = effective_sizes(self._by_block(lived[:, None]), counts)
        share = float(lived.sum() / self._mask.sum())
        low, high = wilson(share, size[0], self.level, degrees[0])
        return replace(means, low=low - share + means.mean, high=high - share + means.mean)

    def _means(self, values: FloatArray) -> BlockMeans:
        return self._ratio(values, np.ones_like(values))

    def _ratio(self, values: FloatArray, weights: FloatArray) -> BlockMeans:
        """Sum of values over sum of weights, all placed jobs together."""
        above = np.where(self._mask, values, 0.0).sum(axis=(1, 2))
        below = np.where(self._mask, weights, 0.0).sum(axis=(1, 2))
        return block_means(self._by_block(above), self._by_block(below), self.level, rng=self.seed)


def _three(name: str, means: BlockMeans) -> dict[str, float]:
    return {name: float(means.mean), f"{name}_low": float(means.low), f"{name}_high": float(means.high)}
