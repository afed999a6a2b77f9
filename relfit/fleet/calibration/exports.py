"""Parameters for other tools: AIReSim's YAML, the options of LANL's BatSim driver, scipy.stats.

AIReSim (github.com/karthikp-ubc/airesim) reads a flat YAML of its parameters, times in minutes. LANL's driver of BatSim
(github.com/hpc/simulator) reads ``SMTBF`` and ``MTTR``, in seconds, from its JSON configuration; BatSim itself has the
options ``--SMTBF`` and ``--MTTR``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scipy

from relfit.base.errors import ArgumentError
from relfit.base.writing import complete
from relfit.fitting.families import family_named
from relfit.fleet.calibration.failures_by_scope import FailuresByScope
from relfit.fleet.calibration.schema import Parameters

if TYPE_CHECKING:
    from scipy.stats.distributions import rv_frozen

_MINUTES = 60.0
_SECONDS = 3600.0

# the parameters that a file may set, in any version of AIReSim
AIRESIM_KEYS = (
    *("random_failure_rate", "systematic_failure_rate_multiplier", "systematic_failure_fraction"),
    *("recovery_time", "host_selection_time", "job_size", "job_length"),
    *("warm_standbys", "working_pool_size", "spare_pool_size", "preemption_wait_time"),
    *("auto_repair_time", "manual_repair_time", "prob_auto_to_manual"),
    *("auto_repair_fail_prob", "manual_repair_fail_prob"),
    *("failure_distribution", "weibull_shape", "lognormal_sigma"),
    *("diagnosis_probability", "diagnosis_uncertainty", "bad_server_regeneration", "bad_server_regen_interval"),
    *("seed", "num_replications", "adaptive_replications", "confidence_level", "relative_accuracy", "max_replications"),
)


def airesim_values(parameters: Parameters) -> dict[str, float | str]:
    """The parameters in AIReSim's names and units: minutes, and failures per minute.

    A good server fails at the rate r, a bad one at r (1 + m), with a factor of 1 + m, so that the mean over all is that
    of single nodes (``mtbf.node``, else ``mtbf.outage``). AIReSim's repairs make a bad server good unless they fail; in
    a log bad nodes stay bad, so both kinds always fail. Every repair begins with the automatic one, so the manual one
    takes the difference between slow and quick; their mean is that of a node. Times are exponential: AIReSim redraws
    all at each restart, which changes any other rate.
    """
    failures = FailuresByScope.of_parameters(parameters)
    mtbf = failures.node.mtbf
    if mtbf is None:
        parameters.require("mtbf.node")
    fraction, factor = failures.bad_nodes or (0.0, 0.0)
    values: dict[str, float | str] = {}
    rate = 1.0 / (mtbf * _MINUTES)
    if factor >= 1.0:
        values["random_failure_rate"] = rate / (1.0 + fraction * (factor - 1.0))
        values |= {"systematic_failure_rate_multiplier": factor - 1.0, "systematic_failure_fraction": fraction}
        values |= {"auto_repair_fail_prob": 1.0, "manual_repair_fail_prob": 1.0}
    else:
        values |= {"random_failure_rate": rate, "systematic_failure_fraction": 0.0}
    values["failure_distribution"] = "exponential"
    quick, slow, share = failures.kinds or (0.0, 0.0, 0.0)
    if slow > quick:
        mean = share * quick + (1.0 - share) * slow
        scale = _MINUTES * (mean if failures.node.mttr is None else failures.node.mttr) / mean
        values["auto_repair_time"] = quick * scale
        values["manual_repair_time"] = (slow - quick) * scale
        values["prob_auto_to_manual"] = 1.0 - share
    elif failures.mttr is not None:
        values["auto_repair_time"] = failures.mttr * _MINUTES
        values["prob_auto_to_manual"] = 0.0
    return values


def to_airesim(parameters: Parameters, path: str | Path, **others: float | str | bool) -> Path:
    """Write a parameter file for AIReSim; parameters that are not known keep AIReSim's defaults.

    Parameters
    ----------
    parameters : Parameters
    path : str or Path
        A YAML file, written completely or not at all.
    **others
        Further parameters of AIReSim, such as ``job_size=1024``.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ArgumentError
        If the mean time between failures of a node is not known, or AIReSim has no such parameter.
    """
    for name in others:
        if name not in AIRESIM_KEYS:
            raise ArgumentError(f"AIReSim has no parameter {name!r}", remedy=f"it has {', '.join(AIRESIM_KEYS)}")
    values = {**airesim_values(parameters), **others}
    lines = ["# AIReSim parameters from relfit. Times are minutes, rates failures per minute."]
    lines += [f"# {line}" for line in _about(parameters)]
    lines += [f"# {line}" for line in _left_out(parameters)]
    if "auto_repair_time" not in values:
        lines.append("# Repair times are not known: AIReSim's defaults apply.")
    lines.append("# Pools, job and recovery are not in a failure log: AIReSim's defaults apply unless given here.")
    lines += [f"{name}: {_yaml(value)}" for name, value in values.items()]
    return _write("\n".join(lines) + "\n", Path(path))


def _left_out(parameters: Parameters) -> list[str]:
    """What AIReSim's parameters cannot express."""
    lines, failures, fitted = [], FailuresByScope.of_parameters(parameters), parameters.failure
    if failures.bad_nodes is not None and failures.bad_nodes[1] >= 1.0:
        lines.append("Repairs are set to fail: else they would make bad servers good, but those of the log stay bad.")
    if fitted is not None and fitted.family != "exponential":
        lines.append(
            f"The {fitted.family} family is left out: AIReSim draws all times to failure again at each restart."
        )
    if failures.wider:
        wider = ", ".join(scope.name for scope in failures.wider)
        lines.append(f"Failures of scope {wider} are left out: AIReSim has only those of single servers.")
    return lines


