"""A name that goes still works, and its warning points at the user's line and names what to write."""

from __future__ import annotations

import pytest

from relfit import ArgumentError
from relfit.base.deprecation import deprecated, renamed_argument, warn_deprecated


@deprecated("rf.new", removed_in="9.1")
def old(x: int, y: int = 1) -> int:
    """What it does."""
    return x + y


@renamed_argument("draws", "n_draws", removed_in="9.1")
def plan(source: str, n_draws: int = 100) -> tuple[str, int]:
    return source, n_draws


def test_an_old_function_works_and_warns() -> None:
    with pytest.warns(FutureWarning, match=r"^old\(\) will be removed in relfit 9\.1; write rf\.new$") as caught:
        assert old(2, y=3) == 5
    assert caught[0].filename == __file__
    assert (old.__name__, old.__doc__) == ("old", "What it does.")


def test_an_old_argument_works_and_warns() -> None:
    with pytest.warns(
        FutureWarning, match=r"^draws= of plan\(\) will be removed in relfit 9\.1; write n_draws=$"
    ) as caught:
        assert plan("log", draws=7) == ("log", 7)  # type: ignore[call-arg]
    assert caught[0].filename == __file__


@pytest.mark.filterwarnings("error")
def test_the_new_argument_does_not_warn() -> None:
    assert plan("log", n_draws=7) == ("log", 7)
    assert plan("log", 7) == ("log", 7)


def test_both_arguments_are_an_error() -> None:
    with pytest.raises(ArgumentError, match="draws= and n_draws= are the same argument; give n_draws= alone"):
        plan("log", n_draws=7, draws=7)  # type: ignore[call-arg]


def test_a_warning_from_within_a_function_points_at_its_caller() -> None:
    def function() -> None:
        warn_deprecated("a", "b", removed_in="9.1")

    with pytest.warns(FutureWarning) as caught:
        function()
    assert caught[0].filename == __file__
