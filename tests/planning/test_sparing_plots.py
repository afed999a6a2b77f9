"""Figures of the sparing planner show what they say."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from scipy import stats

mpl.use("Agg")
import matplotlib.pyplot as plt

import relfit as rf
from relfit.planning.sparing import (
    Cluster,
    DeviceFailures,
    Recovery,
    Strategies,
    evaluate_sparing,
    optimise_sparing,
    plan_sparing,
    sparing_map,
)
from relfit.simulation import simulate_sparing

CLUSTER, FAILURES = Cluster(2, 32, 8, 4), DeviceFailures(5000, 40_000, 24)
RECOVERY = Recovery("10min", "20s", "1min", "5min")
STRATEGIES = Strategies([8, 8, 4], [0, 1, 0])


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def test_gpu_hours_reach_a_hundred_percent() -> None:
    for found in (
        evaluate_sparing(CLUSTER, STRATEGIES, FAILURES, RECOVERY),
        optimise_sparing(CLUSTER, FAILURES, RECOVERY),
    ):
        ax = rf.plot(found)
        widths: dict[float, float] = {}
        for bar in ax.patches:
            widths[round(bar.get_y(), 3)] = widths.get(round(bar.get_y(), 3), 0.0) + bar.get_width()
        assert np.array(list(widths.values())) == pytest.approx(np.full(len(widths), 100.0), abs=0.3)
        ax.figure.canvas.draw()


def test_map_shows_every_winner_and_its_boundaries() -> None:
    found = sparing_map(CLUSTER, STRATEGIES, np.geomspace(200, 1e5, 20), np.geomspace(1, 200, 20), RECOVERY)
    ax = rf.plot(found)
    winners = {found.evaluation.labels[i] for i in np.unique(found.winner)}
    shown = {text.get_text().split(" ")[0] for text in ax.get_legend().get_texts()}
    assert winners == shown
    assert ax.lines[0].get_xdata().size == len(found.boundaries)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    ax.figure.canvas.draw()


def test_a_strategy_has_one_colour_in_every_map() -> None:
    colours: dict[str, set[str]] = {}
    for longest in (1e5, 2e3, 5e2):  # the ranks of the strategies differ
        found = sparing_map(CLUSTER, STRATEGIES, np.geomspace(200, longest, 12), np.geomspace(1, 200, 12), RECOVERY)
        legend = rf.plot(found).get_legend()
        for text, patch in zip(legend.get_texts(), legend.get_patches(), strict=True):
            colours.setdefault(text.get_text().split(" ")[0], set()).add(mpl.colors.to_hex(patch.get_facecolor()))
    assert len(colours) > 1
    assert all(len(seen) == 1 for seen in colours.values())
    assert len(set.union(*colours.values())) == len(colours)


def test_uncertain_spares_and_simulation() -> None:
    rng = np.random.default_rng(0)
    draws = DeviceFailures(5000 * np.exp(0.3 * rng.normal(size=300)), 40_000.0, 24.0)
    sure = plan_sparing(CLUSTER, (FAILURES, draws), RECOVERY, strategies=Strategies(8, 0))
    ax = rf.plot(sure)
    assert sum(bar.get_height() for bar in ax.patches if bar.get_height() < 100.5 and bar.get_width() < 1) == (
        pytest.approx(100.0, abs=0.1)
    )
    assert "spare blocks per zone (" in ax.get_title(loc="left").replace("\n", " ")
    run = simulate_sparing(CLUSTER, Strategies(8, 0), FAILURES, replace(RECOVERY), years=1, n_resamples=2, rng=0)
    ax = rf.plot(run)
    assert "useful" in [label.get_text() for label in ax.get_yticklabels()]
    ax.figure.canvas.draw()


def test_hot_spares_are_drawn_with_their_limit_and_interval() -> None:
    plan = rf.planning.plan_spares("5000h", 128, 0.01, repair="24h")
    ax = rf.plot(plan)
    line, limit, chosen = ax.lines
    # by hand: the binomial distribution of nodes down
    down = 24.0 / 5024.0
    waits = [100.0 * stats.binom.sf(spares, 128 + spares, down) for spares in line.get_xdata()]
    assert line.get_ydata() == pytest.approx(waits, rel=1e-9, abs=1e-10)
    assert set(limit.get_ydata()) == {1.0}
    assert chosen.get_xdata()[0] == min(s for s, wait in zip(line.get_xdata(), waits, strict=True) if wait <= 1.0)
    assert ax.get_yscale() == "log"


def test_a_job_that_never_waits_has_a_figure_that_says_so() -> None:
    ax = rf.plot(rf.planning.plan_spares("5000h", 128, repair=0))
    assert not ax.lines
    assert "needs 0 hot spares" in ax.texts[0].get_text().replace("\n", " ")
