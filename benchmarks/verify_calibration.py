"""Do intervals of calibrated parameters cover? Logs are simulated from known parameters, calibrated, and drawn from.

    python benchmarks/verify_calibration.py [--logs 1000] [--seed 1]

A table: for every setting, the share of logs whose 90 % interval from draws contains the truth.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import relfit as rf
from relfit.fleet.calibration import draw_parameters
from relfit.simulation import simulate_log

SETTINGS = {
    # name: (parameters, nodes, racks, span in hours, parts)
    "large, exponential": ({"mtbf": {"node": 20000, "rack": 10000}, "mttr": 24}, 1152, 32, 8766.0),
    "small, exponential": ({"mtbf": {"node": 5000, "rack": 8000}, "mttr": 12}, 72, 4, 4000.0),
    "few failures": ({"mtbf": {"node": 20000, "rack": 20000}, "mttr": 24}, 36, 2, 4383.0),
    "quick and slow": (
        {"mtbf": {"node": 5000, "rack": 10000}, "mttr": {"quick": 2, "slow": 48, "share_quick": 0.8}},
        576,
        16,
        8766.0,
    ),
    "lognormal repairs": (
        {
            "mtbf": {"node": 5000, "rack": 10000},
            "repair": {"family": "lognormal", "parameters": {"meanlog": 1.0, "sdlog": 1.2}},
        },
        288,
        8,
        8766.0,
    ),
    "weibull times to failure": (
        {"failure": {"family": "weibull", "parameters": {"shape": 0.7, "scale": 2000.0}}, "mttr": 6},
        200,
        0,
        8766.0,
    ),
}


def truths(parameters: rf.Parameters) -> dict[str, float]:
    found = {name: value for name, value in parameters.values().items() if not name.startswith("repair")}
    if parameters.repair is not None:
        found["mttr.mean"] = float(parameters.repair.distribution().mean())
    if {"mtbf.node", "mtbf.rack"} <= found.keys():
        found["mtbf.outage"] = 1.0 / (1.0 / found["mtbf.node"] + 1.0 / found["mtbf.rack"])
    return found


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--logs", type=int, default=1000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only")
    given = options.parse_args()
    for setting, (known, nodes, racks, span) in SETTINGS.items():
        if given.only and given.only not in setting:
            continue
        parameters = rf.Parameters(**known)
        parts = ["mtbf", "mttr"]
        parts += ["families"] if parameters.failure is not None else []
        parts += ["repair_kinds"] if parameters.mttr.quick is not None else []
        truth = truths(parameters)
        hits: dict[str, list[bool]] = {}
        spent = 0.0
        for seed in np.random.SeedSequence(given.seed).spawn(given.logs):
            rng = np.random.default_rng(seed)
            log = simulate_log(parameters, span, nodes=nodes, racks=racks, rng=rng)
            before = time.perf_counter()
            family = ("weibull",) if parameters.failure is not None else ("exponential",)
            found = rf.calibrate(log, parts=parts, families=family, at="long run")
            spent += time.perf_counter() - before
            drawn = draw_parameters(found, 2000, rng)
            if "mttr.quick" in drawn:  # the mean of all repairs that the parts imply
                share = drawn["mttr.share_quick"]
                implied = share * drawn["mttr.quick"] + (1.0 - share) * drawn["mttr.slow"]
                low, high = np.quantile(implied, [0.05, 0.95])
                hits.setdefault("mean of parts", []).append(low <= truth["mttr.mean"] <= high)
            for name, value in truth.items():
                if name in drawn:
                    low, high = drawn.interval(name, 0.9)
                    hits.setdefault(name, []).append(low <= value <= high)
        print(f"{setting}: {nodes} nodes, {racks} racks, {span:.0f} h; {1000 * spent / given.logs:.1f} ms per log")
        for name, seen in hits.items():
            print(f"  {name:18s} {truth.get(name, np.nan):10.4g}  {100 * np.mean(seen):5.1f} %  of {len(seen)}")


if __name__ == "__main__":
    main()
