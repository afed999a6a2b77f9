"""What ``relfit plan sparing`` does: read the parameters and the cluster, plan, show."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from relfit.cli import output
from relfit.cli.answers import Output
from relfit.cli.figures import Picture, write_figures
from relfit.cli.options import check_level
from relfit.cli.progress import Steps
from relfit.errors import ArgumentError

if TYPE_CHECKING:
    import pandas as pd

    from relfit.calibration.schema import Parameters
    from relfit.planning.sparing.cluster import DeviceFailures
    from relfit.planning.sparing.maps import SparingMap, SparingSensitivity
    from relfit.planning.sparing.plan_file import ClusterTable, PlanFile
    from relfit.planning.sparing.planner import SparingPlan

__all__ = ["Sparing", "sparing"]

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
    "period_seconds": "period s",
    "goodput_gpus": "goodput",
}
_MAP_STRATEGIES = 6


@dataclass(frozen=True)
class Sparing:
    """What is asked."""

    params: Path | None
    mtbf: str | None
    mtbf_rack: str | None
    mttr: str | None
    given: dict[str, Any]
    blocking: float | None
    required: float | None
    simulate: float | None
    robust: str
    level: float
    draws: int
    seed: int
    tables: bool = False
    figures: bool = False

    def read(self) -> tuple[PlanFile, ClusterTable]:
        """The file, and the cluster with the options over it."""
        from pydantic import ValidationError

        from relfit.planning.sparing.plan_file import ClusterTable, PlanFile, read_plan_file

        file = PlanFile(None, None, None) if self.params is None else read_plan_file(self.params)
        known = {} if file.cluster is None else file.cluster.model_dump(exclude_unset=True)
        options = {name: value for name, value in self.given.items() if value is not None}
        if options.get("period") == "best":
            options["period"] = None
        if "block" in options and "working" not in options:
            known.pop("working", None)
        if not known and not {"racks", "trays"} & set(options):
            raise ArgumentError("no cluster is given", remedy="write a table [cluster], or --racks, --trays, ...")
        try:
            return file, ClusterTable(**{**known, **options})
        except ValidationError as error:
            found = error.errors()[0]
            name = "--" + str(found["loc"][0]).replace("_", "-")
            said = found["msg"].removeprefix("Value error, ")
            raise ArgumentError(f"{name}: {said[:1].lower()}{said[1:]}") from None

    @property
    def robust_by(self) -> float | None:
        """None for the mean, or the quantile."""
        if self.robust == "mean":
            return None
        try:
            return float(self.robust)
        except ValueError:
            raise ArgumentError(f"--robust {self.robust!r} is not known", remedy="give mean, or 0.1") from None

    def failures(self, file: PlanFile) -> tuple[DeviceFailures, DeviceFailures | None, tuple[str, ...]]:
        """Estimates, draws where they are uncertain, and what to say about them."""
        from relfit.planning.sparing.cluster import DeviceFailures
        from relfit.planning.sparing.robust import device_failures

        known = file.parameters
        options = {"mtbf_tray": self.mtbf, "mtbf_rack": self.mtbf_rack, "mttr": self.mttr}
        names = {"mtbf_tray": "mtbf.node", "mtbf_rack": "mtbf.rack", "mttr": "mttr.mean"}
        if known is None:
            missing = next((o for o, v in (("--mtbf", self.mtbf), ("--mttr", self.mttr)) if v is None), None)
            if missing:
                raise ArgumentError(f"{missing} is missing", remedy="give it, or name a parameter file")
            rack = np.inf if self.mtbf_rack is None else self.mtbf_rack
            return DeviceFailures(self.mtbf, rack, self.mttr), None, ()
        values = known.values()
        if all(value is None for value in options.values()):
            estimate = device_failures(known)
            drawn = device_failures(known, self.draws, self.seed)
        else:
            taken = {
                name: option if option is not None else values.get(names[name], np.inf if name == "mtbf_rack" else None)
                for name, option in options.items()
            }
            for name, value in taken.items():
                if value is None:
                    known.require(names[name])
            estimate = DeviceFailures(**taken)
            draws = known.draws(self.draws, self.seed)
            spread = {
                name: np.full(self.draws, float(getattr(estimate, name)))
                if options[name] is not None or names[name] not in draws
                else draws[names[name]]
                for name in options
            }
            drawn = DeviceFailures(**spread)
        notes: tuple[str, ...] = ()
        wide = [name for name in ("mtbf.group", "mtbf.system") if name in values]
        if wide:
            often = " and ".join(f"every {values[name]:.4g} h ({name})" for name in wide)
            said = f"Failures that hit nodes of several racks come {often}"
            notes += (f"{said}; no spare helps against them, and the plan leaves them out.",)
        fixed = [name for name in known.unknown_uncertainty if name in names.values()]
        if fixed:
            notes += (f"The uncertainty of {', '.join(fixed)} is not known and left out.",)
        if np.isinf(estimate.mtbf_rack):
            notes += ("No MTBF of racks is given: only trays fail.",)
        varies = any(np.ptp(a) > 0.0 for a in (drawn.mtbf_tray, drawn.mttr)) or (
            bool(np.isfinite(drawn.mtbf_rack).all()) and np.ptp(drawn.mtbf_rack) > 0.0
        )
        return estimate, drawn if varies else None, notes


def sparing(asked: Sparing, to: Output) -> None:
    """Plan spares and show the plan."""
    to.check()
    level, robust = check_level(asked.level), asked.robust_by
    with Steps("reading", "planning", "simulating") as steps:
        file, table = asked.read()
        estimate, drawn, notes = asked.failures(file)
        cluster, recovery, performance = table.cluster(), table.recovery(), table.performance()
        strategies = table.strategies()
        steps.next()
        from relfit.planning.sparing.planner import optimise_sparing

        plan = optimise_sparing(cluster, estimate, recovery, performance, strategies=strategies)
        document: dict[str, Any] = {"plan": plan.to_dict()}
        sentences = [plan.sentence]
        pictures: list[Picture] = [("hours", plan.plot)]
        extra: list[str] = []
        tables: dict[str, pd.DataFrame] = {"plan": plan.to_frame()}
        if drawn is not None and table.spare_blocks is None:
            from relfit.planning.sparing.robust import plan_sparing

            sure = plan_sparing(
                cluster, (estimate, drawn), recovery, performance, strategies=strategies, level=level, robust=robust
            )
            document["uncertainty"] = sure.to_dict()
            sentences.append(sure.sentence)
            extra += ["", f"Given these data, at {100 * level:g} %", *output.table(sure.to_frame())]
            pictures.append(("spares", sure.plot))
        if file.parameters is not None and (file.parameters.checks or file.parameters.failure is not None):
            _assumptions(file.parameters, document, extra)
        _more(asked, plan, file, document, sentences, extra, pictures, tables)
        steps.next()
        if asked.simulate is not None:
            from relfit.simulation.sparing_simulation import DeviceLives, simulate_sparing

            best = int(plan.best)
            one = plan.evaluation.strategies.take(slice(best, best + 1))
            chosen = one.with_spare_blocks(plan.evaluation.spare_blocks[best : best + 1])
            given = (asked.mtbf, asked.mtbf_rack, asked.mttr)
            as_calibrated = file.parameters is not None and given == (None, None, None)
            devices = DeviceLives.of_parameters(file.parameters) if as_calibrated else estimate  # type: ignore[arg-type]
            run = simulate_sparing(
                cluster, chosen, devices, recovery, years=asked.simulate, rng=asked.seed, level=level,
                whole_block_repairs=False, separate_racks=False, undisturbed_recovery=False,
            )  # fmt: skip
            document["simulation"] = run.to_dict()
            sentences.append(run.sentence)
            pictures.append(("simulation", run.plot))
    _show(plan, document, [*sentences, *notes], extra, pictures, tables, to)


def _assumptions(known: Parameters, document: dict[str, Any], extra: list[str]) -> None:
    """What the log behind the parameters says against the planner's assumptions, and what follows."""
    from relfit.planning.sparing.assumptions import check_assumptions

    found = check_assumptions(known)
    document["assumptions"] = found.to_dict()
    extra += ["", found.sentence]
    for item in found.failing:
        extra += [f"- {item.name}: {item.finding}", f"  What follows: {item.consequence}."]


