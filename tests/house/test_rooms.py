"""The package keeps its order: rooms import only the rooms below them, and nobody needs to guess where things are."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.house.sources import ROOT, nodes_of, tree_of

PACKAGE = ROOT / "relfit"

ORDER = (
    "base.arrays",
    "base.errors",
    "base.settings_advice",
    "base.deprecation",
    "base.former_packages",
    "base.lazy",
    "base.sealed",
    "base.units",
    "base.hours_of_arrays",
    "base.results",
    "base.text",
    "base.programs",
    "base.arguments",
    "base.writing",
    "base.paths",
    "base.numeric",
    "log.tables",
    "log.hints_of_rows",
    "log.lifechecks",
    "log.lifedata",
    "log.outages",
    "log.durations",
    "log.failurelog",
    "log.units_in_service",
    "io.parsing",
    "io",
    "io.workloads",
    "io.datasets",
    "fitting.families",
    "fitting.nonparametric",
    "fitting.goodness",
    "fitting",
    "analyses.screening",
    "analyses.independence",
    "analyses.recurrence",
    "analyses.regression",
    "system",
    "system.jobs",
    "fleet.prediction",
    "fleet.surveillance",
    "fleet",
    "fleet.calibration",
    "planning",
    "backtesting",
    "simulation",
    "simulation.training",
    "simulation.batch",
    "study",
    "plotting",
    "reporting",
    "live",
    "cli",
)
"""Rooms from the lowest to the highest."""

FRONTS = ("relfit", "relfit.__main__", "relfit.base", "relfit.log", "relfit.analyses")
"""Modules that only hand on: they may import everything."""


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        found[".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")] = path
    return found


MODULES = modules()


def room(module: str) -> str:
    """The room that a module stands in: a package inside a package, a module of `base` or `log`, or a package."""
    words = module.split(".")[1:]
    inner = ".".join(words[:2])
    return inner if inner in ORDER else words[0]


def package(module: str) -> str:
    """The package at the top, or ``study``."""
    return module.split(".")[1]


def targets_of(module: str, nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Modules of relfit that a source imports, anywhere in it: in functions and for types, too."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    targets = set()
    for name in names:
        while name and name not in MODULES:
            name = name.rpartition(".")[0]
        if name.startswith("relfit."):
            targets.add(name)
    return frozenset(targets - {module})


@cache
def imported(module: str) -> frozenset[str]:
    """Modules of relfit that a module imports."""
    return targets_of(module, nodes_of(MODULES[module]))


def against_the_order(module: str, targets: frozenset[str]) -> list[str]:
    """What a module imports from rooms above its own."""
    own = ORDER.index(room(module))
    return sorted(target for target in targets if ORDER.index(room(target)) > own)


@pytest.mark.parametrize("module", [name for name in MODULES if name not in FRONTS])
def test_imports_go_down(module: str) -> None:
    assert against_the_order(module, imported(module)) == []


def test_an_import_upward_is_seen() -> None:
    def upward_in(module: str, source: str) -> list[str]:
        return against_the_order(module, targets_of(module, ast.walk(ast.parse(source))))

    upward = "def f():\n    from relfit.plotting import style\n"
    assert upward_in("relfit.fitting.fits", upward) == ["relfit.plotting.style"]
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from relfit.system import System\n"
    assert upward_in("relfit.log.failurelog", typed) == ["relfit.system"]


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Modules that import each other, if there are any."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_imports_itself_through_others() -> None:
    graph = {
        module: {target for target in imported(module) if not is_front(target)}
        for module in MODULES
        if not is_front(module)
    }
    assert circle(graph) == []
    some, other = next((module, next(iter(targets))) for module, targets in graph.items() if targets)
    assert circle({**graph, other: graph[other] | {some}}) != []


def is_front(module: str) -> bool:
    """Whether a module only hands on the names of its room."""
    return MODULES[module].name == "__init__.py"


def test_every_room_has_its_place() -> None:
    assert {room(name) for name in MODULES if name not in FRONTS} == set(ORDER)


def test_packages_at_the_top_do_not_import_each_other() -> None:
    graph: dict[str, set[str]] = {}
    for module in MODULES:
        if module not in FRONTS:
            targets = {package(target) for target in imported(module) - {*FRONTS}}
            graph.setdefault(package(module), set()).update(targets - {package(module)})
    assert len(graph) == 15  # fourteen packages and study.py
    assert circle(graph) == []


def test_each_package_says_what_it_holds() -> None:
    fronts = [
        PACKAGE / name / "__init__.py" for name in {package(module) for module in MODULES if module not in FRONTS[:2]}
    ]
    texts = [ast.get_docstring(tree_of(path)) for path in fronts if path.is_file()]
    assert [text for text in texts if not text or not 4 <= text.count("\n") + 1 <= 12 or "newcomer" not in text] == []


def test_no_file_name_stands_twice() -> None:
    names = Counter(path.name for path in MODULES.values() if path.name != "__init__.py")
    assert [name for name, times in names.items() if times > 1] == []


def test_a_class_name_has_one_home() -> None:
    homes: dict[str, list[str]] = {}
    for module, path in MODULES.items():
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(module)
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def test_no_module_has_the_name_of_a_function_in_it() -> None:
    for module, path in MODULES.items():
        functions = {node.name for node in tree_of(path).body if isinstance(node, ast.FunctionDef)}
        assert module.rpartition(".")[2] not in functions, module


def test_files_can_be_read_in_one_sitting() -> None:
    long = {name: path.read_text().count("\n") for name, path in MODULES.items()}
    assert {name: lines for name, lines in long.items() if lines > 450} == {}
