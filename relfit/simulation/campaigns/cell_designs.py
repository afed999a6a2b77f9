"""The cells of a campaign: the values that each sets, in the order of the campaign's tables."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import qmc

from relfit.base.arrays import FloatArray
from relfit.base.errors import ArgumentError
from relfit.base.results import json_ready
from relfit.simulation.campaigns.campaign import Campaign

_MOST = 5_000_000


@dataclass(frozen=True)
class Cell:
    """One set of values of parameters, and a key that is the same for equal settings."""

    experiment: str
    settings: dict[str, object]
    key: str


def canonical(values: object) -> str:
    """Values as JSON, the same text for equal values."""
    return json.dumps(values, sort_keys=True, separators=(",", ":"))


def cells_of(campaign: Campaign) -> list[Cell]:
    """All cells: those of the experiments, then those of the parameters; an `ArgumentError` above five million.

    A cell that two experiments have in common is listed twice, with one key, and computed once.

    Examples
    --------
    >>> x = {"parameter": "x", "values": [1, 2]}
    >>> campaign = Campaign(run="m:f", experiments=[x], second="y", second_values=[3])
    >>> [(cell.experiment, cell.settings) for cell in cells_of(campaign)]
    [('x', {'x': 1, 'y': 3}), ('x', {'x': 2, 'y': 3})]
    """
    cells = [
        Cell(label, values, hashlib.sha256(canonical(values).encode()).hexdigest()[:16])
        for label, values in itertools.islice(_all(campaign), _MOST + 1)
    ]
    if len(cells) > _MOST:
        raise ArgumentError(f"there are more than {_MOST:,} cells", remedy="give fewer values, or a drawn design")
    return cells


def _all(campaign: Campaign) -> Iterator[tuple[str, dict[str, object]]]:
    for experiment in campaign.experiments:
        second, values = experiment.second or campaign.second, experiment.second_values or campaign.second_values
        beside = {} if second in (None, experiment.parameter) else {second: values}
        for settings in _grid({experiment.parameter: experiment.values, **beside}):
            yield experiment.name, settings
    if campaign.parameters and campaign.design == "grid":
        yield from (("", settings) for settings in _grid(campaign.parameters))
    elif campaign.design == "one at a time":
        for name, values in campaign.parameters.items():
            yield from ((name, settings) for settings in _grid({name: values}))
    elif campaign.parameters:
        yield from _drawn(campaign)


def _grid(values: Mapping[str, list[object]]) -> Iterator[dict[str, object]]:
    ready = {name: json_ready(each) for name, each in values.items()}
    for row in itertools.product(*ready.values()):
        yield dict(zip(ready, row, strict=True))


def _drawn(campaign: Campaign) -> Iterator[tuple[str, dict[str, object]]]:
    """Cells of a latin hypercube, or those of Saltelli's estimates of Sobol indices.

    These are two samples A and B, and for each parameter A with that parameter as in B.
    """
    names, points = list(campaign.parameters), campaign.points or 0
    if campaign.design == "latin hypercube":
        sample = qmc.LatinHypercube(len(names), rng=np.random.default_rng(campaign.seed)).random(points)
        parts: list[tuple[str, FloatArray]] = [("", sample)]
    else:
        both = qmc.Sobol(2 * len(names), rng=np.random.default_rng(campaign.seed)).random(points)
        a, b = np.hsplit(both, 2)
        parts = [("A", a), ("B", b)]
        parts += [(f"AB {name}", np.where(np.arange(len(names)) == i, b, a)) for i, name in enumerate(names)]
    for label, rows in parts:
        for row in rows.tolist():
            yield label, {name: _value(campaign.parameters[name], u) for name, u in zip(names, row, strict=True)}


def _value(ends: list[object], u: float) -> object:
    """The value at a share `u`: between two numbers (integers stay integers), else one of the list."""
    low, high = ends[0], ends[-1]
    if (
        len(ends) != 2
        or not (isinstance(low, (int, float)) and isinstance(high, (int, float)))
        or isinstance(low, bool)
        or isinstance(high, bool)
    ):
        return ends[min(int(u * len(ends)), len(ends) - 1)]
    if isinstance(low, int) and isinstance(high, int):
        return low + min(int(u * (high - low + 1)), high - low)
    return low + u * (high - low)