def _more(
    asked: Sparing, plan: SparingPlan, file: PlanFile, document: dict[str, Any], sentences: list[str], extra: list[str],
    pictures: list[Picture], tables: dict[str, pd.DataFrame],
) -> None:  # fmt: skip
    """Spares for a blocking probability, prices, sensitivity and the map."""
    found = plan.evaluation
    best = int(plan.best)
    if asked.blocking is not None:
        from relfit.planning.sparing.blocking import spare_blocks_needed

        needed = spare_blocks_needed(
            found.block_mtbf[best], found.failures.mttr, asked.blocking, blocks=int(found.blocks[best]),
            zones=found.cluster.zones,
        )  # fmt: skip
        document["blocking"] = needed.to_dict()
        sentences.append(f"For blocks of {found.labels[best]} GPUs: {needed.sentence}")
    if asked.required is not None and file.prices is None:
        raise ArgumentError("--required needs prices", remedy="write a table [prices] in the parameter file")
    if file.prices is not None:
        from relfit.planning.sparing.prices import cheapest_sparing, sparing_costs

        prices = file.prices.prices()
        costs = sparing_costs(found, prices).sort_values("cost_per_useful_hour", kind="stable").reset_index(drop=True)
        document["costs"] = output.records(costs)
        extra += ["", "Costs an hour, cheapest useful hour first", *output.table(costs.head(_ROWS))]
        if asked.required is not None:
            cheapest = cheapest_sparing(
                found.cluster, found.failures, asked.required, prices, found.recovery, found.performance,
                strategies=found.strategies, racks=file.prices.racks,
                services=[service.service() for service in file.prices.services] or None,
            )  # fmt: skip
            document["cheapest"] = cheapest.to_dict()
            sentences.append(cheapest.sentence)
    if found.strategies.spare_blocks is None and not np.isinf(found.failures.mtbf_tray) and found.failures.mttr > 0.0:
        order = np.argsort(-found.goodput, kind="stable")[:_MAP_STRATEGIES]
        some = found.strategies.take(np.sort(order))
        if asked.tables or asked.figures:
            around, where = _sensitivity(plan, some), _map(plan, some)
            tables |= {"sensitivity": around.to_frame(), "map": where.to_frame(), "boundaries": where.boundaries}
            sentences += [around.sentence, where.sentence]
            pictures += [("sensitivity", around.plot), ("sensitivity-mttr", lambda ax=None: around.plot(ax, by="mttr"))]
            pictures += [("map", where.plot)]


