"""Simulate the papers' batch studies and write their tables into ``docs``: ``python papers/studies.py [STUDY...]``.

Results are stored in ``papers/results`` part by part, with the version of the simulator; a second call goes on, and
computes again what is of another version. With ``--workload``, ``--jobs`` or ``--runs`` tables are printed; ``--store
DIR`` keeps their results, in a folder for each list of jobs and size, and a second call goes on there.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf
from papers import batch_allocation, batch_pairs, batch_waits
from papers.stored import RESULTS, Parts, compute, markdown, write_tables
from relfit.base.errors import ArgumentError, RelfitError
from relfit.base.text import duration
from relfit.io.workloads import Workload

__all__ = ["STUDIES", "Scale", "main", "tables_of"]

Rows = list[dict[str, Any]]
Stored = Mapping[str, Rows]


@dataclass(frozen=True)
class Scale:
    """How large a study is.

    Parameters
    ----------
    jobs : int
    runs : int
    source : str
        File name of a list of jobs, or its name; "" where jobs are drawn.
    workload : Workload, optional
        The jobs of `source`.
    """

    jobs: int
    runs: int
    source: str = ""
    workload: Workload | None = None

    @classmethod
    def of_file(cls, path: str, jobs: int | None) -> Scale:
        """The first `jobs` of a list, or all; one run."""
        workload = rf.read_workload(path)
        if workload.n_nodes is None:
            workload = workload.with_columns({}, n_nodes=batch_waits.NODES)
        workload = workload.where(np.arange(min(jobs or len(workload), len(workload))))
        return cls(len(workload), 1, Path(path).name, workload)

    def __str__(self) -> str:
        where = "drawn" if self.workload is None else f"of {self.source} ({_checksum(self.workload)})"
        return f"{self.jobs:,} jobs {where}, {self.runs} run{'s' * (self.runs > 1)}"

    def take(self, drawn: Callable[[int], Workload]) -> Workload:
        """The jobs: of the list, or those that are drawn."""
        return drawn(self.jobs) if self.workload is None else self.workload


@dataclass(frozen=True)
class Study:
    """A study: its scale, the parts that are computed, and the tables that are made of them."""

    scale: Scale
    parts: Callable[[Scale], Parts]
    tables: Callable[[Stored], dict[str, pd.DataFrame]]


def _checksum(jobs: Workload) -> str:
    columns = (jobs.submit, jobs.nodes, jobs.run_time, jobs.requested)
    return hashlib.sha256(b"".join(np.ascontiguousarray(column).tobytes() for column in columns)).hexdigest()[:8]


def _grizzly(scale: Scale, year: int = 2018, rng: int = 1) -> Workload:
    return scale.take(partial(batch_waits.grizzly, year, rng=rng))


def _records(table: pd.DataFrame) -> Rows:
    rows: Rows = table.to_dict("records")
    return rows


# ------------------------------------------------------------------ waits over rates and repairs


_REPAIRS = ("1min", "5D", "13D", "20D")


def _waits_parts(scale: Scale) -> Parts:
    def part(rate: float) -> Rows:
        sweep = batch_waits.waits(_grizzly(scale), scale.runs, _REPAIRS, rates=[rate])
        return _records(sweep.to_frame())

    return {f"{rate:g}X": partial(part, rate) for rate in (1, 2, 4, 8, 16, 32)}


def _waits_tables(stored: Stored) -> dict[str, pd.DataFrame]:
    columns = {}
    for name, rows in stored.items():
        waits = {duration(row["repair"]): f"{row['wait']:.2f} ({row['standard_error']:.2f})" for row in rows}
        columns[name] = {**waits, "20 days over 1 minute": f"{rows[-1]['relative']:.2f}"}
    return {"waits": pd.DataFrame(columns).rename_axis("repair")}


# ------------------------------------------------------------------ break-even pairs


_SETTINGS = ("as in the table", "the authors' settings")


def _pairs_parts(scale: Scale) -> Parts:
    def part(name: str) -> Rows:
        return _records(batch_pairs.variant(name, scale.jobs, scale.runs, jobs=scale.workload))

    return {name: partial(part, name) for name in _SETTINGS}


def _variants_parts(scale: Scale) -> Parts:
    def part(name: str) -> Rows:
        return _records(batch_pairs.variant(name, scale.jobs, scale.runs))

    return {name: partial(part, name) for name in batch_pairs.VARIANTS}


_PAIRS = ("2X over 1X with 13 days", "8X over 4X with 5 days")


def _days(row: dict[str, Any]) -> str:
    """A break-even with its limits; "above" is longer than the longest repair."""
    value, low, high = (row[name] for name in ("days", "low", "high"))
    if np.isfinite(high):
        return f"{value:.1f} ({low:.1f} to {high:.1f})"
    return "above" if not np.isfinite(low) else f"{'above' if np.isinf(value) else f'{value:.1f}'} ({low:.1f} or more)"


def _range(rows: Rows, key: str) -> str:
    """The least and the most of several lists of jobs."""
    least, most = (
        f"{end:.1f}" if np.isfinite(end) else "above" for end in np.sort([row[key] for row in rows])[[0, -1]]
    )
    return f"{least} to {most}"


def _pairs_tables(stored: Stored, name: str = "pairs") -> dict[str, pd.DataFrame]:
    again = [pair for variant, pair in stored.items() if variant.startswith(batch_pairs.DRAWN_AGAIN)]
    rows = {}
    for variant, pair in stored.items():
        if variant.startswith(batch_pairs.DRAWN_AGAIN) or (name == "variants" and variant in _SETTINGS):
            continue  # pairs has these settings, with more runs
        rows[variant] = {"rule, days": f"{pair[0]['by_node_hours']:.1f}"}
        for label, row in zip(_PAIRS, pair, strict=True):
            if not row["wait"]:
                rows[variant] |= {f"{label}, %": "no job waits", f"{label}: days": ""}
                continue
            rows[variant][f"{label}, %"] = f"{row['more']:.1f} ({row['more_error']:.1f})"
            rows[variant][f"{label}: days"] = _days(row)
    if again:
        range_of = rows[f"{batch_pairs.DRAWN_AGAIN}, {len(again)} lists"] = {}
        range_of["rule, days"] = _range([pair[0] for pair in again], "by_node_hours")
        for k, label in enumerate(_PAIRS):
            range_of[f"{label}, %"] = _range([pair[k] for pair in again], "more")
            range_of[f"{label}: days"] = _range([pair[k] for pair in again], "days")
    return {name: pd.DataFrame(rows).T.rename_axis("settings")}


# ------------------------------------------------------------------ waits by width


_AGAIN = ", drawn again"


def _width_parts(scale: Scale) -> Parts:
    def single(jobs: Callable[[], Workload]) -> Rows:
        table = batch_waits.waits_by_width(jobs())
        flat = table.set_axis([f"{left} {right}" for left, right in table.columns], axis=1)
        seconds = {f"seconds {name}": value for name, value in table.attrs["seconds"].items()}
        return _records(flat.rename_axis("width").reset_index().assign(**seconds))

    def scatter(year: int) -> Rows:
        return _records(batch_waits.scatter_by_width(year, scale.jobs, scale.runs).rename_axis("width").reset_index())

    if scale.workload is not None:
        return {scale.source: partial(single, partial(_grizzly, scale))}
    return {f"{year}": partial(single, partial(_grizzly, scale, year)) for year in batch_waits.JOBS} | {
        f"{year}{_AGAIN}": partial(scatter, year) for year in batch_waits.JOBS
    }


def _width_tables(stored: Stored) -> dict[str, pd.DataFrame]:
    table: dict[str, dict[str, str]] = {}
    for part, rows in stored.items():
        if part.endswith(_AGAIN):
            continue
        again = {row["width"]: row for row in stored.get(f"{part}{_AGAIN}", [])}
        for row in rows:
            wait, share, more = row["modified wait"], row["modified backfilled_percent"], row["difference wait"]
            if not again and not np.isfinite(wait):
                continue  # no such jobs are listed
            longer = f"{round(more)}" if np.isfinite(more) else "none"
            if several := again.get(row["width"]):
                longer = f"{round(several['mean'])} ({round(several['low'])} to {round(several['high'])})"
            table.setdefault(row["width"], {}).update(
                {
                    f"{part}: wait, h": f"{wait:.2f}" if np.isfinite(wait) else "none",
                    f"{part}: backfilled, %": f"{share:.0f}" if np.isfinite(share) else "none",
                    f"{part}: longer, %": longer,
                }
            )
    return {"width": pd.DataFrame(table).T.rename_axis("nodes")}


# ------------------------------------------------------------------ twice the cluster


def _twice_parts(scale: Scale) -> Parts:
    def part(rate: float) -> Rows:
        if scale.workload is None:
            jobs, second = _grizzly(scale), _grizzly(scale, rng=2)
        else:  # two groups of users: every other job
            both = _grizzly(scale)
            jobs, second = both.where(np.arange(0, len(both), 2)), both.where(np.arange(1, len(both), 2))
        return _records(batch_waits.twice_the_cluster(jobs, second, [rate], n_runs=scale.runs).reset_index())

    return {f"{rate}X": partial(part, rate) for rate in (1, 8, 32)}


def _twice_tables(stored: Stored) -> dict[str, pd.DataFrame]:
    table = {
        name: {
            "two clusters": f"{row['two_clusters']:.2f}",
            "one of twice the nodes": f"{row['one_of_twice']:.2f}",
            "ratio": f"{row['ratio']:.2f}" if np.isfinite(row["ratio"]) else "no job waits",
        }
        for name, (row,) in stored.items()
    }
    return {"twice": pd.DataFrame(table).T.rename_axis("failure rate")}


# ------------------------------------------------------------------ allocation by reliability


_NODES = {"the sample's": batch_allocation.white_failures, "unequal": batch_allocation.unequal_failures}
_SUBMITTED = {"all at once": None, "at load 0.5": 0.5}
_LOGS = {"lanl-cm5": "LANL", "sdsc-blue": "SDSC"}


def _waste_parts(scale: Scale) -> Parts:
    def part(which: str, submitted: str, nodes: str) -> Rows:
        def drawn(n_jobs: int) -> Workload:
            share = batch_allocation.JOBS[which] / batch_allocation.JOBS["SDSC"]
            return batch_allocation.drawn(which, round(n_jobs * share))

        jobs = batch_allocation.all_at_once(scale.take(drawn), _SUBMITTED[submitted])
        return _records(batch_allocation.waste(jobs, _NODES[nodes]()).reset_index())

    return {
        f"{which}, {submitted}, {nodes}": partial(part, which, submitted, nodes)
        for which in (batch_allocation.JOBS if scale.workload is None else [_LOGS.get(scale.source, scale.source)])
        for nodes in _NODES
        for submitted in _SUBMITTED
    }


def _waste_tables(stored: Stored) -> dict[str, pd.DataFrame]:
    table = {}
    for name, rows in stored.items():
        share = {row["policy"]: row["waste_less_percent"] for row in rows[1:]}
        less = {policy: f"{value:.1f}" if np.isfinite(value) else "none killed" for policy, value in share.items()}
        printed = batch_allocation.PRINTED.get(name.split(",")[0]) if name.endswith("at once, the sample's") else None
        shown = f"{printed['ras']:g}, {printed['ljras']:g}" if printed else ""
        table[name] = {**less, "printed RAS, LJRAS": shown}
    return {"waste": pd.DataFrame(table).T.rename_axis("jobs like those of, submitted, nodes")}


# ------------------------------------------------------------------ jobs of any size


def _moldable_parts(scale: Scale) -> Parts:
    def part(lives: float) -> Rows:
        table, lengths = batch_allocation.moldable(scale.jobs, lives=lives)
        longest = lengths.xs("ACT", axis=1, level=1).iloc[-1]
        return _records(table.assign(longest=longest).reset_index())

    return {f"{lives:g}": partial(part, lives) for lives in (0.2, 0.05)}


def _moldable_tables(stored: Stored) -> dict[str, pd.DataFrame]:
    table: dict[str, dict[str, str]] = {}
    for measure in ("MCT", "MWT"):
        for lives, rows in stored.items():
            column = {row["policy"]: f"{row[f'{measure}_percent']:,.0f}" for row in rows[1:]}
            table[f"{measure}, lives {lives} times"] = column
        table[f"{measure}, printed"] = {row["policy"]: f"{row[f'{measure}_printed']:,.0f}" for row in rows[1:]}
    for lives, rows in stored.items():
        table[f"longest jobs, lives {lives} times, h"] = {row["policy"]: f"{row['longest']:,.0f}" for row in rows}
    names = {"ra_opt": "RA-Opt", "all": "ALL", "round_robin": "RR", "ra": "RA"}
    frame = pd.DataFrame(table).T[list(names)].rename(columns=names).fillna("")
    return {"moldable": frame.rename_axis("above RA-Opt, %")}


STUDIES = {
    "waits": Study(Scale(130_000, 12), _waits_parts, _waits_tables),
    "pairs": Study(Scale(130_000, 60), _pairs_parts, _pairs_tables),
    "variants": Study(Scale(130_000, 8), _variants_parts, partial(_pairs_tables, name="variants")),
    "width": Study(Scale(6_500, 4), _width_parts, _width_tables),
    "twice": Study(Scale(130_000, 8), _twice_parts, _twice_tables),
    "waste": Study(Scale(243_314, 1), _waste_parts, _waste_tables),
    "moldable": Study(Scale(100, 1), _moldable_parts, _moldable_tables),
}
"""By name: the size at which it is stored, its parts, its tables."""


def tables_of(name: str, scale: Scale, stored: Stored) -> dict[str, str]:
    """The tables of a study in Markdown."""
    usual = STUDIES[name].scale
    options = f" --workload {scale.source}" * bool(scale.source)
    options += f" --jobs {scale.jobs}" * (not scale.source and scale.jobs != usual.jobs)
    options += f" --runs {scale.runs}" * (scale.runs != usual.runs)
    note = f"`python papers/studies.py {name}{options}`: {scale}"
    return {key: markdown(table, note) for key, table in STUDIES[name].tables(stored).items()}


def main(arguments: list[str]) -> int:
    """Run the studies named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=", ".join(STUDIES))
    parser.add_argument("--workload", metavar="JOBS", help="a list of jobs, or what relfit fetch got: grizzly2018")
    parser.add_argument("--jobs", type=int, help="the first so many, or how many are drawn")
    parser.add_argument("--runs", type=int, help="simulations of each cell; workloads of width")
    parser.add_argument("--store", type=Path, metavar="DIR", help="where results of another size or workload are kept")
    options = parser.parse_args(arguments)
    names = options.studies or list(STUDIES)
    try:
        _check(names, options)
        if options.workload is None and options.jobs is None and options.runs is None:
            for page in write_tables(_computed(names, options, None)):
                print(f"written to {page}")
            return 0
        with tempfile.TemporaryDirectory() as folder:
            tables = _computed(names, options, options.store or Path(folder))
    except RelfitError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(f"{name}\n\n{table}" for name, table in tables.items()))
    return 0


