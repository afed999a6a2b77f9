"""The command that says on how many nodes, and on which, a job is done first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.base.text import count, duration, first_names, number, percent
from relfit.cli import option_values as checked
from relfit.cli import options as opt
from relfit.cli import output
from relfit.cli.predict import Drawn, FleetOptions
from relfit.cli.progress import ProgressSteps

if TYPE_CHECKING:
    import pandas as pd

_NAMED, _FEW = 40, 16  # with --details, and without
_TOP = 10  # nodes listed where no job is given
_ALMOST = 0.99999  # above it, a probability is shown as that
_UNITS = {"length": "length (h)", "lost": "first failure after (h)", "expected": "expected (h)"}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The job that is asked about."""

    work: str | None = opt.option("TIME", "Time of the job on one node without failures.")
    parallel_fraction: float | None = opt.option("P", "Share of the work that runs in parallel.")
    speedup: str = opt.option("NAME", "amdahl, gustafson or table.", "amdahl")
    table: Path | None = opt.option("FILE", "Measured speed-ups: columns nodes, and time or speedup.")
    restart: str = opt.option("TIME", "Time from a failure to the next start.", "0h")
    checkpoint_every: str | None = opt.option("TIME", "Work between two checkpoints; the best with --save alone.")
    save: str = opt.option("TIME", "Time to write a checkpoint; no checkpoints by default.", "0h")
    restore: str = opt.option("TIME", "Time to read a checkpoint.", "0h")

    def job(self) -> rf.jobs.Job:
        """The job; an error names the option, or the table, that cannot be used."""
        speedup = self._speedup()
        work = None if self.work is None else checked.duration("--work", self.work, positive=True)
        if work is None and speedup.work is None:
            raise ArgumentError("--work is missing", remedy="say how long the job takes on one node, as --work 1000h")
        return rf.jobs.Job(work, speedup, checked.duration("--restart", self.restart), self._checkpoint())

    def _speedup(self) -> rf.jobs.Speedup:
        name = checked.choice("--speedup", self.speedup.strip().lower(), ("amdahl", "gustafson", "table"))
        if name == "table" or self.table is not None:
            if self.table is None:
                raise ArgumentError("--speedup table needs --table FILE", remedy="name a table of nodes and times")
            if self.parallel_fraction is not None:
                raise ArgumentError("--parallel-fraction does not go with --table", remedy="leave one of them out")
            return rf.jobs.read_speedup(self.table)
        fraction = self.parallel_fraction
        if fraction is None:
            remedy = "give the share of the work that runs in parallel, as 0.9"
            raise ArgumentError(f"--speedup {name} needs --parallel-fraction", remedy=remedy)
        if not 0.0 <= fraction <= 1.0:
            hint = f"did you mean {fraction / 100:g}?" if 1.0 < fraction <= 100.0 else "it lies between 0 and 1"
            raise ArgumentError(f"--parallel-fraction {fraction:g} is not a share", remedy=hint)
        return rf.jobs.Amdahl(fraction) if name == "amdahl" else rf.jobs.Gustafson(fraction)

    def _checkpoint(self) -> rf.jobs.Checkpoint | None:
        save, restore = checked.duration("--save", self.save), checked.duration("--restore", self.restore)
        if self.checkpoint_every is None:
            if restore and not save:
                raise ArgumentError("--restore needs --save", remedy="say how long it takes to write a checkpoint")
            return rf.jobs.Checkpoint(save=save, restore=restore) if save else None
        every = checked.duration("--checkpoint-every", self.checkpoint_every, positive=True)
        return rf.jobs.Checkpoint(every, save, restore)


