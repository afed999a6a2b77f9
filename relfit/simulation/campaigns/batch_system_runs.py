"""Batch systems as cells of a campaign."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any
from zlib import crc32

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.base.results import json_ready
from relfit.simulation.campaigns.campaign import Campaign
from relfit.simulation.campaigns.cell_designs import canonical
from relfit.simulation.campaigns.runners import Outputs, changed, columns, stream

__all__ = ["BatchSystemRuns"]

_LEFT_OUT = ("saving", "rng", "keep")
_CLOCKED = ("decision_seconds", "elapsed_seconds")  # of this computer, not of the simulated one


class BatchSystemRuns:
    """`relfit.simulation.batch.simulate_batches` over keys of its configuration, such as ``failures.0.repair``.

    The lists of jobs that the cells need are read when the cells are checked, and go to whoever computes.
    """

    output = "mean_wait"

    def __init__(self, campaign: Campaign) -> None:
        config = campaign.config
        if config is None:
            raise ArgumentError("a campaign of a batch system needs a configuration", remedy='write config = "c.toml"')
        document = (
            config if isinstance(config, dict) else rf.batch.read_batch_config(config).model_dump(exclude_unset=True)
        )
        self.base: dict[str, Any] = copy.deepcopy(document)
        if campaign.workload is not None:
            self.base.setdefault("workload", {})["file"] = Path(campaign.workload)
        self._jobs: dict[str, Any] = {}

    def identity(self) -> Any:
        """The configuration, and a checksum of each file that it names."""
        sums: dict[str, int] = {}
        tables = _by_name(self.base, sums)
        return {"config": json_ready(tables), "files": sums}

    def check(self, settings: dict[str, object]) -> None:
        """As the configuration is checked, with its failures and its jobs."""
        config = self._config(settings)
        config.settings()
        self._workload(config)

    def _config(self, settings: dict[str, object]) -> Any:
        return rf.batch.BatchConfig(**changed(self.base, settings))

    def _workload(self, config: Any) -> Any:
        key = canonical(json_ready(config.model_dump(include={"workload", "cluster", "classes"})))
        if key not in self._jobs:
            self._jobs[key] = config.read_jobs()
        return self._jobs[key]

    def run(self, settings: dict[str, object], first: int, last: int, seed: int) -> Outputs:
        """Every measure of `BatchRun.summary`, and counts of failures, repairs and kills."""
        config = self._config(settings)
        options = {name: value for name, value in config.settings().items() if name not in _LEFT_OUT}
        machine = (config.nodes,) if hasattr(config, "nodes") else ()
        if not config.classes:
            options.pop("each", None)
        runs = rf.batch.simulate_batches(
            self._workload(config), *machine, n_runs=last - first, rng=stream(seed, first), workers=1, **options
        ).runs
        return columns(runs.drop(columns=[name for name in _CLOCKED if name in runs]))


def _by_name(tables: object, sums: dict[str, int]) -> Any:
    """The tables with the names of files alone, so that a campaign may be moved; their checksums go to `sums`."""
    if isinstance(tables, Path):
        if tables.is_file():
            sums[tables.name] = crc32(tables.read_bytes())
        return tables.name
    if isinstance(tables, dict):
        return {key: _by_name(value, sums) for key, value in tables.items()}
    return [_by_name(value, sums) for value in tables] if isinstance(tables, list) else tables
