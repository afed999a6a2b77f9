"""What people write by hand is read, and what cannot be is rejected in one line with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

import relfit as rf
from relfit.base.errors import ArgumentError, ReadError
from relfit.fleet.calibration import (
    Duration,
    ParameterError,
    Parameters,
    draw_parameters,
    parameters_of_text,
    read_parameters,
)
from relfit.fleet.calibration.parameter_values import Model
from relfit.fleet.calibration.validation_errors import _instead


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ('mtbf = "20000h"', 20000.0),
        ("mtbf = 20000", 20000.0),
        ('mtbf = "3 days"', 72.0),
        ('mtbf = "90 min"', 1.5),
        ('mtbf = "1.5e7 h"', 1.5e7),  # beyond what pandas has
        ('mtbf = {value = 2, unit = "weeks"}', 336.0),
        ('mtbf.tray = "5h"', 5.0),
        ("[mtbf.server]\nvalue = 7\n", 7.0),
        ('[mtbf]\nvalue = 30\nunit = "minutes"\n', 0.5),
        ("mtbf = {events = 4, exposure = 1000.0}", 250.0),
    ],
)
def test_a_time_between_failures_in_many_words(text: str, hours: float) -> None:
    assert parameters_of_text(text).require("mtbf.node") == (hours,)


def test_limits_have_the_unit_of_the_value() -> None:
    found = parameters_of_text('mttr = {value = 2, unit = "days", low = 1, high = "4 days", level = 0.9}').mttr.mean
    assert found is not None
    assert (found.low, found.value, found.high, found.level, found.unit) == (24.0, 48.0, 96.0, 0.9, "hours")


def test_a_point_alone_says_that_its_uncertainty_is_not_known() -> None:
    known = parameters_of_text('mtbf = "20000h"\nmttr = {value = 24, low = 20, high = 30}')
    assert known.unknown_uncertainty == ("mtbf.node",)
    assert "mtbf.node 20000 h (uncertainty unknown)" in repr(known)
    assert known.to_frame().set_index("name").loc["mtbf.node", "note"] == "uncertainty unknown"
    assert "mtbf.node" in draw_parameters(known, 10, 1).headline


def test_mean_of_all_repairs_follows_from_the_parts() -> None:
    known = parameters_of_text("[mttr]\nquick = 2\nslow = 50\nshare_quick = 0.75\n")
    assert known.require("mttr.mean") == (14.0,)
    assert draw_parameters(known, 5, 1)["mttr.mean"].tolist() == [14.0] * 5


def test_a_limit_is_no_value() -> None:
    known = Parameters(mtbf={"node": "1000h", "rack": {"events": 0, "exposure": 30_000.0}})
    assert known.mtbf.rack is not None
    assert known.mtbf.rack.value is None
    assert known.mtbf.rack.low == pytest.approx(30_000.0 / 2.995732, rel=1e-6)  # -log(0.05)
    with pytest.raises(ArgumentError, match=r"no mtbf\.rack \(only a limit is known: above 10014"):
        known.require("mtbf.rack")


def test_absence_has_a_reason() -> None:
    known = Parameters(mtbf=3, absent={"mttr.mean": "no repair was recorded"})
    with pytest.raises(ArgumentError, match=r"no mttr\.mean \(no repair was recorded\); give it in the file"):
        known.require("mttr.mean")


BAD = [
    ('name = "a"\nmtbf = 0\n', "mtbf: this cannot be 0; it must be above 0"),
    ('mtbf = "0h"\n', "mtbf: this cannot be 0; it must be above 0"),
    ("[mtbf]\ntray = 5\nrack = -1\n", "mtbf.rack: this cannot be -1; it must be above 0"),
    ("[mtbf]\ntray = -5\n", "mtbf.tray: this cannot be -5; it must be above 0"),
    ("[mtbf.node]\nvalue = 3\nlow = 4\n", "mtbf.node.low: low (4) is above the value (3)"),
    ("[mtbf.node]\nlow = 4\nhigh = 3\n", "mtbf.node.low: low (4) is above high (3)"),
    ('\nmttr = {value = 3, unit = "fortnights"}', "mttr.unit: unknown unit of time 'fortnights'"),
    ('mtbf = "20 parsecs"', "mtbf: unknown unit of time 'parsecs'; use one of seconds"),
    ('mtbf = "soon"', "mtbf: 'soon' is not a duration; write it as '20h' or '3 days'"),
    ('mtbff = "20h"', "mtbff: this key is unknown; did you mean mtbf?"),
    ("[mtbf]\nnode = 3\n\n  rak = 3\n", "mtbf.rak: this key is unknown; did you mean rack?"),
    ("mtbf = true", "mtbf: this cannot be true; it must be a duration"),
    ("mtbf = [1, 2]", "mtbf: this cannot be a list; it must be a duration"),
    ("mtbf = inf", "mtbf: this cannot be inf; it must be finite"),
    ("mtbf = {}", None),
    ("[mtbf.node]\nvalue = 3\nlevel = 95\n", "mtbf.node.level: this cannot be 95; it must be below 1"),
    ("[mtbf.node]\nvalue = 3\nevents = 2.5\n", "mtbf.node.events: this cannot be 2.5; it must be a whole number"),
    ("[mtbf.node]\nvalue = 3\ndistribution = 'poisson'\n", "mtbf.node.distribution: the distribution poisson needs"),
    ("[mtbf.node]\nevents = 3\nexposure = 'long'\n", "mtbf.node.exposure: this cannot be"),
    ("[mtbf.node]\nevents = -3\nexposure = 100\n", "mtbf.node.events: this cannot be -3"),
    ("[mtbf.node]\nvalue = 5\nevents = 3\nexposure = 100\n", "is not exposure over events (100 h / 3)"),
    ("[mtbf.node]\nvalue = 5\nevents = 0\nexposure = 100\n", "is not exposure over events (100 h / 0)"),
    ("[mttr]\nquick = 5\nslow = 2\nshare_quick = 0.5", "mttr.quick: quick repairs (5 h) take longer than slow ones"),
    ("mttr.share_quick = 1.5", "mttr.share_quick: this cannot be 1.5; it must be 1 or less"),
    ("version = 3", "version: this cannot be 3; it must be 2"),
    ("[failure]\nfamily = 'weibul'\nparameters = {}", "failure.family: unknown family 'weibul'; did you mean"),
    ("[failure]\nfamily = 'weibull'\n[failure.parameters]\nshape = 1\nscal = 2\n", "unknown parameter 'scal'"),
    ("[failure]\nfamily = 'weibull'\nparameters.shape = 1", "failure.parameters: weibull needs scale"),
    ("[failure]\nfamily = 'weibull'\nparameters = {shape = -1, scale = 2}", "shape of weibull is -1"),
    ("[failure]\nfamily = 'exponential'\nparameters = {rate = 1}\ncovariance = [[-1]]", "failure.covariance"),
    ("[failure]\nfamily = 'exponential'\nunit = 'days'\nparameters = {rate = 1}\n", "failure.unit: this cannot be"),
    (
        "[[checks]]\nname = 'a'\nconcern = true\nfinding = 'f'\n[[checks]]\nname = 3\n",
        "checks[1].name: this cannot be 3; it must be text",
    ),
    ("mtbf = 1\nmtbf = 2", "line 2: this is not TOML"),
    ("mtbf = ", "line 1: this is not TOML"),
    ("", "there are no parameters here"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_what_cannot_be_is_rejected_by_its_key(text: str, message: str | None, tmp_path: Path) -> None:
    path = tmp_path / "params.toml"
    path.write_text(text, encoding="utf-8")
    if message is None:
        assert read_parameters(path).values() == {}  # an empty table says nothing wrong
        return
    with pytest.raises(ReadError) as caught:
        read_parameters(path)
    assert "\n" not in str(caught.value)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_json_is_rejected_by_its_key_too(tmp_path: Path) -> None:
    path = tmp_path / "params.json"
    for text, message in [
        ('{\n "mtbf": {\n  "node": 0}}', "mtbf.node: this cannot be 0"),
        ('{"mtbf": 1,\n "mttr": {"mean": {"value": 3, "unit": "x"}}}', "mttr.mean.unit: unknown unit"),
        ('{"mtbf": 1,\n "mtbf": 2}', "the key 'mtbf' is there twice"),
        ('{"mtbf": NaN}', "NaN is not a number"),
        ("[1]", "line 1: parameters are a table"),
        ('{"mtbf":\n1', "line 2: this is not JSON"),
    ]:
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ReadError) as caught:
            read_parameters(path)
        assert message in str(caught.value)


def test_files_of_version_1_are_read() -> None:
    """Keys as relfit 0.1 wrote them."""
    known = parameters_of_text(
        'version = 1\n[mtbf.node]\nvalue = 5.0\nevents = 2\nexposure = 10.0\nlaw = "poisson"\n'
        '[era]\nname = "steady"\n[censoring]\nlives = 3\nzero_lives = 1\n[provenance]\nrows_refused = 4\n'
    )
    assert known.mtbf.node is not None
    assert known.period is not None
    assert known.provenance is not None
    assert (known.version, known.mtbf.node.distribution, known.period.name) == (2, "poisson", "steady")
    assert (known.censoring.times_to_failure, known.censoring.zero_times_to_failure) == (3, 1)
    assert known.provenance.rows_rejected == 4
    with pytest.raises(ReadError, match="era: this key is unknown"):
        parameters_of_text('version = 2\n[era]\nname = "steady"\n')


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ReadError, match="No such file"):
        read_parameters(tmp_path / "nothing.toml")
    with pytest.raises(ReadError, match=r"does not end in \.toml or \.json"):
        read_parameters(tmp_path / "nothing.yaml")
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(ReadError, match="Is a directory"):
        read_parameters(tmp_path / "folder.toml")
    bad = tmp_path / "latin.toml"
    bad.write_bytes(b"a = 1\nname = '\xe9'\n")
    with pytest.raises(ReadError, match="line 2: this is not text in UTF-8"):
        read_parameters(bad)


def test_from_code_what_cannot_be_is_an_argument_error() -> None:
    with pytest.raises(ArgumentError, match=r"mtbf\.node\.value: this cannot be 0") as caught:
        rf.Parameters(mtbf=0)
    assert isinstance(caught.value, ParameterError)
    assert isinstance(caught.value, ValueError)


def test_nothing_changes_afterwards() -> None:
    known = Parameters(mtbf=3)
    with pytest.raises(ValueError, match="frozen"):
        known.mtbf.node = Duration(value=4.0)  # type: ignore[misc,union-attr]


def test_where_keys_are_too_many_their_page_is_named() -> None:
    class Many(Model):
        keys_page = "docs/many.md"
        rate: float = 1.0

    class Few(Model):
        rate: float = 1.0
        hours: float = 1.0

    assert _instead("foozle", Many) == "the keys are in docs/many.md"
    assert _instead("rates", Many) == "did you mean rate?"
    assert _instead("foozle", Few) == "the keys are rate, hours"
