"""Is the model of a log right? Logs of the fleets of known truth in `fleets.py`, each model held to the truth.

    python benchmarks/verify_fleets.py [--logs 200] [--fleet NAME] [--out table.md] [--fixed]

For each fleet and quantity: the bias of the estimate and the share of nominal 90 % intervals that hold the truth. The
rates of unequal nodes are drawn anew for each log, and the truth is that of all such fleets; with ``--fixed`` every log
is of the same nodes.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent))

import fleets as known
import numpy as np
import pandas as pd

STEADY = "relfit:fleet_model"  # whose fleets are: of the long run
LEVEL, CLOSE, DRAWS = 0.9, (0.87, 0.93), 199
SHORT = {
    "mtbf": "node MTBF",
    "mttf": "fleet MTTF",
    "incidents": "next 30 days",
    "reliability 1 packed": "R 1",  # one node has no placement
    **{f"reliability {k} {p}": f"R {k} {p}" for k in known.SIZES if k > 1 for p in ("packed", "spread")},
    "checkpoint_every": "checkpoint interval",
    "waste": "waste",
    "spares": "spares",
}
Answer = tuple[float, float, float]


def read(fleet: known.Fleet, rng: np.random.Generator, fixed: bool) -> Any:
    """A log of the fleet, read by relfit from a file, as its owner would have it."""
    import relfit as rf

    frame = known.log_frame(known.history(fleet, rng, fixed=fixed), rng)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.csv")
        frame.to_csv(path, index=False)
        until = known.EPOCH + pd.Timedelta(hours=fleet.hours)
        return rf.read(
            path, population=known.population_frame(fleet), window_start=str(known.EPOCH), window_end=str(until)
        )


def asked(model: Any, log: Any) -> dict[str, Callable[[], Answer]]:
    """How a model of a log is asked for each quantity."""

    def interval(*what: Any, **how: Any) -> Callable[[], Answer]:
        def ask() -> Answer:
            result = model.interval(*what, **how, n_draws=DRAWS)
            return tuple(float(np.ravel(end)[0]) for end in (result.estimate, result.low, result.high))  # type: ignore[return-value]

        return ask

    plans: list[Any] = []

    def plan(value: str, limits: str) -> Callable[[], Answer]:
        def ask() -> Answer:
            import relfit as rf

            if not plans:
                cost = rf.jobs.Checkpoint(save="5min")
                known = rf.calibrate(log, model=model, parts=("mtbf", "mttr"))
                plans.append(rf.planning.plan_checkpoints(known, cost, "10min", level=LEVEL))
            return (float(getattr(plans[0], value)), *(float(end) for end in getattr(plans[0], limits)))  # type: ignore[return-value]

        return ask

    return {
        "mtbf": interval("mtbf", scope="node"),
        "mttf": interval("mttf"),
        "incidents": interval("incidents", "30d"),
        **{
            f"reliability {size} {place}": interval("reliability", "24h", size=size, placement=place)
            for size in known.SIZES
            for place in ("packed", "spread")
        },
        "checkpoint_every": plan("checkpoint_every", "every_limits"),
        "waste": plan("waste", "waste_limits"),
        "spares": interval("nodes_down", 0.99),
    }


def one_log(job: tuple[str, int, str, bool]) -> tuple[float, dict[str, Answer | str]]:
    """Seconds that the model took, and its answers: estimate, low, high, or why there is none."""
    name, seed, maker, fixed = job
    module, function = maker.split(":")
    rng = np.random.default_rng([11, list(known.FLEETS).index(name), seed])
    answers: dict[str, Answer | str] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        log = read(known.FLEETS[name], rng, fixed)
        begun = time.perf_counter()
        try:
            more = {"at": "long run"} if maker == STEADY else {}
            model = getattr(importlib.import_module(module), function)(log, level=LEVEL, rng=seed, **more)
        except Exception as error:
            return time.perf_counter() - begun, dict.fromkeys(SHORT, f"no model: {type(error).__name__}: {error}")
        for quantity, ask in asked(model, log).items():
            try:
                answers[quantity] = ask()
            except Exception as error:
                answers[quantity] = f"{type(error).__name__}: {error}"
    return time.perf_counter() - begun, answers


def summary(truth: float, answers: list[Answer | str], reliability: bool = False) -> dict[str, Any]:
    """Bias (of a reliability: that of its cumulative hazard), coverage, and where the intervals lie that miss.

    `none` counts the logs without an answer, `why` their reasons.
    """
    got = np.array([a for a in answers if not isinstance(a, str)], float).reshape(-1, 3)
    good = got[np.isfinite(got).all(axis=1)]
    why = Counter(a for a in answers if isinstance(a, str))
    if not len(good):
        return {"none": len(answers), "why": why, "truth": truth}
    near, middle = 1e-9 * abs(truth), float(np.median(good[:, 0]))
    below, above = good[:, 2] < truth - near, good[:, 1] > truth + near
    return {
        "truth": truth,
        "bias": float(np.log(middle) / np.log(truth) if reliability else middle / truth) - 1.0,
        "covered": float(1.0 - (below | above).mean()),
        "below": float(below.mean()),
        "above": float(above.mean()),
        "width": float(np.median(good[:, 2] - good[:, 1]) / truth),
        "none": len(answers) - len(good),
        "why": why,
    }


def cell(part: dict[str, Any]) -> str:
    if "bias" not in part:
        return "none"
    held = 100 * part["covered"]
    mark = "**" if not CLOSE[0] <= part["covered"] <= CLOSE[1] else ""
    return f"{mark}{held:.0f}{mark} ({100 * part['bias']:+.0f})"


def table(results: dict[str, dict[str, dict[str, Any]]], logs: int) -> str:
    """Markdown: coverage (and bias, both in percent) by fleet and quantity, and a list of what is off."""
    lines = [f"| fleet | {' | '.join(SHORT.values())} |", "|" + "---|" * (len(SHORT) + 1)]
    noise = 100.0 * (LEVEL * (1.0 - LEVEL) / logs) ** 0.5
    narrow, wide, dumb = [], [], []
    for name, parts in results.items():
        lines.append(f"| {name} | {' | '.join(cell(parts[q]) for q in SHORT)} |")
        for quantity, label in SHORT.items():
            part = parts[quantity]
            if part["none"]:
                reason = part["why"].most_common(1)[0][0] if part["why"] else "no limits"
                dumb.append((label, reason[:90], name, part["none"]))
            if "bias" not in part:
                continue
            held = 100 * part["covered"]
            if held < 100 * CLOSE[0] - 2 * noise:
                where = f"{100 * part['below']:.0f} % lie below the truth, {100 * part['above']:.0f} % above"
                narrow.append(
                    f"- {name}, {label}: hold {held:.0f} % ({where}); median bias {100 * part['bias']:+.1f} %"
                )
            elif held > 100 * CLOSE[1] + 2 * noise:
                wide.append(f"{name}, {label} ({held:.0f})")
    lines += ["", f"Coverage in % of {logs} logs (noise {noise:.1f} points), median bias in % in brackets."]
    lines += [
        "",
        f"Of {len(results) * len(SHORT)} cells, intervals hold less than {100 * CLOSE[0]:.0f} % beyond twice "
        f"the noise in {len(narrow)}:",
        "",
        *narrow,
    ]
    lines += ["", f"and more than {100 * CLOSE[1]:.0f} % (limits too wide) in {len(wide)}: {'; '.join(wide)}."]
    if dumb:
        lines += ["", "No answer:"]
        for label, reason in dict.fromkeys((d[0], d[1]) for d in dumb):
            where = [f"{d[2]} ({d[3]})" for d in dumb if d[:2] == (label, reason)]
            shown = ", ".join(where) if len(where) < len(results) else f"all {len(results)} fleets"
            lines.append(f"- {label}: {shown}: {reason}")
    return "\n".join(lines)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--logs", type=int, default=200)
    options.add_argument("--fleet", help="fleets whose names begin so")
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--model", default=STEADY, metavar="MODULE:FUNCTION")
    options.add_argument("--fixed", action="store_true", help="the same nodes in every log of a fleet")
    options.add_argument("--out", help="write the table here, too")
    given = options.parse_args()
    truths = json.loads(known.TRUTH.read_text())
    names = [n for n in known.FLEETS if n in truths and (not given.fleet or n.startswith(given.fleet))]
    if not names:
        sys.exit(f"no fleet {given.fleet!r}; there is {', '.join(known.FLEETS)}")
    results: dict[str, dict[str, dict[str, Any]]] = {}
    began = time.perf_counter()
    with ProcessPoolExecutor(given.processes) as pool:
        for name in names:
            jobs = [(name, seed, given.model, given.fixed) for seed in range(given.logs)]
            done = list(pool.map(one_log, jobs, chunksize=max(1, min(10, given.logs // 4))))
            results[name] = {
                q: summary(truths[name][q], [answers[q] for _, answers in done], q.startswith("reliability"))
                for q in SHORT
            }
            spent = 1000 * float(np.mean([seconds for seconds, _ in done]))
            print(f"{name}: {spent:.0f} ms per model", file=sys.stderr, flush=True)
            if given.out:  # after each fleet, since all of them take long
                Path(given.out).write_text(table(results, given.logs) + "\n")
    print(table(results, given.logs))
    print(f"\n{time.perf_counter() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
