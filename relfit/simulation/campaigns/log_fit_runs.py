"""Fits of simulated logs as cells of a campaign: how well a log of that size gives back its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from relfit.base.errors import ArgumentError
from relfit.fitting import fit
from relfit.fleet.calibration.files import parameters_of_document
from relfit.simulation.campaigns.runners import Outputs, Runner, changed, replicated
from relfit.simulation.simulated_logs import simulate_log

if TYPE_CHECKING:
    from relfit.log.failurelog import FailureLog


__all__ = ["LogFitRuns"]

_OWN = ("span", "nodes", "racks", "families")


class LogFitRuns(Runner):
    """`simulate_log` from parameters, and `relfit.fit` of its times to failure.

    The configuration is a parameter file, with ``span``, ``nodes``, ``racks`` and ``families`` (of the fits) beside.
    """

    output = "mean"
    document = "parameters of a log"

    def arguments(self, settings: dict[str, object]) -> tuple[Any, dict[str, Any]]:
        """As parameters are checked."""
        tables = changed(self.base, settings)
        own = {name: tables.pop(name) for name in _OWN if name in tables}
        if "nodes" not in own and "nodes" not in tables.get("fleet", {}):
            raise ArgumentError("the number of nodes is not known", remedy="write nodes = 100")
        return parameters_of_document(tables, None), own

    def run(self, settings: dict[str, object], first: int, last: int, seed: int) -> Outputs:
        """``failures``, the ``mean`` by the best family, and of each family ``.mean``, ``.aic`` and its parameters."""
        parameters, own = self.arguments(settings)
        families = own.pop("families", ["exponential", "weibull", "lognormal"])

        def one(rng: np.random.Generator) -> dict[str, float]:
            log = simulate_log(parameters, rng=rng, **own)
            return {"failures": float(len(log)), **_fitted(log, families)}

        return replicated(one, first, last, seed)


def _fitted(log: FailureLog, families: list[str]) -> dict[str, float]:
    """Mean, AIC and parameters of each family, the times to failure of all nodes together."""
    rows: Any = fit(log.ttf().pooled(), families=families, n_resamples=0).to_frame().to_dict("records")
    values = {"mean": min(rows, key=lambda row: row["aic"])["mean"]}
    for row in rows:
        names = [*(name for name in row if f"{name}_se" in row), "mean", "median", "aic"]
        values |= {f"{row['family']}.{name}": row[name] for name in names if np.isfinite(row[name])}
    return values
