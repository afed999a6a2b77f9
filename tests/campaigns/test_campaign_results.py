"""What a campaign says, against plain numpy and published values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from scipy import stats

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.cli.app import main
from relfit.reporting.campaign_page import base_settings, in_hours, write_campaign_page
from relfit.simulation.campaigns.campaign_results import numbers

mpl.use("Agg")
MODELS = "tests.campaigns.models"


@pytest.fixture(autouse=True)
def no_figure_stays_open() -> Iterator[None]:
    """Figures of one test are not those of another."""
    yield
    plt.close("all")


def swept(folder: Path, function: str, **given: Any) -> Any:
    campaign = rf.campaigns.Campaign(run=f"{MODELS}:{function}", **{"seed": 3, **given})
    return rf.campaigns.sweep(campaign, folder / "store", executor="serial")


def noise(n: int, seed: int = 3) -> np.ndarray:
    streams = (np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(r,))) for r in range(n))
    return np.array([rng.standard_normal() for rng in streams])


def test_statistics_are_those_of_numpy_and_scipy(tmp_path: Path) -> None:
    table = swept(tmp_path, "noisy", parameters={"x": [4.0]}, replications=25, level=0.9).of("value").iloc[0]
    values = 4.0 + noise(25)
    low, high = stats.t.interval(0.9, 24, values.mean(), stats.sem(values))
    expected = [values.mean(), values.std(ddof=1), low, high, *np.percentile(values, [5, 25, 50, 75, 95])]
    names = ["mean", "sd", "low", "high", "p5", "p25", "p50", "p75", "p95"]
    np.testing.assert_allclose(table[names].to_numpy(dtype=float), expected)
    assert (table["min"], table["max"]) == (values.min(), values.max())


def test_every_cell_has_one_row_with_every_output(tmp_path: Path) -> None:
    result = swept(tmp_path, "noisy", parameters={"x": [1.0, 2.0], "y": [0.0, 5.0]}, replications=4)
    frame = result.to_frame()
    assert frame[["x", "y"]].to_numpy().tolist() == [[1, 0], [1, 5], [2, 0], [2, 5]]
    assert frame["runs"].tolist() == [4] * 4
    np.testing.assert_allclose(frame["value_mean"], noise(4).mean() + np.array([1, 6, 2, 7]))
    np.testing.assert_allclose(frame["noise_mean"], noise(4).mean())


def test_a_relative_curve_uses_that_noise_is_shared(tmp_path: Path) -> None:
    result = swept(tmp_path, "noisy", parameters={"x": [10.0, 20.0]}, replications=30)
    curve = result.curve("x", "value", relative=True)
    a, b = 10.0 + noise(30), 20.0 + noise(30)
    ratio = b.mean() / a.mean()
    half = stats.t.ppf(0.975, 29) * (b - ratio * a).std(ddof=1) / np.sqrt(30) / a.mean()
    np.testing.assert_allclose(curve[["mean", "low", "high"]].iloc[1], [ratio, ratio - half, ratio + half])
    assert curve["mean"].iloc[0] == 1.0


def stopped(folder: Path, runs: int, **given: Any) -> Any:
    """A campaign that is stopped after some runs."""
    turns = iter(range(10_000))
    campaign = rf.campaigns.Campaign(run=f"{MODELS}:noisy", seed=3, **given)
    result = rf.campaigns.sweep(campaign, folder / "store", executor="serial", stopped=lambda: next(turns) > runs)
    assert len(result.runs) > 0
    assert result.missing
    return result


@pytest.mark.parametrize("runs", [2, 5, 9])
@pytest.mark.slow
def test_an_unfinished_campaign_has_a_page(tmp_path: Path, runs: int, capsys: pytest.CaptureFixture[str]) -> None:
    values = {"x": [1.0, 2.0, 3.0], "y": [5.0, 0.0, 7.0]}
    crossed = [
        {"label": "later", "parameter": "scale", "values": [0.5, 2.0], "second": "x", "second_values": [8.0, 9.0]}
    ]
    result = stopped(tmp_path, runs, parameters=values, experiments=crossed, replications=3)
    done = set(result.runs["cell"])
    table = result.heat_map("y", "x", "value", experiment="")
    assert table.shape == (3, 3)
    assert int(table.notna().to_numpy().sum()) == len(done & set(result.where(experiment="").index))
    page = write_campaign_page(result, tmp_path / "page.html").read_text()
    assert "to do" in page
    assert main(["sweep", "status", str(tmp_path / "store"), "--within", "0.05"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"worse than the best of the {len(done)} cell{'s' if len(done) > 1 else ''} with results" in told
    assert f"The best cell of the {len(done)} cell" in page


def test_cells_as_good_as_the_best_are_told_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of 15 values of x the best is the last."""
    values = {"x": [float(x) for x in range(15, 0, -1)]}
    swept(tmp_path, "noisy", parameters=values, replications=4, config={"y": 2.0})
    assert main(["sweep", "status", str(tmp_path / "store")]) == 0
    told = capsys.readouterr().out
    assert "at x 1." in told
    rows = [line.split() for line in told.splitlines() if re.match(r" *\d+ .* 4$", line)]
    assert [int(row[0]) for row in rows] == list(range(1, 13))
    assert "the best 12 of 15 rows" in told
    page = tmp_path / "page.html"
    assert main(["sweep", "report", str(tmp_path / "store"), "--out", str(page), "--within", "1"]) == 0
    best = noise(4).mean() + 3.0
    alike = sum(noise(4).mean() + 2.0 + x <= 2.0 * best for x in values["x"])
    text = page.read_text().replace("\N{NO-BREAK SPACE}", " ")
    assert f"The best cell, and {alike - 1} at most 100 % worse." in text
    assert re.search(r"<td[^>]*>y</td>\s*<td[^>]*>2</td>", text)


