"""Systems of many nodes: seconds, and the ratio to a plain numpy evaluation of the same formulas.

Run: python benchmarks/bench_system.py [--nodes 100000]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

import relfit as rf


def timed(name: str, call: Callable[[], object], bound: float | None = None) -> float:
    begin = time.perf_counter()
    call()
    taken = time.perf_counter() - begin
    ratio = "" if bound is None else f", {taken / bound:.2f} of the bound ({bound:.2f} s)"
    print(f"{name}: {taken:.2f} s{ratio}", flush=True)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=100_000)
    size = parser.parse_args().nodes
    rng = np.random.default_rng(0)
    shape, scale = rng.uniform(0.4, 2.0, size), rng.lognormal(8.0, 1.0, size)
    ages = rng.uniform(0.0, 3000.0, size)
    system = rf.System(rf.families.Weibull(shape, scale), ages=ages)
    system.take(np.arange(50)).by_size("24h")  # compile

    x = np.geomspace(1e-9, 1e3, 200)

    def plain() -> None:
        # cumulative hazards of all prefixes at 200 times: what a mean by the trapezoidal rule needs at the very least
        total = np.zeros(x.size)
        for first in range(0, size, 10_000):
            b, a, t = (v[first : first + 10_000, None] for v in (shape, scale, ages))
            total = (total + np.cumsum(((t + x) / a) ** b - (t / a) ** b, axis=0))[-1]

    bound = timed(f"numpy: hazards of {size} prefixes at 200 times", plain)
    timed("by_size: reliability, hazard and mean for every k", lambda: system.by_size("24h"), bound)
    for low, high in ((0.05, 20.0), (0.05, 0.06), (19.0, 20.0)):
        wide = rf.System(rf.families.Weibull(rng.uniform(low, high, size), scale), ages=ages)
        timed(f"by_size, shapes {low} to {high}", lambda wide=wide: wide.by_size("24h"))
    for name, family in (
        ("lognormal", rf.families.Lognormal(rng.uniform(6.0, 8.0, size), rng.uniform(0.8, 2.0, size))),
        ("gamma", rf.families.Gamma(rng.uniform(0.4, 2.0, size), rng.uniform(500.0, 3000.0, size))),
    ):
        other = rf.System(family, ages=ages)
        other.take(np.arange(50)).by_size("24h")  # compile
        timed(f"by_size of {name} nodes", lambda other=other: other.by_size("24h"))
    timed("mean of all", system.mttf)
    timed("mean with 10 to spare", system.tolerating(10).mttf)
    timed("mean with 1000 to spare", lambda: system.tolerating(1000).mttf())
    timed(
        "reliability with 10 to spare at 50 times", lambda: system.tolerating(10).reliability(np.linspace(0.0, 1.0, 50))
    )
    timed("200 random times", lambda: system.sample(200, rng=1))
    timed("a day of failures, 20 times", lambda: system.sequences(until="24h", size=20, rng=1))
    fits = rf.fit(rf.LifeData.from_array(rf.families.Weibull(0.8, 1000.0).sample((4, 60), rng=1)), "weibull")
    fitted = rf.system_from_fits(fits, nodes=(np.arange(512) % 4).tolist(), ages=ages[:512])
    timed("limits of the mean of 512 nodes, 999 draws", lambda: fitted.interval("mttf"))
    timed("limits of the mean for every k up to 512, 199 draws", lambda: fitted.by_size().interval("mttf"))


if __name__ == "__main__":
    main()
