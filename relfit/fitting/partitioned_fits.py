"""`PartitionedFits`: the fits of a Dask DataFrame's groups, computed where the rows lie when they are asked for."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from relfit.errors import ArgumentError
from relfit.families import family_named
from relfit.fitting.comparison import comparison

if TYPE_CHECKING:
    from dask.dataframe import DataFrame

__all__ = ["COMPARED", "PartitionedFits"]

COMPARED = "_relfit_ks"  # the distance by which `Fits.compare` compares, which is not that of the calibrated test

_COUNTED = "_groups_by"
_PERCENT = "_percent"


@dataclass(frozen=True, eq=False)
class PartitionedFits:
    """Fits of every group of a Dask DataFrame; `relfit.fitting.partitioned.fit_partitioned` makes it.

    Every method that returns numbers computes them anew; `persist` keeps the fits in the memory of the workers.

    Attributes
    ----------
    frame : dask.dataframe.DataFrame
        One row a group and family, as `to_frame` gives, and what `compare` needs.
    keys, families : tuple of str
    level : float
        Level of the intervals.
    """

    frame: DataFrame
    keys: tuple[str, ...]
    families: tuple[str, ...]
    level: float

    @property
    def npartitions(self) -> int:
        """Number of partitions."""
        return int(self.frame.npartitions)

    def to_frame(self) -> DataFrame:
        """Everything, lazy: one row a group and family, with the columns of `Fits.to_frame`.

        Groups are in order within each partition.
        """
        return self.frame[[name for name in self.frame.columns if name != COMPARED]]

    def persist(self) -> PartitionedFits:
        """Fit now, and keep the results in the memory of the workers."""
        return replace(self, frame=self.frame.persist())

    def compute(self) -> pd.DataFrame:
        """Everything, in memory and in the order of `Fits.to_frame`."""
        return self._ordered(self.to_frame().compute())

    def summary(self) -> pd.DataFrame:
        """The main figures, in memory: the table of `Fits.summary`."""
        parameters = {name for family in self.families for name in family_named(family).parameter_names()}
        wanted = ["status", "failures", "censored", "zeros", *(c for c in self.frame.columns if c in parameters)]
        wanted += ["mean", "mean_low", "mean_high", "loglik", "aicc", "ks", "ks_p", "p_source", "ks_p_textbook"]
        keys = [*self.keys, "family"]
        columns = [*keys, *(c for c in wanted if c in self.frame.columns)]
        return self._ordered(self.frame[columns].compute()).set_index(keys)

    def compare(self, alpha: float = 0.05) -> pd.DataFrame:
        """How many groups each family fits best, and as well as any: the table of `Fits.compare`.

        Counts are made where the groups lie, and added up here.

        Parameters
        ----------
        alpha : float
            See `Fits.compare`.
        """
        if not 0.0 <= alpha < 1.0:
            raise ArgumentError(f"alpha {alpha} is not between 0 and 1")
        meta = _counts(self.frame._meta, self.families, alpha)
        return _total(self.frame.map_partitions(_counts, self.families, alpha, meta=meta).compute(), self.families)

    def status_counts(self) -> pd.DataFrame:
        """How many groups have which status, a row a family and a column a status."""
        counts = self.frame.groupby(["family", "status"]).size().compute()
        table = counts.rename("groups").reset_index().astype({"family": object, "status": object})
        wide = table.pivot_table(index="family", columns="status", values="groups", aggfunc="sum", fill_value=0)
        return wide.reindex(list(self.families)).astype(np.int64)

    def write(self, path: str | Path, *, overwrite: bool = False) -> Path | str:
        """Fit, and write `to_frame` to a folder of Parquet files, one a partition; `pandas.read_parquet` reads it.

        The folder is complete or absent: it is written beside its place and moved there. An address such as
        ``s3://...`` is written in place.

        Parameters
        ----------
        path : str or Path
            A folder that every worker can reach.
        overwrite : bool
            Whether it may take the place of one that is there.

        Raises
        ------
        ArgumentError
            When it exists and `overwrite` is false, or it cannot be written.
        """
        import pyarrow as pa

        frame = self.to_frame()
        empty = frame._meta
        kinds = {
            name: pa.string() if dtype.kind == "O" else pa.float64()
            for name, dtype in empty.dtypes.items()
            if name not in self.keys and dtype.kind in "Of"
        }
        if "://" in str(path):
            frame.to_parquet(str(path), write_index=False, schema=kinds, overwrite=overwrite)
            return str(path)
        place = Path(path)
        if place.exists() and not overwrite:
            raise ArgumentError(f"{place} is there already", remedy="choose another place, or overwrite=True")
        part = place.with_name(f".relfit-{os.getpid()}-{place.name}.part")
        try:
            frame.to_parquet(str(part), write_index=False, schema=kinds)
            if place.is_dir():
                shutil.rmtree(place)
            part.replace(place)
        except OSError as error:
            raise ArgumentError(
                f"cannot write {place}: {error.strerror or error}", remedy="choose another place"
            ) from error
        finally:
            shutil.rmtree(part, ignore_errors=True)
        return place

    def to_dict(self) -> dict[str, Any]:
        """Everything in memory, ready for JSON (NaN and infinity become None)."""
        from relfit.fitting.results import records

        table = self._ordered(self.frame.compute())
        counted = _total(_counts(table, self.families, 0.05), self.families)
        return {
            "level": self.level,
            "families": list(self.families),
            "compare": records(counted.reset_index()),
            "fits": records(table.drop(columns=COMPARED)),
        }

    def _ordered(self, table: pd.DataFrame) -> pd.DataFrame:
        """Groups in the order in which pandas groups the whole table, families within each."""
        groups = table.groupby(list(self.keys), observed=True, sort=True, dropna=False).ngroup().to_numpy()
        return table.iloc[np.argsort(groups, kind="stable")].reset_index(drop=True)

    def __repr__(self) -> str:
        return (
            f"PartitionedFits: {len(self.families)} families ({', '.join(self.families)}) by {', '.join(self.keys)}, "
            f"{self.npartitions} partitions; compute() fits them"
        )

    def _repr_html_(self) -> str:
        from html import escape

        return f"<p>{escape(repr(self))}</p>"


def _counts(part: pd.DataFrame, families: tuple[str, ...], alpha: float) -> pd.DataFrame:
    """Counts of one partition, with the numbers of groups that percentages refer to."""
    results: dict[str, Any] = {}
    for family in families:
        own = part[part["family"] == family]
        columns = {str(name): own[name].to_numpy() for name in own.columns}
        columns |= {"ks": columns[COMPARED], "ok": (own["status"] == "ok").to_numpy()}
        results[family] = SimpleNamespace(**columns)
    counts = comparison(results, alpha)
    percents = [name for name in counts.columns if name.endswith(_PERCENT)]
    known = {
        "p": np.stack([result.ks_p_textbook for result in results.values()]),
        "aicc": np.stack([result.aicc for result in results.values()]),
    }
    counts = counts.drop(columns=percents)
    for name, values in known.items():
        counts[f"{_COUNTED}_{name}"] = int(np.isfinite(values).any(axis=0).sum())
    return counts.reset_index()


def _total(counts: pd.DataFrame, families: tuple[str, ...]) -> pd.DataFrame:
    """Counts of all partitions, and percentages of them."""
    total = counts.groupby("family", sort=False).sum().reindex(list(families))
    table = pd.DataFrame(index=pd.Index(list(families), name="family"))
    for name in total.columns:
        if name.startswith(_COUNTED):
            continue
        table[name] = total[name]
        if name.startswith("as_good_by_"):
            groups = total[f"{_COUNTED}_{name.removeprefix('as_good_by_')}"]
            table[f"{name}{_PERCENT}"] = 100.0 * total[name] / groups.clip(lower=1)
    return table
