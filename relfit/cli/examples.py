"""An example or two for the help of every command, and how the help lists commands in groups."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperGroup

_WIDEST = 72  # characters of an example in a line of the help, before a backslash

EXAMPLES: dict[str, tuple[str, ...]] = {
    "info": ("relfit info failures.csv", "relfit info failures.csv --column node=host --out rejected.csv"),
    "fit": ("relfit fit failures.csv", "relfit fit failures.csv --per cause --measure ttr --out fits.csv"),
    "survival": ("relfit survival failures.csv", "relfit survival failures.csv --by rack --plot survival.png"),
    "report": ("relfit report failures.csv -o report.html",),
    "convert": ("relfit convert failures.csv -o failures.parquet", "relfit convert failures.csv --by year -o parts"),
    "data": ("relfit data", "relfit data white -o white.csv"),
    "fetch": ("relfit fetch", "relfit fetch lanl -o lanl.parquet"),
    "dependence": ("relfit dependence failures.csv --plot dependence.png",),
    "trend": ("relfit trend failures.csv",),
    "incidents": ("relfit incidents failures.csv --out incidents.csv",),
    "regress": ("relfit regress failures.csv", "relfit regress failures.csv --formula 'ttr ~ cause' --model lognormal"),
    "system": ("relfit system failures.csv --k 64 --horizon 24h",),
    "nodes": (
        "relfit nodes failures.csv --work 1000h --parallel-fraction 0.99 --restart 10min",
        "relfit nodes failures.csv --export slurm -o slurm",
    ),
    "forecast": ("relfit forecast failures.csv", "relfit forecast failures.csv --horizon 14d --service 0.99"),
    "backtest": (
        "relfit backtest failures.csv --plot backtest.png",
        "relfit backtest failures.csv --parts jobs --size 16 --length 72h",
    ),
    "doctor": ("relfit doctor",),
    "calibrate": ("relfit calibrate failures.csv -o params.toml",),
    "plan checkpoint": (
        "relfit plan checkpoint params.toml --nodes 1000 --save 5min --restore 10min",
        "relfit plan checkpoint params.toml --sizes 1,16,64,256 --save 5min -o table.csv",
        "relfit plan checkpoint --mtbf 20000h --nodes 1000 --save 5min",
    ),
    "plan migration": (
        "relfit plan migration params.toml --nodes 1000 --save 5min --migration 1min",
        "relfit plan migration params.toml --save 5min --migration 1min --recall 0.7 --precision 0.6",
    ),
    "plan replication": ("relfit plan replication params.toml --nodes 1000 --save 5min --restore 10min",),
    "plan spares": ("relfit plan spares params.toml --job 128", "relfit plan spares --mtbf 5000h --mttr 24h --job 128"),
    "plan sparing": ("relfit plan sparing params.toml --racks 128 --trays 16 --gpus 8 --save 2s --restart 5min",),
    "sweep run": (
        "relfit sweep campaign.toml --store results",
        "relfit sweep campaign.toml --store results --executor tcp://10.0.0.5:8786",
    ),
    "sweep status": ("relfit sweep status results",),
    "sweep report": ("relfit sweep report results --out campaign.html",),
    "watch init": ("relfit watch init logs", "relfit watch init 'logs/*.csv' --column node=host --timer"),
    "watch run": ("relfit watch run watch.toml", "relfit watch run watch.toml --json"),
    "watch status": ("relfit watch status watch.toml",),
    "watch drain": ("relfit watch drain watch.toml", "relfit watch drain watch.toml --apply --share 0.05"),
    "simulate batch": (
        "relfit simulate batch cluster.toml --workload jobs.swf --jobs-out jobs.csv",
        "relfit simulate batch cluster.toml --failures failures.csv --json",
    ),
    "simulate training": (
        "relfit simulate training cluster.toml --runs 100",
        "relfit simulate training config.yaml --program-semantics --runs 24 --seed 1 --json",
    ),
}
"""Command lines by command; every one is parsed by the tests."""

SECTIONS = {
    "Look": ("info", "fit", "survival", "report", "convert", "data", "fetch", "doctor"),
    "Check": ("dependence", "trend", "incidents", "regress"),
    "Predict": ("system", "nodes", "forecast", "backtest"),
    "Plan": ("calibrate", "plan"),
    "Simulate": ("simulate", "sweep"),
    "Watch": ("watch",),
}


class Commands(TyperGroup):
    """A group of commands whose help lists them in sections."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands of each section; those in none come last."""
        names = list(self.list_commands(ctx))
        sections = {title: [name for name in wanted if name in names] for title, wanted in SECTIONS.items()}
        placed = {name for wanted in sections.values() for name in wanted}
        sections["More"] = [name for name in names if name not in placed]
        for title, chosen in sections.items():
            rows = [(name, self._summary(ctx, name)) for name in chosen]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def _summary(self, ctx: Any, name: str) -> str:
        command: Any = self.get_command(ctx, name)
        return str(command.get_short_help_str(limit=60))


def epilog(command: str) -> str | None:
    """The examples of a command as the end of its help."""
    lines = EXAMPLES.get(command)
    if lines is None:
        return None
    shown = (f"  {_broken(line)}" for line in lines)
    return "\b\n" + "\n".join(["Examples:" if len(lines) > 1 else "Example:", *shown])


def _broken(command: str) -> str:
    """A command in lines that fit the help, broken before an option as a shell takes it."""
    first, *options = re.split(" (?=-)", command)
    lines = [first]
    for option in options:
        if len(lines[-1]) + 1 + len(option) > _WIDEST - 6 * (len(lines) > 1):
            lines.append(option)
        else:
            lines[-1] += f" {option}"
    return " \\\n      ".join(lines)