def test_the_headline_counts_cells_that_are_equal(tmp_path: Path) -> None:
    values = {"x": [1.0, 9.0], "scale": [0.0], "y": [0.0, -0.0, 3.0]}
    result = swept(tmp_path, "noisy", parameters=values, replications=4)
    assert result.headline.endswith("at x 1, scale 0, y 0; 1 other cell is equal or not distinguishable.")
    single = rf.campaigns.Campaign(run=f"{MODELS}:square", parameters={"x": [2.0, -2.0, 3.0]}, replications=1)
    assert rf.campaigns.sweep(single, executor="serial").headline.endswith(
        "; 1 other cell is equal or not distinguishable."
    )


def test_a_map_has_a_row_and_a_column_per_value(tmp_path: Path) -> None:
    result = swept(tmp_path, "noisy", parameters={"y": [5.0, 0.0], "x": [1.0, 2.0]}, replications=3)
    table = result.heat_map("y", "x", "value")
    assert (table.index.tolist(), table.columns.tolist()) == ([5.0, 0.0], [1.0, 2.0])
    np.testing.assert_allclose(table.to_numpy(), noise(3).mean() + np.array([[6, 7], [1, 2]]))


def test_the_best_cell_and_those_not_distinguishable_from_it(tmp_path: Path) -> None:
    grid = {"x": [1.0, 1.2, 9.0], "scale": [1.0, 2.0]}
    result = swept(tmp_path, "noisy", parameters=grid, replications=10)
    table = rf.campaigns.best_cells(result, "value")
    values = np.array([x + scale * noise(10) for x in grid["x"] for scale in grid["scale"]])
    apart = values - values[values.mean(axis=1).argmin()]
    half = stats.t.ppf(1 - 0.025 / 5, 9) * apart.std(axis=1, ddof=1) / np.sqrt(10)
    alike = np.flatnonzero(apart.mean(axis=1) <= half)
    assert 1 < alike.size < 5
    np.testing.assert_allclose(np.sort(table["mean"]), np.sort(values.mean(axis=1)[alike]))
    assert table["difference"].iloc[0] == 0.0
    most = rf.campaigns.best_cells(result, "value", best="most")
    assert set(most["x"]) == {9.0}


