"""Does a rate hold for the quarter after? Systems of Los Alamos, the last quarter of each log held out.

Run: python benchmarks/verify_drift.py --log lanl-failures-1996-2005.csv.xz

Counts the systems whose incidents of the held-out quarter lie in the 90 % prediction interval of the model's rate
in its period, in the same widened by how the rate changed between the periods before, and in that of the forecast.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import relfit as rf
from relfit.fleet import chosen_period

LEVEL, FEWEST, DRAWS = 0.9, 30, 20_000
WAYS = ("rate", "widened", "forecast")


def drift(points: rf.screening.ChangePoints | None, hours: float, ahead: float) -> float:
    """Variance of the log rate over a time ahead, if it changes as it did between periods."""
    periods = () if points is None else points.periods
    rates = np.log([max(one.failures, 0.5) / one.exposure for one in periods])
    return float(np.square(np.diff(rates)).sum() / hours * ahead)


def holds(expected: float, variance: float, seen: int, rng: np.random.Generator) -> bool:
    """Whether the count lies within the interval of a Poisson variable whose mean is lognormal."""
    mean = expected * np.exp(np.sqrt(variance) * rng.standard_normal(DRAWS))
    low, high = np.quantile(rng.poisson(np.minimum(mean, 1e7)), [0.5 - LEVEL / 2.0, 0.5 + LEVEL / 2.0])
    return bool(low <= seen <= high)


def one_system(log: rf.FailureLog, rng: np.random.Generator) -> tuple[list[bool], float]:
    """What held in the last quarter, and the standard deviation by which the second interval is wider."""
    window = log.window
    split = window.start + (window.end - window.start) * 0.75
    early, late = log.between(None, split), log.between(split, None)
    chosen = chosen_period(early)
    ahead, seen = late.window.hours, len(rf.incidents(late))
    found = rf.fleet_model(early, chosen, at="long run", level=LEVEL).interval("incidents", ahead)
    own = (np.log(float(found.high) / float(found.low)) / 2.0 / 1.645) ** 2
    more = drift(chosen.points, early.window.hours, ahead)
    whole = rf.forecast(early, ahead, level=LEVEL).to_frame().iloc[0]
    kept = [holds(float(found.estimate), own + extra, seen, rng) for extra in (0.0, more)]
    return [*kept, bool(whole["incidents_low"] <= seen <= whole["incidents_high"])], more**0.5


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--log", type=Path, required=True)
    log, rng = rf.read(options.parse_args().log), np.random.default_rng(1)
    rows = {}
    for system in log.systems:
        mine = log.where(system=str(system))
        if len(mine.events) < FEWEST:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                held, wider = one_system(mine, rng)
            except rf.RelfitError as error:
                print(f"{system}: {error}")
                continue
        rows[str(system)] = {**dict(zip(WAYS, held, strict=True)), "wider": wider}
    table = pd.DataFrame.from_dict(rows, orient="index")
    print(table.round(2).to_string())
    print(
        f"\nheld, of {len(table)}: {table[list(WAYS)].sum().to_dict()}; median widening {table['wider'].median():.2f}"
    )


if __name__ == "__main__":
    main()
