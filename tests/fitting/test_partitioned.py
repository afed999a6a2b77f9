"""The fits of a Dask DataFrame are those of the whole table, on a real local cluster and whatever the partitions."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

import relfit as rf  # noqa: E402
from relfit.fitting.partitioned import fit_partitioned, is_dask  # noqa: E402
from relfit.fitting.partitioned_groups import key_hash  # noqa: E402

COLUMNS: dict[str, Any] = {"duration": "hours", "observed": "failed", "by": ["system", "node"]}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two processes of one thread each, as on two machines."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit="1GiB"
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


def table(groups: int = 60, seed: int = 0) -> pd.DataFrame:
    """Lives of nodes in two systems, the groups' rows all over the table; some groups cannot be fitted."""
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


def whole(frame: pd.DataFrame, families: Any = "core", **columns: Any) -> rf.Fits:
    return rf.fit(rf.LifeData.from_frame(frame, **{**COLUMNS, **columns}), families, bootstrap=0)


def assert_equal(found: pd.DataFrame, expected: pd.DataFrame, rtol: float = 1e-12) -> None:
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, check_index_type=False, rtol=rtol, atol=0.0)


@pytest.mark.parametrize("npartitions", [1, 3, 8])
def test_equal_on_a_cluster(cluster: Any, npartitions: int) -> None:
    frame = table()
    fits = fit_partitioned(dd.from_pandas(frame, npartitions=npartitions, sort=False), "core", **COLUMNS)
    expected = whole(frame)
    assert fits.npartitions == npartitions
    found = fits.compute()
    assert_equal(found, expected.to_frame())
    exact = ["rate", "shape", "scale", "meanlog", "sdlog", "loglik", "status", "failures"]
    pd.testing.assert_frame_equal(found[exact], expected.to_frame()[exact], check_dtype=False, check_exact=True)
    assert_equal(fits.compare(), expected.compare())


def test_another_number_of_partitions(cluster: Any) -> None:
    frame = table()
    lazy = dd.from_pandas(frame, npartitions=4)
    for number in (1, 7):
        fits = fit_partitioned(lazy, "weibull", npartitions=number, **COLUMNS)
        assert fits.npartitions == number
        assert_equal(fits.compute(), whole(frame, "weibull").to_frame())


def test_summary_status_and_dictionary(cluster: Any) -> None:
    frame = table()
    fits = fit_partitioned(dd.from_pandas(frame, npartitions=3), ["weibull", "exponential"], **COLUMNS).persist()
    expected = whole(frame, ["weibull", "exponential"])
    assert_equal(fits.summary(), expected.summary())
    counts = fits.status_counts()
    assert counts.loc["weibull"].sum() == 60
    assert counts.loc["weibull", "all_censored"] == (expected["weibull"].status == "all_censored").sum()
    record = json.loads(json.dumps(fits.to_dict(), allow_nan=False))
    assert record["families"] == ["weibull", "exponential"]
    assert record["compare"] == json.loads(json.dumps(expected.to_dict()["compare"]))
    assert "3 partitions" in repr(fits)
    assert "PartitionedFits" in fits._repr_html_()


def test_nothing_is_fitted_before_it_is_asked_for() -> None:
    frame = table()
    frame.loc[7, "hours"] = -1.0
    fits = fit_partitioned(dd.from_pandas(frame, npartitions=3), "weibull", **COLUMNS)
    assert is_dask(fits.to_frame())
    good = table().head(0)
    assert list(fits.to_frame().columns) == list(whole(table(), "weibull").to_frame().columns)
    assert not len(good)


def test_an_error_in_a_partition_names_group_and_row(cluster: Any) -> None:
    frame = table()
    frame.loc[7, "hours"] = -1.0
    group = (frame.loc[7, "system"], int(frame.loc[7, "node"]))
    with pytest.raises(rf.DataError) as direct:
        whole(frame)
    fits = fit_partitioned(dd.from_pandas(frame, npartitions=3), "weibull", **COLUMNS)
    with pytest.raises(rf.DataError) as remote:
        fits.compute()
    assert str(remote.value) == str(direct.value)
    assert repr(group[0]) in str(remote.value)
    missing = table().astype({"failed": object})
    missing.loc[3, "failed"] = None
    with pytest.raises(rf.DataError, match="'failed' is missing in group"):
        fit_partitioned(dd.from_pandas(missing, npartitions=2), "weibull", **COLUMNS).compute()