def _check(names: list[str], options: argparse.Namespace) -> None:
    unknown = [name for name in names if name not in STUDIES]
    if unknown:
        raise ArgumentError(f"there is no study {unknown[0]!r}", remedy=f"it is one of {', '.join(STUDIES)}")
    for name in ("jobs", "runs"):
        number = getattr(options, name)
        if number is not None and number < 1:
            raise ArgumentError(f"--{name} is {number}", remedy="give a whole number of 1 or more")
    if options.store and options.workload is None and options.jobs is None and options.runs is None:
        raise ArgumentError(
            "--store is for another list of jobs or size", remedy="add --workload, --jobs or --runs, or leave it out"
        )
    if options.workload and (drawn := {"variants", "moldable"} & set(names)):
        raise ArgumentError(f"{', '.join(sorted(drawn))} are about drawn jobs", remedy="name other studies")


def _computed(names: list[str], options: argparse.Namespace, store: Path | None) -> dict[str, str]:
    tables: dict[str, str] = {}
    listed = Scale.of_file(options.workload, options.jobs) if options.workload else None
    for name in names:
        study = STUDIES[name]
        scale = listed or replace(study.scale, jobs=options.jobs or study.scale.jobs)
        scale = replace(scale, runs=options.runs or study.scale.runs)
        place = RESULTS if store is None else store / str(scale)
        tables |= tables_of(name, scale, compute(name, str(scale), study.parts(scale), place))
    return tables


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
