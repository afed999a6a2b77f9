"""Ends of a table that say in words that an outage goes on."""

from __future__ import annotations

import pytest

import relfit as rf


@pytest.mark.parametrize("word", ["still down", "Still open", "ongoing", ""])
def test_an_end_in_words_is_of_an_outage_that_goes_on(tmp_path, word):
    path = tmp_path / "log.csv"
    path.write_text(
        "node,start,end\na,2024-01-01,2024-01-02\nb,2024-01-03,2024-01-04\n"
        f"c,2024-01-05,2024-01-06\nd,2024-01-07,{word}\n"
    )
    log = rf.read(path, n_nodes=5, window_start="2024-01-01", window_end="2024-02-01")
    assert (len(log), len(log.rejected), log.events["end_cut"].tolist()) == (4, 0, [False, False, False, True])


def test_a_duration_in_words_ends_at_a_whole_second(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("node,start,duration\na,2024-01-01 08:00,3h 20m\nb,2024-01-01 08:00,1h 10m 1s\n")
    assert rf.read(path).events["end"].dt.strftime("%H:%M:%S.%f").tolist() == ["11:20:00.000000", "09:10:01.000000"]
    assert (rf.read(path).events["end"].dt.nanosecond == 0).all()