def test_cells_a_share_worse_than_the_best_are_listed_by_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    swept(tmp_path, "square", parameters={"x": [10.0, 10.04, 10.2, 20.0]}, replications=1)  # 100, 100.8, 104.04, 400
    assert main(["sweep", "status", str(tmp_path / "store"), "--within", "0.03", "--json"]) == 0
    assert [row["x"] for row in json.loads(capsys.readouterr().out)["best"]] == [10.0, 10.04]
    assert main(["sweep", "status", str(tmp_path / "store"), "--within", "0.05"]) == 0
    *_, title, _, _, first, second, third = capsys.readouterr().out.splitlines()
    assert title == "At most 5 % worse than the best"
    assert [row.split()[0] for row in (first, second, third)] == ["10", "10.04", "10.2"]


def test_a_pareto_front_has_what_nothing_beats(tmp_path: Path) -> None:
    result = swept(tmp_path, "square", parameters={"x": [-2.0, -1.0, 1.0, 3.0]}, replications=1)
    front = rf.campaigns.pareto_front(result, {"value": "least", "x": "most"})
    assert front["x"].tolist() == [1.0, 3.0]


def test_a_pareto_front_is_that_of_the_campaign(tmp_path: Path) -> None:
    # noisy gives value = x + y and noise = 0; a unit of y is worth 3: cost 1 + 4 = 5, 1, 2 + 4 = 6, 2
    given = {"parameters": {"x": [1.0, 2.0], "y": [-4.0, 0.0]}, "config": {"scale": 0.0}, "replications": 2}
    result = swept(tmp_path, "noisy", **given, prices={"value": 1.0, "y": -2.0})
    front = rf.campaigns.pareto_front(result)
    assert list(front.columns) == ["x", "y", "value", "cost"]
    assert front.to_numpy().tolist() == [[1.0, -4.0, -3.0, 5.0], [1.0, 0.0, 1.0, 1.0]]
    chosen = swept(tmp_path / "chosen", "noisy", **given, pareto={"value": "most", "x": "least"})
    assert rf.campaigns.pareto_front(chosen)[["x", "value"]].to_numpy().tolist() == [[2.0, 2.0], [1.0, 1.0]]
    with pytest.raises(ArgumentError, match="name no good side"):
        rf.campaigns.pareto_front(swept(tmp_path / "none", "noisy", **given))


@pytest.mark.slow
def test_the_page_has_the_pareto_front_or_asks_for_its_sides(tmp_path: Path) -> None:
    given = {"parameters": {"x": [1.0, 2.0], "y": [0.0, 3.0]}, "replications": 4}
    result = swept(tmp_path, "noisy", **given, pareto={"value": "least", "x": "most"})
    page = write_campaign_page(result, tmp_path / "page.html").read_text()
    assert "at least as good in all: least value and most x." in page
    assert "x of equal value" in page
    assert page.count("<figcaption>") == 1 + 1 + 2 * 2 + 1  # front, ranges, two curves of each parameter, map
    result = swept(tmp_path / "2", "noisy", **given)
    assert "Which sides are good?" in write_campaign_page(result, tmp_path / "page.html").read_text()
    result = swept(tmp_path / "3", "noisy", **given, pareto={"value": "least", "nois": "most"})
    assert "there is no output &#39;nois&#39;" in write_campaign_page(result, tmp_path / "page.html").read_text()


