from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from papers import allocation
from relfit import plotting
from relfit.fitting.families import Weibull
from relfit.system import System
from relfit.system.jobs import Amdahl, Job, best_size, completion_time


def test_best_size_is_marked() -> None:
    found = allocation.best_size_of_table_6_1()
    ax = plotting.completion_by_size(found, ax=Figure().add_subplot())
    assert "14 nodes" in ax.get_title(loc="left")
    assert any("393 h" in text.get_text() for text in ax.texts)
    drawn = {line.get_label(): np.asarray(line.get_ydata()) for line in ax.lines}
    assert np.allclose(drawn["with failures"], found.expected)


def test_a_job_that_never_ends_and_one_node() -> None:
    system = System(Weibull(0.8, [1e-3] * 3))
    ax = plotting.completion_by_size(best_size(system, Job(1e5, Amdahl(0.5))), ax=Figure().add_subplot())
    assert "no number of nodes" in ax.get_title(loc="left")
    ax = plotting.completion_curve(completion_time(system, 1e5), ax=Figure().add_subplot())
    assert "will not finish" in ax.get_title(loc="left").replace("\n", " ")
    ax = plotting.completion_by_size(best_size(System(Weibull(0.8, [1e3])), 10.0), ax=Figure().add_subplot())
    assert ax.get_xlabel() == "nodes"


def test_the_chance_to_be_done_by_then() -> None:
    done = completion_time(System(Weibull(0.8, [1e3] * 4)), 100.0)
    ax = plotting.completion_curve(done, ax=Figure().add_subplot())
    time, curve = ax.lines[0].get_data()
    assert curve == pytest.approx(100.0 * done.finish_probability(time))
    assert (np.diff(curve) >= -1e-9).all()
    assert 98.0 < curve[-1] <= 100.0
    assert ax.lines[1].get_xdata()[0] == pytest.approx(done.expected)
