"""Small rules of calibrated parameters: what is written, what a seed means, shares that are not known."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from relfit.fleet.calibration import Parameters, draw_parameters
from relfit.fleet.calibration.rates import _shares
from relfit.fleet.calibration.repair_times import _hall
from relfit.fleet.calibration.schema import plain

WHEN = dt.datetime(2003, 4, 1, tzinfo=dt.UTC)


def test_dates_are_text_in_json_and_dates_in_toml() -> None:
    assert plain({"at": WHEN, "n": [1.5, "x"]}, json=True) == {"at": "2003-04-01T00:00:00+00:00", "n": [1.5, "x"]}
    assert plain((WHEN, 2.0), json=False) == [WHEN, 2.0]


def test_empty_tables_and_unknown_values_are_not_written() -> None:
    written = plain(Parameters(mtbf="1 day", fleet={"nodes": 4}), json=True)
    assert written == {"version": 2, "mtbf": {"node": {"value": 24.0, "unit": "hours"}}, "fleet": {"nodes": 4}}


def test_draws_have_a_seed_of_their_own() -> None:
    known = Parameters(mtbf={"node": {"value": 2000, "low": 1500, "high": 2700, "level": 0.9}}, mttr="24h")
    found, same, other = draw_parameters(known), draw_parameters(known, rng=0), draw_parameters(known, rng=1)
    assert found["mtbf.node"].shape == (1000,)
    np.testing.assert_array_equal(found["mtbf.node"], same["mtbf.node"])
    assert (found["mtbf.node"] != other["mtbf.node"]).all()


@pytest.mark.parametrize(
    ("rack", "group", "expected"),
    [
        ([2.0, 4.0], [], {"rack_share": 0.75}),
        ([], [3.0], {"group_share": 0.25}),
        ([9.0], [12.0], {"rack_share": 1.0, "group_share": 1.0}),
        ([], [], {}),
    ],
)
def test_shares_hit_are_means_and_unknown_without_incidents(
    rack: list[float], group: list[float], expected: dict[str, float]
) -> None:
    scopes = {
        name: SimpleNamespace(hit=np.array(hit), at_risk=np.full(len(hit), up))
        for name, hit, up in (("rack", rack, 4), ("group", group, 12))
    }
    model: Any = SimpleNamespace(by_scope=scopes, nodes_hit=lambda scope: scope.hit)
    assert _shares(model) == expected


def test_hall_by_its_formula() -> None:
    values = np.array([1.0, 2.0, 2.0, 3.0, 6.0, 5.0, 1.0, 4.0, 2.0, 9.0])
    n, mean, s = values.size, values.mean(), values.std(ddof=1)
    skew = ((values - mean) ** 3).mean() / s**3
    for limit, p in zip(_hall(values, 0.9), (0.95, 0.05), strict=True):
        u = (mean - limit) / s  # Hall (1992)
        found = u + skew * u**2 / 3 + skew**2 * u**3 / 27 + skew / (6 * n)
        assert found == pytest.approx(stats.t.ppf(p, n - 1) / np.sqrt(n), abs=1e-9)
    assert _hall(np.full(4, 3.0), 0.9) == (3.0, 3.0)
