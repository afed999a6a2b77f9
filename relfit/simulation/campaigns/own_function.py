"""The runner of a user's function as cells of a campaign."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from relfit.base.errors import ArgumentError
from relfit.simulation.campaigns.campaign import Campaign
from relfit.simulation.campaigns.runners import Outputs, Runner, check_names, replicated


class OwnFunction(Runner):
    """A function of the parameters, and of a generator where it takes `rng`; it returns a number, or several by name.

    Each replication has a random stream of its own, the same in all cells.
    """

    document = "parameters of a function"

    def __init__(self, campaign: Campaign) -> None:
        super().__init__(campaign)
        self.function = campaign.run if callable(campaign.run) else _imported(campaign.run, campaign.folder)
        names = inspect.signature(self.function).parameters
        kinds = {each.kind for each in names.values()}
        self.takes_any = inspect.Parameter.VAR_KEYWORD in kinds
        self.names = [name for name in names if name != "rng"]
        self.random = "rng" in names or self.takes_any
        if not self.random and campaign.most_replications > 1:
            raise ArgumentError("a function without rng is the same in every run", remedy="write replications = 1")

    def identity(self) -> object:
        """The parameters that are not varied, and a checksum of the function's source."""
        try:
            source = inspect.getsource(self.function)
        except (OSError, TypeError):  # a builtin, or typed at a prompt
            source = ""
        return {"config": self.base, "source": hashlib.sha256(source.encode()).hexdigest()[:16]}

    def arguments(self, settings: dict[str, object]) -> dict[str, Any]:
        """The parameters, their names checked."""
        values = super().arguments(settings)
        if not self.takes_any:
            check_names(values, self.names)
        return dict(values)

    def run(self, settings: dict[str, object], first: int, last: int, seed: int) -> Outputs:
        """The values that the function returns; a single number is called ``value``."""
        values = self.arguments(settings)

        def one(rng: np.random.Generator) -> dict[str, float]:
            result = self.function(**values, **({"rng": rng} if self.random else {}))
            return _numbers(result if isinstance(result, Mapping) else {"value": result})

        return replicated(one, first, last, seed)


def _numbers(outputs: Mapping[object, object]) -> dict[str, float]:
    numbers = {}
    for name, value in outputs.items():
        if not isinstance(value, (int, float, np.number, np.bool_)):
            raise ArgumentError(f"{name} is {value!r}, not a number", remedy="return a number, or several by name")
        numbers[str(name)] = float(value)
    return numbers


def _imported(name: str, folder: Path) -> Any:
    """The function of ``module:function``; modules beside the campaign's file take precedence."""
    module, _, function = name.partition(":")
    place = str(folder.resolve())
    if place not in sys.path:  # stays: other processes import the function by name, too
        sys.path.insert(0, place)
    try:
        return getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        remedy = "write 'module:function', of a module in this folder or an installed one"
        raise ArgumentError(f"run = {name!r}: {error}", remedy=remedy) from None
