"""Durations in any form become `LifeData`; a status is a word."""

from __future__ import annotations

import numpy as np
import pandas as pd

from relfit.fitting.nonparametric.samples import lives_of
from relfit.fitting.status import words


def test_durations_of_every_form() -> None:
    assert repr(lives_of([5.0, 6.0], [True, False])) == (
        "LifeData: 2 durations in 1 group (1 observed, 1 censored, 0 of length zero), measure life"
    )
    assert lives_of([5.0, 6.0, 7.0], by=["b", "a", "b"]).groups.tolist() == ["a", "b"]
    table = pd.DataFrame({"hours": [5.0, 6.0], "design": ["a", "b"]})
    assert lives_of(table, duration="hours", by="design").groups.tolist() == ["a", "b"]


def test_words_of_codes() -> None:
    assert words(np.array([0, 3], dtype=np.int8)).tolist() == ["ok", "no_variance"]
