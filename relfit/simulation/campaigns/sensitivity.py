"""Sensitivity of an output to each parameter: ranges, and Sobol indices."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import bootstrap

from relfit.base.arrays import FloatArray, IntArray
from relfit.base.errors import ArgumentError
from relfit.simulation.campaigns.campaign_results import CampaignResults


def tornado(result: CampaignResults, output: str | None = None) -> pd.DataFrame:
    """How far each parameter moves an output (by default that of the campaign), the widest range first.

    Experiments each by themselves, at the middle value of a second parameter; for a grid or a drawn design, means over
    the other parameters.

    Returns
    -------
    pandas.DataFrame
        Index ``experiment`` (label or parameter); ``low``, ``high``, ``range``, ``low_at``, ``high_at``.
    """
    mean, curves = result.samples(output).mean(axis=1), {}
    single = [] if result.drawn else [label for label in result.experiments if label]
    for label in single:
        cells, (first, *second) = result.where(experiment=label), result.varied(label)
        for name in second:
            values = list(dict.fromkeys(cells[name]))
            cells = cells[cells[name] == values[len(values) // 2]]
        curves[label] = mean.reindex(cells.index).groupby(cells[first].to_list(), sort=False).mean()
    cells = result.cells[~result.cells.index.duplicated()]
    for name in [] if single else result.parameters:
        if result.drawn:
            curves[name] = result.curve(name, output).set_index(name)["mean"]
        else:
            curves[name] = mean.reindex(cells.index).groupby(cells[name].to_list(), sort=False).mean()
    rows = {
        label: (curve.min(), curve.max(), curve.max() - curve.min(), curve.idxmin(), curve.idxmax())
        for label, curve in curves.items()
        if curve.notna().any()
    }
    names = ["low", "high", "range", "low_at", "high_at"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=names).rename_axis("experiment")
    return table.sort_values("range", ascending=False, kind="stable")


def sobol(result: CampaignResults, output: str | None = None, *, rng: int = 0) -> pd.DataFrame:
    """First- and total-order Sobol indices: the share of an output's variance that each parameter explains.

    Parameters
    ----------
    result : CampaignResults
        Of a design "sobol", complete.
    output : str, optional
    rng : int
        Seed of the bootstrap over points, for the confidence intervals.

    Returns
    -------
    pandas.DataFrame
        Index ``parameter``; ``first``, ``first_low``, ``first_high``: of the parameter by itself; ``total``, ...: with
        its interactions. They are shares: estimates and ends of intervals below 0 or above 1, which few points give,
        are set to 0 or 1.

    Raises
    ------
    ArgumentError
        For another design, or when cells are missing.

    References
    ----------
    Saltelli et al., Variance based sensitivity analysis of model output (2010).
    """
    parts = result.experiments
    names = [label.removeprefix("AB ") for label in parts if label.startswith("AB ")]
    if not names or parts[:2] != ["A", "B"]:
        raise ArgumentError("Sobol indices need their own design", remedy='write design = "sobol" and points = 64')
    mean = result.samples(output).mean(axis=1)
    values = {label: mean.reindex(result.where(experiment=label).index).to_numpy() for label in parts}
    if not all(np.isfinite(each).all() for each in values.values()):
        raise ArgumentError("cells of the design are missing", remedy="run the campaign to its end first")
    mixed = np.stack([values[f"AB {name}"] for name in names])

    def of(points: IntArray) -> FloatArray:
        return _indices(values["A"][points], values["B"][points], mixed[:, points])

    every = np.arange(values["A"].size)
    generator = np.random.default_rng(rng)
    limits = bootstrap([every], of, confidence_level=result.level, n_resamples=500, rng=generator).confidence_interval
    columns = {"": of(every), "_low": np.asarray(limits.low), "_high": np.asarray(limits.high)}
    table = {
        order + key: np.clip(both[row], 0.0, 1.0)
        for row, order in enumerate(("first", "total"))
        for key, both in columns.items()
    }
    return pd.DataFrame(table, index=pd.Index(names, name="parameter"))


def _indices(a: FloatArray, b: FloatArray, mixed: FloatArray) -> FloatArray:
    """First- and total-order indices, shape (2, parameters), of outputs at n points and, mixed, (parameters, n)."""
    variance = np.var([a, b])
    first = np.mean((b - np.mean([a, b])) * (mixed - a), axis=1)
    return np.stack([first, 0.5 * np.mean((a - mixed) ** 2, axis=1)]) / variance
