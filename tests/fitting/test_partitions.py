"""Fits of a Dask DataFrame: the numbers of the whole table, whatever the partitions, and no group fitted as two."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import relfit as rf
from relfit.fitting._fit import _fitted, is_dask

COLUMNS: dict[str, Any] = {"duration": "hours", "observed": "failed", "by": ["system", "node"]}


def table(groups: int = 60, seed: int = 0) -> pd.DataFrame:
    """Durations of nodes in two systems, the groups' rows all over the table; some groups cannot be fitted."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 25, groups)
    node = np.repeat(np.arange(groups), sizes)
    life = 500.0 * rng.weibull(0.8, node.size)
    limit = rng.exponential(1500.0, node.size)
    frame = pd.DataFrame(
        {
            "system": np.where(node % 2, "b", "a"),
            "node": node // 2,
            "hours": np.minimum(life, limit),
            "failed": (life <= limit) & (node % 10 > 0),
            "else": "not needed",
        }
    )
    return frame.iloc[rng.permutation(len(frame))].reset_index(drop=True)


def assert_whole(found: pd.DataFrame, frame: pd.DataFrame, families: Any = "core", **columns: Any) -> None:
    """The table in memory, fitted at once, in another order of rows."""
    options = {**COLUMNS, **columns}
    keys = [options["by"]] if isinstance(options["by"], str) else options["by"]
    expected = rf.fit(frame, families, n_resamples=0, **options).summary().reset_index()
    found = found.sort_values(keys, kind="stable").reset_index(drop=True)
    if "weights" in options:  # found by a search, whose curvature has fewer digits
        expected, found = (part.drop(columns=["mean_low", "mean_high"]) for part in (expected, found))
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=1e-7, atol=0.0)


@pytest.mark.parametrize("npartitions", [1, 3, 8])
def test_equal_to_the_whole_table(npartitions):
    frame = table()
    lazy = rf.fit(dd.from_pandas(frame, npartitions=npartitions, sort=False), **COLUMNS)
    assert is_dask(lazy)
    assert not is_dask(frame)
    assert_whole(lazy.compute(), frame)


@pytest.mark.slow
def test_further_columns_and_options():
    rng = np.random.default_rng(5)
    frame = table(20).assign(count=lambda f: rng.integers(1, 4, len(f)), since=lambda f: f["hours"] * 0.3)
    further = {"weights": "count", "entry": "since"}
    assert_whole(
        rf.fit(dd.from_pandas(frame, npartitions=3), "weibull", **COLUMNS, **further).compute(),
        frame,
        "weibull",
        **further,
    )
    found = rf.fit(dd.from_pandas(frame, npartitions=3), "weibull", level=0.5, n_resamples=19, **COLUMNS).compute()
    wide = rf.fit(dd.from_pandas(frame, npartitions=3), "weibull", **COLUMNS).compute()
    assert (found["mean_high"] < wide["mean_high"]).sum() > 10
    assert (found["p_source"] == "bootstrap").sum() > 10
    assert not (wide["p_source"] == "bootstrap").any()


def test_groups_that_are_partitioned_already():
    frame = table().sort_values("system", kind="stable").reset_index(drop=True)
    lazy = dd.concat([dd.from_pandas(part, npartitions=1) for _, part in frame.groupby("system")])
    found = rf.fit(lazy, "weibull", partitioned_by_group=True, **COLUMNS)
    assert found.npartitions == 2
    assert_whole(found.compute(), frame, "weibull")


def test_a_group_in_two_partitions_is_never_fitted_as_two():
    frame = pd.DataFrame({"node": [1, 1, 2, 2, 2, 3], "hours": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]})
    lazy = dd.from_map(lambda part: frame.iloc[part], [slice(0, 4), slice(4, 6)], meta=frame.iloc[:0])
    with pytest.raises(rf.ArgumentError, match="group 2 lies in two partitions"):
        rf.fit(lazy, duration="hours", by="node", partitioned_by_group=True)
    found = rf.fit(lazy, "exponential", duration="hours", by="node").compute()
    assert sorted(found[["node", "failures"]].to_numpy().tolist()) == [[1, 2], [2, 3], [3, 1]]


@pytest.mark.slow
def test_keys_of_every_kind():
    rng = np.random.default_rng(1)
    node = rng.integers(0, 6, 120)
    kinds = {
        "text": np.array(list("uvwxyz"))[node],
        "category": pd.Categorical(np.array(list("zyxwvu"))[node], categories=list("zyxwvu")),
        "float": np.where(node == 0, 0.5, node),
        "time": pd.Timestamp("2020-01-01") + pd.to_timedelta(node, unit="D"),
        "boolean": node > 2,
    }
    for keys in kinds.values():
        frame = pd.DataFrame({"key": keys, "hours": rng.weibull(1.0, 120)})
        found = rf.fit(dd.from_pandas(frame, npartitions=5), "weibull", duration="hours", by="key").compute()
        assert_whole(found, frame, "weibull", duration="hours", observed=None, by="key")
    lazy = rf.fit(
        dd.from_pandas(frame.assign(key=np.where(node == 0, np.nan, node)), npartitions=5), by="key", duration="hours"
    )
    with pytest.raises(rf.DataError, match="names no group"):
        lazy.compute()


def test_an_error_in_a_partition_names_group_and_row():
    frame = table()
    frame.loc[7, "hours"] = -1.0
    group = (frame.loc[7, "system"], int(frame.loc[7, "node"]))
    lazy = rf.fit(dd.from_pandas(frame, npartitions=3), "weibull", **COLUMNS)
    with pytest.raises(rf.DataError, match=rf"duration -1.0 in group \('{group[0]}', .*{group[1]}"):
        lazy.compute()
    missing = table().astype({"failed": object})
    missing.loc[3, "failed"] = None
    with pytest.raises(rf.DataError, match="'failed' is missing in group"):
        rf.fit(dd.from_pandas(missing, npartitions=2), "weibull", **COLUMNS).compute()
    several = pd.DataFrame({"system": ["a", "b"], "hours": [1.0, 2.0], "failed": [None, None]})
    with pytest.raises(rf.DataError, match="'failed' is missing in group 'a'"):  # the first of them
        _fitted(several, rf.fit, ["system"], {"observed": "failed"})


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"duration": "days"}, "no column 'days'"),
        ({"by": "rack"}, "no column 'rack'"),
        ({"by": []}, "no column to group by"),
        ({"families": "weibul"}, "did you mean weibull"),
        ({"level": 2.0}, "level is 2"),
    ],
)
def test_bad_arguments_are_told_at_once(options, text):
    with pytest.raises(rf.ArgumentError, match=text):
        rf.fit(dd.from_pandas(table(5), npartitions=2), **{**COLUMNS, **options})


@pytest.mark.slow
@pytest.mark.long
def test_dask_is_not_imported_by_relfit():
    code = "import sys, relfit; relfit.fit([[1.0, 2.0]]); sys.exit('dask' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
