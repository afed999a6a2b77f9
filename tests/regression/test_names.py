"""Attributes whose names are no plain words: blanks, umlauts, signs, digits first, words of Python."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

import relfit as rf
from tests.regression.test_of_log import simulated

NAMES = ["Purchase Order", "Höhe", "Last %", "1st", "class", "a:b", "a~b", "C", "x`y"]


def _named(name: str) -> rf.FailureLog:
    log = simulated()
    return replace(log, population=log.population.rename(columns={"rack": name}))


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_compared(name: str) -> None:
    measures = ("failures", "ttf (AFT)")
    plain = rf.regression.attribute_effects(simulated(), measures=measures).answered
    effects = rf.regression.attribute_effects(_named(name), measures=measures).answered
    assert effects["attribute"].tolist() == plain["attribute"].replace("rack", name).tolist()
    columns = ["term", "reference", "ratio", "low", "p"]
    pd.testing.assert_frame_equal(effects[columns], plain[columns], rtol=1e-6)


@pytest.mark.parametrize("name", [name for name in NAMES if "`" not in name])
@pytest.mark.parametrize("quoted", ["`{}`", "C(`{}`)", 'Q("{}")', "Q('{}') + position"])
def test_a_user_quotes_a_name(name: str, quoted: str) -> None:
    if name == "C" and "C(" in quoted:
        pytest.skip("this function is then a column")
    right = quoted.format(name)
    fit = rf.regress(_named(name), f"failures ~ {right}")
    plain = rf.regress(simulated(), f"failures ~ rack{' + position' if 'position' in right else ''}")
    assert fit.table["coefficient"].tolist() == pytest.approx(plain.table["coefficient"].tolist(), rel=1e-6)
    assert fit.table["reference"].tolist() == plain.table["reference"].tolist()


def test_times_take_quoted_names() -> None:
    fit = rf.regress(_named("Purchase Order"), 'ttf ~ Q("Purchase Order")', "weibull")
    assert fit.table.index.tolist() == ["Purchase Order[T.b]"]
    assert fit.table.loc["Purchase Order[T.b]", "reference"] == "a"
    fit = rf.regress(_named("class"), "ttf ~ C(`class`)")
    assert fit.table["reference"].tolist() == ["a"]


def test_a_name_without_quotes_is_told_to_have_them() -> None:
    with pytest.raises(rf.ArgumentError, match="quote odd names with backticks"):
        rf.regress(_named("Purchase Order"), "failures ~ Purchase Order")
