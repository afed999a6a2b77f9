"""A rate that rises smoothly is no rate in waves, and the trend says by how much it rises."""

from __future__ import annotations

import numpy as np
import pytest

import relfit as rf
from relfit.analyses.independence import dispersion, failures_of
from relfit.cli.app import main
from tests.factories import make_log
from tests.independence.test_events import make_failures

HOURS = 3 * 8766.0
GROWTH = np.log(1.3) / 8766.0  # 30 % a year


def rising_log(waves: bool, seed: int = 1) -> rf.FailureLog:
    """64 nodes for three years: the rate rises by 30 % a year; in waves it doubles and halves every 40 days besides."""
    rng = np.random.default_rng(seed)
    share = rng.random(9000)
    at = np.log1p(share * np.expm1(GROWTH * HOURS)) / GROWTH
    high = (at // 960.0) % 2 == 0
    at = np.sort(at[rng.random(at.size) < np.where(waves & ~high, 0.1, 0.4)])
    nodes = [f"n{i:02d}" for i in range(64)]
    events = [{"node": nodes[rng.integers(64)], "start": t, "end": t + 0.5} for t in at]
    return make_log(events, [{"node": name} for name in nodes], window=(0, HOURS))


def test_a_smooth_rise_comes_not_in_waves() -> None:
    found = dispersion(failures_of(rising_log(waves=False)))
    assert found.clustered
    assert found.trend == pytest.approx(3 * np.log(1.3), abs=0.12)
    assert "since their rate rises over the log; apart from that they do not cluster" in found.headline
    waves = dispersion(failures_of(rising_log(waves=True)))
    assert waves.clustered
    assert waves.trend == 0.0
    assert "cluster at scales" in waves.headline


@pytest.mark.slow
def test_the_trend_says_how_much_the_rate_rises(tmp_path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.parquet"
    rf.write(rising_log(waves=False), path)
    main(["trend", str(path), "--period", "all"])
    text = " ".join(capsys.readouterr().out.split())
    said = text.partition("The failure rate rises by ")[2]
    rise, low, high = (float(part) for part in said.replace(" % a year (", "-").partition(" %)")[0].split("-"))
    assert low < 30.0 < high
    assert low < rise < high
    assert text.count("% a year") == 1


def test_pairs_of_failures_at_a_steady_rate_are_no_trend() -> None:
    """26 failures of 302 have another within the hour: on a clock of steady rate they are pairs still."""
    rng = np.random.default_rng(13)
    pairs, alone = rng.uniform(0.0, 2399.0, 26), rng.uniform(0.0, 2400.0, 250)
    at = np.sort(np.concatenate([alone, pairs, pairs + rng.uniform(0.0, 1.0, 26)]))
    node = rng.integers(0, 20, at.size)
    failures = make_failures([at[node == i] for i in range(20)], hours=2400.0)
    found = dispersion(failures, [24.0, 168.0], n_resamples=99, rng=1)
    assert found.clustered
    assert found.trend == 0.0
