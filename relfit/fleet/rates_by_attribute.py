"""Rates of nodes by the attribute that clearly tells them apart, such as a batch or a rack, if any does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy import special

from relfit.analyses.screening.frailty import renewal_models
from relfit.analyses.screening.frailty_results import RenewalModels
from relfit.base.arrays import FloatArray, IntArray
from relfit.fleet.incident_scopes import ScopeIncidents
from relfit.fleet.prediction import relative_rates
from relfit.log.failurelog import FailureLog
from relfit.log.outages import node_values
from relfit.log.tables import POPULATION_COLUMNS

_SIZE = 0.01  # of the test of all attributes together
_FEWEST_NODES, _FEWEST_FAILURES = 5, 10.0  # of a value that is compared; failures as expected of its nodes
_EQUAL = 1e6  # shape of the gamma variable of nodes that are equal within their values


def attributes_of(log: FailureLog, nodes: pd.Index) -> list[IntArray]:
    """Codes of these nodes' values of each attribute of the population, -1 if unknown."""
    names = [str(name) for name in log.population if name not in POPULATION_COLUMNS]
    return [pd.factorize(node_values(log, name, nodes))[0] for name in names]


def clear_attribute(
    attributes: Sequence[IntArray], count: FloatArray, expected: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Each node's value of the clearest attribute, -1 if not compared, and its multiple of the mean; else -1 and one.

    That is the smallest p-value in F tests, where counts scatter between values as within them (quasi-Poisson): one
    node that fails often makes no bad rack. Multiples are shrunk by one over F (James and Stein).
    """
    least, best, usual = _SIZE / max(len(attributes), 1), np.full(count.size, -1), np.ones(count.size)
    for code in attributes:
        there, n_values = (code >= 0) & (expected > 0.0), code.max(initial=-1) + 1
        due = np.bincount(code[there], expected[there], n_values)
        compared = (np.bincount(code[there], minlength=n_values) >= _FEWEST_NODES) & (due >= _FEWEST_FAILURES)
        mine = there & np.append(compared, False)[code]
        value, did, should = (np.cumsum(compared) - 1)[code[mine]], count[mine], expected[mine]
        between, within = compared.sum() - 1, value.size - compared.sum()
        if between < 1:
            continue
        due, mean = due[compared], did.sum() / should.sum()
        own = np.bincount(value, did) / due
        scatter = max(((did - own[value] * should) ** 2 / should).sum() / mean / within, 1.0)
        f = ((own - mean) ** 2 * due).sum() / mean / between / scatter
        if (p := float(special.fdtrc(between, within, f))) < least:
            least, best, usual = p, np.full(count.size, -1), np.ones(count.size)
            best[mine], usual[mine] = value, own[value] + (mean - own[value]) / f
    return best, usual


def multiples_by_attribute(
    attributes: Sequence[IntArray], counts: FloatArray, exposure: FloatArray, days: float
) -> FloatArray:
    """Current multiple of the mean rate of each node's value of a clear attribute, else one; as `relative_rates`."""
    total = exposure.sum(axis=0)
    expected = exposure @ np.divide(counts.sum(axis=0), total, out=np.zeros(total.size), where=total > 0.0)
    value, usual = clear_attribute(attributes, counts.sum(axis=1), expected)
    if (mine := value >= 0).any():
        did, should = np.zeros((2, value.max() + 1, total.size))
        np.add.at(did, value[mine], counts[mine])
        np.add.at(should, value[mine], exposure[mine])
        usual[mine] = relative_rates(did, should, days).rate[value[mine]]
    return usual


def shrunk_to_values(
    fits: RenewalModels, scope: ScopeIncidents, attributes: Sequence[IntArray], rate: FloatArray
) -> RenewalModels:
    """Renewal models with nodes shrunk to the mean of their value of a clear attribute, not to that of all nodes."""
    usual, clear, system = np.ones(scope.system.size), np.zeros(scope.system.size, np.bool_), scope.system
    for mine in (system == each for each in np.flatnonzero(rate > 0.0)):  # systems, not nodes
        expected = scope.hours[mine] * rate[system[mine]]
        value, usual[mine] = clear_attribute([code[mine] for code in attributes], scope.count[mine], expected)
        clear[mine] = (value >= 0).any()
    if not clear.any():
        return fits
    lives, each = scope.lives, np.repeat(usual, scope.lives.sizes)
    entry = None if lives.entry is None else lives.entry * each
    alike = replace(lives, durations=lives.durations * each, entry=entry)  # times of nodes of the mean
    own = renewal_models(alike, system, n_groups=rate.size, level=fits.level, n_resamples=0).posterior
    own = np.where(np.isfinite(own), own, _EQUAL)
    own[:, 1] *= usual ** -fits.shape[system, 1]
    return replace(fits, posterior=np.where(clear[:, None], own, fits.posterior))
