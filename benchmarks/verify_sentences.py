"""Are the sentences about a log true? Logs of known kind; how often each sentence is said, and false.

    python benchmarks/verify_sentences.py [--logs 30]              # the report, of logs from `fleets.py`
    python benchmarks/verify_sentences.py --moving [--logs 40]     # words on fleets whose rate moves, or does not

A sentence is false where the fleet is not what it says: "the rate changed" of a fleet whose rate did not, and so on.
Where a sentence is right of a kind, the share that it is said in is its power.

The moving fleets are made here, in plain NumPy: 96 nodes over two years, some 1 000 failures, repairs of two hours.
Age plays no part but in the Weibull renewals, all nodes share what moves (but for bad spells of single nodes), and only
bursts have nodes fail because others did.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
from math import gamma
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
    "the rate changed",
    "nodes differ",
    "nodes stand out",
    "the failure rate of a node changes with its age",
    "nodes fail together",
    "times to failure of a node depend on each other",
    "the system's failures are not steady",
    "jobs are refuted",
    "whole-system outages cost the time",
)

NODES, HOURS, FAILURES = 96, 17_520.0, 1000.0
WORDS = (
    "no change, not uneven",
    "rises or falls",
    "several periods",
    "not at a constant rate",
    "at a constant rate",
    "fail together",
    "ageing",
)
_AT_REST, _MOVES = {"no change, not uneven", "at a constant rate"}, {"not at a constant rate"}
MOVING: dict[str, set[str]] = {
    # a kind, and the words that are true of it
    "steady, equal nodes": _AT_REST,
    "Weibull renewals, 0.7": _AT_REST | {"ageing"},
    "unequal nodes": _AT_REST,
    "slow rise": _MOVES | {"rises or falls", "several periods"},
    "season": _MOVES | {"several periods"},
    "good and bad weeks": _MOVES,
    "bursts": _MOVES | {"fail together"},
    "random walk": _MOVES | {"rises or falls", "several periods"},
    "nodes with bad spells": _AT_REST | _MOVES,  # each node on its own: of the fleet little is seen
}


def said(log: Any) -> set[str]:
    """The sentences of the report of a log."""
    import relfit as rf
    from relfit.reporting.report_data import ReportData

    m = ReportData(rf.Study(log, period="stable"), ("exponential", "weibull", "gamma", "lognormal"))
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
    if m.backtest.result is not None and m.backtest.result.refuted("jobs"):
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


def moving_fleet(kind: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Node and instant (hours) of every failure."""
    t = np.arange(HOURS)
    weight = np.full(NODES, 1.0 / NODES)
    rate = np.ones(t.size)
    if kind == "Weibull renewals, 0.7":
        mean = NODES * HOURS / FAILURES
        gaps = rng.weibull(0.7, (NODES, 200)) / gamma(1.0 + 1.0 / 0.7) * mean
        at = np.cumsum(gaps, axis=1) - 20.0 * mean
        node, which = np.nonzero((at > 0.0) & (at < HOURS))
        return node, at[node, which]
    if kind == "unequal nodes":
        weight = rng.gamma(2.0, 0.5, NODES)
        weight /= weight.sum()
    elif kind == "slow rise":
        rate = np.linspace(0.5, 1.5, t.size)
    elif kind == "season":
        rate = 1.0 + 0.5 * np.sin(2.0 * np.pi * (t / 8766.0 + rng.random()))
    elif kind == "good and bad weeks":
        bad = rng.random(t.size // 168 + 1) < 0.3
        rate = np.where(bad, 3.0, 1.0)[(t // 168).astype(int)]
    elif kind == "random walk":
        days = np.cumsum(rng.normal(0.0, 0.04, t.size // 24 + 1))
        rate = np.exp(days)[(t // 24).astype(int)]
    elif kind == "nodes with bad spells":  # a tenth of the nodes at a time, for two months, ten times as often
        spell = rng.random((NODES, t.size // 1460 + 1)) < 0.1
        number = rng.poisson(FAILURES / (NODES * spell.shape[1]) / 1.9 * np.where(spell, 10.0, 1.0))
        node, part = (np.repeat(place.ravel(), number.ravel()) for place in np.indices(spell.shape))
        at = (part + rng.random(node.size)) * 1460.0
        return node[at < HOURS], at[at < HOURS]
    if kind == "bursts":  # a failure brings 0.5 others, a day later on average, anywhere in the fleet
        new = rng.random(rng.poisson(0.5 * FAILURES)) * HOURS
        at = new
        while new.size:
            new = np.repeat(new, rng.poisson(0.5, new.size))
            new = new + rng.exponential(24.0, new.size)
            at = np.append(at, new)
        at = at[at < HOURS]
    else:
        at = rng.choice(t, rng.poisson(FAILURES), p=rate / rate.sum())
        at = at + rng.random(at.size)
    return rng.choice(NODES, at.size, p=weight), at


def moving_log(kind: str, seed: int) -> Any:
    """One log of a moving fleet, read by relfit."""
    import relfit as rf

    rng = np.random.default_rng([seed, *kind.encode()])
    node, at = moving_fleet(kind, rng)
    order = np.argsort(at)
    start = known.EPOCH + pd.to_timedelta(np.round(3600.0 * at[order]), unit="s")
    end = start + pd.to_timedelta(np.round(3600.0 * rng.lognormal(0.0, 1.0, at.size)) + 60, unit="s")
    names = np.array([f"n{i:03d}" for i in range(NODES)])
    population = pd.DataFrame({"node": names})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "log.csv")
        pd.DataFrame({"node": names[node[order]], "start": start, "end": end}).to_csv(path, index=False)
        until = known.EPOCH + pd.Timedelta(hours=HOURS)
        return rf.read(path, population=population, window_start=str(known.EPOCH), window_end=str(until))


def moving_words(log: Any) -> set[str]:
    """What the commands say of one log, by their results: sentences may be worded anew."""
    from relfit.analyses.independence import dependence
    from relfit.analyses.recurrence import histories_of_incidents, trend_tests
    from relfit.analyses.screening import incidents, outlier_nodes
    from relfit.fleet import chosen_period

    chosen = chosen_period(log)
    points, joined = chosen.points, incidents(log)
    found = set()
    if len(points) == 1 and not points.uneven > 1.0:
        found.add("no change, not uneven")
    if len(points) > 1:
        found.add("several periods")
    if trend_tests(histories_of_incidents(log, joined), "all").lasting:
        found.add("rises or falls")
    answers = dependence(log, incidents=joined)
    if any(answers.depends(part) for part in ("pooled", "dispersion", "cycles")):
        found.add("not at a constant rate")
    elif any(answers.depends(part) is False for part in ("pooled", "dispersion", "cycles")):
        found.add("at a constant rate")
    if any(answers.depends(part) for part in ("correlation", "cofailure", "place")):
        found.add("fail together")
    models = outlier_nodes(log, of=joined).models
    if models.ageing[0] and not (models.moving is not None and models.moving[0]):
        found.add("ageing")
    return found


def table(kinds: dict[str, set[str]], words: tuple[str, ...], said_of: Any, logs: int) -> None:
    """Print how often each word is said of each kind."""
    print(f"{logs} logs of each kind: share in which it is said; (true) where it is right of the kind\n")
    print("| kind | " + " | ".join(words) + " | any false |")
    print("|---|" + "---|" * (len(words) + 1), flush=True)
    for kind, true in kinds.items():
        found = [said_of(kind, seed) for seed in range(logs)]
        cells = [
            f"{100 * np.mean([word in each for each in found]):.0f} %{' (true)' if word in true else ''}"
            for word in words
        ]
        false = np.mean([bool(each - true) for each in found])
        print(f"| {kind} | " + " | ".join(cells) + f" | {100 * false:.0f} % |", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=int, default=30)
    parser.add_argument("--moving", action="store_true", help="words on fleets whose rate moves")
    parser.add_argument("--only", default="", help="kinds whose name holds this")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.moving:
        kinds = {kind: true for kind, true in MOVING.items() if options.only in kind}
        table(kinds, WORDS, lambda kind, seed: moving_words(moving_log(kind, seed)), options.logs)
    else:
        kinds = {kind: true for kind, (_, true) in KINDS.items() if options.only in kind}
        table(kinds, SENTENCES, one, options.logs)


if __name__ == "__main__":
    main()