def test_the_best_sparing_has_the_most_useful_hours(tmp_path: Path) -> None:
    cluster = {"zones": 1, "racks": 8, "trays": 8, "gpus": 8, "block": 8, "working": 8, "spare_blocks": 1}
    config = {"years": 0.1, "cluster": cluster, "devices": {"mtbf_tray": "2000h", "mttr": "24h"}}
    campaign = rf.campaigns.Campaign(
        run="sparing", config=config, parameters={"devices.mtbf_tray": ["200h", "20000h"]}, replications=2
    )
    result = rf.campaigns.sweep(campaign, tmp_path / "s", executor="serial")
    assert "most useful" in result.headline
    assert rf.campaigns.best_cells(result)["devices.mtbf_tray"].tolist()[0] == "20000h"
    assert result.campaign["pareto"] == {"useful": "most", "stops": "least"}


def test_curves_of_a_drawn_design_are_means_of_tenths(tmp_path: Path) -> None:
    drawn = {"design": "latin hypercube", "points": 40, "replications": 1, "level": 0.9}
    result = swept(tmp_path, "noisy", parameters={"x": [0.0, 10.0], "y": [0.0, 1.0]}, config={"scale": 0.0}, **drawn)
    curve = result.curve("x")
    cells = result.cells.sort_values("x")
    first = cells.head(4)  # each of ten parts has four of 40 points
    values = (first["x"] + first["y"]).to_numpy()
    low, high = stats.t.interval(0.9, 3, values.mean(), stats.sem(values))
    assert len(curve) == 10
    np.testing.assert_allclose(curve.iloc[0].to_numpy(dtype=float), [first["x"].mean(), values.mean(), low, high])
    assert rf.plotting.campaign_map(result).get_title(loc="left").endswith("at the points drawn")
    with pytest.raises(ArgumentError, match="no first value"):
        result.curve("x", relative=True)


def test_a_figure_says_how_many_lines_it_leaves_out(tmp_path: Path) -> None:
    grid = {"x": [1.0, 2.0], "y": [float(y) for y in range(11)]}
    result = swept(tmp_path, "noisy", parameters=grid, replications=2)
    assert rf.plot(result).get_title(loc="left").replace("\n", " ").endswith(": 8 of 11 lines")


def test_pairs_that_cost_the_same(tmp_path: Path) -> None:
    grid = {"x": [0.0, 4.0, 10.0], "y": [0.0, 3.0]}
    result = swept(tmp_path, "noisy", parameters=grid, config={"scale": 0.0}, replications=5)
    lines = rf.campaigns.contour(result, "y", "x", 5.0, "value")
    assert lines["x"].tolist() == [5.0, 2.0]
    even = rf.campaigns.break_even(result, "x", {"x": 4.0, "y": 3.0}, {"y": 0.0}, "value")
    np.testing.assert_allclose([even.estimate, even.low, even.high], 7.0)
    outside = rf.campaigns.break_even(result, "x", {"x": 10.0, "y": 3.0}, {"y": 0.0}, "value")
    assert np.isinf(float(outside.estimate))


def test_a_tornado_has_the_widest_first(tmp_path: Path) -> None:
    experiments = [
        {"label": "less", "parameter": "x", "values": [1.0, 2.0]},
        {"label": "more", "parameter": "y", "values": [0.0, 3.0, 9.0]},
    ]
    second = {"second": "scale", "second_values": [0.5, 1.0, 2.0]}
    result = swept(tmp_path, "noisy", experiments=experiments, replications=3, **second)
    table = rf.campaigns.tornado(result, "value")
    assert table.index.tolist() == ["more", "less"]
    np.testing.assert_allclose(table["range"], [9.0, 1.0])
    assert result.varied("more") == ["y", "scale"]
    assert rf.plot(result, experiment="more").get_xlabel() == "y"
    assert table["high_at"].tolist() == [9.0, 2.0]


@pytest.mark.slow
def test_sobol_indices_of_ishigami(tmp_path: Path) -> None:
    ends = [-np.pi, np.pi]
    parameters = {"x1": ends, "x2": ends, "x3": ends}
    result = swept(tmp_path, "ishigami", parameters=parameters, design="sobol", points=2048, replications=1)
    table = rf.campaigns.sobol(result)
    np.testing.assert_allclose(table["first"], [0.3139, 0.4424, 0.0], atol=0.03)
    np.testing.assert_allclose(table["total"], [0.5576, 0.4424, 0.2437], atol=0.03)
    assert (table["total_low"] < table["total"]).all()


