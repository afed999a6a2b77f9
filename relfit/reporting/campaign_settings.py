"""What an answer of a campaign is about: settings that all cells have in common, cells with results, times in hours."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from relfit.base.text import count, duration, number
from relfit.simulation.campaigns import CampaignResults
from relfit.simulation.training import TrainingParameters

_LONGEST = 80


def base_settings(result: CampaignResults) -> pd.DataFrame:
    """One row per key of the configuration that no parameter changes: ``key``, ``value``; times as text with a unit.

    Of training jobs, ``meaning`` says what a key is.
    """
    base: Any = result.campaign.get("base") or {}
    if isinstance(base.get("config"), Mapping):
        base = base["config"]  # beside checksums of files
    parameters = base.get("parameters")
    if isinstance(parameters, Mapping) and "params" in base:  # the content of the file that params names
        base = {key: value for key, value in base.items() if key != "parameters"}
    rows = [
        (key, _text(value, result.unit(key)))
        for key, value in _leaves(base)
        if not any(key == name or name.startswith(f"{key}.") for name in result.parameters) and value is not None
    ]
    table = pd.DataFrame(rows, columns=["key", "value"])
    if result.campaign["run"] != "training":
        return table
    meanings = {key: field.description or "" for key, field in TrainingParameters.model_fields.items()}
    return table.assign(meaning=table["key"].map(meanings).fillna(""))


def in_hours(result: CampaignResults) -> CampaignResults:
    """Results of training jobs in hours in place of minutes, with prices per hour; those of other runs as they are."""
    campaign = result.campaign
    names = [name for name in result.outputs if name not in result.parameters and result.unit(name) == "min"]
    if campaign.get("run") != "training" or not names:
        return result
    prices: dict[str, Any] = dict(campaign.get("prices", {}))
    prices |= {name: 60.0 * prices[name] for name in names if name in prices}
    units = {**campaign.get("units", {}), **dict.fromkeys(names, "h")}
    runs = result.runs.assign(**{name: result.runs[name] / 60.0 for name in names})
    return replace(result, campaign={**campaign, "units": units, "prices": prices}, runs=runs)


def so_far(result: CampaignResults) -> str:
    """Of how many cells there are results, where runs are missing; "" where the campaign is complete."""
    cells = int(result.runs["cell"].nunique())
    return f"of the {count(cells, 'cell')} with results" if result.missing else ""


def _leaves(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted keys with their values; a distribution is one value."""
    for key, value in table.items():
        if isinstance(value, Mapping) and not {"family", "parameters"} <= set(value):
            yield from _leaves(value, f"{above}{key}.")
        elif isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value):
            for i, each in enumerate(value):
                yield from _leaves(each, f"{above}{key}.{i}.")
        else:
            yield f"{above}{key}", value


def _text(value: Any, unit: str) -> str:
    if isinstance(value, Mapping):
        about = ", ".join(f"{name} {number(each)}" for name, each in value["parameters"].items())
        return f"{value['family']} ({about}; times in hours)"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return duration(value / 60.0) if unit == "min" else f"{number(value)} {unit}".rstrip()
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
