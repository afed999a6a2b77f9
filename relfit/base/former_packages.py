"""Packages that stood at the top until 0.3: ``import relfit.families`` gives ``relfit.fitting.families``, and warns."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from relfit.base.deprecation import warn_deprecated

_INSIDE = {
    "base": "arguments arrays deprecation errors lazy numeric paths results sealed text units writing",
    "log": "durations failurelog lifechecks lifedata outages tables",
    "io": "datasets parsing workloads",
    "fitting": "families goodness nonparametric",
    "analyses": "independence recurrence regression screening",
    "system": "jobs",
    "fleet": "calibration prediction",
    "simulation": "batch training",
}
HOMES = {name: f"relfit.{package}.{name}" for package, names in _INSIDE.items() for name in names.split()}
"""By the name that followed ``relfit.``, where the module is now."""


class FormerPackages(MetaPathFinder, Loader):
    """Finds a module by the name that it had until 0.3; the first of the finders of `sys.meta_path`."""

    def __init__(self) -> None:
        self._own_specs: dict[str, ModuleSpec | None] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module is found here where its second word is a former package."""
        top, _, rest = fullname.partition(".")
        if top != "relfit" or rest.partition(".")[0] not in HOMES:
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Import the module from where it is now."""
        former, _, inner = spec.name.removeprefix("relfit.").partition(".")
        home = HOMES[former] + (f".{inner}" if inner else "")
        warn_deprecated(spec.name, home, removed_in="0.5", stacklevel=1)
        module = import_module(home)
        self._own_specs[spec.name] = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It was executed at home; give it back the specification that the import put its own over."""
        if module.__spec__ is not None:
            module.__spec__ = self._own_specs.pop(module.__spec__.name)
