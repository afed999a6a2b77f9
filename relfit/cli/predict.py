"""The command that predicts jobs on nodes: system."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import relfit as rf
from relfit.base.errors import ArgumentError, DataError
from relfit.base.text import count, first_names, interval, number
from relfit.cli import option_values as checked
from relfit.cli import options as opt
from relfit.cli import output
from relfit.cli.progress import ProgressSteps

if TYPE_CHECKING:
    import pandas as pd

    from relfit.base.arrays import Durations
    from relfit.fleet import ChosenPeriod

_NAMED = 3  # nodes in repair
_LEAST_DRAWS = 19  # of the model of a fleet
_TOGETHER = "all"  # the group of a fit of all nodes together
_SHOWN = 16  # sizes in the table on a screen
_PLACED = {"packed": "consecutive nodes", "spread": "nodes spread over the racks", "random": "nodes at random"}
_FIGURES = ("reliability", "hazard", "mttf")


@dataclass(frozen=True, kw_only=True)
class FleetOptions:
    """How nodes get their distributions and ages."""

    age: list[str] | None = opt.option(
        "TIME", "Age of all nodes, such as 10days, or repeated for each node; from the log by default."
    )
    at: str | None = opt.option("DATE|now|long-run", "Start of the job; now, the end of the log, by default.")
    families: str | None = opt.option("A,B", "Fit each node separately with these; the model of the fleet by default.")
    family: str = opt.option("NAME", "One distribution for all nodes, or best.", "best")
    missing: str | None = opt.option(
        "NAME", "Nodes without an estimate: pool, drop or error (a file of fits: no pool)."
    )

    def system(
        self, reading: opt.PeriodReading, names: list[str] | None, steps: ProgressSteps, k: int | None = None
    ) -> tuple[rf.System, ChosenPeriod | None, list[str]]:
        """System of these nodes (the first k for k ages) of a file of fits or a log; its period; nodes left out."""
        import numpy as np

        if self.missing is not None:
            checked.choice("--missing", self.missing, ("error", "drop", "pool"))
        from relfit.base.units import instant
        from relfit.cli.fits_file import is_fits_file

        ages = self._ages()
        if is_fits_file(reading.log):
            of_file = self._of_fits(reading, names, ages, steps)
            return of_file, None, of_file.origin.notes
        families = None if self.families is None else checked.family_names(self.families)
        log = reading.read()
        if names is None and len(log.systems) > 1:
            remedy = f"write --where system=NAME: {first_names(log.systems)}"
            raise ArgumentError("the log has several systems", remedy=remedy)
        steps.next()
        words = self.at is None or self.at in ("now", "long-run", "long run")
        moment = None if words or self.at is None else instant(self.at, log.source.timezone)
        inside = moment is not None and log.window.start < moment < log.window.end
        log = log.between(None, moment) if inside else log
        chosen = reading.study(log).period
        how: dict[str, Any] = {"families": families, "family": self.family, "missing": self.missing or "pool"}
        try:
            nodes = rf.system_from_log(log, self.at, nodes=names, period=chosen, first=reading.first, **how)
        except DataError:
            if k is not None and names is None and k > log.n_nodes:  # more nodes make no answer either
                remedy = "list all nodes with --population"
                raise ArgumentError(f"--k {k} of {count(log.n_nodes, 'node')}", remedy=remedy) from None
            raise
        model = rf.fleet_model(log, chosen, at=self.at if words and self.at else "now", first=reading.first)
        notes = _in_repair(model, log.systems) if names is None else []
        if k is not None and np.size(ages) == k <= nodes.n_nodes:
            nodes = nodes.take(range(k))
        return nodes if ages is None else nodes.at_age(ages), model.period, notes

    def model(self, reading: opt.PeriodReading, steps: ProgressSteps) -> tuple[rf.fleet.FleetModel, ChosenPeriod]:
        """The model of the fleet of a log, now or over its period, and the period."""
        from relfit.cli.fits_file import is_fits_file

        moment = self.at not in (None, "now", "long-run", "long run")
        remedy, why = "name --nodes, or write --k without --any", "the mean over any nodes is of now or of the long run"
        checked.none_of(checked.named(self, ["age", "families", "missing"]), "--any", remedy)
        checked.none_of({f"--at {self.at}": moment}, f"--any: {why}", remedy)
        checked.none_of({"a file of fits": is_fits_file(reading.log)}, "--any", remedy)
        log = reading.read()
        steps.next()
        period = reading.study(log).period
        model = rf.fleet_model(log, period, at=self.at or "now", first=reading.first)
        return model, model.period

    def _of_fits(
        self, reading: opt.PeriodReading, names: list[str] | None, ages: Durations, steps: ProgressSteps
    ) -> rf.System:
        unfit = checked.named(self, ["at", "families"])
        unfit |= checked.named(reading, ["where", "since", "until", "period"])
        unfit |= {"--first": reading.first != "known", "--missing pool": self.missing == "pool"}
        checked.none_of(unfit, "a file of fits", "give the log itself")
        from relfit.cli.fits_file import system_from_file

        steps.next()
        ages = 0.0 if ages is None else ages
        return system_from_file(reading.log, names, ages, family=self.family, missing=self.missing or "error")

    def _ages(self) -> Any:
        from relfit.system.checked_nodes import LONGEST_AGE

        if not self.age:
            return None
        ages = [checked.duration("--age", text) for text in self.age]
        for text, age in zip(self.age, ages, strict=True):
            if age > LONGEST_AGE:
                raise ArgumentError(f"--age {text} is {age / 8766.0:.4g} years", remedy="write 30min, 20h or 5days")
        return ages[0] if len(ages) == 1 else ages


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """Intervals from the uncertainty of the fits."""

    level: opt.Level = 0.95
    draws: int = opt.option("N", "Draws of the parameters behind the intervals.", 200, min=2, max=100_000)
    seed: opt.Seed = 0

    def notes(self, system: rf.System) -> list[str]:
        """What a reader has to know: why there are no intervals."""
        return [f"No intervals: {system.no_limits}."] if system.no_limits else []


def _in_repair(model: rf.fleet.FleetModel, systems: Sequence[str]) -> list[str]:
    """Which nodes are left out of a system since they are in repair, by name if they are few."""
    down = model.places.nodes[model.standing.present & ~model.standing.up].to_frame(index=False)
    down.columns = ["system", "node"]
    if not len(down):
        return []
    names = output.node_names(down, systems)
    told = ", ".join(names) if len(names) <= _NAMED else count(len(names), "node")
    return [f"{told} {'is' if len(names) == 1 else 'are'} in repair and left out."]


def system(
    reading: opt.PeriodReading,
    fleet: FleetOptions,
    drawn: Drawn,
    to: output.Output,
    nodes: str | None = opt.option("A,B,C", "These nodes, in this order; all by default."),
    k: int | None = opt.option("K", "Only the first K nodes."),
    best: bool = opt.flag("--best", "Most reliable nodes first."),
    any_nodes: bool = opt.flag("--any", "Average over any K nodes, instead of the first K; see --placement."),
    placement: str | None = opt.option("NAME", "Nodes of --any: packed (consecutive, the default), spread or random."),
    horizon: list[str] | None = opt.option("TIME", "Show reliability at 24h, ... Repeatable."),
    tolerate: int = opt.option("S", "Nodes that may fail; none are replaced.", 0),
    details: opt.Details = False,
) -> None:
    """Reliability of jobs on 1 to K nodes.

    LOG may also be what relfit fit --out wrote. --out writes one row per number of nodes.
    """
    times = [checked.duration("--horizon", text) for text in horizon or ["24h"]]
    if any_nodes:
        checked.none_of({"--nodes": nodes, "--best": best, "--tolerate": tolerate}, "--any", "take one of them out")
        if k is None:
            raise ArgumentError("--any without a number of nodes", remedy="write --k 16")
        _any(reading, fleet, drawn, to, k, times, placement or "packed")  # as in the report and the parameters
        return
    checked.without_effect({"--placement": placement}, "--any", any_nodes)
    names = None if nodes is None else [name.strip() for name in nodes.split(",") if name.strip()]
    if nodes is not None and not names:
        raise ArgumentError("--nodes names no node", remedy="write --nodes a,b,c")
    alike = names is None and _of_all_together(reading.log)
    with ProgressSteps("reading", "fitting", "computing", "writing") as steps:
        named = [_TOGETHER] * (k or 1) if alike else names
        chosen, period, left_out = fleet.system(reading, named, steps, None if best or alike else k)
        if alike:
            left_out = [f"{count(chosen.n_nodes, 'node')} alike: the fit is of all nodes together, not of each."]
        if period is None and not fleet.age:
            left_out += _new(chosen, alike)
        if best:
            chosen, nameless = _best_first(chosen, times[0])
            left_out = [*left_out, *nameless]
        if k is not None:
            if not 1 <= k <= chosen.n_nodes:
                without = f" ({'; '.join(left_out)})".replace(".)", ")") if left_out else ""
                remedy = f"give 1 to {chosen.n_nodes}, or other nodes"
                raise ArgumentError(f"--k {k} of {chosen.n_nodes} nodes{without}", remedy=remedy)
            chosen = chosen.take(range(k))
        if tolerate:
            chosen = chosen.tolerating(tolerate)
        steps.next()
        together = _whole(chosen, times, drawn)
        sizes = chosen.by_size(times)
        steps.next()
        table = _with_limits(sizes, drawn)
        spare = f" with {chosen.tolerance} to spare" if chosen.tolerance else ""
        headline = _runs(f"{count(chosen.n_nodes, 'node')}{spare}", chosen.n_nodes, together)
        notes = [*left_out, *chosen.notes, *drawn.notes(chosen)]
        if k is not None and not alike and (best or names is None):
            notes.append(_taken(chosen, best))
        notes += _reason_of_order(chosen) if best else []
        document = {
            "period": None if period is None else period.to_dict(),
            "system": {"nodes": chosen.n_nodes, "tolerance": chosen.tolerance, "description": repr(chosen)},
            "headline": headline,
            "notes": notes,
            "whole": together,
            "sizes": table,
            "nodes": chosen.to_frame(),
        }
        pictures = [(f"{n}_by_nodes", partial(rf.plotting.by_size, sizes, n)) for n in _FIGURES]
        written = output.write_results(to, {"table": table}, "table", pictures)
    if to.json:
        output.print_json(document)
        return
    lines = [*([] if period is None else [period.headline]), headline]
    if details:
        rows = _few(len(table))
        lines += [repr(chosen), *notes, "", "All nodes together (hours, failures per hour)", *output.table(together)]
        lines += ["", "The first k nodes (hours, failures per hour)", *output.table(table.iloc[rows])]
        if len(rows) < len(table):
            lines.append(f"{len(rows)} of {len(table)} sizes; --out FILE writes all of them")
    else:
        lines += [*notes, output.TABLES]
    output.print_lines([*lines, *written])


def _any(
    reading: opt.PeriodReading,
    fleet: FleetOptions,
    drawn: Drawn,
    to: output.Output,
    k: int,
    times: list[float],
    placement: str,
) -> None:
    """Print how long a job on `k` nodes of a placement runs without a failure, on average over all places."""
    import pandas as pd

    checked.choice("--placement", placement, tuple(_PLACED))
    with ProgressSteps("reading", "fitting", "computing", "writing") as steps:
        model, period = fleet.model(reading, steps)
        steps.next()
        how: dict[str, Any] = {"level": drawn.level, "n_draws": max(drawn.draws, _LEAST_DRAWS), "rng": drawn.seed}
        rows = []
        for quantity, at in [("mtbf", None), *(("reliability", each) for each in times)]:
            limits = model.interval(quantity, at, size=k, placement=placement, **how)
            row = {"quantity": quantity, "at_hours": math.nan if at is None else at, "value": limits.estimate}
            rows.append({**row, "low": limits.low, "high": limits.high})
        table = pd.DataFrame(rows).astype({"value": float, "low": float, "high": float})
        steps.next()
        written = output.write_results(to, {"table": table}, "table", [])
    headline = f"Any {_runs(f'{k:,} {_PLACED[placement]}' if k > 1 else 'node', k, table)}"
    if to.json:
        output.print_json({"period": period.to_dict(), "headline": headline, "whole": table})
        return
    further = ["", *output.table(table)] if len(times) > 1 else []
    output.print_lines([period.headline, headline, *further, *written])


def _whole(chosen: rf.System, times: list[float], drawn: Drawn) -> pd.DataFrame:
    """Quantities of all nodes together, with intervals where the parameters are uncertain."""
    import numpy as np
    import pandas as pd

    quantities = [("mttf", None), ("reliability", np.asarray(times)), ("hazard", np.asarray(times))]
    parts = []
    for quantity, at in quantities:
        if chosen.no_limits:
            columns = {"value": np.ravel(getattr(chosen, quantity)(*(() if at is None else (at,))))}
        else:
            limits = chosen.interval(quantity, at, drawn.level, n_draws=drawn.draws, rng=drawn.seed)
            columns = {"value": limits.estimate, "low": limits.low, "high": limits.high}
        shown = {name: np.ravel(values) for name, values in columns.items()}
        parts.append(pd.DataFrame({"quantity": quantity, "at_hours": np.nan if at is None else at, **shown}))
    return pd.concat(parts, ignore_index=True)


def _with_limits(sizes: rf.SystemsBySize, drawn: Drawn) -> pd.DataFrame:
    """The table of all sizes, the reliabilities with their limits where the parameters are uncertain."""
    import numpy as np

    table = sizes.to_frame()
    if sizes.system.no_limits:
        return table
    limits = sizes.interval("reliability", drawn.level, n_draws=drawn.draws, rng=drawn.seed)
    ends = {name: np.reshape(getattr(limits, name), (len(sizes), -1)) for name in ("low", "high")}
    for i, x in enumerate(np.ravel(sizes.horizon)):
        column = f"reliability_{x:g}h"
        for j, (name, values) in enumerate(ends.items(), start=1):
            table.insert(int(table.columns.get_loc(column)) + j, f"{column}_{name}", values[:, i])
    return table


def _best_first(chosen: rf.System, horizon: float) -> tuple[rf.System, list[str]]:
    """The nodes with a name, most reliable first, and how many have none."""
    import numpy as np

    from relfit.log.tables import NOT_SEEN
    from relfit.system.jobs import most_reliable_first

    order = most_reliable_first(chosen, horizon)
    nameless = np.array([NOT_SEEN in str(name) for name in chosen.names[order]])
    nodes = count(int(nameless.sum()), "node without a failure has", "nodes without a failure have")
    return chosen.take(order[~nameless]), [f"{nodes} no name: --population names them."] if nameless.any() else []


def _of_all_together(log: str) -> bool:
    """Whether a file has the fit of all nodes together."""
    from relfit.cli.fits_file import is_fits_file, read_fits_table

    if not is_fits_file(log):
        return False
    table = read_fits_table(log)
    return table.columns[0] == "group" and set(table["group"]) == {_TOGETHER}


def _new(chosen: rf.System, alike: bool) -> list[str]:
    """That all nodes of a file of fits are new, where ages count, and the remedy."""
    if all(type(part.family).__name__ == "Exponential" for part in chosen.components):
        return []
    if not alike:
        return ["Every node is new (age 0); --age TIME gives another age."]
    mixed = "Rates that differ make a shape below 1, which is too pessimistic at age 0"
    return [f"Every node is new (age 0), with one distribution for all. {mixed}: use relfit system LOG, or give --age."]


def _taken(chosen: rf.System, best: bool) -> str:
    """Which nodes were taken: the best by name, the first of the log by the first and the last of them."""
    from relfit.log.tables import NOT_SEEN

    names = [str(name) for name in chosen.names]
    if len(names) == 1:
        return f"This is {names[0]}."
    if best:
        return f"These are {','.join(names)}."
    others = f"the first {len(names)} of the others, " if getattr(chosen.origin, "lost", ()) else ""
    named = [name for name in names if NOT_SEEN not in name]
    more = count(len(names) - len(named), "node without a failure", "nodes without a failure")
    if len(named) < len(names):  # they have no names, only numbers
        which = f"{', '.join(named[:_NAMED])} and " if 0 < len(named) <= _NAMED else f"{len(named)} of the log and "
        return f"These are {others}{which if named else ''}{more}."
    return f"These are {others}{names[0]} to {names[-1]}."


def _reason_of_order(chosen: rf.System) -> list[str]:
    """Why the most reliable nodes need not be those that fail least, where ages differ and count."""
    import numpy as np

    ages = np.asarray(chosen.ages, dtype=np.float64)
    ageing = any(type(part.family).__name__ != "Exponential" for part in chosen.components)
    if not (ageing and np.ptp(ages) > 0.0):
        return []
    return ["Order: by rate and by time since the last repair; relfit nodes ranks by rate alone."]


def _runs(nodes: str, n_nodes: int, together: pd.DataFrame) -> str:
    """How long these nodes run without a failure, and with which probability for the first of the times."""

    def said(row: pd.Series, unit: str = "") -> str:
        value, *limits = (number(row[name]) for name in ("value", "low", "high") if name in together)
        return interval(f"{value}{unit}", *limits) if limits else f"{value}{unit}"

    mean, first = together.iloc[0], together.iloc[1]
    long = "without end on average" if math.isinf(mean["value"]) else f"for {said(mean, ' hours')} on average"
    probability = f"for {first['at_hours']:g} hours with probability {said(first)}"
    return f"{nodes} run{'' if n_nodes > 1 else 's'} {long}, and {probability}."


def _few(count: int) -> list[int]:
    """Positions of few sizes that span all of them."""
    if count <= _SHOWN:
        return list(range(count))
    steps = {round(count ** (i / (_SHOWN - 1))) for i in range(_SHOWN)}
    return sorted({min(max(k, 1), count) - 1 for k in steps})
