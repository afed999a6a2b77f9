"""Files for Slurm from a log: weights, features and a drain list, to review before use.

Names come from a log: one that is no plain host name never gets into a file that a shell or Slurm reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relfit.base.errors import ArgumentError, DataError, Remedy
from relfit.base.results import Result
from relfit.base.text import count, number
from relfit.base.writing import check_writable, complete
from relfit.fleet._fleet_model import fleet_model
from relfit.log.failurelog import FailureLog
from relfit.log.tables import NOT_SEEN, check_log

_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_RESERVED = ("all", "default", "localhost")
"""Words that Slurm, in any case, does not read as a node of that name in ``NodeName=``: all nodes, defaults of the
lines that follow, and the host that reads the file."""
_AVERAGE = 100  # weight of a node with the mean failure rate
_HEAVIEST = 60_000
_FEATURES = ("mtbf_high", "mtbf_mid", "mtbf_low")
_LONGEST_REASON = 200
_HEAD = (
    "# Written by relfit from a failure log. Review it before use.\n"
    "# Slurm takes nodes of a lower weight first; {average} is a node of mean failure rate.\n"
)


def slurm_nodes(
    log: FailureLog,
    *,
    period: str | tuple[object, object] = "stable",
    first: str = "known",
    rng: int | np.random.Generator | None = 0,
) -> SlurmNodes:
    """Weights, features and a drain list for Slurm, from the current failure rates of the nodes at the end of a log.

    Nodes to drain are those to check (`FleetModel.nodes_now`).

    Parameters
    ----------
    log : FailureLog
        Of one system, or of systems whose nodes all have different names.
    period, first
        As for `relfit.fleet_model`.
    rng : int or numpy.random.Generator
        For the search for the stable period.

    Raises
    ------
    ArgumentError
        If two systems have nodes with the same name.
    DataError
        If no node was under observation at the end, no name is a valid host name, or only nodes that failed are known.

    Examples
    --------
    >>> import relfit as rf
    >>> nodes = slurm_nodes(rf.datasets.load("white"), period=("2003-04-01", "2004-10-01"))
    >>> nodes.table[["node", "feature"]].iloc[0].tolist(), int(nodes.table["weight"].iloc[0])
    (['n000', 'mtbf_mid'], 91)
    """
    check_log(log)
    model = fleet_model(log, period, first=first, rng=rng)
    names = model.places.nodes.get_level_values(-1).astype(str)
    if not names.is_unique:
        remedy = Remedy("select one: log.where(system=...)", "select one: --where system=NAME")
        raise ArgumentError("two systems have nodes of one name", remedy=remedy)
    present = model.standing.present
    if not present.any():
        raise DataError("no node was under observation at the end of the period", remedy="choose another period")
    now, ended = model.nodes_now(), model.period.log.window.end
    usable = np.array([is_host(name) for name in names])
    rates = model.node_rates
    mean = float(rates[present].mean())
    table = pd.DataFrame({"node": names, "rate": rates})[present & usable].reset_index(drop=True)
    if not len(table):
        raise DataError("no node has a host name", remedy="names may contain only letters, digits, dots and hyphens")
    relative = table["rate"] / mean if mean > 0.0 else table["rate"] * 0.0 + 1.0
    table["mtbf_hours"] = np.where(table["rate"] > 0.0, 1.0 / table["rate"].where(table["rate"] > 0.0), np.inf)
    table["weight"] = np.clip((_AVERAGE * relative).round(), 1, _HEAVIEST).astype(int)
    third, two = table["rate"].quantile([1.0 / 3.0, 2.0 / 3.0])
    alike = bool(np.ptp(table["rate"].to_numpy()) <= 1e-9 * mean)
    code = np.ones(len(table), np.int64) if alike else np.searchsorted([third, two], table["rate"], side="left")
    table["feature"] = np.array(_FEATURES, dtype=object)[code]
    own = now.assign(node=now["node"].astype(str)).set_index("node").reindex(table["node"])
    for column in ("factor", "factor_low", "factor_high", "lately"):
        table[column] = own[column].to_numpy()
    table["drain"] = own["check"].to_numpy(bool)
    table["reason"] = [plain_reason(_why(row, ended)) if row.check else "" for row in own.itertuples()]
    return SlurmNodes(table, tuple(names[present & ~usable]), f"{ended:%Y-%m-%d}")


def _why(row: Any, ended: pd.Timestamp) -> str:
    """Why a node should be drained."""
    low, high = number(row.factor_low, 2), number(row.factor_high, 2)
    rate = f"fails {number(row.factor, 2)} times the mean, {low}-{high}" if row.outlier else ""
    return f"relfit: {', '.join(filter(None, [rate, row.lately]))}, as of {ended:%Y-%m-%d}"


def is_host(name: str) -> bool:
    """Whether Slurm reads a name as that of one host."""
    return _HOST.fullmatch(name) is not None and name.lower() not in _RESERVED


def plain_reason(text: str) -> str:
    """The text with all but letters, digits and a few signs replaced, cut to the longest reason."""
    return re.sub(r"[^A-Za-z0-9 .,:%/-]", "?", text)[:_LONGEST_REASON]


class SlurmNodes(Result):
    """Weights, features and a drain list for Slurm; made by `slurm_nodes`.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per node: ``node``, ``rate`` (failures per operating hour, given its history), ``mtbf_hours``,
        ``weight`` (100 times its rate over the mean; Slurm prefers low ones), ``feature`` (``mtbf_high``,
        ``mtbf_mid``, ``mtbf_low``: a third of the nodes each), ``factor`` (times the mean) with ``factor_low`` and
        ``factor_high``, ``lately`` (what an alarm says of it), ``drain``, ``reason``.
    skipped : tuple of str
        Nodes whose names are no host names, or reserved by Slurm (``ALL``, ``DEFAULT``, ``localhost``).
    span : str
        The date of the end of the log.
    """

    table: pd.DataFrame
    skipped: tuple[str, ...]
    span: str

    _frame = "table"

    @property
    def drain(self) -> pd.DataFrame:
        """The nodes to drain, highest rate first."""
        return self.table[self.table["drain"]].sort_values("rate", ascending=False, kind="stable")

    @property
    def headline(self) -> str:
        """How many nodes have which weights, and how many should be drained."""
        low, high = int(self.table["weight"].min()), int(self.table["weight"].max())
        if low == high:
            text = f"{count(len(self.table), 'node does', 'nodes do')} not differ: all have the weight {low}"
        else:
            text = f"{count(len(self.table), 'node')} have weights from {low} to {high} (100 is the mean failure rate)"
        drained = len(self.drain)
        return f"{text}; {count(drained, 'node')} to drain, as of {self.span}."

    @property
    def findings(self) -> tuple[str, ...]:
        """The headline, and how many nodes were left out."""
        return (self.headline, f"{self._left_out}.") if self.skipped else (self.headline,)

    @property
    def _left_out(self) -> str:
        unnamed = sum(str(name).startswith(NOT_SEEN) for name in self.skipped)
        others = len(self.skipped) - unnamed
        whose = "whose name is not a host name" if others == 1 else "whose names are not host names"
        texts = [f"{count(unnamed, 'node')} that no record names"] if unnamed else []
        texts += [f"{count(others, 'node')} {whose} or a word of Slurm's own"] if others else []
        return f"Left out: {' and '.join(texts)}"

    def write(self, folder: str | Path) -> list[Path]:
        """Write ``nodes.conf``, ``weights.sh``, ``features.sh``, ``drain.sh`` and ``nodes.csv``.

        Parameters
        ----------
        folder : str or Path
            Created if missing.

        Returns
        -------
        list of Path
            The files written.

        Raises
        ------
        ArgumentError
            If the folder cannot be written.
        """
        place = Path(folder)
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ArgumentError(f"cannot make the folder {place}: {error.strerror}", remedy="choose another") from error
        check_writable(place / "nodes.csv")
        head = _HEAD.format(average=_AVERAGE) + (f"# {self._left_out}.\n" if self.skipped else "")
        script = f"#!/bin/sh\n{head}"
        update, by_both = "scontrol update NodeName=", self.table.groupby(["weight", "feature"], sort=True)["node"]
        by_weight = self.table.groupby("weight", sort=True)["node"]
        by_feature = self.table.groupby("feature", sort=True)["node"]
        lines = [f"NodeName={hostlist(nodes)} Weight={w} Feature={f}" for (w, f), nodes in by_both]
        conf = f"{head}# Lines to merge with those of slurm.conf, which say what else these nodes have.\n"
        weights = [f"{update}{hostlist(nodes)} Weight={weight}" for weight, nodes in by_weight]
        both = ((name, hostlist(nodes)) for name, nodes in by_feature)
        features = [f"{update}{nodes} AvailableFeatures={name} ActiveFeatures={name}" for name, nodes in both]
        drains = [f'{update}{row.node} State=DRAIN Reason="{row.reason}"' for row in self.drain.itertuples()]
        note = "# These replace the features that the nodes have: add those to keep.\n"
        texts = {
            "nodes.conf": conf + _joined(lines),
            "weights.sh": script + _joined(weights),
            "features.sh": script + note + _joined(features),
            "drain.sh": script + _joined(drains),
        }
        for name, text in texts.items():
            with complete(place / name) as part:
                part.write_text(text, encoding="ascii")
        with complete(place / "nodes.csv") as part:
            self.table.to_csv(part, index=False)
        return [*(place / name for name in texts), place / "nodes.csv"]


def _joined(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def hostlist(names: Iterable[str]) -> str:
    """Host names as a Slurm host list, as ``n[001-003,010],login``; an `ArgumentError` for other names."""
    plain: list[str] = []
    numbered: dict[tuple[str, int], list[int]] = {}
    for name in dict.fromkeys(names):
        if not is_host(name):
            raise ArgumentError(f"{name!r} is not a host name")
        match = re.fullmatch(r"(.*?[A-Za-z._-])([0-9]{1,9})", name)
        if match is None:
            plain.append(name)
        else:
            numbered.setdefault((match.group(1), len(match.group(2))), []).append(int(match.group(2)))
    parts = []
    for (prefix, width), values in sorted(numbered.items()):
        if len(values) == 1:
            plain.append(f"{prefix}{values[0]:0{width}d}")
            continue
        each = np.sort(values)
        runs = np.split(each, np.flatnonzero(np.diff(each) > 1) + 1)
        shown = ["-".join(f"{value:0{width}d}" for value in dict.fromkeys((run[0], run[-1]))) for run in runs]
        parts.append(f"{prefix}[{','.join(shown)}]")
    return ",".join([*parts, *sorted(plain)])