def test_groups_that_are_partitioned_already(cluster: Any) -> None:
    frame = table().sort_values("system", kind="stable").reset_index(drop=True)
    parts = [part for _, part in frame.groupby("system")]
    lazy = dd.concat([dd.from_pandas(part, npartitions=1) for part in parts])
    fits = fit_partitioned(lazy, "weibull", partitioned_by_group=True, **COLUMNS)
    assert fits.npartitions == 2
    assert_equal(fits.compute(), whole(frame, "weibull").to_frame())
    fewer = fit_partitioned(lazy, "weibull", partitioned_by_group=True, npartitions=1, **COLUMNS)
    assert_equal(fewer.compute(), whole(frame, "weibull").to_frame())
    with pytest.raises(rf.ArgumentError, match="5 would split groups"):
        fit_partitioned(lazy, "weibull", partitioned_by_group=True, npartitions=5, **COLUMNS)


def test_a_group_in_two_partitions_is_refused_not_fitted_as_two() -> None:
    frame = pd.DataFrame({"node": [1, 1, 2, 2, 2, 3], "hours": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]})
    lazy = dd.from_map(lambda part: frame.iloc[part], [slice(0, 4), slice(4, 6)], meta=frame.iloc[:0])
    with pytest.raises(rf.ArgumentError, match="group 2 lies in partitions 0, 1"):
        fit_partitioned(lazy, duration="hours", by="node", partitioned_by_group=True)
    found = fit_partitioned(lazy, "exponential", duration="hours", by="node").compute()
    assert found[["node", "failures"]].to_numpy().tolist() == [[1, 2], [2, 3], [3, 1]]


def test_an_index_with_divisions_needs_no_shuffle(cluster: Any) -> None:
    frame = table().assign(node=lambda f: f["system"] + f["node"].astype(str).str.zfill(3)).drop(columns="system")
    lazy = dd.from_pandas(frame.set_index("node"), npartitions=4)
    assert lazy.known_divisions
    fits = fit_partitioned(lazy, "weibull", duration="hours", observed="failed", by="node")
    assert "Shuffle" not in fits.to_frame().expr.tree_repr() if hasattr(fits.to_frame(), "expr") else True
    assert_equal(
        fits.compute(),
        whole(frame.set_index("node").sort_index(kind="stable").reset_index(), "weibull", by="node").to_frame(),
    )
    fewer = fit_partitioned(lazy, "weibull", duration="hours", observed="failed", by="node", npartitions=2)
    assert fewer.npartitions == 2
    assert len(fewer.compute()) == frame["node"].nunique()
    unknown = fit_partitioned(lazy.clear_divisions(), "weibull", duration="hours", observed="failed", by="node")
    assert len(unknown.compute()) == frame["node"].nunique()


def test_divisions_that_are_wrong_are_an_error() -> None:
    frame = pd.DataFrame({"hours": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}, index=pd.Index([1, 1, 2, 2, 2, 3], name="node"))
    parts = [slice(0, 4), slice(4, 6)]
    lazy = dd.from_map(lambda part: frame.iloc[part], parts, meta=frame.iloc[:0], divisions=(1, 2, 3))
    with pytest.raises(rf.DataError, match="partition 0 holds node from 1 to 2, outside its division 1 to 2"):
        fit_partitioned(lazy, "exponential", duration="hours", by="node").compute()


def test_written_files_hold_the_same(cluster: Any, tmp_path: Path) -> None:
    frame = table()
    fits = fit_partitioned(dd.from_pandas(frame, npartitions=3), **COLUMNS)
    place = fits.write(tmp_path / "fits")
    back = pd.read_parquet(place)
    assert_equal(back.sort_values(["system", "node"], kind="stable").reset_index(drop=True), fits.compute())
    assert [path.name for path in tmp_path.iterdir()] == ["fits"]
    with pytest.raises(rf.ArgumentError, match="is there already"):
        fits.write(place)
    fits.write(place, overwrite=True)
    assert len(pd.read_parquet(place)) == len(back)
    with pytest.raises(rf.ArgumentError, match="cannot write"):
        fits.write(Path("/proc/nowhere/fits"))


