"""Parts of the three compiled engines can be told from each other by their names."""

from __future__ import annotations

import pytest
from numba.core.registry import CPUDispatcher

from relfit.batch import event_loop
from relfit.batch.compiling import outermost


def parts(function, found):
    """A compiled function and all that its code names, by qualified name; what is merged into others has no code."""
    if function.targetoptions.get("inline") != "always":
        found.setdefault((function.__module__, function.py_func.__qualname__), set()).add(function)
    code = function.py_func
    cells = [cell.cell_contents for cell in code.__closure__ or ()]
    for other in [*cells, *(code.__globals__.get(name) for name in code.__code__.co_names)]:
        if isinstance(other, CPUDispatcher) and not any(other in same for same in found.values()):
            parts(other, found)
    return found


def test_no_two_compiled_parts_have_one_name():
    """Numba joins compiled code by names; two that share one were mixed up where processes had kept them on disk."""
    found = {}
    for engine in event_loop._RUNS:
        parts(engine, found)
    assert len(found) > 40
    assert {name: len(same) for name, same in found.items() if len(same) > 1} == {}


def test_an_engine_is_compiled_where_nothing_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(_: object) -> None:
        raise RuntimeError("no locator available")

    monkeypatch.setattr("numba.core.dispatcher.FunctionCache", nowhere)
    monkeypatch.setattr("relfit.numeric.compiled._said", [])
    with pytest.warns(RuntimeWarning, match="cannot be kept"):
        double = outermost(lambda x: 2 * x)
    assert double(4) == 8
