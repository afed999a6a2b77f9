"""Mutants are drawn from every module and meet tests that are there; lists of mutants name lines of their files."""

from __future__ import annotations

import ast
import re
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from tests.house.sources import tree_of


@pytest.fixture
def mutants(root: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(root / "tools"))
    import mutants

    return mutants


def test_lists_of_mutants_name_lines_that_are_there(root: Path, mutants: ModuleType) -> None:
    rows = {
        name: tomllib.loads((root / "tools" / f"mutants_{name}.toml").read_text(encoding="utf-8"))["mutant"]
        for name in ("by_hand", "equivalent")
    }
    for row in rows["by_hand"]:
        assert (root / row["file"]).read_text(encoding="utf-8").count(row["old"]) == 1, row["name"]
        assert row["package"] in mutants.PACKAGES, row["name"]
    for row in rows["equivalent"]:
        lines = (root / row["file"]).read_text(encoding="utf-8").splitlines()
        assert row["old"] in [line.strip() for line in lines], row
        assert row["why"]


def test_mutants_are_drawn_from_every_module(root: Path, mutants: ModuleType) -> None:
    drawn = [path for package in mutants.PACKAGES for path in mutants.sources(package)]
    modules = {path for path in (root / "relfit").rglob("*.py") if not path.name.startswith("__")}
    assert sorted(drawn) == sorted(modules)


def test_every_package_has_tests_that_its_mutants_meet(root: Path, mutants: ModuleType) -> None:
    assert {package for package in mutants.PACKAGES if not mutants.test_paths(package)[0].startswith("tests/")} == set()
    assert set(mutants.ALSO) <= set(mutants.PACKAGES)
    named = {f"tests/{folder}" for folders in mutants.ALSO.values() for folder in folders}
    assert {folder for folder in named if not (root / folder).is_dir()} == set()


def test_compiled_functions_are_known_to_mutants_and_left_out_of_coverage(root: Path, mutants: ModuleType) -> None:
    import mutant_runs

    source = "@numba.njit(cache=True)\ndef f(): ...\n\n@inlined\ndef g():\n    return 1\n\n@wraps(f)\ndef h(): ...\n"
    assert mutant_runs.compiled_spans(ast.parse(source)) == [(2, 2), (5, 6)]
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    excluded = settings["tool"]["coverage"]["report"]["exclude_also"][0]
    assert {name for name in mutant_runs.COMPILERS if not re.fullmatch(excluded, f"@{name}")} == set()
    assert not re.search(excluded, "@parts")


def test_every_decorator_that_compiles_is_in_the_list(root: Path, mutants: ModuleType) -> None:
    """116 functions of the simulators met no test, since their decorator was not."""
    import mutant_runs
    from numba.core.dispatcher import Dispatcher

    unseen = []
    for path in sorted((root / "relfit").rglob("*.py")):
        functions = [node for node in tree_of(path).body if isinstance(node, ast.FunctionDef) and node.decorator_list]
        traced = [
            node.name
            for node in functions
            if not mutant_runs.COMPILERS & {mutant_runs._name(one) for one in node.decorator_list}
        ]
        if traced:
            module = import_module(".".join(path.relative_to(root).with_suffix("").parts))
            unseen += [f"{path.name}: {name}" for name in traced if isinstance(getattr(module, name, None), Dispatcher)]
    assert unseen == []
