"""Tables 1 to 7 of "Checkpointing or migration": every printed cell, ours by the same conventions, and the right one.

Conventions that reproduce the printed cells: a month of 210 days and a year of 2520 (the factor of the week was
kept); in the columns of sequential jobs the spares are taken off twice; in Table 7 D + R of two minutes and a year of
360 days. The spares of Tables 1 to 6 all agree with the binomial law but one, 2786 for 2785 (mu of a day, N = 2**20,
risk 1e-6, in Tables 1 to 4): Poisson's approximation gives all that are printed, and so does the binomial law when
its factorials are summed logarithm by logarithm in double precision, which loses 1.7e-8 of the probability where 1e-6
is asked for. The percentages of parallel jobs agree to 5 in 100 000 of the throughput (0.10 points of 2080), those of
sequential jobs to the last digit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from relfit.errors import ArgumentError
from relfit.planning.checkpointing.exponential_failures import first_order_best_waste
from relfit.planning.migration.break_even import SCENARIOS, compare_throughputs, job_mix

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RISKS", "table", "tables"]

RISKS = (1e-4, 1e-6)
_PRINTED_DAYS = {"day": 1.0, "week": 7.0, "month": 210.0, "year": 2520.0}
_DAYS = {"day": 1.0, "week": 7.0, "month": 30.0, "year": 365.0}

# table, mu, log2 N, percent sequential and parallel at either risk, spares at either risk
_CELLS = """
1 day 14 2.75 2.65 2081.37 2080.30 65 73
1 day 17 2.96 2.93 2760.06 2759.62 386 406
1 day 20 3.03 3.02 3200.37 3200.20 2732 2786
1 week 14 0.31 0.27 1196.77 1196.45 16 20
1 week 17 0.40 0.39 2158.28 2158.15 73 81
1 week 20 0.43 0.42 2824.48 2824.42 437 458
1 month 14 -0.02 -0.04 136.28 136.25 3 5
1 month 17 0.00 0.00 609.60 609.59 8 10
1 month 20 0.01 0.01 1575.36 1575.35 27 32
1 year 14 -0.02 -0.02 14.81 14.81 2 2
1 year 17 -0.00 -0.00 97.57 97.57 3 4
1 year 20 0.00 -0.00 471.29 471.29 6 9
2 day 14 0.34 0.25 773.24 772.81 65 73
2 day 17 0.55 0.52 995.63 995.46 386 406
2 day 20 0.62 0.61 1131.29 1131.23 2732 2786
2 week 14 -0.03 -0.08 458.73 458.59 16 20
2 week 17 0.05 0.04 796.68 796.63 73 81
2 week 20 0.08 0.08 1012.44 1012.42 437 458
2 month 14 -0.03 -0.06 50.04 50.02 3 5
2 month 17 -0.01 -0.01 236.64 236.64 8 10
2 month 20 0.00 -0.00 595.00 595.00 27 32
2 year 14 -0.02 -0.02 4.86 4.86 2 2
2 year 17 -0.00 -0.01 35.06 35.06 3 4
2 year 20 -0.00 -0.00 182.61 182.61 6 9
3 day 14 -0.00 -0.10 563.73 563.40 65 73
3 day 17 0.21 0.17 719.04 718.91 386 406
3 day 20 0.27 0.26 811.69 811.64 2732 2786
3 week 14 -0.08 -0.13 337.65 337.55 16 20
3 week 17 0.00 -0.01 580.07 580.03 73 81
3 week 20 0.03 0.03 730.30 730.28 437 458
3 month 14 -0.03 -0.06 35.92 35.90 3 5
3 month 17 -0.01 -0.01 174.29 174.28 8 10
3 month 20 -0.00 -0.00 436.32 436.32 27 32
3 year 14 -0.02 -0.02 3.40 3.40 2 2
3 year 17 -0.00 -0.01 25.00 25.00 3 4
3 year 20 -0.00 -0.00 134.17 134.17 6 9
4 day 14 -0.48 -0.58 245.48 245.31 65 73
4 day 17 -0.28 -0.31 306.01 305.95 386 406
4 day 20 -0.21 -0.22 339.91 339.89 2732 2786
4 week 14 -0.15 -0.20 150.13 150.07 16 20
4 week 17 -0.07 -0.08 252.08 252.06 73 81
4 week 20 -0.04 -0.04 310.19 310.18 437 458
4 month 14 -0.04 -0.06 14.76 14.75 3 5
4 month 17 -0.01 -0.01 76.90 76.90 8 10
4 month 20 -0.00 -0.00 192.75 192.75 27 32
4 year 14 -0.02 -0.02 1.33 1.33 2 2
4 year 17 -0.00 -0.01 10.15 10.15 3 4
4 year 20 -0.00 -0.00 58.63 58.63 6 9
5 day 14 -0.21 -0.27 131.39 131.32 30 35
5 day 17 -0.08 -0.10 161.38 161.35 155 168
5 day 20 -0.04 -0.05 177.39 177.38 1024 1056
5 week 14 -0.09 -0.12 80.95 80.92 9 12
5 week 17 -0.03 -0.04 134.46 134.45 33 39
5 week 20 -0.01 -0.01 163.10 163.10 174 188
5 month 14 -0.02 -0.04 7.52 7.51 2 3
5 month 17 -0.01 -0.01 40.93 40.93 5 7
5 month 20 -0.00 -0.00 103.70 103.70 14 17
5 year 14 -0.01 -0.02 0.67 0.66 1 2
5 year 17 -0.00 -0.00 5.14 5.14 2 3
5 year 20 -0.00 -0.00 30.95 30.95 4 6
6 day 14 -0.41 -0.47 -47.52 -47.54 30 35
6 day 17 -0.28 -0.30 -55.58 -55.58 155 168
6 day 20 -0.24 -0.25 -58.81 -58.81 1024 1056
6 week 14 -0.12 -0.15 -28.92 -28.94 9 12
6 week 17 -0.06 -0.07 -48.25 -48.25 33 39
6 week 20 -0.04 -0.04 -55.84 -55.84 174 188
6 month 14 -0.02 -0.04 -2.25 -2.25 2 3
6 month 17 -0.01 -0.01 -13.47 -13.48 5 7
6 month 20 -0.00 -0.00 -37.62 -37.62 14 17
6 year 14 -0.01 -0.02 -0.20 -0.21 1 2
6 year 17 -0.00 -0.00 -1.52 -1.52 2 3
6 year 20 -0.00 -0.00 -9.91 -9.91 4 6
"""

# log2 N, percent yield at mu of a month and of a year
_YIELDS = ((8, 90.8, 97.5), (11, 69.9, 92.6), (14, 13.5, 76.3), (17, 1.7, 22.1), (20, 0.2, 2.8))


def table(number: int) -> pd.DataFrame:
    """One of the tables, a row a printed cell.

    Parameters
    ----------
    number : int
        1 to 7.

    Returns
    -------
    pandas.DataFrame
        Tables 1 to 6: ``table``, ``scenario``, ``mtbf`` (of a node), ``nodes``, ``jobs``, ``risk``; ``printed``,
        ``ours`` (under the printed conventions) and ``corrected`` percentages of improvement; ``spares_printed``,
        ``spares_ours`` (Poisson), ``spares_exact`` (binomial) and ``spares_corrected``; ``agrees``, whether ours
        rounds to what is printed; ``deviation``, ours less printed, in points. Table 7: ``yield`` columns instead, in
        percent.

    Raises
    ------
    ArgumentError
        For another number.

    Examples
    --------
    >>> first = table(1)
    >>> first.loc[0, ["printed", "ours", "corrected"]].astype(float).round(2).tolist()
    [2.75, 2.75, 3.16]
    """
    import pandas as pd

    if number == 7:
        return pd.DataFrame(_seventh())
    if number not in range(1, 7):
        raise ArgumentError(f"there is no table {number}", remedy="1 to 7")
    rows = []
    name, scenario = list(SCENARIOS.items())[number - 1]
    for line in _CELLS.strip().splitlines():
        cells = line.split()
        if int(cells[0]) != number:
            continue
        mtbf, nodes = cells[1], 2 ** int(cells[2])
        for j, (jobs, risk) in enumerate((jobs, risk) for jobs in ("sequential", "parallel") for risk in RISKS):
            parallel = jobs == "parallel"
            hours, right = 24.0 * _PRINTED_DAYS[mtbf], 24.0 * _DAYS[mtbf]
            same = compare_throughputs(
                scenario, nodes, hours, risk, parallel=parallel, spares_twice=True, method="poisson"
            )
            exact = compare_throughputs(scenario, nodes, hours, risk, parallel=parallel)
            better = compare_throughputs(scenario, nodes, right, risk, parallel=parallel)
            ours, printed = 100.0 * float(same.improvement), float(cells[3 + j])
            rows.append(
                {
                    "table": number,
                    "scenario": name,
                    "mtbf": f"1 {mtbf}",
                    "nodes": nodes,
                    "jobs": jobs,
                    "risk": risk,
                    "printed": printed,
                    "ours": ours,
                    "corrected": 100.0 * float(better.improvement),
                    "spares_printed": int(cells[7 + j % 2]),
                    "spares_ours": int(same.spares),
                    "spares_exact": int(exact.spares),
                    "spares_corrected": int(better.spares),
                    "agrees": abs(ours - printed) <= 0.005 + 1e-9,
                    "deviation": ours - printed,
                }
            )
    return pd.DataFrame(rows)


def tables() -> pd.DataFrame:
    """Tables 1 to 6, one under the other."""
    import pandas as pd

    return pd.concat([table(number) for number in range(1, 7)], ignore_index=True)


# ---------------------------------------------------------------------- details


def _seventh() -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for power, *printed in _YIELDS:
        mix = job_mix(2**power)
        for mtbf, value, days, right in zip(("month", "year"), printed, (30.0, 360.0), (30.0, 365.0), strict=True):

            def percent(mean: float, both: float, mix: object = mix) -> float:
                waste = first_order_best_waste(mean * 24.0 / mix.sizes, 1.0 / 60.0, both / 60.0)  # type: ignore[attr-defined]
                return 100.0 * float((mix.node_shares * (1.0 - waste)).sum())  # type: ignore[attr-defined]

            ours = percent(days, 2.0)
            rows.append(
                {
                    "table": 7,
                    "mtbf": f"1 {mtbf}",
                    "nodes": 2**power,
                    "yield_printed": value,
                    "yield_ours": ours,
                    "yield_corrected": percent(right, 2.0),
                    "yield_by_caption": percent(right, 1.0),
                    "agrees": bool(np.abs(ours - value) <= 0.05 + 1e-9),
                    "deviation": ours - value,
                }
            )
    return rows