def test_further_columns(cluster: Any) -> None:
    rng = np.random.default_rng(5)
    frame = table(20).assign(count=lambda f: rng.integers(1, 4, len(f)), since=lambda f: f["hours"] * 0.3)
    options = {"weights": "count", "entry": "since"}
    fits = fit_partitioned(dd.from_pandas(frame, npartitions=3), "weibull", **COLUMNS, **options)
    assert_equal(fits.compute(), whole(frame, "weibull", **options).to_frame(), rtol=1e-9)


def test_keys_of_every_kind() -> None:
    rng = np.random.default_rng(1)
    node = rng.integers(0, 6, 120)
    kinds = {
        "text": np.array(list("uvwxyz"))[node],
        "category": pd.Categorical(np.array(list("zyxwvu"))[node], categories=list("zyxwvu")),
        "float": np.where(node == 0, np.nan, np.where(node == 1, np.where(rng.random(120) < 0.5, 0.0, -0.0), node)),
        "time": pd.Timestamp("2020-01-01") + pd.to_timedelta(node, unit="D"),
        "boolean": node > 2,
    }
    for keys in kinds.values():
        frame = pd.DataFrame({"key": keys, "hours": rng.weibull(1.0, 120)})
        fits = fit_partitioned(dd.from_pandas(frame, npartitions=5), "weibull", duration="hours", by="key")
        expected = rf.fit(rf.LifeData.from_frame(frame, "hours", by="key"), "weibull", bootstrap=0).to_frame()
        found = fits.compute()
        assert found["key"].map(str).tolist() == expected["key"].map(str).tolist()
        assert_equal(found.drop(columns="key"), expected.drop(columns="key"))


def test_equal_keys_have_equal_numbers_and_others_do_not() -> None:
    keys = pd.DataFrame({"a": np.arange(20_000) // 2, "b": np.arange(20_000) % 2})
    assert np.unique(key_hash(keys, ["a", "b"])).size == 20_000
    assert np.array_equal(key_hash(keys, ["a"]), key_hash(keys.astype(object), ["a"]))
    assert np.array_equal(key_hash(keys, ["a"]), key_hash(keys.astype("category"), ["a"]))
    swapped = key_hash(keys.rename(columns={"a": "b", "b": "a"}), ["a", "b"])
    assert not np.array_equal(swapped, key_hash(keys, ["a", "b"]))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"duration": "days"}, "no column 'days'"),
        ({"by": "rack"}, "no column 'rack'"),
        ({"by": []}, "no column to group by"),
        ({"families": "weibul"}, "did you mean weibull"),
        ({"level": 2.0}, "level 2.0"),
        ({"npartitions": 0}, "npartitions=0"),
    ],
)
def test_bad_arguments_are_told_at_once(options: dict[str, Any], text: str) -> None:
    with pytest.raises(rf.ArgumentError, match=text):
        fit_partitioned(dd.from_pandas(table(5), npartitions=2), **{**COLUMNS, **options})


def test_a_pandas_table_is_rejected() -> None:
    with pytest.raises(rf.ArgumentError, match="no Dask DataFrame"):
        fit_partitioned(table(5), **COLUMNS)


def test_dask_is_not_imported_by_relfit() -> None:
    code = (
        "import sys, relfit; relfit.fit([[1.0, 2.0]]); import relfit.fitting.partitioned; "
        "sys.exit('dask' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_many_groups_of_one_size(cluster: Any) -> None:
    rng = np.random.default_rng(9)
    frame = pd.DataFrame({"node": np.repeat(np.arange(2000), 12), "hours": rng.weibull(0.7, 24_000)})
    columns = {"duration": "hours", "by": "node"}
    found = fit_partitioned(dd.from_pandas(frame, npartitions=8), "weibull", **columns).compute()
    expected = rf.fit(rf.LifeData.from_frame(frame, **columns), "weibull", bootstrap=0).to_frame()
    # the textbook p-value is interpolated where many groups have one size
    assert_equal(found[["ks_p_textbook"]], expected[["ks_p_textbook"]], rtol=1e-4)
    assert_equal(found.drop(columns="ks_p_textbook"), expected.drop(columns="ks_p_textbook"))
