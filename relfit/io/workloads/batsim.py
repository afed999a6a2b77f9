"""BatSim's JSON workloads, whose jobs refer to profiles for their run times: reader and writer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from relfit.io.parsing.opening import Content
from relfit.io.parsing.rows import Rejections
from relfit.io.parsing.text_content import as_text
from relfit.io.workloads.job_rows import JobRows, Machine, numbers
from relfit.io.workloads.workload import Workload

NAME = "batsim"


def recognises(content: Content) -> bool:
    """Whether this is a JSON object."""
    return content.first_line().lstrip().startswith("{")


def read(content: Content, machine: Machine, *, strict: bool = False, timezone: str | None = None) -> Workload:
    """Read a workload of BatSim: jobs of profiles of type ``delay``. A `ReadError` when this is no such JSON.

    Jobs of other profiles are rejected: their run time depends on the platform. ``res`` counts nodes, and ``nb_res``
    those of the machine. ``line`` of a rejected job is its position in the list, from 1. A walltime of -1 is none.
    """
    text = as_text(content)
    try:
        document = json.loads(text.data)
    except json.JSONDecodeError as error:
        raise content.error(f"this is not JSON ({error.msg})", "the file may be cut short", line=error.lineno) from None
    except (RecursionError, ValueError):
        raise content.error("this JSON is nested too deep, or has a number too long") from None
    jobs, profiles = (document.get(name) if isinstance(document, dict) else None for name in ("jobs", "profiles"))
    if not isinstance(jobs, list) or not isinstance(profiles, dict) or not jobs:
        raise content.error("no list of jobs and profiles", "this is not a workload of BatSim")
    rejections = Rejections(content.path, np.arange(1, len(jobs) + 1), lambda row: json.dumps(jobs[row]))
    good = [job if isinstance(job, dict) else {} for job in jobs]
    rejections.reject([not isinstance(job, dict) for job in jobs], "not a job")
    kinds = [_profile(profiles, job) for job in good]
    reasons = np.array([reason for _, reason in kinds], dtype=object)
    rejections.reject(reasons != "", lambda row: str(reasons[row]), "profile")
    if machine.n_nodes is None and isinstance(document.get("nb_res"), int) and document["nb_res"] > 0:
        machine = Machine(machine.n_nodes or machine.nodes(np.array(float(document["nb_res"]))).astype(int).item())
    limit = _column(good, "walltime", -1)
    names = [job.get("id", "") for job in good]
    rows = JobRows(
        rejections,
        np.array(names if all(type(name) is int for name in names) else [str(name) for name in names]),
        _column(good, "subtime"),
        machine.nodes(_column(good, "res")),
        np.array([delay for delay, _ in kinds], dtype=np.float64),
        np.where(limit == -1, np.inf, limit),
        notes=list(text.notes),
    )
    return rows.workload(content, NAME, machine, len(jobs), strict=strict, ordered=False)


def _column(jobs: Sequence[Mapping[str, object]], name: str, missing: float = np.nan) -> Any:
    values = [job.get(name, missing) for job in jobs]
    return numbers(
        np.array([value if isinstance(value, (int, float, str)) else np.nan for value in values], dtype=object)
    )


def _profile(profiles: Mapping[str, object], job: Mapping[str, object]) -> tuple[float, str]:
    """The run time of a job in seconds by its profile, and why it is not known."""
    name = job.get("profile")
    profile = profiles.get(str(name))
    if not isinstance(profile, dict):
        return np.nan, f"no profile {name!r}"
    if profile.get("type") != "delay" or not isinstance(profile.get("delay"), (int, float)):
        return np.nan, f"profile {name!r} is of type {profile.get('type')!r}: its run time is not known"
    return float(profile["delay"]), ""


def batsim_text(workload: Workload) -> str:
    """A workload in this format, a profile ``delay`` per run time; no submission is below 0, as BatSim needs."""
    first = min(0.0, float(workload.submit[0])) if len(workload) else 0.0
    columns = (workload.job_id, workload.submit - first, workload.requested, workload.nodes, workload.run_time)
    jobs = [
        {
            "id": str(name),
            "subtime": submit,
            "walltime": limit if np.isfinite(limit) else -1,
            "res": nodes,
            "profile": f"delay{delay!r}",
        }
        for name, submit, limit, nodes, delay in zip(*(values.tolist() for values in columns), strict=True)
    ]
    profiles = {
        f"delay{delay!r}": {"type": "delay", "delay": delay} for delay in dict.fromkeys(workload.run_time.tolist())
    }
    size = workload.n_nodes or int(workload.nodes.max(initial=1))
    return json.dumps({"nb_res": size, "jobs": jobs, "profiles": profiles}, indent=1) + "\n"
