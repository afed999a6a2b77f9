from __future__ import annotations

import numpy as np
import pytest

from relfit.base.errors import ArgumentError, ReadError
from relfit.system.jobs import Amdahl, Gustafson, MeasuredSpeedup, as_speedup, read_speedup


def test_laws() -> None:
    k = np.array([1, 2, 7, 20])
    assert Amdahl(0.895).speedup(k) == pytest.approx([1.0, 1.809955, 4.294479, 6.677796], rel=1e-6)  # Table 6.1
    assert Gustafson(0.9).time(100.0, k) == pytest.approx(100.0 / (0.1 + 0.9 * k))
    assert as_speedup(None).speedup(8) == 8.0


def test_measured_inside_and_outside() -> None:
    law = MeasuredSpeedup.of_times([16, 2, 4], ["10h", "60h", "32h"])
    assert law.work == 120.0
    assert law.time(None, [2, 4, 16]) == pytest.approx([60.0, 32.0, 10.0])
    assert law.time(None, [8])[0] == pytest.approx(np.sqrt(32.0 * 10.0))  # a straight line in the logs
    assert law.time(None, [8**0.5])[0] == pytest.approx(np.sqrt(60.0 * 32.0))
    assert law.time(None, [1, 100]) == pytest.approx([120.0, 10.0])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Amdahl(1.2), "parallel_fraction is 1.2; it must lie between 0 and 1"),
        (lambda: Gustafson(90), "did you mean 0.9"),
        (lambda: Amdahl(0.5).speedup([0]), "0 is not a number of nodes"),
        (lambda: Amdahl(0.5).time(-3.0, [1]), "work is -3 hours"),
        (lambda: Amdahl(0.5).time(None, [1]), "work is missing"),
        (lambda: MeasuredSpeedup([1, 1], [1.0, 2.0]), "listed twice"),
        (lambda: MeasuredSpeedup([1, 2], [1.0, 0.0]), "speedup is 0; it must be above zero"),
        (lambda: MeasuredSpeedup.of_times([1, 2], ["3h"]), "2 sizes and 1 times"),
        (lambda: MeasuredSpeedup.of_times([1], ["3h", "2h"]), "1 sizes and 2 times"),
        (lambda: as_speedup("fast"), "not a speed-up"),
    ],
)
def test_bad_input(make, text) -> None:
    with pytest.raises(ArgumentError, match=text):
        make()


def test_table_from_file(tmp_path) -> None:
    file = tmp_path / "times.csv"
    file.write_text("# measured in May\nnodes,time\n1,100h\n\n4,30h\n16,12\n")
    law = read_speedup(file)
    assert law.time(None, [1, 4, 16]) == pytest.approx([100.0, 30.0, 12.0])
    file.write_text("k;speedup\n1;1\n8;5.5\n")
    assert read_speedup(file).speedup(8) == pytest.approx(5.5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nodes,time\n1,100h\n4,soon\n", r"line 3, column time: 'soon' is not a duration"),
        ("nodes,time\n1,100h\n0,3h\n", r"line 3, column nodes: '0' is not a number of one"),
        ("nodes,time\n2,100h\n2,3h\n", r"line 3, column nodes: 2 nodes are listed twice"),
        ("nodes,time\n2\n", r"line 2: 1 values under 2 columns"),
        ("who,time\n2,3\n", r"line 1: no column nodes"),
        ("nodes,time\n", "has a heading and no lines"),
        ("", "is empty"),
    ],
)
def test_bad_table(tmp_path, text, said) -> None:
    file = tmp_path / "times.csv"
    file.write_text(text)
    with pytest.raises(ReadError, match=said) as caught:
        read_speedup(file)
    assert "times.csv" in str(caught.value)


@pytest.mark.parametrize(("sizes", "times"), [([1, 2], [5.0]), ([1], [5.0, 4.0]), ([], [])])
def test_times_go_with_sizes(sizes: list[int], times: list[float]) -> None:
    with pytest.raises(ArgumentError, match="one value for every size"):
        MeasuredSpeedup.of_times(sizes, times)
