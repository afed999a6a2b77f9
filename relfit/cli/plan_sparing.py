"""The command ``relfit plan sparing``: read the parameters and the cluster, plan, show."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import relfit as rf
from relfit.base.errors import ArgumentError
from relfit.base.text import count, duration
from relfit.cli import option_values as checked
from relfit.cli import options as opt
from relfit.cli import output
from relfit.cli.plan_commands import DrawOptions, quantile_or_mean
from relfit.cli.progress import ProgressSteps

if TYPE_CHECKING:
    import pandas as pd

    from relfit.base.results import Result
    from relfit.planning.sparing.evaluation import SparingEvaluation
    from relfit.planning.sparing.plan_file import ClusterTable, PlanFile

_ROWS = 12
_COLUMNS = {
    "block_gpus": "block",
    "working_gpus": "working",
    "spare_blocks": "spares",
    "job_gpus": "job",
    "cett_percent": "cett %",
    "spare_trays_percent": "trays %",
    "spare_blocks_percent": "blocks %",
    "stranded_percent": "stranded %",
    "blocked_percent": "blocked %",
    "reduced_percent": "reduced %",
    "saves_percent": "saves %",
    "rework_percent": "rework %",
    "detection_percent": "detect %",
    "restart_percent": "restart %",
    "checkpoint_every_seconds": "every (s)",
    "goodput_gpus": "goodput (GPUs)",
}
_MAP_STRATEGIES = 6
_YEARS: dict[str, Any] = {"min": 0.001, "max": 100_000.0}  # to simulate


@dataclass(frozen=True, kw_only=True)
class ClusterOptions:
    """The cluster and its recovery, over what the table [cluster] of the parameter file says."""

    zones: int | None = opt.option("N", "Sparing zones.")
    racks: int | None = opt.option("N", "Racks per zone.", max=100_000)
    trays: int | None = opt.option("N", "Trays per rack.", max=100_000)
    gpus: int | None = opt.option("N", "GPUs per tray.")
    group: int | None = opt.option("N", "GPUs that must be placed in one zone.")
    partial_groups: bool | None = opt.flag(
        "--partial-groups", "Allow the last block of a group to be partly filled.", None
    )
    block: list[int] | None = opt.option("N", "Choose from these block sizes only, in GPUs. Repeatable.")
    working: list[int] | None = opt.option("N", "Working GPUs of each --block; all by default. Repeatable.")
    spare_blocks: int | None = opt.option("N", "Spare blocks per zone; the best number by default.")
    checkpoint_every: str | None = opt.option("TIME", "Work between checkpoints; best by default.")
    save: str | None = opt.option("TIME", "Time to write a checkpoint.")
    detection: str | None = opt.option("TIME", "Time to notice a failure.")
    restart: str | None = opt.option("TIME", "Time to find spares, load the state and restart.")
    loss_limit: int | None = opt.option("N", "Continue with up to this many blocks missing.", max=1_000_000)
    disturbed: bool | None = opt.flag("--disturbed", "A failure during recovery restarts the recovery.", None)
    alpha: float | None = opt.option("X", "Exposed communication of tensor parallelism.")
    exposed: float | None = opt.option("P", "Exposed communication, for power headroom.")
    idle_power: float | None = opt.option("P", "Power of an idle tray, as a share of its limit.")

    def table(self, file: PlanFile) -> ClusterTable:
        """The cluster of the file with the options over it."""
        from pydantic import ValidationError

        from relfit.planning.sparing.plan_file import ClusterTable

        of_file = {} if file.cluster is None else file.cluster.model_dump(exclude_unset=True)
        options = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) not in (None, [])}
        if options.get("checkpoint_every") == "best":
            options["checkpoint_every"] = None
        if "block" in options and "working" not in options:
            of_file.pop("working", None)
        if not of_file and not {"racks", "trays"} & set(options):
            raise ArgumentError("no cluster is given", remedy="write a table [cluster], or --racks, --trays, ...")
        try:
            return ClusterTable(**{**of_file, **options})
        except ValidationError as error:
            first = error.errors()[0]
            name = "--" + str(first["loc"][0]).replace("_", "-")
            message = first["msg"].removeprefix("Value error, ")
            raise ArgumentError(f"{name}: {message[:1].lower()}{message[1:]}") from None


@dataclass(frozen=True, kw_only=True)
class Devices:
    """How devices fail and are repaired."""

    params: Path | None = opt.argument("[PARAMS]", "Parameters (.toml or .json), which may hold a table [cluster].")
    mtbf: str | None = opt.option("TIME", "Mean time between failures of a tray, such as 20000h, 2%AFR or 500FIT.")
    mtbf_rack: str | None = opt.option("TIME", "Mean time between failures of a rack as a whole; infinite by default.")
    mttr: str | None = opt.option("TIME", "Mean time to repair.")

    @property
    def by_hand(self) -> dict[str, str | None]:
        """The options by the names of `DeviceFailures`."""
        tray = self.mtbf and checked.mean_time("--mtbf", self.mtbf)
        rack = self.mtbf_rack and checked.mean_time("--mtbf-rack", self.mtbf_rack)
        return {"mtbf_tray": tray, "mtbf_rack": rack, "mttr": self.mttr}

    def failures(self, file: PlanFile, draws: DrawOptions) -> tuple[Any, Any, tuple[str, ...]]:
        """Estimates, draws where they are uncertain, and what to say about them."""
        import numpy as np

        from relfit.planning.sparing import DeviceFailures, device_failures

        params = file.parameters
        if params is None:
            missing = next((o for o, v in (("--mtbf", self.mtbf), ("--mttr", self.mttr)) if v is None), None)
            if missing:
                raise ArgumentError(f"{missing} is missing", remedy="give it, or name a parameter file")
            tray, rack, repair = self.by_hand.values()
            return DeviceFailures(tray, np.inf if rack is None else rack, repair), None, ()
        by_hand = {name: value for name, value in self.by_hand.items() if value is not None}
        estimate = device_failures(params, **by_hand)
        drawn = device_failures(params, **by_hand, n_draws=draws.draws, rng=draws.seed)
        values = params.values()
        notes: tuple[str, ...] = ()
        wide = [name for name in ("mtbf.group", "mtbf.system") if name in values]
        if wide:
            often = " and ".join(f"every {duration(values[name])} ({name})" for name in wide)
            helpless = "no spare helps against them, and the plan leaves them out"
            notes += (f"Failures that hit nodes of several racks come {often}; {helpless}.",)
        fixed = [name for name in params.unknown_uncertainty if name in ("mtbf.node", "mtbf.rack", "mttr.mean")]
        if fixed:
            notes += (f"The uncertainty of {', '.join(fixed)} is not known and left out.",)
        if np.isinf(estimate.mtbf_rack):
            notes += ("No MTBF of racks is given: only trays fail.",)
        uncertain = [drawn.mtbf_tray, drawn.mttr, *([drawn.mtbf_rack] if np.isfinite(drawn.mtbf_rack).all() else [])]
        return estimate, drawn if any(np.ptp(values) > 0.0 for values in uncertain) else None, notes


@dataclass
class Shown:
    """What the command found, piece by piece."""

    document: dict[str, Any]
    findings: list[str]
    lines: list[str]
    pictures: list[output.Picture]
    tables: dict[str, pd.DataFrame]
    caution: str = ""

    def add(self, key: str, result: Result) -> None:
        """A result with its headline."""
        self.document[key] = result
        self.findings.append(result.headline)


def sparing(
    devices: Devices,
    cluster_options: ClusterOptions,
    draws: DrawOptions,
    to: output.Output,
    details: opt.Details = False,
    blocking: float | None = opt.option("P", "Show the spare blocks for this blocking probability, too."),
    simulate: float | None = opt.option(
        "YEARS", "Simulate the plan for these years; each tray has its own repair.", **_YEARS
    ),
    robust: str = opt.option("mean|P", "Robust plan by the mean or a quantile of goodput.", "mean"),
) -> None:
    """Which spares to keep, and the goodput.

    --out writes one row per strategy; into a folder, the decision map with its boundaries too.
    """
    checked.without_effect({"--working": cluster_options.working}, "--block", bool(cluster_options.block))
    quantile = None if robust == "mean" else float(quantile_or_mean(robust))
    planning = rf.planning
    with ProgressSteps("reading", "planning", "simulating") as steps:
        from relfit.planning.sparing.plan_file import PlanFile, read_plan_file

        file = PlanFile(None, None) if devices.params is None else read_plan_file(devices.params)
        table = cluster_options.table(file)
        estimate, drawn, notes = devices.failures(file, draws)
        cluster, recovery, performance = table.cluster(), table.recovery(), table.performance()
        strategies = table.strategies()
        steps.next()
        plan = planning.optimise_sparing(cluster, estimate, recovery, performance, strategies=strategies)
        shown = Shown({}, [], [], [("hours", partial(rf.plot, plan))], {"plan": plan.ranking()})
        shown.add("plan", plan)
        if drawn is not None and table.spare_blocks is None:
            sure = planning.plan_sparing(
                cluster,
                (estimate, drawn),
                recovery,
                performance,
                strategies=strategies,
                level=draws.level,
                robust=quantile,
            )
            shown.add("uncertainty", sure)
            title = f"Given these data, at {100 * draws.level:g} % (shares of 1, GPUs, seconds)"
            shown.lines += ["", title, *output.table(sure.to_frame())]
            shown.pictures.append(("spares", partial(rf.plot, sure)))
        if file.parameters is not None and (file.parameters.checks or file.parameters.failure is not None):
            contradicted = planning.check_assumptions(file.parameters)
            shown.document["assumptions"] = contradicted
            shown.caution = contradicted.headline
            shown.lines += ["", contradicted.headline]
            for item in contradicted.failing:
                shown.lines += [f"- {item.name}: {item.finding.rstrip('.')}.", f"  What follows: {item.consequence}."]
        if blocking is not None:
            best, racks = int(plan.best), cluster.racks if cluster.shared_racks else None
            size: dict[str, Any] = {"blocks": int(plan.blocks[best]), "zones": cluster.zones, "racks": racks}
            means, rack = (plan.block_mtbf[best], plan.failures.mttr), plan.failures.mtbf_rack
            needed = planning.spare_blocks_needed(*means, blocking, **size, mtbf_rack=rack)
            shown.document["blocking"] = needed
            shown.findings.append(f"For blocks of {plan.labels[best]} GPUs: {needed.headline}")
        if to.plot is not None or (to.out is not None and to.out.is_dir()):
            _around(plan, shown)
        steps.next()
        if simulate is not None:
            _simulate(plan, devices, file, simulate, draws, shown)
    _show(plan, shown, notes, to, details)


def _around(plan: SparingEvaluation, shown: Shown) -> None:
    """The map of strategies around the means planned for."""
    import numpy as np

    failures = plan.failures
    if plan.strategies.spare_blocks is not None or np.isinf(failures.mtbf_tray) or not failures.mttr > 0.0:
        return
    order = np.argsort(-plan.goodput, kind="stable")[:_MAP_STRATEGIES]
    some = plan.strategies.take(np.sort(order))
    tray, rack, repair = (float(getattr(failures, name)) for name in ("mtbf_tray", "mtbf_rack", "mttr"))
    grid = tray * np.geomspace(0.05, 20.0, 60), repair * np.geomspace(0.05, 10.0, 60)
    ratio = None if np.isinf(rack) else rack / tray
    where = rf.planning.sparing_map(plan.cluster, some, *grid, plan.recovery, plan.performance, rack_ratio=ratio)
    shown.tables |= {"map": where.to_frame(), "boundaries": where.boundaries}
    shown.findings.append(where.headline)
    shown.pictures.append(("map", partial(rf.plot, where)))


def _simulate(
    plan: SparingEvaluation, devices: Devices, file: PlanFile, years: float, draws: DrawOptions, shown: Shown
) -> None:
    """The best plan, event by event."""
    best = int(plan.best)
    one = plan.strategies.take(slice(best, best + 1))
    chosen = one.with_spare_blocks(plan.spare_blocks[best : best + 1])
    calibrated = file.parameters is not None and not any(devices.by_hand.values())
    lives = rf.simulation.DeviceTimes.of_parameters(file.parameters) if calibrated else plan.failures
    assumptions = rf.simulation.SparingAssumptions(whole_block_repairs=False, undisturbed_recovery=False)
    of_draws: dict[str, Any] = {"rng": draws.seed, "level": draws.level}
    cluster, recovery = plan.cluster, plan.recovery
    run = rf.simulation.simulate_sparing(cluster, chosen, lives, recovery, assumptions, years=years, **of_draws)
    shown.add("simulation", run)
    shown.pictures.append(("simulation", partial(rf.plot, run)))


def _show(plan: SparingEvaluation, shown: Shown, notes: tuple[str, ...], to: output.Output, details: bool) -> None:
    import numpy as np

    table = shown.tables["plan"]
    written = output.write_results(to, shown.tables, "plan", shown.pictures)
    if to.json:
        output.print_json({"findings": [*shown.findings, *notes], **shown.document})
        return
    failures = plan.failures
    rack = "never" if np.isinf(failures.mtbf_rack) else f"every {duration(float(failures.mtbf_rack))}"
    tray, repair = duration(float(failures.mtbf_tray)), duration(float(failures.mttr))
    head = f"Planned for {plan.cluster.total_gpus:,} GPUs: a tray fails every {tray}, a rack {rack}, a repair takes "
    apart = "" if plan.cluster.shared_racks else " Blocks of one rack are assumed to fail independently."
    head += f"{repair}.{apart}"
    if not details:
        cautions = [*notes, *([shown.caution] if shown.caution else [])]
        output.print_lines([head, *shown.findings, *cautions, output.MORE, *written])
        return
    empty = [name for name in _COLUMNS if name.endswith("_percent") and not table[name].abs().max() > 5e-4]
    few = table[[name for name in _COLUMNS if name not in empty]].head(_ROWS).rename(columns=_COLUMNS)
    lines = [head, "", *shown.findings, *notes, "", "Strategies (blocks and job in GPUs)", *output.table(few)]
    more = count(len(table) - _ROWS, "more row")
    lines += [f"... {more}; --out table.csv writes all of them"] if len(table) > _ROWS else []
    output.print_lines([*lines, *shown.lines, *written])