def nodes(  # noqa: PLR0913 - one argument per option
    reading: opt.PeriodReading,
    asked: Asked,
    fleet: FleetOptions,
    drawn: Drawn,
    to: output.UncheckedOutput,
    k_min: int = opt.option("K", "Smallest number of nodes.", 1, min=1),
    k_max: int | None = opt.option("K", "Largest number of nodes.", min=1),
    tolerate: int = opt.option("S", "Spares in addition to the nodes of every size.", 0, min=0),
    repair: str | None = opt.option("TIME", "Mean time to repair; without spares a job waits for it."),
    rule: str = opt.option("NAME", "least time of all sizes, or first: add nodes while it pays.", "least"),
    convention: str = opt.option("NAME", "Time lost to a failure: exact or paper.", "exact"),
    after_failure: str = opt.option("NAME", "Further attempts use the same nodes, or nodes as_new.", "same"),
    deadline: str | None = opt.option("TIME", "Show the probability of finishing by then."),
    details: opt.Details = False,
    export: str | None = opt.option(
        "slurm", "Weights, features and a drain list of nodes instead, into the folder --out."
    ),
) -> None:
    """How many nodes to run a job on, and which.

    LOG may also be what relfit fit --out wrote. --out writes one row per number of nodes. Without a job, the nodes that
    fail most often now are listed; --out writes one row per node, --export slurm weights, features and a drain list.
    """
    without: dict[str, object] = {"--rule": rule != "least", "--k-min": k_min != 1, "--k-max": k_max}
    without["--tolerate"] = tolerate or None
    without |= {"--repair": repair, "--deadline": deadline, "--plot": to.plot}
    unused = (fleet, replace(drawn, seed=Drawn.seed))
    if export is None and asked == Asked() and not any(without.values()):
        _refuse({}, unused, "without a job", "add --work and --parallel-fraction")
        _list_nodes(reading, to, drawn.seed, details)
        return
    if export is not None:
        checked.choice("--export", export, ("slurm",))
        _refuse(without, (asked, *unused), "with --export", "leave one of them out")
        _export_slurm(reading, to, drawn.seed)
        return
    to.check()
    checked.choice("--rule", rule, ("least", "first"))
    checked.choice("--convention", convention, ("exact", "paper"))
    checked.choice("--after-failure", after_failure, ("same", "as_new"))
    both = convention == "paper" and after_failure != "same"
    checked.none_of({"--convention paper": both}, "--after-failure as_new", "leave one of them out")
    limit = None if deadline is None else checked.duration("--deadline", deadline, positive=True)
    job, hours = asked.job(), 0.0 if repair is None else checked.duration("--repair", repair)
    from relfit.system.uncertainty import check_work

    with ProgressSteps("reading", "fitting", "choosing") as steps:
        chosen, period, left_out = fleet.system(reading, None, steps)
        for option, size in (("--k-min", k_min), ("--k-max", k_max or k_min)):
            if size + tolerate > chosen.n_nodes:
                what = f"{option} {size}: there are only {chosen.n_nodes} nodes then"
                raise ArgumentError(what, remedy="give a smaller number")
        check_work(chosen.n_nodes, tolerate, 1 if chosen.no_limits else drawn.draws)
        chosen = chosen.tolerating(tolerate)
        steps.next()
        how: dict[str, Any] = {"rule": rule, "convention": convention, "after_failure": after_failure}
        how |= {"level": None if chosen.no_limits else drawn.level, "n_draws": drawn.draws, "rng": drawn.seed}
        best = rf.jobs.best_size(chosen, job, k_min=k_min, k_max=k_max, repair=hours, **how)
        done = best.completion()
        share = None if limit is None else float(done.finish_probability(limit))
    table = best.to_frame()
    pictures = [("completion_by_size", partial(rf.plot, best)), ("completion", partial(rf.plot, done))]
    written = output.write_results(to, {"table": table}, "table", pictures)
    if to.json:
        document: dict[str, Any] = {"period": None if period is None else period.to_dict(), "left_out": left_out}
        document |= {**best.to_dict(), "completion": done}
        if limit is not None:
            document["deadline"] = {"hours": limit, "probability": share}
        output.print_json(document)
        return
    lines = [] if period is None else [period.headline]
    lines += [best.headline, _replaced(best, chosen.n_nodes, hours), done.headline]
    lines += [*([repr(chosen)] if details else []), *left_out, *chosen.notes, *drawn.notes(chosen)]
    if limit is not None and share is not None:
        lines.append(f"It is done within {limit:g} h with probability {share:.3g}.")
    if details:
        lines += ["", "Around the best", *output.table(_near(best, table).rename(columns=_UNITS)), ""]
    names = [str(name) for name in best.nodes[: _NAMED if details else _FEW]]
    more = len(best.nodes) - len(names)
    said = ", ".join(names) + (f" and {more} more (--json has all)" if more > 0 else "")
    lines += [f"Nodes, the most reliable first: {said}.", *([] if details else [output.TABLES])]
    output.print_lines([*lines, *written])


def _replaced(best: rf.jobs.BestSize, total: int, repair: float) -> str:
    """That failed nodes are replaced, and how many nodes there are for it; or that the job waits for their repair."""
    if repair and best.restarts is not None:
        return f"Without spares: after a failure {duration(float(best.restarts[best.place]))} until all nodes are up."
    left = total - best.best
    there = f"{count(left, 'node')} of {total:,} {'is' if left == 1 else 'are'} left for it" if left else "none is left"
    told = f"This assumes that failed nodes are replaced within the restart ({duration(best.job.restart)}); {there}."
    return f"{told} For a job without spares, which waits for repairs, give --repair TIME."


