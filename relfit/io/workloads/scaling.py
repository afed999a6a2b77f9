"""The same jobs at another load or on another machine: submissions closer together, copies, wider jobs, walltimes."""

from __future__ import annotations

import numpy as np

from relfit.base.arguments import positive, random_stream, whole
from relfit.base.arrays import Seed
from relfit.base.errors import ArgumentError
from relfit.base.text import number, percent
from relfit.base.units import hours
from relfit.io.workloads.workload import Workload

_SLIGHTLY = 1.1  # a smaller factor is said in percent


def compress(workload: Workload, factor: float) -> Workload:
    """Submissions in 1 / `factor` of the time: the load is multiplied by `factor`, the jobs stay as they are.

    Parameters
    ----------
    workload : Workload
    factor : float
        Above zero; below 1 it stretches the time.

    Examples
    --------
    >>> jobs = Workload([1, 2, 3], [10.0, 20.0, 50.0], [1, 1, 1], [8.0, 8.0, 8.0], n_nodes=2)
    >>> compress(jobs, 2.0).submit.tolist(), jobs.load(), compress(jobs, 2.0).load()
    ([10.0, 15.0, 30.0], 0.3, 0.6)
    """
    factor = float(positive("factor", factor))
    if not len(workload):
        return workload
    first = workload.submit[0]
    submit = first + (workload.submit - first) / factor
    return workload.with_columns({"submit": submit}, note=f"submissions {_moved(factor)}")


def _moved(factor: float) -> str:
    """How submissions moved that were compressed by a factor."""
    ratio, near = (factor, "closer together") if factor >= 1.0 else (1.0 / factor, "further apart")
    if ratio < _SLIGHTLY:
        return f"{percent(ratio - 1.0)} {near}"
    return f"{number(ratio)} times as {'close together' if factor >= 1.0 else 'far apart'}"


def scale_load(workload: Workload, load: float, n_nodes: int | None = None) -> Workload:
    """Submissions closer together, or further apart, so that the offered load is `load`.

    Parameters
    ----------
    workload : Workload
    load : float
        As `Workload.load` has it.
    n_nodes : int, optional
        Nodes of the machine; by default those of the workload.

    Raises
    ------
    ArgumentError
        When all jobs are submitted at once, or none does any work.
    DataError
        When the number of nodes is not known, or there is no job.

    Examples
    --------
    >>> jobs = Workload([1, 2, 3], [0.0, 20.0, 50.0], [1, 1, 1], [8.0, 8.0, 8.0], n_nodes=2)
    >>> scale_load(jobs, 0.96).submit.tolist()
    [0.0, 5.0, 12.5]
    """
    wanted, now = float(positive("load", load)), workload.load(n_nodes)
    if not np.isfinite(now) or now == 0.0:
        raise ArgumentError("all jobs come at once, or none does any work: there is no load to scale")
    scaled = compress(workload, wanted / now)
    return scaled if n_nodes is None else scaled.with_columns({}, n_nodes=n_nodes)


def copies(workload: Workload, times: int, shift: object = 0.0) -> Workload:
    """Every job `times` times: the load of as many such groups of users.

    Parameters
    ----------
    workload : Workload
    times : int
        1 or more.
    shift : float, str or timedelta
        Delay of each copy after the one before; hours, or a string such as ``"90s"``.

    Returns
    -------
    Workload
        Copies have numbers above the largest job number, or text with ``.2``, ``.3``, ... added.

    Examples
    --------
    >>> jobs = Workload([1, 2], [0.0, 60.0], [1, 4], [8.0, 8.0], n_nodes=8)
    >>> copies(jobs, 2, "90s").to_frame()[["job_id", "submit"]].to_numpy().tolist()
    [[1.0, 0.0], [2.0, 60.0], [3.0, 90.0], [4.0, 150.0]]
    """
    number_of = int(whole("times", times))
    later, n = 3600.0 * hours(shift), len(workload)
    if not np.isfinite(later) or later < 0.0:
        raise ArgumentError(f"shift is {shift!r}", remedy="give a duration of zero or more")
    copy = np.repeat(np.arange(number_of), n)
    names = np.tile(workload.job_id, number_of)
    if names.dtype.kind == "i":
        names = names + copy * (int(workload.job_id.max(initial=0)) + 1 - int(workload.job_id.min(initial=1)))
    else:
        names = np.array([f"{name}.{k + 1}" if k else name for name, k in zip(names, copy, strict=True)], dtype=object)
    submit = np.tile(workload.submit, number_of) + later * copy
    order = np.argsort(submit, kind="stable")
    columns = {name: np.tile(values, number_of) for name, values in workload.columns.items()}
    columns |= {"job_id": names, "submit": submit}
    ordered = {name: values[order] for name, values in columns.items()}
    return workload.with_columns(ordered, note=f"every job {number_of} times")


def scale_size(workload: Workload, factor: float) -> Workload:
    """Jobs and machine `factor` times as wide; whole nodes, at least 1, the load about the same.

    Parameters
    ----------
    workload : Workload
    factor : float
        Above zero.

    Examples
    --------
    >>> jobs = Workload([1, 2, 3], [0.0, 60.0, 70.0], [1, 5, 16], [8.0, 8.0, 8.0], n_nodes=16)
    >>> half = scale_size(jobs, 0.5)
    >>> half.nodes.tolist(), half.n_nodes
    ([1, 2, 8], 8)
    """
    factor = float(positive("factor", factor))
    nodes = np.maximum(np.rint(workload.nodes * factor), 1.0).astype(np.int64)
    machine = None if workload.n_nodes is None else max(round(workload.n_nodes * factor), 1)
    if machine is not None:
        fits = workload.nodes <= (workload.n_nodes or 0)
        nodes = np.where(fits, np.minimum(nodes, machine), nodes)
    return workload.with_columns({"nodes": nodes}, n_nodes=machine, note=f"sizes scaled by {number(factor)}")


def with_walltimes(workload: Workload, share: float | tuple[float, float], rng: Seed = 0) -> Workload:
    """Walltimes as a multiple of the run time, in place of those of the workload.

    Parameters
    ----------
    workload : Workload
    share : float or (float, float)
        With 1.2 a walltime is a fifth above the run time; below 1 the job is killed before it ends; infinite is no
        walltime. Of two numbers, each job's is drawn uniformly between them.
    rng : int or numpy.random.Generator

    Examples
    --------
    >>> jobs = Workload([1, 2], [0.0, 60.0], [1, 4], [100.0, 50.0])
    >>> with_walltimes(jobs, 1.5).requested.tolist()
    [150.0, 75.0]
    """
    limits = np.atleast_1d(np.asarray(share, dtype=np.float64))
    if limits.shape not in ((1,), (2,)) or not (limits > 0.0).all() or limits[0] > limits[-1]:
        raise ArgumentError(f"share is {share!r}", remedy="give one number above zero, or two in rising order")
    factor = np.full(len(workload), limits[0])
    if limits.size == 2:
        factor = random_stream(rng).uniform(limits[0], limits[1], len(workload))
    with np.errstate(invalid="ignore"):  # 0 times infinity
        requested = np.where(np.isinf(factor), np.inf, workload.run_time * factor)
    shown = " to ".join(number(float(limit)) for limit in limits)
    return workload.with_columns({"requested": requested}, note=f"walltimes are {shown} times the run time")
