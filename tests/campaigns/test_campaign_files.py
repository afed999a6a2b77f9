"""What a campaign may say, which cells it has, and how what is wrong is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import relfit as rf
from relfit.base.errors import ArgumentError, RelfitError
from relfit.simulation.campaigns.campaign import cells_of

MODELS = "tests.campaigns.models"


def write(folder: Path, text: str) -> Path:
    path = folder / "c.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_least_campaign_has_a_cell_per_value(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        'run = "training"\nconfig = "base.yaml"\nreplications = 40\nseed = 5\n'
        '[[experiments]]\nlabel = "recovery"\nparameter = "recovery_time"\nvalues = [10, 20, 30]\n',
    )
    campaign = rf.campaigns.read_campaign(path)
    assert campaign.config == tmp_path / "base.yaml"
    cells = cells_of(campaign)
    assert [cell.experiment for cell in cells] == ["recovery"] * 3
    assert [cell.settings for cell in cells] == [{"recovery_time": value} for value in (10, 20, 30)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('run = "training"\n', "the grid is empty"),
        ('run = "training"\n[parameters]\nrecovery_time = []\n', "recovery_time: this has no values"),
        ('run = "training"\nreplicatons = 3\n[parameters]\na = [1]\n', "did you mean replications"),
        ('run = "trainig"\n[parameters]\nrecovery_time = [1]\n', "did you mean training"),
        ('run = "training"\n[parameters]\nrecovery_tine = [1]\n', "did you mean recovery_time"),
        ('run = "training"\n[parameters]\nrecovery_time = [-1]\n', "recovery_time"),
        (f'run = "{MODELS}:noisy"\n[parameters]\nxx = [1]\n', "there is no such parameter"),
        (f'run = "{MODELS}:nothing"\n[parameters]\nx = [1]\n', "nothing"),
        (f'run = "{MODELS}:square"\n[parameters]\nx = [1]\n', "write replications = 1"),
        ('run = "training"\ndesign = "sobol"\npoints = 12\n[parameters]\na = [1, 2]\n', "not a power of two"),
        ('run = "training"\ndesign = "sobol"\n[parameters]\na = [1, 2]\n', "needs points"),
        ('run = "batch"\n[parameters]\na = [1, 2]\n', "needs a configuration"),
    ],
)
def test_what_is_wrong_is_told_before_anything_runs(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(RelfitError, match=told):
        rf.campaigns.sweep(write(tmp_path, text), tmp_path / "store", executor="serial")
    assert not (tmp_path / "store").exists()


def settings(**given: object) -> list[dict[str, object]]:
    return [cell.settings for cell in cells_of(rf.campaigns.Campaign(run="m:f", **given))]


def test_a_grid_is_every_value_with_every_other() -> None:
    assert settings(parameters={"a": [1, 2], "b": ["x", "y"]}) == [
        {"a": 1, "b": "x"},
        {"a": 1, "b": "y"},
        {"a": 2, "b": "x"},
        {"a": 2, "b": "y"},
    ]


def test_one_at_a_time_leaves_the_others() -> None:
    values = settings(parameters={"a": [1, 2], "b": [3]}, design="one at a time")
    assert values == [{"a": 1}, {"a": 2}, {"b": 3}]


def test_a_latin_hypercube_has_one_value_in_each_part_of_every_range() -> None:
    values = settings(parameters={"a": [0.0, 10.0], "b": [1, 20]}, design="latin hypercube", points=10, seed=3)
    assert sorted(int(each["a"]) for each in values) == list(range(10))  # type: ignore[call-overload]
    assert all(isinstance(each["b"], int) and 1 <= each["b"] <= 20 for each in values)
    assert values == settings(parameters={"a": [0.0, 10.0], "b": [1, 20]}, design="latin hypercube", points=10, seed=3)


def test_a_sobol_design_mixes_two_samples() -> None:
    campaign = rf.campaigns.Campaign(run="m:f", parameters={"a": [0.0, 1.0], "b": [0.0, 1.0]}, design="sobol", points=8)
    cells = cells_of(campaign)
    parts = {label: [c.settings for c in cells if c.experiment == label] for label in ("A", "B", "AB a", "AB b")}
    assert [len(part) for part in parts.values()] == [8] * 4
    assert [each["a"] for each in parts["AB a"]] == [each["a"] for each in parts["B"]]
    assert [each["b"] for each in parts["AB a"]] == [each["b"] for each in parts["A"]]
    assert np.histogram([each["a"] for each in parts["A"]], 8, (0, 1))[0].tolist() == [1] * 8


def test_the_same_settings_are_one_cell() -> None:
    campaign = rf.campaigns.Campaign(
        run="m:f",
        experiments=[{"parameter": "a", "values": [1, 2]}, {"label": "again", "parameter": "a", "values": [2]}],
    )
    keys = [cell.key for cell in cells_of(campaign)]
    assert keys[1] == keys[2]
    assert len(set(keys)) == 2


def test_experiments_have_labels_of_their_own() -> None:
    with pytest.raises(ArgumentError, match="share a label"):
        rf.campaigns.Campaign(run="m:f", experiments=[{"parameter": "a", "values": [1]}] * 2)


def test_the_13_parameters_of_airesim_at_3_pools() -> None:
    campaign, defaults = rf.campaigns.read_campaign("airesim"), rf.training.TrainingParameters()
    cells = cells_of(campaign)
    for experiment in campaign.experiments:
        values = [float(value) for value in experiment.values]
        assert any(np.isclose(values, float(getattr(defaults, experiment.parameter)), rtol=1e-6))
    assert len({cell.experiment for cell in cells}) == 13
    assert len(cells) == 3 * sum(len(each.values) for each in campaign.experiments)
    assert {cell.settings["working_pool_size"] for cell in cells} == {4128, 4160, 4192}


def test_an_experiment_without_values_is_told_in_plain_words() -> None:
    with pytest.raises(ArgumentError, match=r"experiments\[0\]\.values: this has no values"):
        rf.campaigns.Campaign(run="training", experiments=[{"parameter": "recovery_time", "values": []}])
