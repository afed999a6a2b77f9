"""Training clusters as cells of a campaign."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import relfit as rf
from relfit.simulation.campaigns.campaign import Campaign
from relfit.simulation.campaigns.runners import Outputs, changed, columns

__all__ = ["TrainingRuns"]


class TrainingRuns:
    """`relfit.simulate_training` over keys of `TrainingParameters`; replications are those of its own seed."""

    output = "total_training_time"

    def __init__(self, campaign: Campaign) -> None:
        config = campaign.config
        if isinstance(config, (str, Path)):
            self.base = rf.training.read_training(config)
        else:
            self.base = rf.training.TrainingParameters(**(config or {}))

    def identity(self) -> Any:
        """The parameters that are not varied."""
        return self.base.model_dump(mode="json", exclude_unset=True)

    def check(self, settings: dict[str, object]) -> None:
        """As `TrainingParameters` does."""
        self._parameters(settings)

    def _parameters(self, settings: dict[str, object]) -> Any:
        nested = {key.partition(".")[0] for key in settings if "." in key}
        tables = changed(self.base.model_dump(include=nested) if nested else {}, settings)
        return self.base.but(**tables)

    def run(self, settings: dict[str, object], first: int, last: int, seed: int) -> Outputs:
        """Every output of `TrainingSimulation`; of several jobs together."""
        result = rf.simulate_training(
            self._parameters(settings), n_replications=last - first, first=first, rng=seed, workers=1
        )
        return columns(result.whole)
