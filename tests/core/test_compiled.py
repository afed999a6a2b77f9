"""What is kept compiled on disk is of the sources as they are: no constant, no callee of another version is used."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest

import relfit
from relfit.base.numeric import compiled, special
from relfit.fitting import conditional_terms

CALLER = """
from relfit import constants_of_it as at
from relfit.called import times
from relfit.base.numeric.compiled import njit


@njit()
def answer(x):
    return later(times(x)) + at.MORE


@njit()
def later(x):
    return x + 0.5
"""
CALLED = """
from relfit.base.numeric.compiled import njit

FACTOR = {factor}


@njit()
def times(x):
    return FACTOR * x
"""
ASK = """
from relfit.caller import answer
from relfit.base.numeric.compiled import kept
print(kept(answer), answer(10.0))
"""


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """A copy of the package with three small modules in it."""
    package = tmp_path / "site" / "relfit"
    shutil.copytree(Path(relfit.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "caller.py").write_text(CALLER)
    install(package, factor=2, more=1)
    return package


def install(package: Path, *, factor: int, more: int) -> None:
    """Files of a release, with the times of its archive."""
    for name, text in (("called.py", CALLED.format(factor=factor)), ("constants_of_it.py", f"MORE = {more}\n")):
        (package / name).write_text(text)
        os.utime(package / name, (1_700_000_000, 1_700_000_000))


def ask(package: Path) -> list[str]:
    command = [sys.executable, "-B", "-c", ASK]
    paths = {"PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(package.parents[1] / "cache")}
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | paths, cwd=package.parent)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def files(package: Path) -> list[str]:
    return sorted(path.name for path in (package.parents[1] / "cache").rglob("caller.answer*"))


@pytest.mark.slow
@pytest.mark.long
def test_a_constant_of_a_file_that_is_only_called_is_the_one_of_now(installed: Path) -> None:
    assert ask(installed) == ["False", "21.5"]
    assert ask(installed) == ["True", "21.5"]
    install(installed, factor=3, more=1)
    assert ask(installed) == ["False", "31.5"]
    install(installed, factor=3, more=7)  # read as an attribute of a module
    assert ask(installed) == ["False", "37.5"]
    assert len(files(installed)) == 2  # an index and one compiled signature: what is old is removed


@pytest.mark.slow
@pytest.mark.long
def test_a_release_installed_over_another_is_compiled_anew(installed: Path) -> None:
    ask(installed)
    front = installed / "__init__.py"
    front.write_text(front.read_text().replace('__version__ = "', '__version__ = "9.'))
    assert ask(installed) == ["False", "21.5"]
    assert ask(installed) == ["True", "21.5"]


def test_all_that_is_compiled_in_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    before = compiled.checksum(conditional_terms.value_of_group)
    assert compiled.checksum(conditional_terms.value_of_group) == before
    monkeypatch.setattr(special, "_SERIES_LIMIT", 2e5)  # two calls away
    after = compiled.checksum(conditional_terms.value_of_group)
    assert after != before
    monkeypatch.setattr(numba, "__version__", "0.0")
    assert compiled.checksum(conditional_terms.value_of_group) != after


def test_options_and_what_a_function_closes_over_count() -> None:
    def made(factor: int, **options: bool) -> str:
        return compiled.checksum(compiled.njit(cache=False, **options)(lambda x: factor * x))

    assert len({made(2), made(3), made(2, fastmath=True)}) == 3
    assert made(2) == made(2)


@pytest.mark.parametrize(("misses", "told"), [(0, 0), (1, 1)])
def test_compiling_is_told_once_and_only_when_it_is_true(
    misses: int, told: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A function that is long read from disk is not compiled: numba has not missed it there."""
    monkeypatch.setattr(compiled, "_PATIENCE", 0.01)
    function = SimpleNamespace(signatures=[], stats=SimpleNamespace(cache_misses={"of this type": misses}))
    with compiled.compile_notice(function, "ten seconds"):
        time.sleep(0.1)
    assert capsys.readouterr().err.count("compiling the simulator") == told
