"""`load`: the content of a campaign's store as tables: cells with means and intervals, curves, maps."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from relfit.base.arrays import FloatArray
from relfit.base.errors import ArgumentError
from relfit.base.results import Result
from relfit.base.text import count, duration, duration_interval, number, rounded_interval
from relfit.base.units import quantity
from relfit.base.writing import complete
from relfit.simulation.campaigns.campaign import Until
from relfit.simulation.campaigns.campaign_store import CampaignStore
from relfit.simulation.engine.replications import alike, row_means, row_statistics

_GROWTH = 1.25
_TENTHS = 10


class CampaignResults(Result):
    """The results of a campaign, complete or so far.

    Attributes
    ----------
    campaign : dict
        The keys of its file; ``configured`` has the configuration's values of the parameters, ``base`` what all cells
        have in common.
    cells : pandas.DataFrame
        One row per cell, in the order of the campaign: ``experiment``, and a column per parameter (NaN or None where
        the cell has the configuration's value). `cell` is the index; two experiments may share a cell.
    runs : pandas.DataFrame
        One row per run: ``cell``, ``replication``, and every output.
    failed : pandas.DataFrame
        ``cell``, ``replication`` and ``error`` of the runs that failed.
    output : str
        Output of the headline, and the default of methods and figures.
    missing : int
        Runs that are still to be done.
    notes : tuple of str
        Cells that no longer belong to the campaign, and files that could not be read.
    """

    campaign: dict[str, Any]
    cells: pd.DataFrame
    runs: pd.DataFrame
    failed: pd.DataFrame
    output: str
    missing: int
    notes: tuple[str, ...] = ()

    _not_in_json: ClassVar[tuple[str, ...]] = ("runs",)

    def _repr_html_(self) -> str:
        sentences = "".join(f"<p>{escape(text)}</p>" for text in self.findings)
        return sentences + (self.of() if self.outputs else self.cells).to_html(
            max_rows=20, float_format="{:.6g}".format
        )

    @property
    def level(self) -> float:
        """Level of the confidence intervals."""
        return float(self.campaign.get("level", 0.95))

    @property
    def outputs(self) -> list[str]:
        """Names of the outputs."""
        return [str(name) for name in self.runs if name not in ("cell", "replication")]

    @property
    def parameters(self) -> list[str]:
        """Names of the varied parameters."""
        return [str(name) for name in self.cells if name != "experiment"]

    @property
    def experiments(self) -> list[str]:
        """Labels of the experiments, or of the parts of a design, in order; one empty label for a grid."""
        return [str(label) for label in self.cells["experiment"].unique()]

    def unit(self, name: str) -> str:
        """The unit of an output or a parameter, empty where there is none; hours of "2 days"."""
        if name in self.parameters and self.cells[name].map(lambda value: isinstance(value, str)).any():
            with suppress(ValueError):
                numbers(self.cells[name].dropna())
                return next(quantity(value)[1] for value in self.cells[name] if isinstance(value, str))
            return ""
        units = self.campaign.get("units", {})
        return str(units.get(name, units.get(name.rpartition(".")[2], "")))

    def setting(self, name: str, value: object) -> str:
        """A parameter with one of its values, and its unit, as text."""
        return f"{name} {shown(value)} {'' if isinstance(value, str) else self.unit(name)}".rstrip()

    @property
    def drawn(self) -> bool:
        """Whether the cells are points of a latin hypercube or Sobol design."""
        return self.campaign.get("design") in ("latin hypercube", "sobol")

    def varied(self, experiment: str) -> list[str]:
        """The parameters that an experiment varies, its own before the second."""
        cells = self.where(experiment=experiment).dropna(axis=1, how="all").drop(columns="experiment")
        return sorted(map(str, cells), key=lambda name: name != self._own.get(experiment))

    @property
    def _own(self) -> dict[str, str]:
        """The parameter of each experiment, by its label."""
        experiments = self.campaign.get("experiments", [])
        return {each.get("label") or each["parameter"].replace("_", " "): each["parameter"] for each in experiments}

    def samples(self, output: str | None = None) -> pd.DataFrame:
        """Values of an output, one row per distinct cell, one column per replication; NaN where there is none."""
        name = self._output(output)
        if name not in self._samples:
            keys = pd.Index(self.cells.index.unique(), name="cell")
            width = int(self.runs["replication"].max()) + 1 if len(self.runs) else 0
            values = _scattered(keys, self.runs, self.runs[name].to_numpy(dtype=np.float64), width, np.nan)
            self._samples[name] = pd.DataFrame(values, index=keys)
        return self._samples[name]

    @cached_property
    def _samples(self) -> dict[str, pd.DataFrame]:
        return {}

    def _output(self, output: str | None) -> str:
        name = self.output if output is None else output
        if name not in self.runs:
            remedy = f"the outputs are {', '.join(self.outputs)}" if self.outputs else "nothing is computed yet"
            raise ArgumentError(f"there is no output {name!r}", remedy=remedy)
        return name

    def of(self, output: str | None = None, experiment: str | None = None) -> pd.DataFrame:
        """One output, one row per cell: the parameters, ``runs``, ``failed``, mean, interval, percentiles.

        Parameters
        ----------
        output : str, optional
            By default that of the campaign.
        experiment : str, optional
            Its label; all by default.

        Returns
        -------
        pandas.DataFrame
            ``experiment``, the parameters, ``runs``, ``failed``, ``mean``, ``sd``, ``low`` and ``high`` (Student's
            interval of the mean), ``p5``, ..., ``p95``, ``min``, ``max``.

        Raises
        ------
        ArgumentError
            When there is no such output or experiment.
        """
        table = self.cells
        if experiment is not None:
            table = self.where(experiment=experiment)[["experiment", *self.varied(experiment)]]
        values = row_statistics(self.samples(output), self.level)
        values.insert(1, "failed", self._n_failed.reindex(values.index, fill_value=0))
        return table.join(values).reset_index(drop=True)

    def to_frame(self) -> pd.DataFrame:
        """One row per cell: the parameters, ``runs``, ``failed``, and the columns of `of` as ``wait_mean``, ..."""
        table = self.cells.reset_index(drop=True)
        if not self.outputs:
            return table.assign(runs=0, failed=self._n_failed.reindex(self.cells.index, fill_value=0).to_numpy())
        tables = {name: self.of(name) for name in self.outputs}
        table["runs"] = np.max([each["runs"] for each in tables.values()], axis=0)
        table["failed"] = tables[self.outputs[0]]["failed"]
        own = [each.iloc[:, table.shape[1] :].add_prefix(f"{name}_") for name, each in tables.items()]
        return pd.concat([table, *own], axis=1)

    @property
    def _n_failed(self) -> pd.Series:
        return self.failed.groupby("cell").size()

    @property
    def headline(self) -> str:
        """Which cell is the best and how many are like it, or that nothing is computed yet."""
        text = f"{count(self.cells.index.nunique(), 'cell')}, {count(len(self.runs), 'run')}"
        if self.missing:
            text += f" ({self.missing:,} to do)"
        if self.runs.empty or not np.isfinite(self.of()["mean"]).any():
            why = " yet" if self.missing else f": {self.output} is not a number in any run" if len(self.runs) else ""
            return f"{text}: no results{why}."
        most, unit = self.campaign.get("best") == "most", self.unit(self.output)
        best: Any = self.of().sort_values("mean", ascending=not most, kind="stable").iloc[0]
        where = ", ".join(self.setting(str(name), value) for name, value in best[self.parameters].dropna().items())
        per = 3600.0 if unit == "s" else 60.0 if unit == "min" and self.campaign["run"] == "training" else 1.0
        mean, low, high = best[["mean", "low", "high"]].astype(np.float64) / per
        value = rounded_interval(mean, low, high, "h" if per == 60.0 else unit)
        value = duration_interval(mean, low, high) if unit == "s" else value
        others = alike(self.samples(), self.level, -1.0 if most else 1.0).iloc[1:]
        n = int((others["difference"].eq(0.0) | others["low"].notna()).sum())  # one run has no interval, but may tie
        tied = f"; {count(n, 'other cell')} {'are' if n > 1 else 'is'} equal or not distinguishable" if n else ""
        what = f"{'most' if most else 'least'} {self.output.replace('_', ' ')}"
        return f"{text}; {what} {value} at {where}{tied}{self._killed}."

    @property
    def _killed(self) -> str:
        """How many jobs were killed at their walltime, by cell, if that differs: the ends of jobs differ then."""
        if "killed_at_walltime" not in self.runs:
            return ""
        means = self.runs.groupby("cell")["killed_at_walltime"].mean()
        low, high = number(means.min()), number(means.max())
        return f"; by cell, {low} to {high} jobs are killed at their walltime" if means.max() > means.min() else ""

    @property
    def findings(self) -> tuple[str, ...]:
        """The headline, the failed runs, and the notes."""
        texts = [self.headline]
        if len(self.failed):
            cells = self.failed["cell"].nunique()
            error = self.failed["error"].value_counts().index[0]
            texts.append(f"{count(len(self.failed), 'run')} of {count(cells, 'cell')} failed, most often: {error}")
        return (*texts, *self.notes)

    def curve(
        self, parameter: str, output: str | None = None, *, relative: bool = False, **where: object
    ) -> pd.DataFrame:
        """Response curve: an output over the values of a parameter, one row per value and per set of the others.

        For a drawn design: means over the cells of each tenth of the values, with intervals from these cells.

        Parameters
        ----------
        parameter : str
        output : str, optional
            By default that of the campaign.
        relative : bool
            Divide each curve by its first value, replication by replication; not for a drawn design.
        **where
            Values of other parameters, and ``experiment``.

        Returns
        -------
        pandas.DataFrame
            The other parameters that differ, `parameter`, ``mean``, ``low``, ``high``.
        """
        cells = self.where(**where)
        cells = cells[cells[self._parameter(parameter)].notna()]
        if self.drawn:
            if relative:
                raise ArgumentError("a drawn design has no first value", remedy="leave out relative, or take a grid")
            return self._tenths(cells[cells["experiment"].isin(["", "A", "B"])][parameter], output)
        others = [n for n in self.parameters if n != parameter and len(set(map(str, cells[n]))) > 1]
        parts = []
        groups = cells.groupby(others, sort=False, dropna=False) if others else [((), cells)]
        for _, rows in groups:
            rows = rows[~rows.index.duplicated()]
            values = self.samples(output).loc[rows.index].to_numpy()
            table = rows[[*others, parameter]].reset_index(drop=True)
            if relative:
                own = _ratios(values, self.level)
            else:
                own = row_statistics(pd.DataFrame(values), self.level)[["mean", "low", "high"]].reset_index(drop=True)
            parts.append(pd.concat([table, own], axis=1))
        return pd.concat(parts, ignore_index=True)

    def _tenths(self, values: pd.Series, output: str | None) -> pd.DataFrame:
        groups = values
        if pd.api.types.is_numeric_dtype(values) and values.nunique() > _TENTHS:
            groups = pd.qcut(values.astype(np.float64), _TENTHS, labels=False, duplicates="drop")
        mean = self.samples(output).mean(axis=1)
        parts = [values[groups == group] for group in sorted(groups.unique())]
        own = row_statistics(pd.DataFrame([mean.loc[part.index].to_list() for part in parts]), self.level)
        at = parts if groups is values else [pd.Series([part.mean()]) for part in parts]
        named = pd.DataFrame({values.name: [part.iloc[0] for part in at]})
        return pd.concat([named, own[["mean", "low", "high"]].reset_index(drop=True)], axis=1)

    def where(self, **values: object) -> pd.DataFrame:
        """The cells with these values of parameters, and of ``experiment``; an `ArgumentError` when there is none."""
        cells = self.cells
        for name, value in values.items():
            column = cells["experiment"] if name == "experiment" else cells[self._parameter(name)]
            chosen = column.map(lambda have, want=value: bool(have == want))
            if not chosen.any():
                remedy = f"the values are {', '.join(dict.fromkeys(map(str, column.dropna())))}"
                raise ArgumentError(f"no cell has {name} {value!r}", remedy=remedy)
            cells = cells[chosen]
        return cells

    def _parameter(self, name: str) -> str:
        if name not in self.parameters:
            raise ArgumentError(f"{name!r} is not varied", remedy=f"the parameters are {', '.join(self.parameters)}")
        return name

    def heat_map(self, row: str, column: str, output: str | None = None, **where: object) -> pd.DataFrame:
        """Means of an output, one row per value of `row`, one column per value of `column`, over other parameters."""
        cells = self.where(**where)
        cells = cells[cells[self._parameter(row)].notna() & cells[self._parameter(column)].notna()]
        table = cells[[row, column]].assign(mean=self.samples(output).mean(axis=1).reindex(cells.index))
        table = table.pivot_table(index=row, columns=column, values="mean", sort=False)
        return table.reindex(index=list(dict.fromkeys(cells[row])), columns=list(dict.fromkeys(cells[column])))

    def write(self, folder: str | Path) -> list[Path]:
        """Write a CSV of statistics per experiment and value of its second parameter; returns the files.

        One row per value and output. The folder is created; without results nothing is written, and a file with the
        same content is not written again.

        Raises
        ------
        ArgumentError
            When the folder, or a file in it, cannot be written.
        """
        place, paths = Path(folder), []
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ArgumentError(f"cannot make the folder {place}: {error.strerror}", remedy="choose another") from error
        for label in self.experiments if self.outputs else []:
            tables = {output: self.of(output, label) for output in self.outputs}
            table = pd.concat(tables, names=["output", "row"]).reset_index("output").sort_index(kind="stable")
            first = [name for name in table if name in self.parameters]
            table = table[[*first, "output", *[n for n in table if n not in (*first, "output", "experiment")]]]
            second = self.varied(label)[1:] if label in self._own else []
            for values, rows in table.groupby(second, sort=False) if second else [((), table)]:
                name = " ".join(
                    [label, *(f"{n} {v}".removesuffix(".0") for n, v in zip(second, values, strict=True))]
                ).lower()
                paths.append(place / f"{re.sub('[^a-z0-9.-]+', '_', name).strip('_') or 'cells'}.csv")
                data = rows.to_csv(index=False).encode()
                if not paths[-1].is_file() or paths[-1].read_bytes() != data:
                    with complete(paths[-1]) as part:
                        part.write_bytes(data)
        return paths


def _ratios(values: FloatArray, level: float) -> pd.DataFrame:
    """Means over that of the first row, with intervals from differences of the same replications."""
    both = np.where(np.isfinite(values) & np.isfinite(values[0]), 1.0, np.nan)
    base = row_means(both * values[0], level)[1]
    ratio = row_means(both * values, level)[1] / base
    half = row_means(both * (values - ratio[:, None] * values[0]), level)[3] / np.abs(base)
    return pd.DataFrame({"mean": ratio, "low": ratio - half, "high": ratio + half})


def _scattered(keys: pd.Index, rows: pd.DataFrame, values: FloatArray, width: int, empty: object) -> Any:
    """Values by key and replication, shape (keys, width); rows of other keys or later replications are left out."""
    code, replication = keys.get_indexer(pd.Index(rows["cell"])), rows["replication"].to_numpy(dtype=np.int64)
    fits = (code >= 0) & (replication < width)
    table = np.full((keys.size, width), empty)
    table[code[fits], replication[fits]] = values[fits]
    return table


def numbers(values: Iterable[float | str]) -> FloatArray:
    """Values as numbers; durations as hours, rates such as "1 per 80 days" per hour."""
    return np.array([quantity(v)[0] if isinstance(v, str) else float(v) for v in values], dtype=np.float64)


def shown(value: object) -> str:
    """A value of a parameter as text."""
    if isinstance(value, (float, np.floating)):
        return f"{value:,.0f}" if 1e6 <= abs(float(value)) < 1e15 else f"{value:,.6g}"
    return str(value)


def load(folder: str | Path) -> CampaignResults:
    """Read the results in the store of a campaign, also while it is being computed.

    Raises
    ------
    ReadError
        When the folder is no store.
    """
    store = CampaignStore(folder)
    document = store.document
    campaign = {**document["campaign"], "base": document["identity"].get("config")}
    table, runs, failed = store.cells, store.rows("runs"), store.rows("failed")
    own = table[table["belongs"].astype(bool)]
    settings = [json.loads(text) for text in own["settings"]]
    names = list(dict.fromkeys(name for each in settings for name in each))
    columns = {name: pd.Series([each.get(name) for each in settings]).infer_objects() for name in names}
    cells = pd.DataFrame({"experiment": own["experiment"].to_list(), **columns})
    cells.index = pd.Index(own["cell"], name="cell")
    needed = replications_needed(campaign, cells.index.unique(), runs, failed)
    notes, gone = [], set(table["cell"]) - set(own["cell"])
    if gone:
        old = int(runs["cell"].isin(gone).sum())
        texts = table.set_index("cell").loc[sorted(gone), "settings"].drop_duplicates().head(3)
        notes.append(f"{count(len(gone), 'cell')} no longer belong ({old:,} runs), as {'; '.join(texts)}")
    runs, failed = (_belonging(each, needed) for each in (runs, failed))
    keys = ["cell", "replication"]
    failed = failed.reindex(columns=[*keys, "error"])
    failed = failed[~failed.set_index(keys).index.isin(runs.set_index(keys).index)]
    if store.damaged:
        notes.append(f"{count(len(store.damaged), 'file')} left out, not complete: {', '.join(store.damaged[:3])}")
    versions = document["versions"].get("relfit", [])
    if len(versions) > 1:
        notes.append(f"the runs are of several versions of relfit: {', '.join(versions)}")
    if campaign.get("run") == "training":
        rates = [each.get("random_failure_rate") for each in settings]
        most = max((rate for rate in rates if isinstance(rate, (int, float))), default=0.0)
        if most > 1.0 / 1440.0:
            text = f"random_failure_rate {shown(most)} is per minute, a failure every {duration(1.0 / (60.0 * most))}"
            notes.append(f'{text} of a server; write "0.01 per day" for another unit')
    output = str(document["output"] or next((name for name in runs if name not in keys), ""))
    if "pareto" in campaign:  # of a function, whose output names were not known before
        campaign["pareto"] = {name or output: side for name, side in campaign["pareto"].items()}
    missing = int(needed.sum()) - len(runs) - len(failed)
    return CampaignResults(campaign, cells, runs, failed, output, missing, tuple(notes))


def _belonging(rows: pd.DataFrame, needed: pd.Series) -> pd.DataFrame:
    most = needed.reindex(rows["cell"], fill_value=0).to_numpy()
    return rows[rows["replication"].to_numpy() < most].reset_index(drop=True)


def replications_needed(
    campaign: Mapping[str, Any], keys: pd.Index, runs: pd.DataFrame, failed: pd.DataFrame
) -> pd.Series:
    """Replications needed of each cell, as far as the runs tell; `until` is checked at fixed numbers of runs."""
    least = int(campaign.get("replications", 30))
    if campaign.get("until") is None:
        return pd.Series(least, index=keys)
    until, level = Until(**campaign["until"]), float(campaign.get("level", 0.95))
    if len(runs) and until.output not in runs:
        have = ", ".join(str(name) for name in runs if name not in ("cell", "replication"))
        what = f"until: there is no output {until.output!r}"
        raise ArgumentError(what, remedy=f"the outputs are {have}" if have else None)
    values = runs[until.output].to_numpy(dtype=np.float64) if len(runs) else np.zeros(0)
    values = _scattered(keys, runs, values, until.at_most, np.nan)
    done = np.zeros(values.shape, dtype=bool)
    for rows in (runs, failed):
        done |= _scattered(keys, rows, np.ones(len(rows), dtype=bool), until.at_most, False)
    needed, n = np.full(len(values), until.at_most), least
    while n < until.at_most:
        _, mean, _, half = row_means(values[:, :n], level)
        narrow = 2.0 * half <= until.width * np.abs(mean)
        over = narrow | ~done[:, :n].all(axis=1) | np.isnan(mean)  # narrow enough, not yet run, or all failed
        needed[over] = np.minimum(needed[over], n)
        n = min(max(n + 1, int(np.ceil(_GROWTH * n))), until.at_most)
    return pd.Series(needed, index=keys)
