"""Table 1 of "Sparing strategies to minimize reliability impact on large training jobs".

Slips of the paper: the last line of appendix A has wrong summation bounds; appendix B prints 1 - P^B where a job is
blocked with 1 - (1 - P)^B; equation (5) and the last line of appendix C lost the number of working blocks and their
MTBF. The table itself is computed rightly. Neither alpha of equation (10) nor the exposed communication behind 1.034
is printed. Goodput rests on CETT rounded to a hundredth of a percent and on rounded speed factors; without rounding it
is up to 0.22 % off. Printed CETT is rounded twice (67.9497 to 67.95 to 68.0), and stranded shares are what is left of
rounded ones. Figures 2 to 5 print neither values nor axes that can be read.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from papers.printed import half_unit, printed_table
from relfit.planning import (
    Cluster,
    DeviceFailures,
    Performance,
    PowerHeadroom,
    Recovery,
    Strategies,
    TensorParallel,
    evaluate_sparing,
)

__all__ = ["CLUSTER", "FAILURES", "PERFORMANCE", "RECOVERY", "STRATEGIES", "cells", "table_1"]

CLUSTER = Cluster(zones=4, racks=256, trays=36, gpus=2, group=2304, shared_racks=False)  # blocks fail independently
FAILURES = DeviceFailures(mtbf_tray=20_000, mtbf_rack=10_000, mttr=24)
RECOVERY = Recovery(checkpoint_every="250s", save="50ms", detection="60s", restart="6min")
PERFORMANCE = Performance(
    PowerHeadroom(0.228, ratio=1.09),  # not printed; these give the printed 1.034
    TensorParallel(0.204, 16),  # not printed; gives the six printed model factors
)
STRATEGIES = Strategies.of_gpus(CLUSTER, [72, 72, 36, 36, 18, 18], [72, 64, 36, 32, 18, 16])

_DIGITS = {"inter": 1, "intra": 1, "cett": 2, "hardware": 3, "model": 2}


def table_1() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Table 1 with the paper's roundings on the way, and without rounding.

    Examples
    --------
    >>> rounded, exact = table_1()
    >>> rounded["goodput"].tolist(), exact["goodput"].round(1).tolist()
    ([59821, 61134, 56110, 57330, 49912, 50307], [59816.9, 61260.6, 56221.7, 57260.2, 50024.2, 50303.7])
    """
    result = evaluate_sparing(CLUSTER, STRATEGIES, FAILURES, RECOVERY, PERFORMANCE)
    percent = {name: 100.0 * values for name, values in result.shares.items()}
    exact = pd.DataFrame(
        {
            "job": result.job_gpus,
            "inter": percent["spare_blocks"],
            "intra": percent["spare_trays"],
            "stranded": percent["stranded"],
            "cett": percent["useful"],
            "hardware": result.hardware,
            "model": result.model,
            "goodput": result.goodput,
        }
    )
    rounded = exact.assign(**{name: exact[name].round(digits) for name, digits in _DIGITS.items()})
    cett = rounded["cett"]
    rounded["cett"] = np.floor(10.0 * cett + 0.5 + 1e-9) / 10.0
    idle = 100.0 * (1.0 - exact["job"] / CLUSTER.total_gpus)
    rounded["stranded"] = (idle - rounded["inter"] - rounded["intra"]).round(1) + 0.0
    goodput = CLUSTER.total_gpus * cett / 100.0 * rounded["hardware"] * rounded["model"]
    rounded["goodput"] = goodput.round().astype(int)
    return rounded, exact


def cells() -> pd.DataFrame:
    """All 48 cells of Table 1 beside ours."""
    printed = printed_table("sparing-table-1")
    rounded, exact = table_1()
    rows = []
    for i, row in printed.iterrows():
        for name in rounded.columns:
            ours = float(rounded.loc[i, name])
            rows.append(
                {
                    "table": "1",
                    "cell": f"{row['block']}/{row['working']} {name}",
                    "printed": row[name],
                    "ours": ours,
                    "right": float(exact.loc[i, name]),
                    "agrees": abs(ours - float(row[name])) < 0.01 * half_unit(row[name]),
                    "required": True,
                    "why": "",
                }
            )
    return pd.DataFrame(rows)
