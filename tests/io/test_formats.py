"""What each format means, on small files."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import relfit as rf
from tests.io.made import fta, fta_row, good_files, lanl, lanl_row, titan
from tests.site_logs import site_log


def utc(text: str) -> pd.Timestamp:
    return pd.Timestamp(text, tz="UTC")


# ------------------------------------------------------------------------ LANL


def read_lanl(tmp_path, *rows: str) -> rf.FailureLog:
    path = tmp_path / "lanl.csv"
    path.write_text(lanl(*rows))
    return rf.read(path)


def test_lanl_times_are_local_and_down_time_decides_the_double_hour(tmp_path):
    log = read_lanl(
        tmp_path,
        lanl_row("0", "10/31/2004 0:16", "10/31/2004 2:35", "199"),
        lanl_row("0", "10/31/2004 1:10", "10/31/2004 1:20", "70", hardware="second"),
        lanl_row("1", "1/15/2004 12:00", "1/15/2004 13:00", "60"),
    )
    assert log.events["start"].tolist() == [utc("2004-10-31 06:16"), utc("2004-10-31 07:10"), utc("2004-01-15 19:00")]
    assert log.events["end"].tolist() == [utc("2004-10-31 09:35"), utc("2004-10-31 08:20"), utc("2004-01-15 20:00")]


def test_lanl_causes_rows_without_node_and_duplicates(tmp_path):
    log = read_lanl(tmp_path, lanl_row(hardware="Disk"), lanl_row(hardware="Disk"), lanl_row("", hardware=""))
    assert log.events["cause"].astype(object).tolist()[0] == "hardware"
    assert log.events["detail"].astype(object).tolist()[0] == "Disk"
    assert log.events["node"].isna().tolist() == [False, True]
    assert log.events["scope"].isna().tolist() == [False, True]
    assert log.events["cause"].isna().tolist() == [False, True]
    assert log.rejected[["line", "reason"]].to_numpy().tolist() == [[3, "duplicate of an earlier row"]]


def test_lanl_population_from_mangled_months(tmp_path):
    log = read_lanl(
        tmp_path,
        lanl_row("0", install="Nov-96", production="Jan-97", decommissioned="3-Dec", nodes="4"),
        lanl_row(
            "1", "11/5/2001 1:00", "11/5/2001 2:00", "60", nodes="4"
        ),  # failed before production, after installation
        lanl_row("2", production="before tracking", install="before tracking", nodes="4"),
    )
    people = log.population.set_index("node")
    assert people.loc["0", "entered"] == pd.Timestamp("1997-01-01", tz="America/Denver")
    assert people.loc["0", "left"] == log.window.end  # December 2003 ends after the log does
    assert people.loc["1", "entered"] == pd.Timestamp("2001-10-01", tz="America/Denver")
    assert people["entered_known"].to_dict() == {"0": True, "1": True, "2": False, "3": True}
    # node 3 has no record: it is named from the number of nodes of its system
    assert len(people) == 4
    lives = log.ttf()
    assert lives.group(("20", "3")).observed.tolist() == [False]


def test_lanl_nodes_leave_with_the_month_of_their_decommissioning(tmp_path):
    log = read_lanl(
        tmp_path,
        lanl_row("0", "1/5/2002 1:00", "1/5/2002 2:00", "60", decommissioned="2-Jun"),  # June 2002
        lanl_row("1", "2/5/2002 1:00", "2/5/2002 2:00", "60"),
        lanl_row("2"),  # the last of the log, in June 2003
    )
    people = log.population.set_index("node")
    assert people["left"].to_dict() == {
        "0": pd.Timestamp("2002-07-01", tz="America/Denver"),
        "1": log.window.end,
        "2": log.window.end,
    }
    assert people["left_known"].to_dict() == {"0": True, "1": False, "2": False}


def test_lanl_fixed_before_it_started_is_rejected(tmp_path):
    log = read_lanl(tmp_path, lanl_row(), lanl_row("1", "6/21/2003 10:54", "6/21/2003 9:00", "6"))
    assert log.rejected["reason"].tolist() == ["fixed before it started"]


# ------------------------------------------------------------------------- FTA


def test_fta_joins_companions_and_cuts_at_the_trace(tmp_path):
    folder = tmp_path / "trace"
    folder.mkdir()
    good_files(tmp_path)["fta"].rename(folder / "event_trace.tab")
    (folder / "platform.tab").write_text("# platform_id platform_name platform_location\n 7\t  Grid\tFrance\n")
    (folder / "node.tab").write_text(
        "# node_id platform_id node_name node_location timezone num_procs proc_model\n"
        "  3\t 7\t site/node3\t s1\t +3600\t 2\t NULL\n  4\t 7\t site/node4\t s2\t +3600\t 4\t NULL\n"
    )
    (folder / "component.tab").write_text(
        "# component_id node_id platform_id node_name trace_start trace_end\n"
        "  0\t 3\t 7\t site/node3\t 1000000000\t 1000020000\n"
        "  0\t 4\t 7\t site/node4\t 1000000000\t 1000020000\n"
        "  0\t 5\t 7\t site/node5\t 1000000000\t 1000020000\n"
    )
    log = rf.read(folder)
    assert log.systems == ("Grid",)
    # a node without a row was never watched; the others from their first row to their last
    assert log.population["node"].astype(str).tolist() == ["site/node3", "site/node4"]
    assert log.population["declared"].tolist() == [True, True]
    assert any("1 node of the component table" in note for note in log.source.notes)
    assert log.population["location"].astype(object).tolist() == ["s1", "s2"]
    assert "proc_model" not in log.population
    assert log.source.timezone == "Etc/GMT-1"
    assert log.events["start_cut"].tolist() == [True, False]
    assert log.source.rows_read == log.source.rows_kept == 5
    # from the second outage to the trace's end; the first outage is cut off, so its beginning is no failure
    lives = log.ttf(origin="repair").group(("Grid", "site/node3"))
    assert lives.durations.tolist() == pytest.approx([7200 / 3600, 7400 / 3600])
    assert lives.observed.tolist() == [True, False]
    repairs = log.ttr().group(("Grid", "site/node3"))
    assert dict(zip(repairs.observed.tolist(), repairs.durations.tolist(), strict=True)) == {False: 1.0, True: 0.5}


def test_fta_companions_that_know_less(tmp_path):
    """A node table without one of the nodes, and a platform table that names no column."""
    folder = tmp_path / "trace"
    folder.mkdir()
    good_files(tmp_path)["fta"].rename(folder / "event_trace.tab")
    (folder / "platform.tab").write_text("#\n platform_i\n")
    (folder / "node.tab").write_text(
        "# node_id platform_id node_name node_location timezone\n  3\t 7\t site/node3\t s1\t +3600\n"
    )
    log = rf.read(folder)
    assert log.population["node"].astype(str).tolist() == ["site/node3", "site/node4"]
    assert log.population["location"].notna().tolist() == [True, False]
    assert log.source.timezone == "Etc/GMT-1"
    assert log.systems == ("platform 7",)
    assert "platform.tab is left out: it names no column" in log.source.notes


def test_fta_refuses_odd_rows_and_keeps_their_lines(tmp_path):
    path = tmp_path / "event_trace.tab"
    path.write_text(
        fta(
            fta_row(0, 3, 0, 1_000_000_000, 1_000_003_600),
            fta_row(1, 3, 2, 1_000_003_600, 1_000_010_800),
            fta_row(2, 3, 1, 1_000_010_800, 1_000_003_600),
            fta_row(3, 3, 1, "soon", 1_000_020_000),
            "1\t2\t3",
            fta_row(4, 3, 1, 1_000_003_600, 1_000_020_000),
        )
    )
    log = rf.read(path)
    assert log.rejected[["line", "reason"]].to_numpy().tolist() == [
        [3, "event_type is neither 0 nor 1"],
        [4, "ends before it starts"],
        [5, "not a number of a plausible size"],
        [6, "3 fields where the header has 9"],
    ]
    assert log.source.rows_read == 6
    assert log.source.rows_kept == 2


@pytest.mark.parametrize("row", ["0\t3\t7\tn\tinf\t1000020000", "0\t3\t7\tn\tNULL\t1000020000", "0\t3\t7\tn\t1"])
def test_fta_counts_odd_rows_of_its_component_table(tmp_path, row):
    folder = tmp_path / "trace"
    folder.mkdir()
    good_files(tmp_path)["fta"].rename(folder / "event_trace.tab")
    header = "# component_id node_id platform_id node_name trace_start trace_end\n"
    (folder / "component.tab").write_text(f"{header}{row}\n0\t4\t7\tm\t1000000000\t1000020000\n")
    assert "1 row of component.tab could not be used" in rf.read(folder).source.notes


def test_fta_folder_without_a_trace(tmp_path):
    with pytest.raises(rf.ReadError, match="no event_trace"):
        rf.read(tmp_path)


# ----------------------------------------------------------------------- Titan


def test_titan_lives_are_sums_of_stays(tmp_path):
    log = rf.read(good_files(tmp_path)["titan"])
    assert log.lifetimes is not None
    lives = log.lifetimes.set_index("node")
    assert lives["duration"].to_dict() == pytest.approx({"A1": 768.0, "B2": 176018853 / 3600})
    assert lives["observed"].to_dict() == {"A1": True, "B2": False}
    assert lives.loc["A1", ["column", "row", "cage", "slot", "position"]].tolist() == [11, 2, 1, 4, 1]
    assert sorted(log.events["cause"].astype(str)) == ["dbe", "otb"]
    assert log.ttf(per="cage").n_groups == 2
    assert log.ttr().durations.size == 0


def test_titan_refuses_what_cannot_be(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        titan(
            "A1,c11-2c1s4n1,2014-01-01 10:00:00,2014-02-01 10:00:00,2678400,FALSE,",
            "A1,c11-2c1s4n1,2014-02-02 10:00:00,2014-02-03 10:00:00,86400,MAYBE,DBE",
            "A1,c11-2c1s4n1,,2014-02-03 10:00:00,,,XYZ",
            "Z9,c11-2c1s4n1,,2014-02-03 10:00:00,,,OTB",
            ",c11-2c1s4n1,2014-02-02 10:00:00,2014-02-03 10:00:00,86400,TRUE,",
        )
    )
    log = rf.read(path)
    assert log.rejected["column"].tolist() == ["out", "event", "SN", "SN"]
    assert log.source.rows_kept == 1


def test_titan_real_counts():
    log = site_log("titan")
    assert log.lifetimes is not None
    assert len(log.lifetimes) == log.n_nodes == 30_207


# ----------------------------------------------------------------------- tables


def write(tmp_path, text: str, name: str = "log.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_delimiters(tmp_path, delimiter):
    text = "host,begin,fixed,reason\na,2024-03-01 00:00,2024-03-01 01:00,power\n".replace(",", delimiter)
    log = rf.read(write(tmp_path, text))
    assert log.events["cause"].astype(str).tolist() == ["power"]
    assert log.ttr().durations.tolist() == [1.0]


def test_named_columns_formats_zones_and_units(tmp_path):
    path = write(tmp_path, "h;when;down;why\na;31.10.2021 02:30;90;x\n")
    log = rf.read(
        path,
        node="h",
        start="when",
        duration="down",
        cause="why",
        time_format="%d.%m.%Y %H:%M",
        timezone="Europe/Berlin",
        duration_unit="minutes",
    )
    assert log.events["start"].tolist() == [utc("2021-10-31 00:30")]
    assert log.events["end"].tolist() == [utc("2021-10-31 02:00")]


def test_mapping_from_toml_and_its_errors(tmp_path):
    path = write(tmp_path, "h,when\na,2024-01-01\nb,2024-01-02\n")
    mapping = write(tmp_path, 'node = "h"\nstart = "when"\nsystem_name = "alpha"\n', "map.toml")
    assert rf.read(path, mapping=mapping).systems == ("alpha",)
    assert rf.read(path, mapping={"node": "h", "start": "when"}, system_name="beta").systems == ("beta",)
    mapping.write_text('nod = "h"\n')
    with pytest.raises(rf.ArgumentError, match="did you mean node"):
        rf.read(path, mapping=mapping)
    mapping.write_text("node = \n")
    with pytest.raises(rf.ReadError, match="not TOML"):
        rf.read(path, mapping=mapping)
    with pytest.raises(rf.ReadError, match="did you mean when"):
        rf.read(path, start="whne")
    with pytest.raises(rf.ArgumentError, match="unknown time zone"):
        rf.read(path, start="when", timezone="Mars/Olympus")
    with pytest.raises(rf.ArgumentError, match="unknown unit"):
        rf.read(write(tmp_path, "node,duration\na,3\n"), duration_unit="fortnights")


def test_a_unit_of_durations_needs_durations(tmp_path, shared):
    dated = write(tmp_path, "node,start,end\na,2024-01-01,2024-01-02\n")
    with pytest.raises(rf.ReadError, match="no column holds durations"):  # was read without a word
        rf.read(dated, duration_unit="minutes")
    # a unit names no column: it made a table of lives out of a log of Los Alamos
    with pytest.raises(rf.ReadError, match="for tables only, and this is lanl"):
        rf.read(shared / "data" / "lanl-failures-1996-2005.csv.xz", duration_unit="minutes")


def test_json_lines_and_parquet(tmp_path):
    frame = pd.DataFrame({"node": ["a", "b"], "start": pd.to_datetime(["2024-01-01", "2024-01-03"]), "n": [1, 2]})
    lines = write(
        tmp_path, '{"node": "a", "start": "2024-01-01", "n": 1}\nnot json\n{"node": "b", "start": "2024-01-03"}\n'
    )
    log = rf.read(lines)
    assert log.rejected[["line", "reason"]].to_numpy().tolist() == [[2, "not a JSON object"]]
    assert log.events["line"].tolist() == [1, 3]
    frame.to_parquet(tmp_path / "x.parquet")
    other = rf.read(tmp_path / "x.parquet")
    assert other.events["start"].tolist() == log.events["start"].tolist()
    assert other.events["n"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1700000000", "1700003600"], "2023-11-14 22:13:20"),
        (["1700000000000", "1700003600000"], "2023-11-14 22:13:20"),
        (["2023-11-14T22:13:20Z", "2023-11-15T00:00:00+01:00"], "2023-11-14 22:13:20"),
        (["2023-11-14 22:13:20", "2023-11-15"], "2023-11-14 22:13:20"),
        (["11/14/2023 22:13:20", "11/15/2023 00:00:00"], "2023-11-14 22:13:20"),
    ],
)
def test_times_in_many_forms(tmp_path, values, expected):
    log = rf.read(write(tmp_path, "time,node\n" + "".join(f"{v},x\n" for v in values)))
    assert log.events["start"].iloc[0] == utc(expected)


def test_a_repair_of_no_length_has_no_end_and_its_failure_counts(tmp_path):
    rows = 'a,2020-01-01 00:00,2 h\nb,2020-01-02 00:00,\nc,2020-01-03 00:00,""\n'
    log = rf.read(write(tmp_path, "node,start,duration\n" + rows))
    assert len(log.rejected) == 0
    ends = log.events["end"]
    assert ends[0] == pd.Timestamp("2020-01-01 02:00", tz="UTC")
    assert ends.isna().tolist() == [False, True, True]
    frame = pd.DataFrame({"node": ["a", "b"], "start": ["2020-01-01", "2020-01-02"], "duration": ["2 h", ""]})
    assert len(rf.read(frame)) == 2  # a text of no letters is no wrong duration


def test_instants_alone_and_durations_alone(tmp_path):
    instants = rf.read(write(tmp_path, "time\n2024-01-01 00:00\n2024-01-01 05:00\n"), node_name="pump")
    assert instants.ttf().durations.tolist() == [5.0]
    lives = rf.read(write(tmp_path, "hours,censored\n10,0\n20,1\n"))
    assert lives.lifetimes is not None
    assert lives.lifetimes["observed"].tolist() == [True, False]
    assert lives.ttf(per="system").durations.tolist() == [10.0, 20.0]


def test_declared_population_and_window(tmp_path):
    write(tmp_path, "node,entered,left,rack\na,2024-01-01,,r1\nb,2024-01-05,2024-01-20,r1\nc,,,r2\n", "nodes.csv")
    path = write(tmp_path, "node,start\na,2024-01-03\na,2024-01-09\n")
    log = rf.read(path, population=tmp_path / "nodes.csv", window_start="2024-01-01", window_end="2024-02-01")
    assert log.n_nodes == 3
    lives = log.ttf()
    assert lives.group(("system", "a")).durations.tolist() == [48.0, 144.0, 552.0]
    assert lives.group(("system", "b")).durations.tolist() == [360.0]
    assert lives.group(("system", "c")).observed.tolist() == [False]
    write(tmp_path, "node\nz\n", "nodes.csv")
    with pytest.raises(rf.ReadError, match="not listed"):
        rf.read(path, population=tmp_path / "nodes.csv")


def test_records_without_a_node(tmp_path):
    path = write(tmp_path, "node,start,scope\na,2024-01-01,node\n,2024-01-02,system\n,2024-01-03,\n,2024-01-04,group\n")

    def scopes(**options):
        log = rf.read(path, **options)
        return [None if x != x else x for x in log.events["scope"].astype(object)], log.source.notes[-1]

    assert scopes()[0] == ["node", "system", None, "group"]
    assert "1 record without a node and a scope: taken as outages of the whole system" in scopes()[1]
    assert scopes(nodeless="system")[0] == ["node", "system", "system", "group"]
    assert scopes(nodeless="node")[0] == ["node", "system", "node", "group"]
    assert scopes(nodeless="ignore")[0] == ["node", "system", "group"]
    assert "left out" in scopes(nodeless="ignore")[1]
    assert rf.read(path, nodeless="ignore").source.rows_deselected == 1
    with pytest.raises(rf.ArgumentError, match="nodeless='rack' is not known"):
        rf.read(path, nodeless="rack")
    notes = rf.read(path).ttf().notes
    assert any("1 record names no node and not its scope: taken as of the whole system" in note for note in notes)
    assert not any("names no node" in note for note in rf.read(path, nodeless="node").ttf().notes)


def test_a_log_without_a_node_column_is_asked_about(tmp_path):
    rows = ["rack,slot,begin,fixed", "r1,3,2024-01-01,2024-01-02", "r1,,2024-01-03,2024-01-04", "r2,3,2024-01-05,", ""]
    path = write(tmp_path, "\n".join(rows))
    with pytest.raises(rf.ReadError, match="no column names the node") as error:
        rf.read(path)
    assert "node=rack+slot" in error.value.remedy
    assert "rack, slot, begin, fixed" in error.value.remedy
    keyed = rf.read(path, node="rack+slot")
    assert [None if x != x else x for x in keyed.events["node"].astype(object)] == ["r1/3", None, "r2/3"]
    assert {"rack", "slot"} <= set(keyed.attributes)
    assert any(
        n.startswith("columns: node from 'rack+slot' (as 'r1/3'), start from 'begin'") for n in keyed.source.notes
    )
    assert any("none for cause" in n for n in keyed.source.notes)
    one = rf.read(path, node_name="pump")
    assert one.population["node"].tolist() == ["pump"]
    assert not any("all records are of one node" in note for note in one.source.notes)
    whole = rf.read(path, nodeless="system")
    assert (len(whole.population), whole.events["scope"].tolist()) == (0, ["system"] * 3)
    suspicious = rf.read(write(tmp_path, "node,start\na,2024-01-01\na,2024-02-01\n"))
    assert any("all records are of one node" in note for note in suspicious.source.notes)
    with pytest.raises(rf.ReadError, match="no column 'rack\\+shelf'"):
        rf.read(path, node="rack+shelf")


def test_an_outage_without_an_end_goes_on(tmp_path):
    rows = [
        "node,start,end",
        "a,2024-01-01 00:00,2024-01-01 02:00",
        "a,2024-01-05 00:00,Unknown",  # it failed again, so it was repaired before
        "a,2024-01-06 00:00,2024-01-06 01:00",
        "b,2024-01-02 00:00,2024-01-02 03:00",
        "b,2024-01-09 00:00,",
        "c,2024-01-10 00:00,2024-01-11 00:00",
    ]
    log = rf.read(write(tmp_path, "\n".join(rows)))
    assert log.events["end_cut"].tolist() == [False, False, False, False, True, False]
    assert log.events["end"].isna().tolist() == [False, True, False, False, False, False]
    assert log.events["end"].iloc[4] == log.window.end == pd.Timestamp("2024-01-11", tz="UTC")
    assert log.source.notes[-2:] == (
        "1 outage without an end: still going on when observation ended",
        "1 outage without an end, after which the node failed again: their ends are not known",
    )
    assert not [note for note in log.where(node="c").source.notes if "outage" in note]
    assert log.where(node="b").source.notes[-1] == "1 outage still going on when observation ended"
    assert log.between("2024-01-04").where(node="a").source.notes[-1].startswith("1 outage without an end, after")
    assert "1 outage still going on when observation ended" in log.between("2024-01-04").source.notes
    repairs = log.ttr().group(("system", "b"))
    assert repairs.durations.tolist() == [3.0, 48.0]
    assert repairs.observed.tolist() == [True, False]
    listed = "node,left\na,\nb,2024-01-10\nc,\n"
    with_left = rf.read(tmp_path / "log.csv", population=write(tmp_path, listed, "nodes.csv"))
    assert with_left.events["end"].iloc[4] == pd.Timestamp("2024-01-10", tz="UTC")
    ends_never = rf.read(write(tmp_path, "node,start,end\na,2024-01-01,\nb,2024-01-02,2024-01-03\nc,2024-01-09,\n"))
    assert ends_never.events["end"].isna().tolist() == [True, False, True]


def test_causes_of_durations_compete_whatever_their_column_is_called(tmp_path: Path) -> None:
    path = tmp_path / "disks.csv"
    rows = [f"d{i},{100 + i},{int(i != 4)},{'head' if i % 2 else 'motor'}" for i in range(8)]
    for name in ("cause", "Reason"):
        path.write_text("\n".join([f"disk,hours,failed,{name}", *rows]) + "\n")
        lives = rf.read(path, observed="failed").ttf(per="cause")
        assert lives.groups.tolist() == ["head", "motor"]
        assert lives.n_lives.tolist() == [8, 8]
        assert lives.n_failures.tolist() == [4, 3]


@pytest.mark.parametrize(
    ("header", "values", "expected"),
    [
        ("node,start,end,,,column 5", "x,y,z", {"column 4": "x", "column 5 (2)": "y", "column 5": "z"}),
        ("node,start,end,,", "x,y", {"column 4": "x", "column 5": "y"}),
        ("node,start,end,", "", {}),  # each line ends in a comma
        ("node,start,end,,rack", ",r1", {"rack": "r1"}),
    ],
)
def test_columns_without_a_name_take_none_of_another(tmp_path, header, values, expected):
    path = tmp_path / "log.csv"
    path.write_text(f"{header}\nn1,2003-01-01,2003-01-02,{values}\nn1,2003-02-01,2003-02-02,{values}\n")
    log = rf.read(path)
    others = [name for name in log.events if name not in rf.datasets.load("white").events or name == "rack"]
    assert {name: log.events[name].iloc[0] for name in others} == expected


def test_a_log_is_written_as_the_ending_says(tmp_path):
    log = rf.datasets.load("white")
    path = rf.write(log, tmp_path / "white.csv")
    assert path.read_text().startswith("system,node,start,end,cause,detail,scope,rack\n")
    assert path.read_text().count("\n") == len(log.events) + 1
    again = rf.read(path)
    assert again.events["start"].tolist() == log.events["start"].tolist()
    assert again.events["cause"].astype(str).tolist() == log.events["cause"].astype(str).tolist()
    for name in ("white.txt", "white", "white.csv.gz"):
        with pytest.raises(rf.ArgumentError, match=r"does not end in \.parquet or \.csv"):
            rf.write(log, tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["white.csv"]
    (tmp_path / "lives.csv").write_text("node,duration,observed\na,5h,true\nb,7h,false\n")
    with pytest.raises(rf.DataError, match="no events with dates"):
        rf.write(rf.read(tmp_path / "lives.csv"), tmp_path / "again.csv")


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (2**62, pa.timestamp("ms")),  # 2**62 thousandths were 0 nanoseconds, which is 1970
        (2**62, pa.timestamp("ms", tz="UTC")),
        (2**62, pa.timestamp("us")),
        (2**31 - 1, pa.date32()),
        (2**62, pa.date64()),
    ],
)
@pytest.mark.parametrize("place", [0, 1])
def test_times_that_parquet_has_and_no_calendar_are_rejected(tmp_path, number, kind, place):
    whole = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    ordinary = {pa.date32(): 12_000, pa.date64(): 12_000 * 86_400_000}.get(kind, 12_000 * 86_400 * 1000)
    numbers = [ordinary, ordinary]
    numbers.insert(place, number)
    start = pa.array(numbers, whole).cast(kind)
    parquet.write_table(pa.table({"node": ["a", "b", "c"], "start": start}), tmp_path / "log.parquet")
    log = rf.read(tmp_path / "log.parquet")
    assert log.events["node"].astype(str).tolist() == list(["bc", "ac"][place])
    assert log.rejected["line"].tolist() == [place + 1]
    assert "is not a date or time" in log.rejected["reason"].iloc[0]


def test_dates_beside_the_times_that_no_calendar_has_are_missing(tmp_path):
    built = pa.array([12_000, 2**31 - 1], pa.int32()).cast(pa.date32())
    parquet.write_table(
        pa.table({"node": ["a", "b"], "start": ["2003-01-01"] * 2, "built": built}), tmp_path / "l.parquet"
    )
    events = rf.read(tmp_path / "l.parquet").events
    assert events["built"].astype(str).str[:10].tolist()[0] == "2002-11-09"
    assert events["built"].isna().tolist() == [False, True]


@pytest.mark.parametrize("zone", ["+25:99", "Mars/X"])
@pytest.mark.parametrize("column", ["start", "built"])
def test_a_zone_that_nobody_knows_is_named(tmp_path, zone, column):
    times = pa.array([1, 2], pa.timestamp("ms", tz=zone))
    columns = {"node": ["a", "b"], "start": ["2003-01-01"] * 2, column: times}
    parquet.write_table(pa.table(columns), tmp_path / "log.parquet")
    with pytest.raises(rf.ReadError, match=f"column '{column}' is in the time zone '{re.escape(zone)}'"):
        rf.read(tmp_path / "log.parquet")


def test_numbers_above_all_of_arrows_are_no_times(tmp_path):
    start = pa.array([1_000_000_000, 2**63 + 5, 1_100_000_000], pa.uint64())
    parquet.write_table(pa.table({"node": ["a", "b", "c"], "start": start}), tmp_path / "log.parquet")
    assert rf.read(tmp_path / "log.parquet", time_format="unix").rejected["line"].tolist() == [2]


def test_an_outage_without_an_end_that_would_be_the_longest_lost_its_end_where_ends_get_lost(tmp_path: Path) -> None:
    rows = ["node,start,end", *(f"n{i},2024-01-{i + 1:02d} 00:00,2024-01-{i + 1:02d} {i:02d}:00" for i in range(12))]
    rows += ["n1,2024-01-20 00:00,", "n1,2024-01-21 00:00,2024-01-21 01:00"]  # an end that was lost
    rows += ["x,2024-02-01 00:00,", "y,2024-02-29 20:00,"]  # 29 days and four hours; eleven hours is the longest
    observed = {"window_start": "2024-01-01", "window_end": "2024-03-01"}
    log = rf.read(write(tmp_path, "\n".join(rows)), **observed)
    assert log.events["node"][log.events["end_cut"]].tolist() == ["y"]
    assert log.events["node"][log.events["end"].isna()].tolist() == ["n1", "x"]
    notes = [note for note in log.source.notes if "end" in note and "columns" not in note]
    assert notes == [
        "No end of x for 29 days, longer than any outage that ended (11 hours): taken as lost; if it goes on, give the "
        "end of observation as its end",
        "1 outage without an end: still going on when observation ended",
        "2 outages without an end, after which the node failed again or which would be the longest: their ends are not "
        "known",
    ]
    assert any(note.startswith("1 outage without an end, after") for note in log.where(node="x").source.notes)
    told = rf.read(write(tmp_path, "\n".join(rows).replace("02-01 00:00,", "02-01 00:00,2024-03-01")), **observed)
    assert float(told.ttr().group(("system", "x")).durations[0]) == 29 * 24.0
    never = rf.read(write(tmp_path, "\n".join([*rows[:13], *rows[15:]])), **observed)  # no other end was lost
    assert never.events["node"][never.events["end_cut"]].tolist() == ["x", "y"]
    assert "No end of x for 29 days, longer than any outage that ended (11 hours): taken as going on" in str(
        never.source.notes
    )
