"""Version, changelog, citation and deprecations say the same, and a name is gone when its last version has passed."""

from __future__ import annotations

import ast
import csv
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterable
from datetime import date
from pathlib import Path

import pytest
import yaml
from packaging.version import Version

import relfit
from tests.house.sources import nodes_of

HEADING = re.compile(r"^## (\d+\.\d+\.\d+) \((unreleased|\d{4}-\d{2}-\d{2})\)$")


@pytest.fixture(scope="module")
def releases(root: Path) -> dict[str, str]:
    """Versions of the changelog, newest first, with their dates."""
    lines = (root / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    matches = [HEADING.match(line) for line in lines if line.startswith("## ")]
    assert None not in matches, "a section is not '## 1.2.3 (2026-01-31)' or '## 1.2.3 (unreleased)'"
    return {match[1]: match[2] for match in matches if match}


def latest(releases: dict[str, str]) -> str:
    return next(version for version, day in releases.items() if day != "unreleased")


def test_the_version_is_that_of_the_last_release(releases: dict[str, str]) -> None:
    assert relfit.__version__ == latest(releases)


def test_the_version_has_one_place(root: Path) -> None:
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in settings["project"]
    assert settings["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "relfit.__version__"}
    tree = ast.parse((root / "relfit" / "__init__.py").read_text(encoding="utf-8"))
    (value,) = [n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "__version__"]
    assert ast.literal_eval(value) == relfit.__version__  # what setuptools reads without importing it


def test_releases_are_in_order(releases: dict[str, str]) -> None:
    versions = [Version(version) for version in releases]
    days = [date.fromisoformat(day) for day in releases.values() if day != "unreleased"]
    assert versions == sorted(set(versions), reverse=True)
    assert days == sorted(days, reverse=True)
    assert list(releases.values()).count("unreleased") <= 1
    assert "unreleased" not in list(releases.values())[1:]


def test_sections_have_the_four_headings_and_say_nothing_twice(root: Path) -> None:
    for section in re.split(r"^## ", (root / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.M)[1:]:
        headings = re.findall(r"^### (.*)$", section, flags=re.M)
        assert headings == [name for name in ("Added", "Changed", "Removed", "Fixed") if name in headings]
        entries = Counter(line[:40] for line in section.splitlines() if line.startswith("- "))
        assert [entry for entry, times in entries.items() if times > 1] == []


def removals(nodes: Iterable[ast.AST]) -> list[str]:
    """Versions in which deprecated names of a module go, as its calls of `relfit.base.deprecation` say."""
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    names = ("warn_deprecated", "deprecated", "renamed_argument")
    return [
        ast.literal_eval(keyword.value)
        for call in calls
        for keyword in call.keywords
        if keyword.arg == "removed_in" and ast.unparse(call.func).rpartition(".")[2] in names
    ]


def overdue(nodes: Iterable[ast.AST], version: str) -> list[str]:
    """Removals of a module that a version should have made."""
    return [removal for removal in removals(nodes) if Version(version) >= Version(removal)]


def test_deprecated_names_go_when_they_are_due(root: Path) -> None:
    modules = [path for path in (root / "relfit").rglob("*.py") if path.name != "deprecation.py"]
    due = {path.name: overdue(nodes_of(path), relfit.__version__) for path in modules}
    assert {name: versions for name, versions in due.items() if versions} == {}


def test_a_name_that_is_due_is_seen() -> None:
    source = (
        '@deprecated("c", removed_in="0.6")\ndef g():\n    deprecation.warn_deprecated("a", "b", removed_in="0.7")\n'
    )
    nodes = list(ast.walk(ast.parse(source)))
    assert removals(nodes) == ["0.6", "0.7"]
    assert [overdue(nodes, version) for version in ("0.5.9", "0.6.0", "1.0")] == [[], ["0.6"], ["0.6", "0.7"]]


def test_the_citation_is_complete_and_of_this_version(root: Path, releases: dict[str, str]) -> None:
    citation = yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()  # what CFF 1.2.0 requires
    allowed = {"abstract", "date-released", "keywords", "license", "type", "version"}
    assert citation.keys() <= {"cff-version", "message", "title", "authors", *allowed}
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    assert all(author.keys() & {"name", "family-names", "alias"} for author in citation["authors"])
    assert citation["version"] == relfit.__version__
    assert citation["date-released"] == date.fromisoformat(releases[relfit.__version__])


def test_hooks_use_the_project_s_own_tools(root: Path) -> None:
    hooks = yaml.safe_load((root / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (local,) = hooks["repos"]
    assert local["repo"] == "local"
    assert {hook["language"] for hook in local["hooks"]} == {"system"}
    assert [hook["id"] for hook in local["hooks"]] == ["ruff", "ruff-format", "mypy"]


def test_benchmarks_are_of_releases_with_seconds_above_zero(root: Path, releases: dict[str, str]) -> None:
    with (root / "benchmarks" / "history.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[-1]["version"] == latest(releases)
    assert [row["version"] for row in rows] == [v for v in reversed(releases) if v in {row["version"] for row in rows}]
    for row in rows:
        assert releases[row["version"]] == row["date"]
        assert all(
            float(value) > 0.0 for name, value in row.items() if name.endswith(("_s", "_ms", "pyarrow")) and value
        )


def test_nothing_that_a_trial_wrote_is_kept(root: Path) -> None:
    """Examples write logs, parameters and traces where they run; the folder of the project has none of them."""
    told = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=False)
    if told.returncode:
        pytest.skip("this is no clone")
    top = {name.split("/")[0] for name in told.stdout.split("\0") if name}
    folders = {".ci", "benchmarks", "data", "docs", "notebooks", "papers", "relfit", "tests", "tools"}
    files = {
        ".gitignore",
        ".pre-commit-config.yaml",
        "CHANGELOG.md",
        "CITATION.cff",
        "CONTRIBUTING.md",
        "LICENSE",
        "Makefile",
        "README.md",
        "conftest.py",
        "pyproject.toml",
    }
    assert top - folders - files == set()
