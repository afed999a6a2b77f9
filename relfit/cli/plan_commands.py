"""What ``relfit plan checkpoint|migration|replication`` do: read the parameters, plan, show."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relfit.cli import output
from relfit.cli.answers import Output
from relfit.cli.figures import Picture, write_figures
from relfit.cli.options import check_level
from relfit.errors import ArgumentError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Checkpointing", "Known", "Migrating", "checkpoint", "migration", "replication"]


@dataclass(frozen=True)
class Known:
    """What all planners are told."""

    params: Path | None
    mtbf: str | None
    nodes: int | None
    events: float | None
    save: str | None
    restore: str
    downtime: str
    level: float
    draws: int
    seed: int

    def source(self) -> Any:
        """The parameters, or the mean time between failures."""
        if self.params is not None and self.mtbf is not None:
            raise ArgumentError("PARAMS and --mtbf are both given", remedy="give one of them")
        if self.params is not None:
            from relfit.planning.sparing.plan_file import read_plan_file

            found = read_plan_file(self.params).parameters
            if found is None:
                raise ArgumentError(f"{self.params} has no failure rate", remedy="write mtbf in it, or give --mtbf")
            return found
        if self.mtbf is None:
            raise ArgumentError("no failure rate is given", remedy="name a parameter file, or give --mtbf")
        return self.mtbf

    def needed(self, option: str, value: str | None) -> str:
        """The value of an option that must be there."""
        if value is None:
            raise ArgumentError(f"{option} is missing", remedy=f"write {option} 5min or the like")
        return value

    @property
    def common(self) -> dict[str, Any]:
        """Arguments that all planners take."""
        return {
            "nodes": self.nodes,
            "events": self.events,
            "draws": self.draws,
            "level": check_level(self.level),
            "rng": self.seed,
        }


@dataclass(frozen=True)
class Checkpointing:
    """What the planner of checkpoints is asked."""

    interval: str | None
    period: str | None
    unexposed: bool
    slowed: float
    global_save: str | None
    global_restore: str | None
    share_global: float | None
    shape: float | None
    by_family: bool
    age: str
    work: str | None
    robust: str

    @property
    def robust_by(self) -> str | float:
        """``"mean"`` or the quantile."""
        if self.robust == "mean":
            return "mean"
        try:
            return float(self.robust)
        except ValueError:
            raise ArgumentError(
                f"--robust {self.robust!r} is not known", remedy="give mean, or 0.9 or the like"
            ) from None


@dataclass(frozen=True)
class Migrating:
    """What the planner of migration is asked."""

    migration: str | None
    recall: float
    precision: float
    lead: str | None
    risk: float
    spares: int | None
    sequential: bool
    share_sequential: float


def checkpoint(known: Known, how: Checkpointing, to: Output) -> None:
    """Plan checkpoints and show the plan."""
    to.check()
    save = known.needed("--save", known.save)
    from relfit.planning.checkpointing.checkpoint_plan import plan_checkpoints

    source, more = known.source(), known.common
    notes = _notes(source)
    if how.shape is not None:
        source = _weibull(source, known, how.shape)
        more |= {"nodes": None, "events": None, "schedule": True}
    if how.by_family:
        more |= {"by_family": True, "ages": how.age, "schedule": True}
        notes += (
            f"All nodes are taken to be {how.age} old at every restart, though only the one that failed is new; rates "
            "(without --by-family) are right in the long run.",
        )
    plan = plan_checkpoints(
        source, save, known.restore, known.downtime, interval=how.interval, period=how.period,
        exposed=() if how.unexposed else ("save", "restore"), slowed=how.slowed, global_save=how.global_save,
        global_restore=how.global_restore, share_global=how.share_global, work=how.work, robust=how.robust_by, **more,
    )  # fmt: skip
    pictures: list[Picture] = [("waste", plan.plot)]
    if plan.schedule is not None:
        from relfit.plotting.checkpointing import schedule_intervals

        schedule = plan.schedule
        pictures.append(("intervals", lambda ax=None: schedule_intervals(schedule, ax)))
    _show(plan, "Rules", plan.rules, pictures, to, notes)


def migration(known: Known, how: Migrating, to: Output) -> None:
    """Plan migration and show the plan."""
    to.check()
    save, move = known.needed("--save", known.save), known.needed("--migration", how.migration)
    from relfit.planning.migration.migration_plan import plan_migration

    source = known.source()
    notes = _notes(source)
    plan = plan_migration(
        source, save, known.restore, known.downtime, move, recall=how.recall, precision=how.precision,
        lead=how.lead, risk=how.risk, spares=how.spares, sequential=how.sequential,
        share_sequential=how.share_sequential, **known.common,
    )  # fmt: skip

    def map_of_strategies(ax: Any = None) -> Any:
        import numpy as np

        from relfit.planning.migration.strategies import compare_strategies

        sizes = np.unique(np.round(np.geomspace(64, max(16.0 * plan.nodes, 1e5), 50)).astype(np.int64))
        means = plan.node_mtbf * np.geomspace(0.03, 30.0, 50)
        return compare_strategies(
            sizes, means, save, known.restore, known.downtime, move, plan.predictor, risk=how.risk
        ).plot(ax)

    _show(plan, "By size of job", plan.by_size, [("yield", plan.plot), ("strategies", map_of_strategies)], to, notes)


def replication(known: Known, replicas: int, overhead: float, to: Output) -> None:
    """Plan replication and show the plan."""
    to.check()
    save = known.needed("--save", known.save)
    from relfit.planning.replication.replication_plan import plan_replication

    source = known.source()
    notes = _notes(source)
    plan = plan_replication(
        source, save, known.restore, known.downtime, most_replicas=replicas, overhead=overhead, **known.common
    )
    _show(plan, "Strategies", plan.strategies, [("yield", plan.plot)], to, notes)


# ---------------------------------------------------------------------- details


def _notes(source: Any) -> tuple[str, ...]:
    found = tuple(getattr(source, "warnings", ()))
    fleet, known = getattr(source, "fleet", None), source.values() if hasattr(source, "values") else {}
    if "mtbf.rack" in known and not (getattr(fleet, "nodes", None) and getattr(fleet, "racks", None)):
        found += ("mtbf.rack is left out: how many nodes a rack has is not known (fleet.nodes, fleet.racks).",)
    return found


def _weibull(source: Any, known: Known, shape: float) -> Any:
    """Lives between failures of the job with the mean of its exponential ones."""
    from scipy.special import gamma

    from relfit.arguments import positive
    from relfit.families import Weibull
    from relfit.planning.job_rate import rate_of_job

    if known.events is not None:
        raise ArgumentError("--events does not go with --shape", remedy="leave one of them out")
    mean = rate_of_job(source, known.nodes, draws=2, rng=0).mtbf
    value = positive("--shape", shape)
    return Weibull(value, mean / gamma(1.0 + 1.0 / value))


def _show(
    plan: Any, title: str, table: pd.DataFrame, pictures: list[Picture], to: Output, notes: tuple[str, ...]
) -> None:
    written: list[str] = []
    if to.out is not None:
        path = to.out / "plan.csv" if to.out.is_dir() else to.out
        output.write_table(table, path)
        written.append(f"written to {path}")
    if to.plot is not None:
        written += write_figures(pictures, to.plot)
    if to.as_json:
        output.print_json({**plan.to_dict(), "warnings": list(notes)})
        return
    output.print_lines([f"Planned with {plan.words}.", "", *plan.sentences, "", title, *output.table(table)])
    if notes:
        output.print_lines(["", "What speaks against the assumptions", *(f"- {note}" for note in notes)])
    if written:
        output.print_lines(["", *written])