def _sensitivity(plan: SparingPlan, some: Any) -> SparingSensitivity:
    from relfit.planning.sparing.maps import sparing_sensitivity

    found = plan.evaluation
    return sparing_sensitivity(found.cluster, some, found.failures, found.recovery, found.performance)


def _map(plan: SparingPlan, some: Any) -> SparingMap:
    from relfit.planning.sparing.maps import sparing_map

    found = plan.evaluation
    tray, rack, repair = (float(getattr(found.failures, name)) for name in ("mtbf_tray", "mtbf_rack", "mttr"))
    return sparing_map(
        found.cluster, some, tray * np.geomspace(0.05, 20.0, 60), repair * np.geomspace(0.05, 10.0, 60),
        found.recovery, found.performance, rack_ratio=None if np.isinf(rack) else rack / tray,
    )  # fmt: skip


def _show(
    plan: SparingPlan, document: dict[str, Any], sentences: list[str], extra: list[str], pictures: list[Picture],
    tables: dict[str, pd.DataFrame], to: Output,
) -> None:  # fmt: skip
    table = tables["plan"]
    written: list[str] = []
    if to.out is not None and to.out.is_dir():
        for name, one in tables.items():
            output.write_table(one, to.out / f"{name}.csv")
        written.append(f"tables written to {to.out}: {', '.join(f'{name}.csv' for name in tables)}")
    elif to.out is not None:
        output.write_table(table, to.out)
        written.append(f"written to {to.out}")
    if to.plot is not None:
        written += write_figures(pictures, to.plot)
    if to.as_json:
        output.print_json({"sentences": sentences, **document})
        return
    failures = plan.evaluation.failures
    rack = "never" if np.isinf(failures.mtbf_rack) else f"every {float(failures.mtbf_rack):.6g} h"
    head = (
        f"Planned for {plan.evaluation.cluster.total_gpus:,} GPUs: a tray fails every "
        f"{float(failures.mtbf_tray):.6g} h, a rack {rack}, a repair takes {float(failures.mttr):.6g} h."
    )
    output.print_lines([head, "", *sentences, "", "Strategies", *output.table(_shown(table))])
    if len(table) > _ROWS:
        output.print_lines([f"... {len(table) - _ROWS} more rows; --out table.csv writes all of them"])
    output.print_lines([*extra, *([""] if written else []), *written])


def _shown(table: pd.DataFrame) -> pd.DataFrame:
    """The columns that a terminal has room for; shares that are nowhere are left out."""
    empty = [name for name in _COLUMNS if name.endswith("_percent") and not table[name].abs().max() > 5e-4]
    return table[[name for name in _COLUMNS if name not in empty]].head(_ROWS).rename(columns=_COLUMNS)