def _yaml(value: float | str | bool) -> str:
    """A scalar for YAML 1.1, whose numbers with an exponent need a point and a sign."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        text = repr(value)
        if "e" in text and "." not in text:
            text = text.replace("e", ".0e")
        return text
    return str(value)


def batsim_values(parameters: Parameters, nodes: int | None = None) -> dict[str, float | int]:
    """``SMTBF`` and ``MTTR`` in seconds, and ``nodes``, for LANL's driver of BatSim.

    A failure in BatSim hits one node. An incident of several nodes therefore counts once per node, in SMTBF (of any
    node) and in MTTR, so that the share of node-hours down agrees with the log.
    """
    count = nodes if nodes is not None else parameters.fleet.nodes
    if count is None or count < 1:
        raise ArgumentError("the number of nodes is not known", remedy="give nodes, or fleet.nodes in the file")
    params = parameters.values()
    if "mtbf.outage" in params:
        rate, repair = 1.0 / params["mtbf.outage"], params.get("mttr.outage", params.get("mttr.mean"))
    else:
        parameters.require("mtbf.node")
        scopes = [scope for scope in ("node", "rack", "system") if f"mtbf.{scope}" in params]
        rates = {scope: 1.0 / params[f"mtbf.{scope}"] for scope in scopes}
        rate = sum(rates.values())
        times = {scope: params.get(f"mttr.{scope}", params.get("mttr.mean")) for scope in scopes}
        repair = params.get("mttr.outage", params.get("mttr.mean"))
        if "mttr.outage" not in params and len(set(times.values())) > 1 and None not in times.values():
            repair = sum(rates[scope] * float(time or 0.0) for scope, time in times.items()) / rate
    values: dict[str, float | int] = {"SMTBF": _SECONDS / (rate * count)}
    if repair is not None:
        values["MTTR"] = repair * _SECONDS
    return {**values, "nodes": count}


def to_batsim(parameters: Parameters, path: str | Path, nodes: int | None = None) -> Path:
    """Write the failure options of LANL's BatSim.

    Parameters
    ----------
    parameters : Parameters
    path : str or Path
        ``.json``: keys for the ``input`` of the driver's configuration. Any other ending: one line of options for
        BatSim's command line.
    nodes : int, optional
        Number of nodes; that of ``parameters.fleet`` by default.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ArgumentError
        If the number of nodes or their mean time between failures is not known.
    """
    values = batsim_values(parameters, nodes)
    target = Path(path)
    if target.suffix.lower() == ".json":
        return _write(json.dumps(values, indent=4) + "\n", target)
    options = [f"--{name} {values[name]!r}" for name in ("SMTBF", "MTTR") if name in values]
    return _write(" ".join(options) + "\n", target)


def _generalised_gamma(mu: float, sigma: float, q: float) -> rv_frozen:
    if q == 0.0:
        return scipy.stats.lognorm(sigma, scale=math.exp(mu))
    return scipy.stats.gengamma(1.0 / q**2, q / sigma, scale=math.exp(mu + 2.0 * sigma / q * math.log(abs(q))))


SCIPY_FAMILIES: dict[str, Callable[..., rv_frozen]] = {
    "exponential": lambda rate: scipy.stats.expon(scale=1.0 / rate),
    "weibull": lambda shape, scale: scipy.stats.weibull_min(shape, scale=scale),
    "gamma": lambda shape, scale: scipy.stats.gamma(shape, scale=scale),
    "lognormal": lambda meanlog, sdlog: scipy.stats.lognorm(sdlog, scale=math.exp(meanlog)),
    "loglogistic": lambda shape, scale: scipy.stats.fisk(shape, scale=scale),
    "generalised_gamma": _generalised_gamma,
    "inverse_gaussian": lambda mean_life, shape: scipy.stats.invgauss(mean_life / shape, scale=shape),
    "birnbaum_saunders": lambda shape, scale: scipy.stats.fatiguelife(shape, scale=scale),
    "gompertz": lambda rate, growth: scipy.stats.gompertz(rate / growth, scale=1.0 / growth),
    "weibull3": lambda shape, scale, threshold: scipy.stats.weibull_min(shape, loc=threshold, scale=scale),
}


def scipy_distribution(family: str, parameters: Mapping[str, float]) -> rv_frozen:
    """The frozen scipy.stats distribution of a relfit distribution; times are hours.

    Parameters
    ----------
    family : str
        Name of the distribution.
    parameters : mapping of str to float
        Its parameters by name.

    Raises
    ------
    ArgumentError
        For a distribution that relfit or scipy does not have.

    Examples
    --------
    >>> scipy_distribution("weibull", {"shape": 0.8, "scale": 1000.0}).sf(100.0).round(4).item()
    0.8534
    """
    name = family_named(family).name
    if name not in SCIPY_FAMILIES:
        raise ArgumentError(f"scipy has no {name} distribution", remedy=f"it has {', '.join(SCIPY_FAMILIES)}")
    return SCIPY_FAMILIES[name](**parameters)


def to_scipy(parameters: Parameters, path: str | Path) -> Path:
    """Write a Python module with scipy.stats distributions of the times to failure and to repair, in hours.

    ``failure`` and ``repair`` are the fitted distributions if scipy has them, else exponentials with the calibrated
    means ``mtbf.node`` (else ``mtbf.outage``) and ``mttr.mean``. The distributions are scaled to these means. The
    module needs only scipy.

    Parameters
    ----------
    parameters : Parameters
    path : str or Path
        A Python file, written completely or not at all.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    ArgumentError
        If neither time is known.

    Examples
    --------
    >>> written = to_scipy(Parameters(mtbf="20000h", mttr="24h"), "distributions.py")
    >>> print(written.read_text().splitlines()[-1])
    repair = stats.expon(scale=24.0)
    """
    params = parameters.values()
    lines = []
    for name, fitted, mean in (
        ("failure", parameters.failure, params.get("mtbf.node", params.get("mtbf.outage"))),
        ("repair", parameters.repair, params.get("mttr.mean")),
    ):
        if fitted is not None and fitted.family in SCIPY_FAMILIES:
            frozen: Any = scipy_distribution(fitted.family, fitted.parameters)
            own = float(frozen.mean())
            factor = mean / own if mean is not None and 0.0 < own < math.inf else 1.0
            numbers = [repr(float(value)) for value in frozen.args]
            numbers += [
                f"{key}={float(value) * (factor if key in ('loc', 'scale') else 1.0)!r}"
                for key, value in frozen.kwds.items()
            ]
            lines.append(f"{name} = stats.{frozen.dist.name}({', '.join(numbers)})")
        elif mean is not None:
            lines.append(f"{name} = stats.expon(scale={mean!r})")
    if not lines:
        raise ArgumentError("no time to failure or to repair is known", remedy="calibrate a log, or give mtbf")
    head = (
        '"""Distributions of times to failure and to repair, in hours, from relfit."""\n\nfrom scipy import stats\n\n'
    )
    return _write(head + "\n".join(lines) + "\n", Path(path))


def _about(parameters: Parameters) -> list[str]:
    """The source of the parameters, as lines of a comment."""
    lines = [parameters.headline]
    source: Any = parameters.provenance
    if source is not None and source.files:
        lines.append(f"from {', '.join(source.files)}" + (f", sha256 {source.sha256[0]}" if source.sha256 else ""))
    return ["".join(c if c.isprintable() else "?" for c in line) for line in lines]


def _write(text: str, path: Path) -> Path:
    with complete(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")
    return path
