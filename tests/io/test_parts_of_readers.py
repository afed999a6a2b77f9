"""The parts that readers share, each on its own: rules, clocks, lists of hosts, columns, flags, states, windows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.io.alert_rules import rules_of
from relfit.io.clock_lines import in_order, stamps_without_year, turns
from relfit.io.declared_fleet import declared
from relfit.io.frames import with_nodes
from relfit.io.host_lists import Hosts, hosts
from relfit.io.life_flags import ended_flags, flags
from relfit.io.merging import joint_window
from relfit.io.node_list import differing_in_case
from relfit.io.raw_lines import check_pattern
from relfit.io.relfit_parquet import _file_names
from relfit.io.table_columns import mapping_words
from relfit.io.table_mapping import (
    TableMapping,
    dates_as_starts,
    guessed,
    plain,
    with_decimal_of,
    without_false_times,
)
from relfit.io.up_and_down import outages_between, states
from relfit.log.tables import Window


def column(*texts: str) -> pa.ChunkedArray:
    return pa.chunked_array([list(texts)])


def words(*texts: str) -> np.ndarray:
    return np.array(texts, dtype=object)


def test_rules_of_a_reader():
    assert rules_of("loghub").tags["KERNDTLB"] == "hardware"


def test_patterns_are_those_of_re2():
    assert check_pattern("(a+)+b") == "(a+)+b"
    with pytest.raises(ArgumentError, match="is not known"):
        check_pattern("(?=a)")


def test_stamps_behind_a_priority():
    line = np.frombuffer(b"<4>Jan  5 10:00:00 a", np.uint8)
    parts = stamps_without_year(line, np.array([0]))
    assert [part.tolist() for part in parts] == [[1], [5], [36000], [True]]


def test_a_line_some_minutes_out_of_order_is_no_clock_set_back():
    clock = np.array([f"2024-10-27T02:{minute}" for minute in ("10", "50", "48", "05")], "datetime64[ns]").astype(int)
    utc = np.array(["2024-10-27T00:10", "2024-10-27T00:50", "2024-10-27T00:48", "2024-10-27T01:05"], "datetime64[ns]")
    assert in_order(clock, "Europe/Berlin").tolist() == utc.astype(int).tolist()


def test_turns_of_the_year():
    rows = turns(np.array([12, 12, 1]), np.array([31, 31, 1]), np.array([9, 99, 9]), np.ones(3, dtype=bool))
    assert rows.tolist() == [1, 2]


def test_hosts():
    assert hosts("n[08-10,12],login1") == ["n08", "n09", "n10", "n12", "login1"]
    assert hosts("r[1-2]n[0-1]") == ["r1n0", "r1n1", "r2n0", "r2n1"]
    assert hosts("None assigned") == []


def test_ranges_that_overlap():
    everyone = Hosts()
    added = [everyone.add(text) for text in ("n[1-500]", "n[250-600]", "login1", "None assigned")]
    assert added == [None, None, "login1", ""]
    assert (len(everyone.names), list(everyone.names)[-2:]) == (601, ["n600", "login1"])


def test_flags():
    assert flags(["yes", "0", "maybe"])[1].tolist() == [True, True, False]
    assert [ended_flags(each)[0].tolist() for each in (["F", "S"], ["T", "F"])] == [[True, False], [True, False]]
    assert ended_flags(["F", "F"]) is None


def test_words_of_states():
    down, is_state = states(words("DOWN", "up", "maybe"))
    assert (down.tolist(), is_state.tolist()) == ([True, False, False], [True, True, False])
    assert states(words("fault start", "fault_end", "failure cleared"))[0].tolist() == [True, False, False]
    assert mapping_words("Fault start, broken") == ("fault start", "broken")
    assert mapping_words(None) == ()


def test_outages_between_states():
    outages = outages_between(np.zeros(4, int), np.array([5, 1, 3, 9]), np.array([False, True, True, True]))
    assert (outages.start.tolist(), outages.end.tolist()) == ([1, 9], [5, 9])
    assert (outages.open.tolist(), outages.repeated) == ([False, True], 1)


def test_columns_by_their_names():
    assert plain(" Opened-At") == "opened_at"
    usual = {"node": ["hostname"], "start": ["start", "begin"]}
    assert guessed(["Host Name", "hostname", "begin"], usual) == {"node": "hostname", "start": "begin"}


def test_columns_by_their_values():
    opened = {"up": column("yes", "no"), "opened": column("2024-05-01 04:18")}
    assert without_false_times(opened, TableMapping()) == ["opened"]
    fields = {"start": ("begin",), "observed": ("failed",)}
    starts = dates_as_starts(fields, {"Failed": column("2024-05-01 04:18")}, TableMapping())
    assert starts == {"start": ("begin", "failed"), "observed": ()}


@pytest.mark.parametrize(
    ("texts", "decimal"),
    [(["58,1", "-3", ""], ","), (["1,5", "1.234,5"], ","), (["1,200"], "."), (["58,1", "2h"], ".")],
)
def test_decimal_signs(texts, decimal):
    assert with_decimal_of(column(*texts), TableMapping()).decimal == decimal


def test_names_that_differ_in_case():
    question = differing_in_case(pd.Series(["a1", "A1", "b2"], dtype="category"))[0]
    assert question.startswith("1 pair of names differs by case only ('A1' and 'a1') and ")


def test_more_nodes_than_records_name():
    log = rf.datasets.load("white")
    assert declared(log, {"n_nodes": 600}).n_nodes == 600
    grown = with_nodes(log.population.head(2), ["spare"], log.window)
    assert grown["node"].tolist() == ["n000", "n001", "spare"]


def test_window_of_several_logs():
    day = [pd.Timestamp(f"2024-01-0{i}", tz="UTC") for i in (1, 2, 3)]
    assert joint_window([Window(day[0], day[1], True, True), Window(day[1], day[2])]).start_known


def test_names_of_files_by_system():
    names = _file_names(["alpha", "../a b", "Alpha", "alpha"])
    assert names == {"alpha": "system-alpha", "../a b": "system-.._a_b", "Alpha": "system-Alpha-2"}
