"""What was imported from relfit's top in 0.3 is imported from there still, is the same, and warns."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from relfit.base.former_packages import HOMES

FORMER = """import warnings
warnings.simplefilter("ignore")
import relfit.families.weibull
from relfit.errors import ReadError
from relfit.training import simulate_training
import relfit, relfit.fitting.families.weibull as here
assert relfit.families.weibull is here and here.__spec__.name == "relfit.fitting.families.weibull"
assert relfit.ReadError is ReadError and relfit.simulate_training is simulate_training
"""


@pytest.mark.slow
def test_former_paths_give_the_same_modules() -> None:
    assert subprocess.run([sys.executable, "-c", FORMER], check=False).returncode == 0


@pytest.mark.parametrize("name", sorted(HOMES))
def test_every_former_name_warns_and_says_where_it_is(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, f"relfit.{name}", raising=False)
    with pytest.warns(FutureWarning, match=f"write {HOMES[name]}"):
        module = importlib.import_module(f"relfit.{name}")
    assert module.__name__ == HOMES[name]
    assert module.__spec__ is not None
    assert module.__spec__.name == HOMES[name]


def test_attributes_of_the_front_warn_too() -> None:
    code = "import warnings, relfit as rf; warnings.simplefilter('error', FutureWarning); rf.failurelog"
    run = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert "FutureWarning: relfit.failurelog will be removed in relfit 0.5; write relfit.log.failurelog" in run.stderr
    assert run.returncode == 1


def test_a_name_that_never_was_is_not_there() -> None:
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("relfit.never_there")
