"""The command that says how long k nodes hold out together: system."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relfit.cli import output
from relfit.cli.figures import check_place, write_figures
from relfit.cli.options import Reading, check_level, family_names
from relfit.cli.progress import Steps
from relfit.errors import ArgumentError, RelfitError
from relfit.units import hours

if TYPE_CHECKING:
    import pandas as pd

    from relfit.system import System, SystemsBySize

__all__ = ["Chosen", "load_system", "system"]

_SHOWN = 16  # sizes in the table on a screen
_FIGURES = ("reliability", "hazard", "mttf")


@dataclass(frozen=True)
class Chosen:
    """Which nodes, how old, and what they may lose."""

    nodes: str | None
    k: int | None
    ages: list[str] | None
    at: str | None
    tolerate: int
    families: str | None
    family: str
    missing: str | None
    own_fits: bool


def system(
    reading: Reading,
    chosen: Chosen,
    *,
    horizons: list[str] | None,
    level: float | None,
    as_json: bool,
    out: Path | None,
    plot: Path | None,
) -> None:
    """Show reliability, failure rate and mean time to failure of 1 to K nodes."""
    output.check_destination(out)
    check_place(plot)
    if level is not None:
        check_level(level)
    times = [_hours("--horizon", text) for text in horizons or ["24h"]]
    with Steps("reading", "fitting", "computing", "writing") as steps:
        found = load_system(reading, chosen, steps)
        if chosen.k is not None:
            if not 1 <= chosen.k <= found.n_nodes:
                raise ArgumentError(
                    f"--k {chosen.k} of {found.n_nodes} nodes", remedy=f"give 1 to {found.n_nodes}, or other nodes"
                )
            found = found.take(range(chosen.k))
        if chosen.tolerate:
            found = found.tolerating(chosen.tolerate)
        steps.next()
        sizes = found.by_size(times)
        whole = _whole(found, times, level)
        steps.next()
        table = sizes.to_frame()
        if out is not None and out.suffix.lower() == ".json":
            output.write_document(_document(found, sizes, whole), out)
        elif out is not None:
            output.write_table(table, out)
        written = [] if out is None else [f"written to {out}"]
        if plot is not None:
            pictures = [(f"{name}_by_nodes", lambda ax=None, name=name: sizes.plot(name, ax=ax)) for name in _FIGURES]
            written += write_figures(pictures, plot)
    if as_json:
        output.print_json(_document(found, sizes, whole))
        return
    rows = _few(len(table))
    lines = [repr(found), "", _sentence(found, whole), *found.notes, "", "All nodes together", *output.table(whole), ""]
    lines += ["The first k nodes (hours, failures per hour)", *output.table(table.iloc[rows])]
    if len(rows) < len(table):
        lines.append(f"{len(rows)} of {len(table)} sizes; --out FILE writes all of them")
    output.print_lines([*lines, *([""] if written else []), *written])


def load_system(reading: Reading, chosen: Chosen, steps: Steps) -> System:
    """The system that the options ask for, from a file of fits or from a log.

    Raises
    ------
    ArgumentError
        For options that do not go together, or ages that are no durations.
    """
    from relfit.system import System
    from relfit.system.fits_file import is_fits_file

    names = None if chosen.nodes is None else [name.strip() for name in chosen.nodes.split(",") if name.strip()]
    if chosen.nodes is not None and not names:
        raise ArgumentError("--nodes names no node", remedy="write --nodes a,b,c")
    if chosen.missing not in (None, "error", "drop", "pool"):
        raise ArgumentError(f"--missing {chosen.missing!r} is not known", remedy="use error, drop or pool")
    if is_fits_file(reading.log):
        for option, value in (("--at", chosen.at), ("--own-fits", chosen.own_fits), ("--families", chosen.families),
                              ("--where", reading.where), ("--since", reading.since), ("--until", reading.until),
                              ("--missing pool", chosen.missing == "pool")):  # fmt: skip
            if value:
                raise ArgumentError(f"{option} does not go with a file of fits", remedy="give the log itself")
        steps.next()
        ages = _ages(chosen.ages)
        return System.from_file(
            reading.log, names, 0.0 if ages is None else ages, family=chosen.family, missing=chosen.missing or "error"
        )
    families = None if chosen.families is None else family_names(chosen.families)
    if not chosen.own_fits and families is not None and len(families) > 1 and chosen.family == "best":
        raise ArgumentError(
            f"--families {chosen.families}: nodes that are drawn towards the fleet have one family",
            remedy="name one, or add --own-fits",
        )
    log = reading.select(reading.read())
    steps.next()
    found = System.from_log(
        log, chosen.at, nodes=names, families=families, family=chosen.family, pooled=not chosen.own_fits,
        missing=chosen.missing or "pool",
    )  # fmt: skip
    ages = _ages(chosen.ages)
    return found if ages is None else found.at_age(ages)


def _ages(given: list[str] | None) -> Any:
    from relfit.system.components import LONGEST_AGE

    if not given:
        return None
    found = [_hours("--age", text) for text in given]
    for text, age in zip(given, found, strict=True):
        if age > 0.0 and text.strip()[-1].isdigit():
            raise ArgumentError(
                f"--age {text} does not say its unit", remedy=f"write {text.strip()}h or {text.strip()}days"
            )
        if age > LONGEST_AGE:
            raise ArgumentError(f"--age {text} is {age / 8766.0:.4g} years", remedy="write 30min, 20h or 5days")
    return found[0] if len(found) == 1 else found


def _hours(option: str, text: str) -> float:
    try:
        value = hours(text)
    except RelfitError:
        raise ArgumentError(f"{option} {text!r} is not a duration", remedy="write 30min, 24h or 5days") from None
    if not value >= 0.0:
        raise ArgumentError(f"{option} {text} is below zero", remedy="give a time at or above zero")
    return value


def _whole(found: System, times: list[float], level: float | None) -> pd.DataFrame:
    """Quantities of all nodes together, with intervals where they are asked for."""
    import numpy as np
    import pandas as pd

    rows: list[dict[str, Any]] = [{"quantity": "mttf", "at_hours": np.nan, "value": float(found.mttf())}]
    for name in ("reliability", "hazard"):
        values = np.ravel(getattr(found, name)(times))
        rows += [{"quantity": name, "at_hours": x, "value": float(v)} for x, v in zip(times, values, strict=True)]
    table = pd.DataFrame(rows)
    if level is not None:
        limits = [found.mttf(interval=level)]
        limits += [getattr(found, name)(times, interval=level) for name in ("reliability", "hazard")]
        table["low"] = np.concatenate([np.ravel(one.low) for one in limits])
        table["high"] = np.concatenate([np.ravel(one.high) for one in limits])
    return table


def _sentence(found: System, whole: pd.DataFrame) -> str:
    import math

    mean, first = whole.iloc[0], whole.iloc[1]
    spare = f" with {found.tolerance} to spare" if found.tolerance else ""
    long = "without end on average" if math.isinf(mean["value"]) else f"for {mean['value']:.4g} hours on average"
    return (
        f"{found.n_nodes} nodes{spare} run {long}, and for {first['at_hours']:g} hours "
        f"with the probability {first['value']:.4g}."
    )


def _document(found: System, sizes: SystemsBySize, whole: pd.DataFrame) -> dict[str, Any]:
    return {
        "system": {"nodes": found.n_nodes, "tolerance": found.tolerance, "description": repr(found)},
        "sentence": _sentence(found, whole),
        "notes": list(found.notes),
        "whole": output.records(whole),
        "sizes": output.records(sizes.to_frame()),
        "nodes": output.records(found.to_frame()),
    }


def _few(count: int) -> list[int]:
    """Positions of few sizes that span all of them."""
    if count <= _SHOWN:
        return list(range(count))
    steps = {round(count ** (i / (_SHOWN - 1))) for i in range(_SHOWN)}
    return sorted({min(max(k, 1), count) - 1 for k in steps})
