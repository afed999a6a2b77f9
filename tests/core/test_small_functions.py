"""What every package uses, one small case each: arguments, texts, units, tables and places."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from relfit.base import text
from relfit.base.arguments import durations, one_whole, share
from relfit.base.errors import ArgumentError, RelfitError, Remedy
from relfit.base.former_packages import FormerPackages
from relfit.base.hours_of_arrays import hours_of_array
from relfit.base.lazy import front
from relfit.base.paths import files_meant
from relfit.base.programs import output_of
from relfit.base.results import json_ready, key_columns, records
from relfit.base.sealed import read_only
from relfit.base.settings_advice import in_settings
from relfit.base.units import hours, instant, mean_time, nanoseconds, quantity, rate_per_hour, unit_in_hours
from relfit.base.writing import complete, guarded, unguarded

NAN, INFINITE = float("nan"), float("inf")


def test_arguments() -> None:
    assert durations("restart", ["5min", 2]).round(4).tolist() == [0.0833, 2.0]
    assert one_whole("n_resamples", 99) == 99
    for call, message in [
        (lambda: durations("mtbf", 0, zero=False), "mtbf is 0 hours; it must be above zero"),
        (lambda: share("recall", 80), "recall is 80; it must lie between 0 and 1 (did you mean 0.8?)"),
        (lambda: one_whole("n_resamples", -5), "n_resamples is -5; give a whole number of 1 or more"),
    ]:
        with pytest.raises(ArgumentError) as error:
            call()
        assert str(error.value) == message


def test_a_remedy_in_the_words_of_the_command_line() -> None:
    remedy = Remedy("use missing='pool'", "use --missing pool")
    assert remedy.options == "use --missing pool"
    assert RelfitError("no fit", remedy=remedy).in_options() == "no fit; use --missing pool"


def test_advice_for_a_file_of_settings() -> None:
    assert in_settings("change one with --column node=NAME") == 'change one with columns = { node = "NAME" }'
    assert in_settings("--nodeless node or ignore", ["nodeless"]) == 'nodeless = "node" or ignore'


def test_numbers_as_text() -> None:
    values = (4.8149, 1389.2, 0.00012, INFINITE, NAN, -0.0)
    assert [text.number(value) for value in values] == ["4.81", "1,389", "0.00012", "infinite", "unknown", "0"]
    assert text.count(1, "node") == "1 node"
    assert text.count(1200, "node") == "1,200 nodes"
    assert text.count(2, "battery", "batteries") == "2 batteries"
    assert text.out_of(1, 1047, "row", "was", "were") == "1 of 1,047 rows was"
    assert [text.out_of(n, 2, "bin") for n in (0, 1, 2)] == ["0 of 2 bins are", "1 of 2 bins is", "2 of 2 bins are"]
    assert [text.percent(value) for value in (0.583, 0.0123, 0.99987, 1.0)] == ["58 %", "1.2 %", "99.987 %", "100 %"]
    assert (text.percent(0.9995, 2), text.percent(0.123, 0, "+")) == ("99.95 %", "+12 %")
    assert [text.p_value(p) for p in (0.0341, 0.00099, 0.0, 1.0)] == ["p = 0.034", "p < 0.001", "p < 0.001", "p = 1"]
    assert text.p_value(0.005, 0.005) == "p = 0.005"


def test_durations_as_text() -> None:
    shown = [text.duration(value) for value in (0.001, 0.25, 1.77, 200.0, 30000.0, 1.0)]
    assert shown == ["3.6 seconds", "15 minutes", "1.77 hours", "8.33 days", "3.42 years", "1 hour"]
    assert text.duration(60.0, like=200.0) == "2.5 days"


def test_intervals_as_text() -> None:
    assert text.interval("3.07 h", "3.02", "3.13") == "3.07 h (3.02-3.13)"
    assert text.duration_interval(60.4, 32.4, 85.4) == "60.4 hours (32.4-85.4)"
    assert text.duration_interval(60.4, NAN, NAN) == "60.4 hours"
    assert text.rounded_interval(772.537, 770.802, 774.273, "h") == "772.5 (770.8-774.3) h"
    assert text.rounded_interval(4.0, 3.8, 4.2) == "4.00 (3.80-4.20)"
    assert text.rounded_interval(500.013, 500.011, 500.015) == "500.013 (500.011-500.015)"
    assert text.rounded_interval(37.0, 37.0, 37.0) == "37 (37-37)"
    assert text.rounded_interval(12.34567, NAN, NAN, "h") == "12.35 h"
    assert text.interval_ends("18.4 %", "26.2 %") == "18.4 to 26.2 %"
    assert text.interval_ends("33.7 minutes", "6.91 hours") == "33.7 minutes to 6.91 hours"


def test_names_and_messages_as_text() -> None:
    assert (text.system_named("white"), text.system_named("system")) == ("system white", "the system")
    assert text.on_one_line("refused:\n  no such host", 15) == "refused: no suc"


def test_units() -> None:
    assert unit_in_hours("days") == 24.0
    assert [hours(value) for value in ("90min", 2, pd.Timedelta(days=1), "3e6h")] == [1.5, 2.0, 24.0, 3_000_000.0]
    assert [mean_time(value) for value in ("2%AFR", "500 FIT", "20h")] == [438_300.0, 2_000_000.0, 20.0]
    rates = [rate_per_hour(value) for value in ("0.75 per day", "0.75/day", "1 per 5 days")]
    assert rates == [0.03125, 0.03125, 0.008333333333333333]
    assert (quantity("2 days"), quantity("1 per 5 h")) == ((48.0, "h"), (0.2, "per h"))
    assert instant("2003-04-01", "America/Denver") == pd.Timestamp("2003-04-01 07:00:00+0000", tz="UTC")
    assert nanoseconds(pd.Series(pd.to_datetime(["1970-01-01 00:00:01"], utc=True))).tolist() == [1_000_000_000]


def test_hours_of_arrays() -> None:
    values = hours_of_array("durations", ["1h", "2 days", 3.0, None])
    np.testing.assert_array_equal(values, [1.0, 48.0, 3.0, NAN])
    assert hours_of_array("durations", pd.Series(pd.to_timedelta([90, 30], unit="min"))).tolist() == [1.5, 0.5]


def test_data_as_json_has_it() -> None:
    data: dict[Any, Any] = {"a": np.float64("nan"), "b": (np.int64(2), INFINITE), 3: np.array([0.5])}
    assert json_ready(data) == {"a": None, "b": [2, None], "3": [0.5]}
    table = pd.DataFrame({"n": [1, 2], "when": [pd.Timestamp("2001-02-03"), pd.NaT]})
    assert json_ready(table) == [{"n": 1, "when": "2001-02-03T00:00:00"}, {"n": 2, "when": None}]
    series = pd.Series([1.5, np.nan], index=pd.Index(["a", "b"], name="node"), name="hours")
    assert records(series) == [{"node": "a", "hours": 1.5}, {"node": "b", "hours": None}]


def test_keys_of_groups() -> None:
    assert list(key_columns(pd.MultiIndex.from_tuples([("a", 1)], names=["system", "node"]))) == ["system", "node"]


def test_a_sealed_array_leaves_the_other_open() -> None:
    values = np.zeros(2)
    assert not read_only(values).flags.writeable
    assert values.flags.writeable


def test_the_front_of_a_package() -> None:
    get, directory, names = front("relfit.base", {"text": "count percent"})
    assert get("percent")(0.5) == "50 %"
    assert directory() == names == ["count", "percent"]


def test_a_former_package_is_recognised() -> None:
    finder = FormerPackages()
    found = finder.find_spec("relfit.families.weibull")
    assert found is not None
    assert found.name == "relfit.families.weibull"
    assert finder.find_spec("relfit.fitting") is None


def test_files_that_a_path_means(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv", ".hidden"):
        (tmp_path / name).write_text("")
    named = [[file.name for file in files_meant(tmp_path / name)] for name in (".", "a*", "c*", "c.csv")]
    assert named == [["a.csv", "b.csv"], ["a.csv"], [], ["c.csv"]]


def test_the_output_of_a_program_is_read_without_a_shell() -> None:
    assert output_of(["printf", "a;b"]) == b"a;b"


def test_a_file_is_moved_to_its_place(tmp_path: Path) -> None:
    with complete(tmp_path / "result.txt") as part:
        part.write_text("done")
    assert [file.name for file in tmp_path.iterdir()] == ["result.txt"]
    cells = [guarded(cell) for cell in ("=1+1", "n-1", -1.5, "\x1b[31mred")]
    assert cells == ["'=1+1", "n-1", -1.5, r"\x1b[31mred"]
    assert [unguarded(cell) for cell in ("'=1+1", "''=1+1", r"C:\\x1b", r"\x1b")] == [
        "=1+1",
        "'=1+1",
        r"C:\x1b",
        "\x1b",
    ]
