"""The commands ``relfit plan checkpoint|migration|replication|spares``: what to do about failures of known rates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.cli import option_values as checked
from relfit.cli import options as opt
from relfit.cli import output

if TYPE_CHECKING:
    from relfit.base.arrays import Durations
    from relfit.planning.plan import Plan

_RULES = "Rules (waste as a share of the time; excess over the least waste, in points)"
_SIZES = "By size of job (yields and recall as shares of 1)"
_STRATEGIES = "Strategies (yield as a share of the nodes; break even in nodes)"

Params = Annotated[
    Path | None,
    opt.argument("[PARAMS]", "Parameters, as relfit calibrate writes them (.toml or .json)."),
]
NodeMtbf = Annotated[
    str | None, opt.option("TIME", "Mean time between failures of one node, such as 20000h, 2%AFR or 500FIT.")
]


@dataclass(frozen=True, kw_only=True)
class DrawOptions:
    """How uncertain parameters become limits."""

    level: opt.Level = 0.95
    draws: int = opt.option("N", "Number of draws of uncertain parameters.", 1000, min=2, max=100_000)
    seed: opt.Seed = 0

    @property
    def common(self) -> dict[str, Any]:
        """Arguments of the planners."""
        return {"n_draws": self.draws, "level": self.level, "rng": self.seed}


@dataclass(frozen=True, kw_only=True)
class Failing:
    """How often nodes fail, and what saving and restoring cost."""

    params: Params = None
    mtbf: NodeMtbf = None
    nodes: int | None = opt.option("N", "Nodes; by default those of PARAMS.")
    events: float | None = opt.option("N", "Number of failures behind --mtbf, for intervals.")
    save: str | None = opt.option("TIME", "Time to write a checkpoint (required).")
    restore: str = opt.option("TIME", "Time to restore a checkpoint.", "0h")
    restart: str = opt.option("TIME", "Time from a failure, or its repair, to the start of the restore.", "0h")
    repair: str | None = opt.option(
        "TIME", "Time to repair that a job waits for; that of PARAMS by default, 0h for none."
    )

    @property
    def costs(self) -> tuple[str, str, str]:
        """Save, restore and restart."""
        return needed("--save", self.save), self.restore, self.restart

    def checkpoint(self, every: str | None = None, unexposed: bool = False, slowed: float = 1.0) -> rf.jobs.Checkpoint:
        """What saving and restoring cost."""
        save, restore, _ = self.costs
        return rf.jobs.Checkpoint(every, save, restore, () if unexposed else ("save", "restore"), slowed)

    @property
    def common(self) -> dict[str, Any]:
        """Arguments of the planners."""
        return {"nodes": self.nodes, "events": self.events, "repair": self.repair}


def rate_source(path: Path | None, mtbf: str | None) -> Any:
    """The parameters of a file, or the mean time between failures of ``--mtbf``."""
    if path is not None and mtbf is not None:
        raise ArgumentError("PARAMS and --mtbf are both given", remedy="give one of them")
    if path is not None:
        from relfit.planning.sparing.plan_file import read_plan_file

        params = read_plan_file(path).parameters
        if params is None:
            raise ArgumentError(f"{path} has no failure rate", remedy="write mtbf in it, or give --mtbf")
        return params
    if mtbf is None:
        raise ArgumentError("no failure rate is given", remedy="name a parameter file, or give --mtbf")
    return checked.mean_time("--mtbf", mtbf)


def needed(option: str, value: str | None) -> str:
    """The value of an option that must be there."""
    if value is None:
        raise ArgumentError(f"{option} is missing", remedy=f"write {option} 5min or the like")
    return value


def checkpoint(  # noqa: PLR0913 - one argument per option
    failing: Failing,
    draws: DrawOptions,
    to: output.Output,
    details: opt.Details = False,
    checkpoint_every: str | None = opt.option("TIME", "Show the loss with this checkpoint interval, too."),
    unexposed: bool = opt.flag("--unexposed", "No failures while a checkpoint is written or restored."),
    slowed: float = opt.option("P", "Share of speed lost while a checkpoint is written; 1 stops the work.", 1.0),
    global_save: str | None = opt.option("TIME", "Two levels: time to write a global checkpoint."),
    global_restore: str | None = opt.option("TIME", "Two levels: time to restore a global checkpoint."),
    share_global: float | None = opt.option("P", "Share of failures that need the global checkpoint."),
    shape: float | None = opt.option("X", "Weibull shape of the times between failures of the job."),
    by_family: bool = opt.flag("--by-family", "Plan with the distribution in PARAMS instead of its rates."),
    age: str | None = opt.option("TIME", "Age of all nodes at every restart; by default they continue to age."),
    work: str | None = opt.option("TIME", "Work of the job, for its expected time."),
    robust: str = opt.option("mean|P", "Robust plan by the mean or a quantile of the waste.", "mean"),
    sizes: str | None = opt.option("N,N", "A table for jobs of these sizes, such as 1,16,64."),
) -> None:
    """The checkpoint interval and its cost.

    --out writes one row per rule with its checkpoint interval and its waste; with --sizes one row per size, in seconds.
    """
    checked.without_effect({"--age": age}, "--by-family", by_family)
    if checkpoint_every is not None:
        checked.duration("--checkpoint-every", checkpoint_every, positive=True)
    if sizes is not None:
        unfit: dict[str, object] = {"--nodes": failing.nodes, "--shape": shape, "--global-save": global_save}
        unfit |= {"--work": work, "--checkpoint-every": checkpoint_every, "--plot": to.plot}
        unfit["--robust"] = robust != "mean"
        checked.none_of(unfit, "--sizes", "leave one of them out")
        source = rate_source(failing.params, failing.mtbf)
        source = rf.planning.AgeingNodes(source, age) if by_family else source
        jobs = _numbers("--sizes", sizes)
        costs = failing.checkpoint(None, unexposed, slowed)
        more = {**draws.common, "events": failing.events, "repair": failing.repair}
        _show_sizes(rf.planning.checkpoint_table(source, costs, jobs, failing.restart, **more), to)
        return
    costs, restart = failing.checkpoint(checkpoint_every, unexposed, slowed), failing.restart
    source, more = rate_source(failing.params, failing.mtbf), {**failing.common, **draws.common}
    notes = _notes(source, "checkpoint")
    more |= {"global_saves": _global_saves(global_save, global_restore, share_global), "work": work}
    more["robust"] = quantile_or_mean(robust)

    def plan_of(source: object, restart: Durations, repair: Durations | None) -> rf.planning.CheckpointPlan:
        nodes = rf.planning.AgeingNodes(source, age) if by_family else source
        return rf.planning.plan_checkpoints(nodes, costs, restart, **more | {"repair": repair})

    if shape is None:
        plan = plan_of(source, restart, failing.repair)
    else:
        more |= {"nodes": None, "events": None}  # they are in the times between failures
        plan = _with_shape(source, failing, shape, plan_of)
    show_plan(plan, _RULES, [("waste", partial(rf.plot, plan))], to, notes, details=details)


def _global_saves(save: str | None, restore: str | None, part: float | None) -> rf.planning.GlobalSaves | None:
    if save is None and restore is None and part is None:
        return None
    if save is None:
        raise ArgumentError("two levels need the time to write a global checkpoint", remedy="give --global-save")
    if part is None:
        what = "two levels need the share of failures that need the global checkpoint"
        raise ArgumentError(what, remedy="give --share-global")
    return rf.planning.GlobalSaves(save=save, share=part, restore=restore)


def _numbers(option: str, text: str) -> list[int]:
    """Whole numbers from a list with commas."""
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ArgumentError(f"{option} {text!r} is not a list of numbers", remedy=f"write {option} 1,16,64") from None


def _show_sizes(plans: rf.planning.CheckpointTable, to: output.Output) -> None:
    """The best interval of jobs of several sizes."""
    written = output.write_results(to, {"plan": plans.table}, "plan", [])
    if to.json:
        output.print_json(plans.to_dict())
        return
    shown = plans.table.drop(columns="status")
    for name in [name for name in shown if "seconds" in name]:
        shown = shown.assign(**{name: shown[name] / 3600.0}).rename(columns={name: name.replace("_seconds", "_hours")})
    output.print_lines([*plans.findings, "", *output.table(shown), *written])


def quantile_or_mean(text: str) -> str | float:
    """``"mean"``, or the quantile that a text names."""
    if text == "mean":
        return text
    try:
        return float(text)
    except ValueError:
        raise ArgumentError(f"--robust {text!r} is not known", remedy="give mean, or 0.9 or the like") from None


def migration(
    failing: Failing,
    draws: DrawOptions,
    to: output.Output,
    details: opt.Details = False,
    migration: str | None = opt.option("TIME", "Time to migrate (required)."),
    recall: float | None = opt.option("P", "Share of the failures that are predicted."),
    precision: float | None = opt.option("P", "Share of the predictions that are true."),
    lead: str | None = opt.option("TIME", "Time from the prediction to the failure."),
    risk: float = opt.option("P", "Probability of running out of spare nodes.", 1e-4),
    spares: int | None = opt.option("N", "Number of spares, among the nodes, instead of --risk."),
    sequential: bool = opt.flag("--sequential", "Every node has its own job."),
    share_sequential: float = opt.option("P", "Share of the jobs that have one node.", 0.25),
) -> None:
    """Whether migration on predictions pays.

    Without --recall and --precision, it says how good predictions must be for migration to pay.
    --out writes one row per size of job.
    """
    costs = failing.costs
    checked.without_effect({"--lead": lead}, "--recall and --precision", recall is not None and precision is not None)
    checked.without_effect({"--risk": risk != 1e-4}, "no --spares", spares is None)
    checked.without_effect({"--share-sequential": share_sequential != 0.25}, "no --sequential", not sequential)
    scenario = rf.planning.Scenario(*costs, needed("--migration", migration))
    source, predictor = rate_source(failing.params, failing.mtbf), rf.planning.Predictor(recall, precision, lead)
    more = {"risk": risk, "spares": spares, "mix": 1.0 if sequential else share_sequential, **failing.common}
    plan = rf.planning.plan_migration(source, scenario, predictor, **more, **draws.common)
    show_plan(plan, _SIZES, [("yield", partial(rf.plot, plan))], to, _notes(source, "migration"), details=details)


def replication(
    failing: Failing,
    draws: DrawOptions,
    to: output.Output,
    details: opt.Details = False,
    replicas: int = opt.option("N", "Largest number of copies of a process.", 3, max=64),
    overhead: float = opt.option("P", "Share of speed lost to synchronization of the copies.", 0.0),
) -> None:
    """Whether replicating processes pays.

    --out writes one row per strategy.
    """
    source, more = rate_source(failing.params, failing.mtbf), {**failing.common, **draws.common}
    more |= {"most_replicas": replicas, "overhead": overhead}
    plan = rf.planning.plan_replication(source, failing.checkpoint(), failing.restart, **more)
    notes = _notes(source, "replication")
    show_plan(plan, _STRATEGIES, [("yield", partial(rf.plot, plan))], to, notes, details=details)


def _notes(source: object, kind: str) -> tuple[str, ...]:
    """What speaks against a plan of this kind."""
    from relfit.planning.plan import contradictions

    notes = contradictions(source, kind)
    fleet, values = getattr(source, "fleet", None), source.values() if hasattr(source, "values") else {}
    if "mtbf.rack" in values and not (getattr(fleet, "nodes", None) and getattr(fleet, "racks", None)):
        notes += ("mtbf.rack is left out: how many nodes a rack has is not known (fleet.nodes, fleet.racks).",)
    return notes


def _with_shape(
    source: object, failing: Failing, shape: float, plan_of: Callable[..., rf.planning.CheckpointPlan]
) -> rf.planning.CheckpointPlan:
    """The plan for Weibull times between failures of the job with the mean of its exponential ones."""
    import numpy as np
    from scipy.special import gamma

    from relfit.base.arguments import durations
    from relfit.planning.job_rate import rate_of_job
    from relfit.planning.plan import beyond_fleet

    if failing.events is not None:
        raise ArgumentError("--events does not go with --shape", remedy="leave one of them out")
    if not 0.0 < shape < float("inf"):
        raise ArgumentError(f"--shape {shape:g} is not above zero", remedy="give 0.7 or the like")
    rate = rate_of_job(source, failing.nodes, repair=failing.repair, n_draws=2, rng=0)
    life = rf.families.Weibull(np.array(shape), np.array(float(rate.mtbf) / gamma(1.0 + 1.0 / shape)))
    plan = plan_of(life, failing.restart, float(rate.repair))
    system = min(float(rate.system_down * rate.mtbf), float(rate.wait))
    if system and np.isfinite(plan.spared_waste):  # the distribution knows no system
        spared = plan_of(life, float(durations("restart", failing.restart)) + system, 0.0)
        wastes = {"spared_waste": spared.waste, "own_spared_waste": spared.own_waste}
        plan = replace(plan, system_wait=system, **wastes)
    job = f"{rate.failing}, with Weibull times between failures of the job"
    return replace(
        plan,
        premise=plan.premise.replace("1 node with Weibull times to failure", job),
        extrapolated=beyond_fleet(source, failing.nodes),
        source=f"{rate.source}; Weibull with shape {shape:g}",
    )


def show_plan(
    plan: Plan, title: str, pictures: list[output.Picture], to: output.Output, notes: tuple[str, ...], *, details: bool
) -> None:
    """Print a plan, its table under a title if details are asked for, and write it."""
    table = plan.to_frame()
    written = output.write_results(to, {"plan": table}, "plan", pictures)
    if to.json:
        output.print_json({**plan.to_dict(), "warnings": notes})
        return
    first = [plan.headline, *filter(None, [plan.extrapolated])]
    if plan.premise:
        first.append(f"This is {plan.premise[:1].lower()}{plan.premise[1:].rstrip(':')}.")
    if not details:
        output.print_lines([*first, *plan.advice, *map(_brief, notes), output.MORE, *written])
        return
    lines = [*first, *plan.remarks, f"Rates: {plan.source}.", "", title, *output.table(plan.shown)]
    lines += ["", "Assumptions", *(f"- {text}" for text in plan.assumptions)]
    if notes:
        lines += ["", "Findings against the plan's assumptions", *(f"- {note}" for note in notes)]
    output.print_lines([*lines, *written])


def _brief(note: str) -> str:
    """What a log says against a plan, without its numbers in brackets, and what follows."""
    if ". " not in note:
        return note
    finding, follows = note.rstrip(".").rsplit(". ", 1)
    bare = finding.partition(" (")[0].partition(":")[0].rstrip(".")
    return f"Against the plan's assumptions: {bare[:1].lower()}{bare[1:]}. {follows}."


def spares(
    to: output.Output,
    params: Params = None,
    mtbf: NodeMtbf = None,
    mttr: str | None = opt.option("TIME", "Mean time to repair; that of PARAMS by default."),
    job: int | None = opt.option("N", "Nodes of the job, without the spares (required).", min=1),
    blocking: float = opt.option("P", "Share of the time that the job may wait for a node.", 0.01),
    level: opt.Level = 0.95,
    draws: int = opt.option("N", "Number of draws of uncertain parameters.", 200, min=2, max=10_000),
    seed: opt.Seed = 0,
    details: opt.Details = False,
) -> None:
    """How many hot spares a job needs.

    Failures of every cause count; for one, write calibrate --where cause=hardware. For spare parts, see forecast --by
    cause --service. --out writes one row per number of spares.
    """
    if job is None:
        raise ArgumentError("--job is missing", remedy="write --job 128 or the like")
    source, limit = rate_source(params, mtbf), checked.probability("--blocking", blocking)
    plan = rf.planning.plan_spares(source, job, limit, repair=mttr, n_draws=draws, level=level, rng=seed)
    title, notes = "Share of the time that the job waits, by number of spares", _notes(source, "spares")
    show_plan(plan, title, [], to, notes, details=details)
