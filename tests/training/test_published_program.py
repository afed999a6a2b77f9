"""What the published program (AIReSim) gave, run by itself, against `program_semantics`; its files, its names.

`published_program.json` has, for settings of small clusters and one large one, the keys of its `Params` (and its policy
of removal), how many runs there were (seeds 42, 43, ...) and the mean and standard deviation of all that it collects.
Its version is that of September 2026, which reproduces its own recorded values (tests/data/prefix_golden.json there).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import relfit as rf
from relfit.simulation.training import read_training, training_parameters

PUBLISHED: dict[str, Any] = json.loads((Path(__file__).parent / "published_program.json").read_text())

# 24 runs at its defaults: mean, standard deviation
DEFAULTS = {
    "total_training_time": (593_006.0, 1_760.0),
    "total_failures": (11_199.0, 89.0),
    "systematic_failures": (680.0, 18.0),
    "manual_repairs": (8_959.0, 81.0),
    "host_selection_count": (42.0, 2.6),
    "preemption_count": (13.0, 3.7),
}

# the fields of its Params, with values other than its defaults
EVERY_KEY: dict[str, Any] = {
    "random_failure_rate": 1e-5,
    "systematic_failure_rate_multiplier": 4.0,
    "systematic_failure_fraction": 0.1,
    "recovery_time": 25.0,
    "host_selection_time": 4.0,
    "job_size": 20,
    "job_length": 10_000,
    "warm_standbys": 2,
    "working_pool_size": 24,
    "spare_pool_size": 3,
    "enable_topology": True,
    "rack_size": 4,
    "preemption_wait_time": 10.0,
    "auto_repair_time": 100.0,
    "manual_repair_time": 2000.0,
    "prob_auto_to_manual": 0.7,
    "auto_repair_fail_prob": 0.3,
    "manual_repair_fail_prob": 0.1,
    "failure_distribution": "weibull",
    "weibull_shape": 1.2,
    "lognormal_sigma": 0.9,
    "diagnosis_probability": 0.9,
    "diagnosis_uncertainty": 0.1,
    "bad_server_regeneration": True,
    "bad_server_regen_interval": 40_000,
    "seed": 3,
    "num_replications": 10,
    "adaptive_replications": True,
    "confidence_level": 0.9,
    "relative_accuracy": 0.02,
    "max_replications": 40,
}


def compare(outputs: Any, n: int, theirs: dict[str, Any], runs: int) -> None:
    """Means within 3.5 standard errors, standard deviations within a factor of 0.6 to 1.6."""
    for name, (mean, sd) in theirs.items():
        row = outputs[name]
        rare = 3.0 / runs if sd == 0.0 else 0.0  # what never happened in so many runs
        error = 3.5 * np.hypot(row["sd"] / np.sqrt(n), sd / np.sqrt(runs)) + rare * max(row["max"] - row["min"], 1e-6)
        assert abs(row["mean"] - mean) <= error + 1e-6 * mean, (name, row["mean"], mean)
        if sd > 1e-6 * mean:
            assert 0.6 < row["sd"] / sd < 1.6, (name, row["sd"], sd)


def test_the_published_program_at_its_defaults() -> None:
    run = rf.simulate_training(n_replications=60, rng=1, program_semantics=True)
    compare(run.to_dict()["outputs"], 60, DEFAULTS, 24)
    means = run.outputs["mean"]
    assert means["auto_repairs"] == means["total_failures"]  # all end, and are counted


@pytest.mark.parametrize("setting", PUBLISHED)
def test_the_published_program_in_other_settings(setting: str) -> None:
    given = PUBLISHED[setting]
    n = {24: 60, 300: 200, 3000: 2000}[given["runs"]]
    run = rf.simulate_training(given["keys"], n_replications=n, rng=5, program_semantics=True)
    compare(run.to_dict()["outputs"], n, given["outputs"], given["runs"])


@pytest.mark.parametrize("ending", ["json", "yaml"])
def test_files_of_the_published_program_are_read_unchanged(tmp_path: Path, ending: str) -> None:
    place = tmp_path / f"config.{ending}"
    lines = "".join(f"{key}: {json.dumps(value)}   # a remark\n" for key, value in EVERY_KEY.items())
    place.write_text(json.dumps(EVERY_KEY) if ending == "json" else lines)
    params = read_training(place)
    assert {key: getattr(params, key) for key in EVERY_KEY} == EVERY_KEY
    assert params == training_parameters(EVERY_KEY)
    run = rf.simulate_training(params, program_semantics=True)
    assert 10 <= len(run.whole) <= 40
