"""Numbers, shares and tables as text of the page."""

from __future__ import annotations

import numpy as np
import pandas as pd
from markupsafe import Markup

from relfit.reporting.components import csv_text, heads, shown_share, span
from relfit.reporting.detail_sections import _decimals
from relfit.reporting.first_screen import limits, shown_availability
from relfit.reporting.rendering import isolated


def test_csv_is_guarded() -> None:
    frame = pd.DataFrame({"node": ["=1+1", "a"], "hours": [1.5, -2.0]})
    assert csv_text(frame) == "node,hours\n'=1+1,1.5\na,-2\n"


def test_columns_have_heads_of_their_own_or_their_names() -> None:
    assert heads("scope; mtbf: hours between") == {"scope": "scope", "mtbf": "hours between"}


def test_intervals_say_what_is_known() -> None:
    assert span(2621.0, 3083.0) == "2,621 to 3,083"
    assert span(0.55, 0.62, True) == "55 to 62 %"
    assert span(float("nan"), 1.0) == "\N{EN DASH}"
    assert span(1e-9, 1e-7, True) == "< 0.01 %"
    assert span(2621.0, np.inf) == "> 2,621"
    assert limits(4.09, 4.71, 4.38) == "4.09 to 4.71 hours"
    assert limits(12720.0, 18670.0, 15336.0) == "530 to 778 days"


def test_shares_near_zero_and_one_are_limits() -> None:
    assert [shown_share(0.315), shown_share(3e-27), shown_share(0.9999999, 0.99999)] == [
        "32 %",
        "< 0.01 %",
        "> 99.999 %",
    ]
    with_decimals = [shown_share(share, decimals=2) for share in (0.97, 0.99999, 1.0)]
    assert with_decimals == ["97.00 %", "> 99.99 %", "100.00 %"]
    assert [shown_availability(share) for share in (0.93778, 0.99935)] == ["93.8 %", "99.935 %"]
    assert [_decimals(shares) for shares in ([0.97, 0.9933, 1.0], [0.9, 0.95], [1.0])] == [2, 1, 1]


def test_names_do_not_turn_the_text_around_them() -> None:
    assert isolated("node a\u202eb<c, d fails") == Markup("node <bdi>a\u202eb&lt;c</bdi>, d fails")
    assert isinstance(isolated("node a\u202eb"), Markup)
    assert (isolated("n1\x07"), isolated(1.5)) == ("n1\\x07", 1.5)
