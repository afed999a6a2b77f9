"""`Parameters`: the parameters of a cluster for planners, checked when they are read.

Every part may be missing; `absent` says why a log could not give it. One line is enough: ``mtbf = "20000h"``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Annotated, Any, Literal, Self

import numpy as np
import pandas as pd
from pydantic import Field, Strict, ValidationError, model_validator

from relfit.base.errors import ArgumentError
from relfit.fitting.families import Family, family_named
from relfit.fleet.calibration.parameter_values import Count, Duration, Model, Number, Quantity, Ratio, Share, rejection
from relfit.fleet.calibration.validation_errors import ParameterError

_SCOPE_NAMES = {"tray": "node", "server": "node"}
Part = Annotated[float, Strict(), Field(gt=0.0, le=1.0)]
_OF_A_DURATION = {"value", "unit", "low", "high", "events", "exposure"}  # a table with one of these is a duration


class Mtbf(Model):
    """Mean times between failures, by scope.

    `node`, `rack`, `group` and `system` count each incident once, by its scope. `any` and `outage` count the same
    incidents together, so a planner uses either the former or the latter.
    """

    node: Duration | None = Field(None, description="of one node (tray, server), by incidents that hit it alone")
    rack: Duration | None = Field(None, description="of one rack, by incidents that hit several of its nodes only")
    group: Duration | None = Field(None, description="of one system, by incidents of several nodes, not of one rack")
    system: Duration | None = Field(None, description="of one system, by incidents that hit half of it or more")
    any: Duration | None = Field(None, description="of one system, by incidents of any scope")
    outage: Duration | None = Field(None, description="of one node, by all its outages, of whole systems too")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, data: object) -> Any:
        if isinstance(data, Mapping) and not _OF_A_DURATION.isdisjoint(data):
            return {"node": data}
        if isinstance(data, Mapping):
            for other, name in _SCOPE_NAMES.items():
                if other in data and name in data:
                    raise rejection(f"{other} and {name} are the same scope", at=other, remedy="give one of them")
            return {_SCOPE_NAMES.get(key, key): value for key, value in data.items()}
        return data if isinstance(data, Mtbf) else {"node": data}


class Mttr(Model):
    """Mean times to repair: of all repairs, by scope, and of quick (automatic) and slow (manual) ones."""

    mean: Duration | None = Field(None, description="of all repairs together")
    node: Duration | None = Field(None, description="of incidents that hit one node, until it is back")
    rack: Duration | None = Field(None, description="of incidents of one rack, until the last node is back")
    group: Duration | None = Field(None, description="of incidents of several other nodes, until the last is back")
    system: Duration | None = Field(None, description="of incidents of a whole system, until the last node is back")
    rack_node: Duration | None = Field(None, description="of one node that an incident of a rack hit")
    group_node: Duration | None = Field(None, description="of one node that an incident of several other nodes hit")
    outage: Duration | None = Field(None, description="of one node, over all its outages, of whole systems too")
    quick: Duration | None = Field(None, description="mean of quick repairs, such as a reboot")
    slow: Duration | None = Field(None, description="mean of slow repairs, such as a replacement by hand")
    share_quick: Share | None = Field(None, description="share of repairs that are quick")
    split: Duration | None = Field(None, description="a repair longer than this is more likely a slow one")
    correlation: list[list[Number]] | None = Field(
        None, description="correlation of the estimates of share_quick, quick and slow, on the logit and log scales"
    )

    @model_validator(mode="before")
    @classmethod
    def _short(cls, data: object) -> Any:
        if isinstance(data, Mapping) and not _OF_A_DURATION.isdisjoint(data):
            return {"mean": data}
        if isinstance(data, Mapping):
            return {_SCOPE_NAMES.get(key, key): value for key, value in data.items()}
        return data if isinstance(data, Mttr) else {"mean": data}

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        quick, slow = value_of(self.quick), value_of(self.slow)
        if quick is not None and slow is not None and quick > slow:
            raise rejection(f"quick repairs ({quick:g} h) take longer than slow ones ({slow:g} h)", at="quick")
        if self.correlation is not None:
            _check_covariance(self.correlation, 3, "correlation")
            if any(abs(row[i] - 1.0) > 1e-9 for i, row in enumerate(self.correlation)):
                raise rejection("the diagonal of the correlation is not 1", at="correlation", remedy="leave it out")
        return self

    @property
    def overall(self) -> float | None:
        """Mean of all repairs in hours: `mean`, else from `quick`, `slow` and `share_quick`; None if unknown."""
        mean, quick, slow, share = (value_of(x) for x in (self.mean, self.quick, self.slow, self.share_quick))
        if mean is not None or quick is None or slow is None or share is None:
            return mean
        return share * quick + (1.0 - share) * slow


class FittedFamily(Model):
    """A distribution of times to failure or to repair, with the uncertainty of the fit."""

    family: str = Field(description="name of the distribution, such as weibull; see rf.families")
    parameters: dict[str, Number] = Field(description="its parameters by name, times in hours")
    low: dict[str, Number] | None = Field(None, description="lower limits by name")
    high: dict[str, Number] | None = Field(None, description="upper limits by name")
    level: Annotated[float, Strict(), Field(gt=0.0, lt=1.0)] | None = Field(None, description="level of the limits")
    covariance: list[list[Number]] | None = Field(None, description="covariance, in the order of the parameters")
    unit: Literal["hours"] = Field("hours", description="unit of time in the parameters; only hours")
    events: Count | None = Field(None, description="failures or completed repairs behind the fit")
    censored: Count | None = Field(None, description="censored times")
    dispersion: Annotated[float, Strict(), Field(ge=1.0, allow_inf_nan=False)] | None = Field(
        None, description="factor by which the covariance was widened because times of one node depend on each other"
    )
    spread: Annotated[float, Strict(), Field(ge=0.0, allow_inf_nan=False)] | None = Field(
        None, description="variance of the frailty of nodes, a gamma factor of mean one on the hazard of each"
    )
    mean: Duration | None = Field(None, description="mean of the fitted distribution")
    method: str | None = Field(None, description="how it was fitted, and among which distributions it was chosen")

    @model_validator(mode="after")
    def _possible(self) -> Self:
        try:
            kind = family_named(self.family)
        except ArgumentError as error:
            raise rejection(error.what, at="family", remedy=error.remedy) from None
        names = kind.parameter_names()
        for key in ("parameters", "low", "high"):
            matrix = getattr(self, key)
            for name in matrix or ():
                if name not in names:
                    wanted = f"{kind.name} has {', '.join(names)}"
                    raise rejection(f"unknown parameter {name!r}", at=f"{key}.{name}", remedy=wanted)
        missing = [name for name in names if name not in self.parameters]
        if missing:
            raise rejection(f"{kind.name} needs {missing[0]}", at="parameters", remedy=f"give {', '.join(names)}")
        try:
            kind(**{name: self.parameters[name] for name in names})
        except ArgumentError as error:
            bad = next((n for n in names if error.what.startswith(f"{n} of")), None)
            raise rejection(error.what, at=f"parameters.{bad}" if bad else "parameters", remedy=error.remedy) from None
        for name in names:
            low, high = (self.low or {}).get(name), (self.high or {}).get(name)
            value = self.parameters[name]
            if (low is not None and low > value) or (high is not None and high < value):
                side = "low" if low is not None and low > value else "high"
                raise rejection(f"{side} of {name} is on the wrong side of {value:g}", at=f"{side}.{name}")
        if self.covariance is not None:
            _check_covariance(self.covariance, len(names), "covariance")
        return self

    def distribution(self) -> Family:
        """The distribution, as one of `rf.families`.

        Examples
        --------
        >>> FittedFamily(family="weibull", parameters={"shape": 0.8, "scale": 1000.0}).distribution()
        Weibull(shape=0.8, scale=1000)
        """
        kind = family_named(self.family)
        return kind(**{name: self.parameters[name] for name in kind.parameter_names()})


class BadNodes(Model):
    """A class of nodes that fail more often than the others."""

    fraction: Share | None = Field(None, description="share of the nodes that are bad")
    factor: Ratio | None = Field(None, description="how many times as often a bad node fails as a good one")
    good_mtbf: Duration | None = Field(None, description="mean time between outages of a good node")
    p: Annotated[float, Strict(), Field(ge=0.0, le=1.0)] | None = Field(
        None, description="p-value of one class of nodes against two"
    )


class Check(Model):
    """An assumption of planners, and what the log shows about it."""

    name: str = Field(description="dependence.<part>, trend or dispersion")
    concern: bool = Field(description="whether the log contradicts the assumption")
    finding: str = Field(description="the result, in a sentence")


class Fleet(Model):
    """The size of the fleet under observation, and how failures of racks and groups hit jobs."""

    nodes: Count | None = Field(None, description="nodes")
    racks: Count | None = Field(None, description="racks")
    systems: Count | None = Field(None, description="systems")
    nodes_now: Count | None = Field(None, description="nodes in service now, if not all are")
    systems_now: Count | None = Field(None, description="systems in service now, if not all are")
    rack_share: Part | None = Field(None, description="share of a rack's nodes that its incidents hit; or all")
    group_share: Part | None = Field(None, description="share of all nodes that incidents of a group hit; or all")
    group_hits: list[tuple[Count, Number, Number]] | None = Field(
        None, description="size of jobs on consecutive nodes, share of group incidents that hit one, share of time up"
    )
    job_failures: list[tuple[Count, Number]] | None = Field(None, description="size, failures relative to mtbf")
    down_scatter: Ratio | None = Field(None, description="relative variance of the level of nodes down in common")


class PeriodUsed(Model):
    """The part of the log that the parameters come from."""

    name: str = Field(description="of the stable period (steady, ...); given; or all")
    start: dt.datetime | None = Field(None, description="its start, UTC")
    end: dt.datetime | None = Field(None, description="its end, UTC")
    hours: Annotated[float, Strict(), Field(ge=0.0, allow_inf_nan=False)] | None = Field(None, description="its length")
    finding: str | None = Field(None, description="why this part, in a sentence")


class Censoring(Model):
    """Numbers of complete and censored durations."""

    times_to_failure: Count | None = Field(None, description="times to failure")
    times_to_failure_censored: Count | None = Field(None, description="of them, censored by the end of observation")
    outages: Count | None = Field(None, description="outages of nodes")
    outages_censored: Count | None = Field(None, description="of them, censored by an end of observation")
    zero_times_to_failure: Count | None = Field(None, description="times to failure of zero, left out of the fits")
    zero_repairs: Count | None = Field(None, description="repairs of zero length, left out of the fits")
    begun_before: Count | None = Field(None, description="outages that began before observation")
    ends_unknown: Count | None = Field(None, description="outages of unknown end, without a repair time")


class Provenance(Model):
    """Where the parameters come from."""

    files: list[str] = Field(default_factory=list, description="names of the log's files")
    sha256: list[str] = Field(default_factory=list, description="hashes of their contents")
    format: str | None = Field(None, description="format of the log")
    rows_read: Count | None = Field(None, description="rows in the log")
    rows_rejected: Count | None = Field(None, description="of them, rejected")
    selection: list[str] = Field(default_factory=list, description="the part of the log that was selected")
    window: float | None = Field(None, description="hours within which records were joined to incidents")
    relfit: str | None = Field(None, description="version of relfit")
    created: dt.datetime | None = Field(None, description="when, UTC")


class Parameters(Model):
    """The parameters of a cluster, checked.

    All parts are optional keywords; durations are text (``"20000h"``), hours, or tables as in a parameter file.

    Examples
    --------
    >>> known = Parameters(mtbf="20000h", mttr={"value": 1, "unit": "days"})
    >>> known.mtbf.node.value, known.mttr.mean.value
    (20000.0, 24.0)
    >>> known
    Parameters: mtbf.node 20000 h (uncertainty unknown), mttr.mean 24 h (uncertainty unknown)
    """

    version: Literal[2] = Field(2, description="version of this schema")
    name: str | None = Field(None, description="name of the cluster")
    mtbf: Mtbf = Field(default_factory=lambda: Mtbf(), description="mean times between failures")
    mttr: Mttr = Field(default_factory=lambda: Mttr(), description="mean times to repair")
    failure: FittedFamily | None = Field(None, description="distribution of the times to failure of one node")
    repair: FittedFamily | None = Field(None, description="distribution of the times to repair")
    bad_nodes: BadNodes = Field(default_factory=lambda: BadNodes(), description="nodes that fail more often")
    fleet: Fleet = Field(default_factory=lambda: Fleet(), description="size of the fleet under observation")
    period: PeriodUsed | None = Field(None, description="the part of the log that was used")
    censoring: Censoring = Field(default_factory=lambda: Censoring(), description="numbers of censored durations")
    checks: list[Check] = Field(default_factory=list, description="assumptions, and what the log shows about them")
    absent: dict[str, str] = Field(default_factory=dict, description="what could not be estimated, and why")
    provenance: Provenance | None = Field(None, description="the source of the parameters")

    def __init__(self, /, **values: object) -> None:
        """Check the values.

        Raises
        ------
        ParameterError
            For an invalid value, with its dotted name; an `ArgumentError`.
        """
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ParameterError(error, Parameters) from None

    def quantities(self) -> Iterator[tuple[str, Quantity]]:
        """All durations, shares and ratios that are known, each with its dotted name."""
        for part in ("mtbf", "mttr", "bad_nodes", "fleet"):
            model = getattr(self, part)
            for name in type(model).model_fields:
                quantity = getattr(model, name)
                if isinstance(quantity, Quantity):
                    yield f"{part}.{name}", quantity

    def families(self) -> Iterator[tuple[str, FittedFamily]]:
        """``failure`` and ``repair`` with their distributions, as far as they are known."""
        for name in ("failure", "repair"):
            family = getattr(self, name)
            if family is not None:
                yield name, family

    def values(self) -> dict[str, float]:
        """Estimates by dotted name, as in `draw_parameters`; quantities with only a limit are left out.

        Examples
        --------
        >>> Parameters(mtbf={"tray": "20000h", "rack": "10000h"}).values()
        {'mtbf.node': 20000.0, 'mtbf.rack': 10000.0}
        """
        values = {name: quantity.value for name, quantity in self.quantities() if quantity.value is not None}
        overall = self.mttr.overall
        if overall is not None:
            values.setdefault("mttr.mean", overall)
        for name, family in self.families():
            values |= {f"{name}.{key}": value for key, value in family.parameters.items()}
        return values

    def require(self, *names: str) -> tuple[float, ...]:
        """Estimates by dotted name.

        Raises
        ------
        ArgumentError
            For a missing one; the error says why, if the file does.

        Examples
        --------
        >>> Parameters(mtbf="20000h").require("mtbf.node")
        (20000.0,)
        >>> Parameters(mtbf="20000h").require("mtbf.node", "mttr.mean")
        Traceback (most recent call last):
        relfit.base.errors.ArgumentError: these parameters have no mttr.mean; give it in the file
        """
        values = self.values()
        for name in names:
            if name not in values:
                limit = dict(self.quantities()).get(name)
                why = self.absent.get(name)
                if limit is not None:
                    why = f"only a limit is known: {_text(limit)}"
                what = f"these parameters have no {name}" + (f" ({why})" if why else "")
                raise ArgumentError(what, remedy="give it in the file")
        return tuple(values[name] for name in names)

    @property
    def unknown_uncertainty(self) -> tuple[str, ...]:
        """Names of values without an uncertainty, which keep one value in all draws."""
        names = [name for name, quantity in self.quantities() if not quantity.uncertain]
        return (*names, *(name for name, family in self.families() if family.covariance is None))

    @property
    def at(self) -> str:
        """``now`` or ``long run``, as `relfit.calibrate` takes it; empty where no log gave mean times to failure."""
        how = [quantity.method or "" for name, quantity in self.quantities() if name.startswith("mtbf.")]
        now = any(method.startswith(Quantity.of_now) for method in how)
        return "" if self.provenance is None or not how else "now" if now else "long run"

    @property
    def title(self) -> str:
        """What they are in a sentence, such as ``current parameters of white``."""
        kind = {"now": "current ", "long run": "long-run "}.get(self.at, "")
        return f"{kind}parameters" + (f" of {self.name}" if self.name else "")

    @property
    def warnings(self) -> tuple[str, ...]:
        """Findings that contradict assumptions of planners."""
        return tuple(check.finding for check in self.checks if check.concern)

    @property
    def headline(self) -> str:
        """Mean times between failures and to repair, in one line."""
        shown = [f"{name} {_text(quantity)}" for name, quantity in self.quantities() if name.startswith("mt")]
        return ", ".join(shown) or "no parameters are known"

    def to_frame(self) -> pd.DataFrame:
        """One row per quantity: ``name``, ``value``, ``low``, ``high``, ``level``, ``events``, ``unit``, ``note``."""
        rows: list[tuple[Any, ...]] = []
        for name, quantity in self.quantities():
            unit = "h" if isinstance(quantity, Duration) else ""
            note = quantity.method or ("" if quantity.uncertain else "uncertainty unknown")
            numbers = quantity.value, quantity.low, quantity.high, quantity.level, quantity.events
            rows.append((name, *numbers, unit, note))
        for name, family in self.families():
            for key, value in family.parameters.items():
                ends = (family.low or {}).get(key), (family.high or {}).get(key)
                note = f"{family.family}" + ("" if family.covariance is not None else ", uncertainty unknown")
                rows.append((f"{name}.{key}", value, *ends, family.level, family.events, "", note))
        columns = ["name", "value", "low", "high", "level", "events", "unit", "note"]
        frame = pd.DataFrame(rows, columns=columns)
        return frame.astype(dict.fromkeys(columns[1:5], float) | {"events": "Int64"})

    def to_dict(self) -> dict[str, Any]:
        """The parameters as nested dicts, ready for JSON, without missing ones."""
        table: dict[str, Any] = plain(self, json=True)
        return table

    def __repr__(self) -> str:
        return f"Parameters: {self.headline}"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        table = self.to_frame().to_html(escape=True, index=False, float_format="{:.4g}".format, na_rep="")
        missing = "".join(f"<li>{escape(k)}: {escape(v)}</li>" for k, v in self.absent.items())
        said = "".join(f"<li>{escape(text)}</li>" for text in self.warnings)
        return f"<p>{escape(repr(self))}</p>{table}<ul>{said}{missing}</ul>"


@dataclass
class Estimated:
    """Of one part of a calibration: values by field of `Parameters`, reasons for missing ones, and checks."""

    fields: dict[str, Any] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    checks: list[Check] = field(default_factory=list)


def plain(value: object, *, json: bool) -> Any:
    """A model as tables, lists and values, without missing and empty ones."""
    if isinstance(value, Model):
        table = {name: plain(getattr(value, name), json=json) for name in type(value).model_fields}
        return {name: v for name, v in table.items() if v is not None and (v or not isinstance(v, (dict, list)))}
    if isinstance(value, dict):
        return {key: plain(inner, json=json) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner, json=json) for inner in value]
    return value.isoformat() if isinstance(value, dt.datetime) and json else value


def value_of(quantity: Quantity | None) -> float | None:
    """The value of a quantity; None if there is none."""
    return None if quantity is None else quantity.value


def _text(quantity: Quantity) -> str:
    unit = " h" if isinstance(quantity, Duration) else ""
    if quantity.value is None:
        return f"above {quantity.low:.6g}{unit}" if quantity.low is not None else f"below {quantity.high:.6g}{unit}"
    if quantity.low is not None and quantity.high is not None:
        return f"{quantity.value:.6g}{unit} ({quantity.low:.6g} to {quantity.high:.6g})"
    return f"{quantity.value:.6g}{unit}" + ("" if quantity.uncertain else " (uncertainty unknown)")


def _check_covariance(rows: list[list[float]], size: int, key: str) -> None:
    if len(rows) != size or any(len(row) != size for row in rows):
        raise rejection(f"the {key} is not {size} by {size}", at=key)
    matrix = np.asarray(rows)
    scale = np.sqrt(np.abs(np.diag(matrix)))
    scale = np.where(scale > 0.0, scale, 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        relative = matrix / scale / scale[:, None]
    if np.any(np.diag(matrix) < 0.0) or not np.allclose(relative, relative.T, atol=1e-6):
        raise rejection(f"the {key} is not symmetric with variances of zero or more", at=key)
    if np.linalg.eigvalsh(0.5 * (relative + relative.T)).min() < -1e-6:
        raise rejection(f"the {key} is not that of any distribution", at=key, remedy="leave it out")
