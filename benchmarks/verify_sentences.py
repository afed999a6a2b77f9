"""Are the report's sentences true? Logs of known kind from `fleets.py`; how often each sentence is said, and false.

    python benchmarks/verify_sentences.py [--logs 30]

A sentence is false where the fleet is not what it says: "the rate changed" of a fleet whose rate did not, and so on.
Where a sentence is right of a kind, the share that it is said in is its power.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parent))

import fleets as known
import numpy as np
import pandas as pd

BASE: dict[str, Any] = {"nodes": 128, "life": 2000.0}  # some 560 failures in a year
KINDS: dict[str, tuple[dict[str, Any], set[str]]] = {
    # a kind: what the fleet is made of, and the sentences that are true of it
    "steady": ({}, set()),
    "few failures": ({"life": 30_000.0}, set()),
    "improving": ({"better": 0.5}, {"the rate changed"}),
    "ageing": ({"shape": 0.6}, {"the failure rate of a node changes with its age"}),
    "unequal nodes": ({"spread": 1.0}, {"nodes differ", "nodes stand out"}),
    "racks": ({"rack": 1500.0}, {"nodes fail together", "the system's failures are not steady"}),
    "whole-system outages": ({"system": 200.0}, {"whole-system outages cost the time"}),
}
SENTENCES = (
    "the rate changed", "nodes differ", "nodes stand out", "the failure rate of a node changes with its age",
    "nodes fail together", "times to failure of a node depend on each other", "the system's failures are not steady",
    "the model fails", "whole-system outages cost the time",
)  # fmt: skip


def said(log: Any) -> set[str]:
    """The sentences of the report of a log."""
    from relfit.reporting.report_data import ReportData

    m = ReportData.of(log, "stable", 0.95, ("exponential", "weibull", "gamma", "lognormal"))
    found = set()
    if m.firm("steady"):
        found.add(SENTENCES[0])
    if m.firm("alike"):
        found.add(SENTENCES[1])
        nodes = m.outlier_nodes.result
        if nodes is not None and len(nodes.outliers):
            found.add(SENTENCES[2])
    if m.firm("ageing"):
        found.add(SENTENCES[3])
    answers = m.dependence.result
    if answers is not None:
        for sentence, parts in zip(
            SENTENCES[4:7],
            (("correlation", "cofailure", "place"), ("serial",), ("pooled", "dispersion", "cycles")),
            strict=True,
        ):
            if any(getattr(answers, part) is not None and answers.depends(part) for part in parts):
                found.add(sentence)
    if m.replay.result is not None and m.replay.result.fails:
        found.add(SENTENCES[7])
    up = m.availability.result
    if up is not None and up.system_down_hours.sum() > 0.5 * up.down_hours.sum():
        found.add(SENTENCES[8])
    return found


def one(kind: str, seed: int) -> set[str]:
    """What is said of one log of a kind."""
    import relfit as rf

    fleet = known.Fleet(**{**BASE, **KINDS[kind][0], "name": kind})
    rng = np.random.default_rng([seed, *kind.encode()])
    frame = known.log_frame(known.history(fleet, rng, fixed=False), rng)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.csv")
        frame.to_csv(path, index=False)
        until = known.EPOCH + pd.Timedelta(hours=fleet.hours)
        return said(
            rf.read(
                path, population=known.population_frame(fleet), window_start=str(known.EPOCH), window_end=str(until)
            )
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=30)
    logs = parser.parse_args().logs
    warnings.simplefilter("ignore")
    print(f"{logs} logs of each kind: share in which a sentence is said; (true) where it is right of the kind\n")
    print("| kind | " + " | ".join(SENTENCES) + " | any false |")
    print("|---|" + "---|" * (len(SENTENCES) + 1), flush=True)
    for kind, (_, true) in KINDS.items():
        found = [one(kind, seed) for seed in range(logs)]
        cells = [
            f"{100 * np.mean([sentence in each for each in found]):.0f} %{' (true)' if sentence in true else ''}"
            for sentence in SENTENCES
        ]
        false = np.mean([bool(each - true) for each in found])
        print(f"| {kind} | " + " | ".join(cells) + f" | {100 * false:.0f} % |", flush=True)


if __name__ == "__main__":
    main()
