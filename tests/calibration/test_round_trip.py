"""Parameters written and read again are the same, and no file whatever leads to a traceback."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from relfit.base.errors import ArgumentError, ReadError
from relfit.fleet.calibration import (
    Parameters,
    parameters_of_text,
    read_parameters,
    text_of_parameters,
    write_parameters,
)
from tests.examples import examples

HOURS = st.floats(1e-6, 1e9)
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20)


@st.composite
def durations(draw: Any) -> Any:
    kind = draw(st.integers(0, 3))
    if kind == 0:
        return draw(HOURS)
    if kind == 1:
        return {"events": draw(st.integers(0, 10**9)), "exposure": draw(HOURS)}
    low, value, high = sorted(draw(st.tuples(HOURS, HOURS, HOURS)))
    found = {"value": value, "low": low, "high": high, "level": draw(st.floats(0.01, 0.99))}
    return (
        found if kind == 2 else {**found, "method": draw(TEXT), "unit": draw(st.sampled_from(["days", "s", "hours"]))}
    )


@st.composite
def families(draw: Any) -> dict[str, Any]:
    shape, scale = draw(st.floats(0.1, 10.0)), draw(HOURS)
    found: dict[str, Any] = {"family": "weibull", "parameters": {"shape": shape, "scale": scale}}
    if draw(st.booleans()):
        a, b, r = draw(st.floats(1e-6, 1.0)), draw(st.floats(1e-6, 1.0)), draw(st.floats(-0.99, 0.99))
        found["covariance"] = [[a * a, r * a * b], [r * a * b, b * b]]
    return found


@st.composite
def documents(draw: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": draw(TEXT),
        "mtbf": draw(
            st.dictionaries(st.sampled_from(["node", "rack", "group", "system", "any", "outage"]), durations())
        ),
        "mttr": {"mean": draw(durations()), "share_quick": draw(st.floats(0.0, 1.0))},
        "absent": draw(st.dictionaries(TEXT, TEXT, max_size=3)),
        "checks": [{"name": draw(TEXT), "concern": draw(st.booleans()), "finding": draw(TEXT)}],
        "provenance": {"files": [draw(TEXT)], "created": dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)},
    }
    return made | {"failure": draw(families())} if draw(st.booleans()) else made


@examples(60)
@given(documents())
def test_round_trip_is_exact(document: dict[str, Any]) -> None:
    known = Parameters(**document)
    for kind in ("toml", "json"):
        text = text_of_parameters(known, kind)
        again = parameters_of_text(text, kind)
        assert again == known
        assert text_of_parameters(again, kind) == text


def test_files_are_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = Parameters(mtbf=3)
    assert write_parameters(known, tmp_path / "a.toml") == tmp_path / "a.toml"
    assert read_parameters(tmp_path / "a.toml") == known
    write_parameters(known, tmp_path / "a.json")
    assert read_parameters(tmp_path / "a.json") == known
    with pytest.raises(ArgumentError, match="does not end in"):
        write_parameters(known, tmp_path / "a.txt")
    with pytest.raises(ArgumentError, match="cannot write"):
        write_parameters(known, tmp_path / "nowhere" / "a.toml")

    def full(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(ArgumentError, match="No space left"):
        write_parameters(known, tmp_path / "b.toml")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.json", "a.toml"]


def rejected(text: str, kind: str) -> None:
    """Read, or rejected in one line; nothing else."""
    said = ""
    try:
        parameters_of_text(text, kind)
    except ReadError as error:
        said = str(error)
    assert "\n" not in said
    assert len(said) < 2000


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["value", "low", "high", "unit", "events", "exposure", "distribution", "level", "x"]), inner
        )
    ),
    max_leaves=8,
)
NAMES = st.sampled_from(
    [
        "version",
        "name",
        "mtbf",
        "mttr",
        "failure",
        "repair",
        "bad_nodes",
        "fleet",
        "period",
        "censoring",
        "checks",
        "absent",
        "provenance",
        "self",
        "",
        "mtbf.node",
    ]
)


@examples(150)
@given(st.dictionaries(NAMES, VALUES, max_size=4))
@pytest.mark.slow
def test_no_json_leads_to_a_traceback(document: dict[str, Any]) -> None:
    import json

    rejected(json.dumps(document), "json")


@examples(150)
@given(st.text(max_size=60))
def test_no_text_leads_to_a_traceback(text: str) -> None:
    rejected(text, "toml")
    rejected(text, "json")


@examples(100)
@given(documents(), st.data())
def test_no_damage_to_a_file_leads_to_a_traceback(document: dict[str, Any], data: st.DataObject) -> None:
    text = text_of_parameters(Parameters(**document), "toml")
    at = data.draw(st.integers(0, len(text)))
    other = data.draw(st.sampled_from(["", "-", '"', "[", "]", "\n", "=", "9" * 400, "nan", "{", "true", "\\"]))
    rejected(text[:at] + other + text[at + data.draw(st.integers(0, 9)) :], "toml")


def test_deep_nesting_and_long_numbers() -> None:
    for text, kind in [
        ("[" * 5000, "json"),
        ('{"a":' * 5000 + "1" + "}" * 5000, "json"),
        ("a = " + "[" * 5000 + "]" * 5000, "toml"),
        ('{"mtbf": ' + "9" * 5000 + "}", "json"),
        ("mtbf = " + "9" * 5000, "toml"),
        ("mtbf = 1" + "0" * 400, "toml"),
        ('{"mtbf": 1' + "0" * 400 + "}", "json"),
        ("[mtbf.node]\nevents = 3\nexposure = 1" + "0" * 400, "toml"),
    ]:
        with pytest.raises(ReadError):
            parameters_of_text(text, kind)


def test_numbers_of_numpy_are_numbers() -> None:
    assert Parameters(mtbf=np.float64(3.0)).require("mtbf.node") == (3.0,)