def _list_nodes(reading: opt.PeriodReading, to: output.Output, seed: int, details: bool) -> None:
    """The nodes that fail most often now, with details all of them."""
    import numpy as np

    from relfit.fleet.nodes_to_check import standing_out_lately

    with ProgressSteps("reading", "judging nodes") as steps:
        log = reading.read()
        steps.next()
        study = reading.study(log, rng=seed)
        now = study.model.nodes_now()
    written = output.write_results(to, {"nodes": now}, "nodes", [])
    if to.json:
        output.print_json({"as_of": log.window.end, "nodes": now})
        return
    named, total, most = now[now["check"]], count(len(now), "node"), percent(_ALMOST, 3)
    names = first_names(output.node_names(named.head(_FEW), log.systems), _FEW, len(named))
    head = f"Check {len(named):,} of {total}: {names}." if names else f"None of {total} is known to need a check."
    lately = standing_out_lately(now)
    first = now if details else now.head(_TOP)
    ends = first[["factor_low", "factor_high"]].to_numpy(float)
    shown = first[["node"] if len(log.systems) == 1 else ["system", "node"]].copy()
    shown["times the mean rate"] = first["factor"]
    shown["95 % interval"] = [f"{number(low)}-{number(high)}" for low, high in ends]
    shares = [f"> {most}" if p > _ALMOST else percent(p) for p in first["probability"]]
    shown["probability of twice the mean"] = shares
    shown["to check"] = np.where(first["outlier"], "yes", np.where(first["check"], "lately", ""))
    lines = [
        f"{head} As of {log.window.end:%Y-%m-%d}; rates over the next 90 days.",
        *([f"{lately}."] if lately else []),
        "",
        *output.table(shown),
    ]
    tail = "For a job, add --work 1000h --parallel-fraction 0.99; for Slurm, --export slurm --out FOLDER."
    output.print_lines([*lines, "", tail, *written])


def _refuse(options: Mapping[str, object], groups: Sequence[Any], with_what: str, remedy: str) -> None:
    """Reject options that were given though the answer does not depend on them."""
    excluded = dict(options)
    for group in groups:
        defaults = [item.default for item in fields(group)]
        own = checked.named(group, [item.name for item in fields(group)])
        excluded |= {name: own[name] for name, default in zip(own, defaults, strict=True) if own[name] != default}
    for name, value in excluded.items():
        if value not in (None, False):
            raise ArgumentError(f"{name} does not go {with_what}", remedy=remedy)


def _export_slurm(reading: opt.PeriodReading, to: output.Output, seed: int) -> None:
    """Files for Slurm."""
    if to.out is None or to.out.suffix or to.out.is_file():
        raise ArgumentError("--export slurm needs a folder", remedy="write --out slurm")
    with ProgressSteps("reading", "judging nodes", "writing") as steps:
        log = reading.read()
        steps.next()
        result = rf.fleet.slurm_nodes(log, period=reading.span(), first=reading.first, rng=seed)
        steps.next()
        paths = result.write(to.out)
    if to.json:
        output.print_json({**result.to_dict(), "files": [str(path) for path in paths]})
        return
    shown = result.drain[["node", "weight", "mtbf_hours", "reason"]]
    lines = [*result.findings, f"written to {to.out}: {', '.join(path.name for path in paths)}"]
    if len(shown):
        lines += ["", "To drain", *output.table(shown)]
    output.print_lines([*lines, "", "Review the files, then: sh weights.sh, sh drain.sh"])


def _near(best: rf.jobs.BestSize, table: pd.DataFrame) -> pd.DataFrame:
    """Rows that show the curve: powers of two, and those around the best."""
    import numpy as np

    sizes = best.sizes
    powers = 2 ** np.arange(int(np.log2(sizes[-1])) + 1)
    chosen = np.isin(sizes, np.concatenate([powers, [sizes[-1]]]))
    chosen[max(best.place - 2, 0) : best.place + 3] = True
    extra = (c for c in ("checkpoint_every", "low", "high") if c in table)
    shown = ["nodes", "length", "success", "lost", "expected", *extra, "best"]
    return table.loc[chosen, shown].assign(best=np.where(table.loc[chosen, "best"], "*", ""))
