"""The result of a batch simulation: jobs, nodes over time, and measures of both."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from relfit.base.errors import ArgumentError, DataError
from relfit.base.results import Result, json_ready
from relfit.base.text import count, duration, percent
from relfit.io.workloads import length_classes, width_classes
from relfit.simulation.batch import engine_state as es
from relfit.simulation.batch.failure_processes import Table
from relfit.simulation.engine.repair_stages import BEYOND_REPAIR, REPLACED

JOB_COLUMNS = ("job_id", "submission_time", "starting_time", "finish_time", "success", "nodes")
"""The columns of the file that ``--jobs-out`` writes."""
STATUS = ("not submitted", "waiting", "running", "done", "killed at its walltime", "too wide", "rejected")
OUTCOMES = ("done", "killed by a failure", "killed at its walltime")
BOUND = 10.0  # seconds: the least run time in a bounded slowdown (Feitelson 2001)
_TIMES = ("makespan", "mean_wait", "median_wait", "mean_turnaround", "now", "total_waste", "ACT", "AWT")
_UNITS = dict.fromkeys(_TIMES, "s") | {
    "waste_node_hours": "node-h",
    **dict.fromkeys(("mtbf", "repair"), "h"),
}
"""Units of the measures in `BatchRun.summary` and `BatchRun.by_class`, and of settings that are plain numbers."""


class BatchRun(Result):
    """A simulated batch system; times in seconds on the clock of the workload.

    Attributes
    ----------
    jobs : pandas.DataFrame
        One row per job: ``job_id``, ``submission_time``, ``starting_time`` (of the last attempt), ``finish_time``,
        ``success``, ``nodes``; ``status``, ``first_start``, ``kills``, ``backfilled``, ``waited`` (in the queue,
        over all attempts), ``run_time`` (its work), ``requested``, ``waste`` (run and lost to failures), ``overhead``
        (checkpoints and restores). Times that were not reached are NaN.
    n_nodes : int
        Nodes of the machine.
    settings : dict
        Settings of the simulation: scheduler, allocation, requeue, ...
    counts : dict of int
        ``failures``, ``ignored_failures``, ``repairs``, ``replaced`` and ``gone`` (nodes beyond repair), ``kills``,
        ``starts``, ``events``, ``passes``, ``not_adjacent``.
    complete : bool
        False where the simulation was stopped before its end.
    now : float
        The simulated time reached.
    elapsed_seconds : float
        Real time.
    log : ndarray
        Starts, ends, nodes and outages in order of time, as far as `keep` stores them.
    notes : tuple of str
        Remarks on the workload and the allocation.
    """

    jobs: pd.DataFrame
    n_nodes: int
    settings: dict[str, Any]
    counts: dict[str, int]
    complete: bool
    now: float
    elapsed_seconds: float
    log: Table
    notes: tuple[str, ...] = ()

    units: ClassVar[Mapping[str, str]] = _UNITS
    _not_in_json: ClassVar[tuple[str, ...]] = ("jobs", "log")
    _frame: ClassVar[str] = "jobs"

    @cached_property
    def _ran(self) -> pd.DataFrame:
        """Jobs that came to an end on nodes: done, or killed at their walltime."""
        return self.jobs[self.jobs["finish_time"].notna()]

    @cached_property
    def summary(self) -> dict[str, float]:
        """The run in numbers; times in seconds.

        ``makespan`` runs from the first submission to the last end; waits are over the jobs that ended. Of the node
        time of the makespan (until `now`, where jobs have not ended) ``utilisation`` is the share that jobs held,
        ``goodput`` that of the work of jobs done, ``wasted`` that of work lost to failures, ``checkpoints`` that of
        saves and restores. Where all jobs are done, the last three add up to the first. Slowdowns are bounded at 10
        seconds.
        """
        jobs, ran = self.jobs, self._ran
        status = jobs["status"]
        begun = float(jobs["submission_time"].min()) if len(jobs) else 0.0
        makespan = float(ran["finish_time"].max()) - begun if len(ran) else 0.0
        unfinished = status.isin(STATUS[: es.DONE])
        clock = self.now - begun if unfinished.any() else makespan
        capacity = self.n_nodes * clock if clock > 0.0 else np.nan
        running = jobs[status == STATUS[es.RUNNING]]
        last = (jobs["finish_time"] - jobs["starting_time"]).where(jobs["finish_time"].notna(), 0.0)
        held = float(((last + jobs["killed_run_time"]) * jobs["nodes"]).sum())  # in attempts that ended
        held += float(((self.now - running["starting_time"]) * running["nodes"]).sum())
        done = ran[ran["success"]]
        useful = float((done["run_time"] * done["nodes"]).sum())
        waste = float((jobs["waste"] * jobs["nodes"]).sum())
        return {
            "jobs": len(jobs),
            "done": int((status == STATUS[es.DONE]).sum()),
            "killed_at_walltime": int((status == STATUS[es.OVER_WALLTIME]).sum()),
            "too_wide": int((status == STATUS[es.TOO_WIDE]).sum()),
            "rejected": int((status == STATUS[es.REJECTED]).sum()),
            "unfinished": int(unfinished.sum()),
            "makespan": makespan,
            "mean_wait": float(ran["waited"].mean()),
            "median_wait": float(ran["waited"].median()),
            "mean_turnaround": float((ran["finish_time"] - ran["submission_time"]).mean()),
            "mean_slowdown": float(self.slowdown.mean()),
            "utilisation": held / capacity,
            "goodput": useful / capacity,
            "wasted": waste / capacity,
            "checkpoints": float((jobs["overhead"] * jobs["nodes"]).sum()) / capacity,
            "waste_node_hours": waste / 3600.0,
            "backfilled": float(ran["backfilled"].mean()),
            "elapsed_seconds": self.elapsed_seconds,
        }

    @property
    def slowdown(self) -> pd.Series:
        """Bounded slowdown of each job that ended: turnaround over run time (10 s where it is shorter), at least 1."""
        ran = self._ran
        turnaround = ran["finish_time"] - ran["submission_time"]
        return (turnaround / np.maximum(ran["run_time"], BOUND)).clip(lower=1.0)

    def by_class(self, by: str = "length") -> pd.DataFrame:
        """Measures per class of jobs, those of the papers by their names there.

        Parameters
        ----------
        by : {"length", "width", "node_class"}
            Classes by run time (`relfit.io.workloads.LENGTHS`), by powers of two of the nodes, or, of a machine with
            classes of nodes, by these.

        Returns
        -------
        pandas.DataFrame
            One row per class, and ``all``: ``jobs``, ``backfilled`` (share), ``mean_wait``, ``mean_slowdown``,
            ``goodput_node_hours``, ``total_waste`` (seconds), ``%MWT`` (mean waste in percent of the run time), ``ACT``
            and ``AWT`` (mean completion and waste time, seconds), ``MCT`` and ``MWT`` (sums of these over the sum of
            run time per node).

        Raises
        ------
        ArgumentError
            For another kind of class, or ``"node_class"`` of a run without classes of nodes.

        References
        ----------
        Reliability-aware allocation, sections 5.2.3 and 6.4.5. A completion time runs from the first start to the end.
        """
        ran = self._ran.assign(slowdown=self.slowdown)
        if by == "length":
            classes = length_classes(ran["run_time"].to_numpy())
        elif by == "width":
            classes = width_classes(ran["nodes"].to_numpy())
        elif by == "node_class" and by in ran:
            names = dict.fromkeys([*self.settings["classes"], *sorted(ran[by].unique())])
            classes = pd.Categorical(ran[by], list(names))
        else:
            raise ArgumentError(f"by {by!r} is not known", remedy="use length or width")
        groups = [(str(name), ran[np.asarray(classes == name)]) for name in classes.categories]
        rows = [{by: name, **_measures(group)} for name, group in [*groups, ("all", ran)]]
        return pd.DataFrame(rows).set_index(by)

    def relative_difference(self, other: BatchRun, measure: str = "MCT") -> float:
        """RPD: by how many percent a measure of `other` is above this run's; infinite where this run's is 0.

        Parameters
        ----------
        other : BatchRun
        measure : str
            A column of `by_class`, taken over all jobs.

        Examples
        --------
        >>> import relfit as rf
        >>> jobs = rf.workloads.Workload([1, 2], [0, 0], [4, 4], [100, 100], [100, 100], 8)
        >>> twice = jobs.with_columns({"run_time": jobs.run_time * 2, "requested": jobs.requested * 2})
        >>> rf.simulate_batch(jobs).relative_difference(rf.simulate_batch(twice), "ACT")
        100.0
        """
        own, others = (float(run.by_class()[measure].to_dict()["all"]) for run in (self, other))
        return 100.0 * (others - own) / own if own else np.inf

    @cached_property
    def attempts(self) -> pd.DataFrame:
        """One row per attempt to run a job: ``job`` (row of `jobs`), ``start``, ``end``, ``outcome``, ``backfilled``,
        ``node`` (that failed; -1 for none), ``spans`` (tuples of first node and number of nodes; for ``keep="nodes"``).

        Raises
        ------
        DataError
            When the run was simulated with ``keep="jobs"``.
        """
        self._need_log()
        log = self.log
        starts = np.flatnonzero(log["kind"] == es.LOG_START)
        begun, ended = log[starts], log[log["kind"] == es.LOG_END]
        table = pd.DataFrame({"job": begun["job"], "start": begun["time"], "backfilled": begun["value"].astype(bool)})
        outcomes = np.asarray(OUTCOMES, dtype=object)[ended["value"]]
        ends = pd.DataFrame({"job": ended["job"], "end": ended["time"], "outcome": outcomes, "node": ended["node"]})
        for rows in (table, ends):  # the k-th start and the k-th end of a job belong together
            rows["number"] = rows.groupby("job").cumcount()
        table = table.merge(ends, on=["job", "number"], how="left")
        table["outcome"], table["node"] = table["outcome"].fillna("running"), table["node"].fillna(-1).astype(np.int64)
        table = table[["job", "start", "end", "outcome", "backfilled", "node"]]
        spans = np.flatnonzero(log["kind"] == es.LOG_SPAN)
        if self.settings["keep"] == "nodes":
            pairs = list(zip(log["node"][spans].tolist(), log["value"][spans].tolist(), strict=True))
            begins = np.searchsorted(spans, [*starts, len(log)]).tolist()  # the nodes of a start follow it
            lists = [tuple(pairs[begin:end]) for begin, end in pairwise(begins)]
            table["spans"] = pd.Series(lists, index=table.index, dtype=object)
        return table

    @cached_property
    def outages(self) -> pd.DataFrame:
        """One row per failure that was not ignored: ``time``, ``node``, ``back`` (when the node was up again).

        Errors as for `attempts`.
        """
        self._need_log()
        down = self.log[self.log["kind"] == es.LOG_DOWN]
        return pd.DataFrame({"time": down["time"], "node": down["node"], "back": down["until"]})

    @cached_property
    def repairs(self) -> pd.DataFrame:
        """As `outages`, with ``outcome``: ``repaired``, ``stage 1`` (of `StagedRepairs`), ``replaced``, ``gone``."""
        down = self.log[self.log["kind"] == es.LOG_DOWN]
        names = {0: "repaired", REPLACED: "replaced", BEYOND_REPAIR: "gone"}
        codes, where = np.unique(down["value"], return_inverse=True)
        outcomes = np.array([names.get(code, f"stage {code}") for code in codes.tolist()], dtype=object)
        return self.outages.assign(outcome=outcomes[where])

    @cached_property
    def states(self) -> pd.DataFrame:
        """Queue and nodes over time: ``time``, ``waiting`` (jobs), ``running`` (jobs), ``busy``, ``down`` (nodes); each
        row holds from its time to the next. Errors as for `attempts`.
        """
        attempts, jobs = self.attempts, self.jobs
        nodes = jobs["nodes"].to_numpy()[attempts["job"].to_numpy()]
        entered = jobs.loc[~jobs["status"].isin([STATUS[0], STATUS[es.TOO_WIDE]]), "submission_time"].to_numpy()
        killed = (attempts["outcome"] == OUTCOMES[1]).to_numpy()
        ended = attempts["end"].notna().to_numpy()
        changes = [
            (entered, {"waiting": 1}),
            (attempts["start"], {"waiting": -1, "running": 1, "busy": nodes}),
            (attempts["end"][ended], {"waiting": killed[ended], "running": -1, "busy": -nodes[ended]}),
            (self.outages["time"], {"down": 1}),
            (self.outages["back"], {"down": -1}),
        ]
        none = dict.fromkeys(("waiting", "running", "busy", "down"), 0)
        table = pd.concat([pd.DataFrame({"time": np.asarray(time), **none, **change}) for time, change in changes])
        return table[table["time"] <= self.now].groupby("time").sum().cumsum().astype(np.int64).reset_index()

    def _need_log(self) -> None:
        if self.settings["keep"] == "jobs":
            raise DataError("the run kept its jobs alone", remedy='simulate with keep="attempts", or "nodes"')

    @property
    def headline(self) -> str:
        """Number of jobs that ended, their mean wait, the utilisation, and what failures and checkpoints take of it."""
        s = self.summary
        ended = s["done"] + s["killed_at_walltime"]
        if not ended:
            return f"None of {count(int(s['jobs']), 'job')} ended on {count(self.n_nodes, 'node')}."
        text = f"{count(int(ended), 'job')} of {int(s['jobs']):,} ended on {count(self.n_nodes, 'node')} in "
        text += f"{duration(s['makespan'] / 3600.0)}: mean wait {duration(s['mean_wait'] / 3600.0)}, "
        text += f"utilisation {percent(s['utilisation'], 1)}"
        if self.counts["kills"]:
            jobs, kills = int((self.jobs["kills"] > 0).sum()), self.counts["kills"]
            times = "" if jobs == kills else f" {kills:,} times"
            text += f"; {count(jobs, 'job')} killed{times} by failures, {percent(s['wasted'], 2)} wasted"
        if s["checkpoints"] > 0.0:
            text += f"; checkpoints take {percent(s['checkpoints'], 2)}"
        return text + "."

    @property
    def findings(self) -> tuple[str, ...]:
        """The headline, jobs that did not end as requested, and the notes."""
        s = self.summary
        lines = [self.headline]
        for name, what in (
            ("too_wide", "wider than the machine: rejected"),
            ("rejected", "rejected: no set of working nodes could hold them"),
            ("killed_at_walltime", "killed at their walltime"),
            ("unfinished", "not finished when the simulation ended"),
        ):
            if s[name]:
                lines.append(f"{count(int(s[name]), 'job')} {what}.")
        if not self.complete:
            lines.append(f"Stopped at {self.now:g} s, before the end.")
        return (*lines, *self.notes)

    def to_frame(self) -> pd.DataFrame:
        """The jobs, one row each, as `jobs`: times in seconds."""
        return super().to_frame()

    def to_dict(self) -> dict[str, Any]:
        """Findings, `summary`, `counts`, `settings`, and the measures by classes of length and width."""
        own = {"summary": self.summary, "counts": self.counts, "settings": self.settings, "n_nodes": self.n_nodes}
        kinds = [by for by in ("length", "width", "node_class") if by != "node_class" or by in self.jobs]
        classes = {} if self._ran.empty else {f"by_{by}": self.by_class(by) for by in kinds}
        first = {"findings": self.findings, "complete": self.complete, "now": self.now, "units": self.units}
        return json_ready({**first, **own, **classes})


def _measures(jobs: pd.DataFrame) -> dict[str, float]:
    n = len(jobs)
    if not n:
        return {"jobs": 0}
    done = jobs[jobs["success"]]
    completion = (jobs["finish_time"] - jobs["first_start"]).sum()
    waste, unit = jobs["waste"].sum(), (jobs["run_time"] / jobs["nodes"]).sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = jobs["waste"] / jobs["run_time"].where(jobs["run_time"] > 0.0)
    return {
        "jobs": n,
        "backfilled": float(jobs["backfilled"].mean()),
        "mean_wait": float(jobs["waited"].mean()),
        "mean_slowdown": float(jobs["slowdown"].mean()),
        "goodput_node_hours": float((done["run_time"] * done["nodes"]).sum() / 3600.0),
        "total_waste": float(waste),
        "%MWT": float(100.0 * shares.mean()),
        "ACT": float(completion / n),
        "AWT": float(waste / n),
        "MCT": float(completion / unit) if unit else np.nan,
        "MWT": float(waste / unit) if unit else np.nan,
    }