def test_sobol_indices_have_the_intervals_of_their_seed(tmp_path: Path) -> None:
    parameters = {name: [-np.pi, np.pi] for name in ("x1", "x2", "x3")}
    result = swept(tmp_path, "ishigami", parameters=parameters, design="sobol", points=64, replications=1)
    first, again, other = (rf.campaigns.sobol(result, rng=seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first, again)
    assert not first["first_low"].equals(other["first_low"])
    # the estimates by scipy
    mean = result.samples().mean(axis=1)
    values = {label: mean.reindex(result.where(experiment=label).index).to_numpy() for label in result.experiments}
    mixed = np.stack([values[f"AB {name}"] for name in parameters])
    peer = stats.sobol_indices(func={"f_A": values["A"][None], "f_B": values["B"][None], "f_AB": mixed[:, None]}, n=64)
    assert first["first"].to_numpy() == pytest.approx(np.clip(peer.first_order.ravel(), 0, 1))
    assert first["total"].to_numpy() == pytest.approx(np.clip(peer.total_order.ravel(), 0, 1))


def test_sobol_indices_are_shares_however_few_the_points(tmp_path: Path) -> None:
    parameters = {"x": [0.0, 100.0], "y": [0.0, 1.0]}  # x alone matters
    result = swept(tmp_path, "noisy", parameters=parameters, design="sobol", points=8, replications=2)
    table = rf.campaigns.sobol(result)
    assert table.to_numpy().min() == 0.0
    assert table.to_numpy().max() == 1.0
    bars = rf.plotting.sobol_indices(result)
    ends_of_whiskers = np.concatenate([line.get_ydata() for line in bars.lines])
    assert 0.0 <= ends_of_whiskers.min() <= ends_of_whiskers.max() <= 1.0


def test_sobol_indices_need_their_design(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="their own design"):
        rf.campaigns.sobol(swept(tmp_path, "square", parameters={"x": [1.0]}, replications=1))


def test_the_cheapest_cell(tmp_path: Path) -> None:
    prices = {"x": 2.0, "value": 10.0, "y": {"0": 0, "3.0": 50}}
    result = swept(tmp_path, "noisy", parameters={"x": [1.0, 2.0], "y": [0.0, 3.0]}, replications=6, prices=prices)
    costs = rf.campaigns.cost_of_ownership(result).costs
    expected = [2 * x + 10 * (x + y + noise(6).mean()) + (50 if y else 0) for x, y in ((1, 0), (2, 0), (1, 3), (2, 3))]
    np.testing.assert_allclose(costs["cost"], expected)
    assert costs[["x", "y"]].to_numpy().tolist() == [[1, 0], [2, 0], [1, 3], [2, 3]]
    with pytest.raises(ArgumentError, match="no price for y"):
        rf.campaigns.cost_of_ownership(result, {"y": {"7": 1}})
    with pytest.raises(ArgumentError, match="no output 'z'"):
        rf.campaigns.cost_of_ownership(result, {"z": 1.0})


def test_a_cell_that_leaves_a_parameter_has_the_price_of_its_configured_value(tmp_path: Path) -> None:
    varied = {"design": "one at a time", "parameters": {"x": [1.0, 2.0], "y": [3]}, "prices": {"y": 10.0, "x": 1.0}}
    with pytest.raises(ArgumentError, match="y has a price, but neither some cells nor the configuration"):
        swept(tmp_path, "noisy", replications=2, **varied)
    assert not (tmp_path / "store").exists()
    costs = rf.campaigns.cost_of_ownership(swept(tmp_path, "noisy", config={"x": 7, "y": 5}, replications=2, **varied))
    assert costs.costs["cost"].tolist() == [7 + 30, 1 + 50, 2 + 50]
    assert costs.headline == "cheapest: y 3, 37 (37-37)"


def test_each_experiment_has_a_file_of_statistics(tmp_path: Path) -> None:
    experiments = [{"label": "Recovery (min)", "parameter": "x", "values": [1.0, 2.0]}]
    result = swept(tmp_path, "noisy", experiments=experiments, replications=4)
    (path,) = result.write(tmp_path / "of" / "files")
    assert path.name == "recovery_min.csv"
    table = pd.read_csv(path)
    assert table.columns[:3].tolist() == ["x", "output", "runs"]
    value = table[table["output"] == "value"]
    np.testing.assert_allclose(value["mean"], noise(4).mean() + np.array([1.0, 2.0]))


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    result = swept(tmp_path, "noisy", parameters={"x": [1.0]}, replications=2)
    with pytest.raises(ArgumentError, match="the outputs are value, noise"):
        result.of("wait")
    with pytest.raises(ArgumentError, match="'y' is not varied"):
        result.curve("y")
    with pytest.raises(ArgumentError, match="no cell has x"):
        result.where(x=3.0)


@pytest.mark.parametrize("design", ["grid", "sobol"])
@pytest.mark.slow
def test_the_page_needs_nothing_else(tmp_path: Path, design: str) -> None:
    more = {"design": design, "points": 8} if design == "sobol" else {}
    result = swept(
        tmp_path,
        "noisy",
        parameters={"x": [1.0, 2.0], "y": [0.0, 3.0]},
        replications=4,
        prices={"value": 2.0},
        **more,
        config={"scale": 1.0},
    )
    text = write_campaign_page(result, tmp_path / "page.html").read_text()
    assert "<svg" in text
    assert f"<title>Campaign of {MODELS}:noisy</title>" in text
    assert not re.findall(r'(?:src|href)="(?!#|data:)', text)
    assert result.headline.split(";")[0] in text


def test_figures_say_when_nothing_is_computed(tmp_path: Path) -> None:
    campaign = rf.campaigns.Campaign(run=f"{MODELS}:noisy", parameters={"x": [1.0]})
    result = rf.campaigns.sweep(campaign, tmp_path / "s", executor="serial", stopped=lambda: True)
    assert result.missing == 30
    assert "nothing is computed" in rf.plot(result).get_title(loc="left").lower()
    assert result.to_frame()["runs"].tolist() == [0]
    write_campaign_page(result, tmp_path / "page.html")


@pytest.mark.slow
def test_numbers_have_their_units_in_headline_figures_and_page(tmp_path: Path) -> None:
    small = {"job_size": 8, "working_pool_size": 9, "spare_pool_size": 1, "job_length": 600, "warm_standbys": 0}
    varied: Any = {"recovery_time": [10, 30], "manual_repair_time": ["1h", "2 days"]}
    plan = rf.campaigns.Campaign(run="training", config=small, parameters=varied, replications=2)
    result = rf.campaigns.sweep(plan, tmp_path / "s", executor="serial")
    mean = result.of()["mean"].min() / 60.0
    match = re.search(
        r"least total training time ([\d.]+) \((.*)-(.*)\) h at recovery_time 10 min, man", result.headline
    )
    assert match is not None
    assert float(match[1]) == pytest.approx(mean, rel=5e-4)
    assert max(len(end.replace(".", "")) for end in match.groups()) <= 4
    assert result.headline == in_hours(result).headline
    units = {"recovery_time": "min", "manual_repair_time": "h", "total_wait_time": "min", "etr": ""}
    assert {name: result.unit(name) for name in units} == units
    axes = rf.plot(result, parameter="manual_repair_time")
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("manual repair time (h)", "total training time (min)")
    assert axes.get_legend_handles_labels()[1] == ["recovery time 10 min", "recovery time 30 min"]
    page = write_campaign_page(result, tmp_path / "page.html").read_text(encoding="utf-8")
    assert {"recovery_time (min)", "mean (h)"} <= set(re.findall(r"<th[^>]*>\s*([^<]+?)\s*</th>", page))
    assert "manual_repair_time (" not in page  # its values are text, with a unit of their own


def test_a_rate_without_a_unit_is_said_of_a_campaign(tmp_path: Path) -> None:
    small = {"job_size": 2, "working_pool_size": 4, "spare_pool_size": 0, "job_length": 600}
    for values, told in (([0.01, 0.02], True), (["0.01 per day", "0.02 per day"], False)):
        plan = rf.campaigns.Campaign(
            run="training", config=small, parameters={"random_failure_rate": values}, replications=2
        )
        result = rf.campaigns.sweep(plan, tmp_path / str(told), executor="serial")
        said = "random_failure_rate 0.02 is per minute, a failure every 50 minutes of a server"
        assert any(text.startswith(said) for text in result.findings) == told


def test_the_settings_say_what_they_are(tmp_path: Path) -> None:
    weibull = {"family": "weibull", "parameters": {"shape": 1.01, "scale": 1683.0}}
    small = {
        "job_size": 8,
        "working_pool_size": 9,
        "job_length": "2 days",
        "failure": weibull,
        "manual_repair_time": "4h",
    }
    plan = rf.campaigns.Campaign(run="training", config=small, replications=1, parameters={"recovery_time": [5]})
    settings = base_settings(rf.campaigns.sweep(plan, tmp_path / "s", executor="serial")).set_index("key")
    assert settings.loc["failure", "value"] == "weibull (scale 1,683, shape 1.01; times in hours)"
    assert settings.loc["manual_repair_time"].tolist() == [
        "4 hours",
        "mean time of a manual repair, after the automatic one",
    ]


def test_a_function_of_the_user_has_the_units_of_the_campaign(tmp_path: Path) -> None:
    units = {"value": "GB", "x": "km"}
    result = swept(tmp_path, "noisy", parameters={"x": [1.0, 2.0]}, replications=3, units=units)
    axes = rf.plot(result)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x (km)", "value (GB)")
    assert rf.plot(result, relative=True).get_ylabel() == "ratio to the first value"


def test_seconds_read_as_durations_in_the_headline(tmp_path: Path) -> None:
    result = swept(tmp_path, "noisy", parameters={"x": [731_098.0, 800_000.0]}, replications=3, units={"value": "s"})
    mean, low, high = result.of()[["mean", "low", "high"]].iloc[0] / 86_400.0
    assert f"least value {mean:.2f} days ({low:.2f}-{high:.2f}) at x" in result.headline
    single = rf.campaigns.Campaign(
        run=f"{MODELS}:square", parameters={"x": [60.0]}, replications=1, units={"value": "s"}, output="value"
    )
    assert "least value 1 hour at x 60" in rf.campaigns.sweep(single, executor="serial").headline


def test_a_table_has_the_answer_and_the_units_of_its_parameters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = {"job_size": 8, "working_pool_size": 9, "job_length": "2 days"}
    for i, values in enumerate(([5, 10], ["5 min", "10 min"])):
        plan = rf.campaigns.Campaign(
            run="training", config=small, replications=2, parameters={"checkpoint_every": values}
        )
        store = str(tmp_path / f"s{i}")
        rf.campaigns.sweep(plan, store, executor="serial")
        assert main(["sweep", "status", store]) == 0
        head = next(line for line in capsys.readouterr().out.splitlines() if line.endswith("runs"))
        assert head.split("  ")[0] == ("checkpoint every (min)", "checkpoint every")[i]
        assert main(["sweep", "status", store, "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert "unit" not in document
        assert document["campaign"]["units"]["total_training_time"] == "min"


def test_waits_of_batch_systems_are_shown_in_hours(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Four jobs of an hour and a node each on one node wait 0, 1, 2 and 3 hours."""
    rows = "".join(f"{i},0,1,3600,3600\n" for i in range(4))
    (tmp_path / "jobs.csv").write_text(f"job_id,submission_time,nodes,walltime,run_time\n{rows}")
    config = {"workload": {"file": str(tmp_path / "jobs.csv")}, "cluster": {"nodes": 1}}
    schedulers: Any = {"scheduler.name": ["fcfs", "easy"]}
    plan = rf.campaigns.Campaign(run="batch", config=config, replications=1, parameters=schedulers)
    result = rf.campaigns.sweep(plan, tmp_path / "s", executor="serial")
    assert result.of()["mean"].tolist() == [5400.0, 5400.0]
    assert main(["sweep", "status", str(tmp_path / "s")]) == 0
    shown = capsys.readouterr().out
    assert "Mean wait (h)" in shown
    assert "least mean wait 1.5 h at" in shown
    assert [line.split()[1] for line in shown.splitlines() if line.startswith(("fcfs", "easy"))] == ["1.5", "1.5"]


def test_times_of_training_are_shown_in_hours_and_numbers_are_plain(tmp_path: Path) -> None:
    small = {"job_size": 8, "working_pool_size": 9, "job_length": "2 days"}
    plan = rf.campaigns.Campaign(
        run="training",
        config=small,
        replications=2,
        parameters={"working_pool_size": [1040, 1064]},
        prices={"total_training_time": 1e6},
    )
    result = rf.campaigns.sweep(plan, tmp_path / "s", executor="serial")
    hours = in_hours(result)
    np.testing.assert_array_equal(hours.of()["mean"], [np.mean(row) / 60 for row in result.samples().to_numpy()])
    assert hours.unit("total_training_time") == "h"
    assert result.unit("total_training_time") == "min"
    both = [rf.campaigns.cost_of_ownership(each).headline for each in (hours, result)]
    assert both[0] == both[1]
    assert not re.search(r"[0-9]e\+", both[0])  # about 2,890 minutes at a million each
    page = write_campaign_page(result, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "total training time (h)" in page
    assert "1,064" in page
    assert not re.search(r">[^<]*[0-9]e\+[0-9]", page)


def test_rates_as_text_are_values_of_an_axis(tmp_path: Path) -> None:
    small = {"job_size": 8, "working_pool_size": 9, "job_length": "2 days"}
    rates = {"random_failure_rate": ["1 per 2 days", "0.25 per day"]}
    plan = rf.campaigns.Campaign(run="training", config=small, replications=2, parameters=rates)
    result = rf.campaigns.sweep(plan, tmp_path / "s", executor="serial")
    assert result.unit("random_failure_rate") == "per h"
    np.testing.assert_allclose(numbers(result.cells["random_failure_rate"]), [1 / 48, 1 / 96])


def test_cells_within_a_share_of_the_best(tmp_path: Path) -> None:
    result = swept(tmp_path, "square", parameters={"x": [10.0, 10.05, 10.2]}, replications=1)
    assert rf.campaigns.best_cells(result, within=0.02)["x"].tolist() == [10.0, 10.05]  # 1 % and 4 % more than 100
    assert rf.campaigns.best_cells(result, best="most", within=0.035)["x"].tolist() == [10.2, 10.05]  # 2.9 and 3.9 %
    with pytest.raises(ArgumentError, match="within"):
        rf.campaigns.best_cells(result, within=2.0)


def test_the_headline_says_where_cells_kill_different_numbers_of_jobs(tmp_path: Path) -> None:
    differ = swept(tmp_path, "killed", parameters={"x": [2.0, 3.5]}, output="mean_wait")
    assert differ.headline.endswith("at x 3.5; by cell, 200 to 350 jobs are killed at their walltime.")
    alike = swept(tmp_path / "one", "killed", parameters={"x": [2.0]}, output="mean_wait")
    assert "walltime" not in alike.headline
