"""Texts of a figure: headlines cut at the end of a clause, names taken literally."""

from __future__ import annotations

import pytest

from relfit.base.results import Result
from relfit.plotting.style import headline, plain

LONG = "Half of it (p < 0.001; 0.4 to 0.6) costs 3 $; the rest depends."
TWO = "First 0.47 (0.46-0.47) of the node; then 0.46 (0.45-0.48) of the system."


@pytest.mark.parametrize(
    ("text", "longest", "title"),
    [
        (LONG, 60, r"Half of it (p < 0.001; 0.4 to 0.6) costs 3 \$"),
        (TWO, 50, "First 0.47 (0.46-0.47) of the node"),
        (LONG, 135, r"Half of it (p < 0.001; 0.4 to 0.6) costs 3 \$; the rest depends"),
    ],
)
def test_a_headline_is_cut_at_the_end_of_a_clause(text: str, longest: int, title: str) -> None:
    class Found(Result):
        headline = text

    assert headline(Found(), longest) == title


def test_names_from_a_log_are_no_mathematics_and_stay_in_the_legend() -> None:
    assert plain("node $x$") == r"node \$x\$"
    assert plain("_hidden") == " _hidden"
