"""What the states of jobs say, in Slurm's accounting and in tables: which runs were requeued, did not start or end."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arrays import BoolArray, FloatArray, ValueArray
from relfit.base.text import count
from relfit.io.parsing.rows import Rejections

_REQUEUED = ("REQUEUED", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "REVOKED")
_WAITING = ("PENDING", "REQUEUE_HOLD", "CONFIGURING")
_RUNNING = ("RUNNING", "SUSPENDED", "COMPLETING", "RESIZING")
_CUT_SHORT = {
    "NODE_FAIL": "ended by a node's failure: their run time is how far they came",
    "PREEMPTED": "preempted: their run time is how far they came",
    "TIMEOUT": "stopped at their walltime: they would have run for longer",
}


def first_words(state: npt.NDArray[np.object_] | None, size: int) -> npt.NDArray[np.object_]:
    """The first word of each state, empty without a column of states.

    Examples
    --------
    >>> first_words(np.array(["CANCELLED by 1001", "cancelled+"], dtype=object), 2).tolist()
    ['CANCELLED', 'CANCELLED']
    """
    if state is None:
        return np.full(size, "", dtype=object)
    codes, texts = pd.factorize(pd.Series(state, dtype=object))
    words = [str(text).upper().rstrip("+").partition(" ")[0] for text in texts]
    return np.array(words, dtype=object)[codes]


def reject_unfinished(rejections: Rejections, state: npt.NDArray[np.object_], run: FloatArray) -> None:
    """Reject jobs that had not started, were still running, or never ran."""
    rejections.reject(np.isin(state, _WAITING), "had not started", "state")
    rejections.reject(np.isin(state, _RUNNING), "was still running: its run time is not known", "state")
    rejections.reject((state == "CANCELLED") & ~(run > 0), "cancelled before it ran", "state")


def requeued_runs(
    names: ValueArray, state: npt.NDArray[np.object_], stamp: FloatArray, step: BoolArray | bool = False
) -> tuple[BoolArray, FloatArray]:
    """Which runs were requeued, and the first submission of the job of each record; `step` are records of no run.

    Examples
    --------
    >>> states = np.array(["NODE_FAIL", "COMPLETED", "NODE_FAIL"], dtype=object)
    >>> requeued, submitted = requeued_runs(np.array([7, 7, 8]), states, np.array([0.0, 60.0, 90.0]))
    >>> requeued.tolist(), submitted.tolist()
    ([True, False, False], [0.0, 0.0, 90.0])
    """
    rows = pd.DataFrame({"name": names, "stamp": stamp, "row": np.arange(stamp.size)})[
        ~np.broadcast_to(step, stamp.size)
    ]
    rows = rows.sort_values(["stamp", "row"], kind="stable")
    last = ~rows["name"].duplicated(keep="last").to_numpy()
    requeued = np.zeros(stamp.size, dtype=bool)
    requeued[rows["row"]] = ~last & np.isin(state[rows["row"]], _REQUEUED)
    counted = rows[last | requeued[rows["row"]]]
    first = counted.groupby("name", sort=False)["stamp"].min()
    submitted = stamp.copy()
    ends = rows[last]
    submitted[ends["row"]] = first.reindex(ends["name"]).to_numpy()
    return requeued, submitted


def notes_on_states(state: npt.NDArray[np.object_], jobs: BoolArray, requeued: BoolArray) -> list[str]:
    """Counts of runs that were requeued, and of `jobs` whose run time is not all that they need."""
    counts = [(int(requeued.sum()), "run", "that ended in a requeue left out: the last run of a job stands")]
    counts += [(int(((state == name) & jobs).sum()), "job", what) for name, what in _CUT_SHORT.items()]
    return [f"{count(number, of)} {what}" for number, of, what in counts if number]
