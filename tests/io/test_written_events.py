"""Events written as CSV and read again: outages that go on have no end there, and go on again."""

from __future__ import annotations

import pandas as pd

import relfit as rf
from relfit.analyses.recurrence import availability

TEXT = """node,start,end,cause
n1,2024-10-03 00:00,2024-10-03 06:00,disk
n1,2024-10-04 00:00,2024-10-04 06:00,disk
n1,2024-10-05 00:00,,disk
n3,2024-10-05 00:00,2024-10-06 00:00,fan
n2,2024-10-07 00:00,,memory
n2,2024-10-09 00:00,2024-10-09 01:00,memory
n2,2024-11-02 00:00,2024-11-03 00:00,memory
n3,2024-10-30 00:00,2024-11-09 00:00,fan
"""
FLEET = {"n_nodes": 4, "window_start": "2024-10-01", "window_end": "2024-11-11"}


def test_what_goes_on_is_written_without_an_end_and_goes_on_again(tmp_path):
    (tmp_path / "log.csv").write_text(TEXT)
    log = rf.read(tmp_path / "log.csv", **FLEET)
    rf.write(log, tmp_path / "copy.csv")
    ends = pd.read_csv(tmp_path / "copy.csv").set_index("node")["end"]
    assert ends.isna().groupby("node").sum().to_dict() == {"n1": 1, "n2": 1, "n3": 0}
    again = rf.read(tmp_path / "copy.csv", **FLEET)
    columns = ["node", "start", "end", "cause", "start_cut", "end_cut"]
    assert again.events[columns].astype(str).equals(log.events[columns].astype(str))
    assert again.ttr().n_censored.sum() == 1  # n1 from 5 October on
    assert availability(again).down_hours.tolist() == availability(log).down_hours.tolist()


def test_a_part_ends_with_what_went_on_then(tmp_path):
    (tmp_path / "log.csv").write_text(TEXT)
    part = rf.read(tmp_path / "log.csv", **FLEET).between(None, "2024-11-01")
    rf.write(part, tmp_path / "part.csv")
    again = rf.read(tmp_path / "part.csv", **{**FLEET, "window_end": "2024-11-01"})
    assert again.events.loc[again.events["end_cut"], "node"].astype(str).tolist() == ["n1", "n3"]
    assert again.events["end"].astype(str).tolist() == part.events["end"].astype(str).tolist()
