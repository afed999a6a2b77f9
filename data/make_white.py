"""Make the bundled sample `white`: five hundred nodes in the image of ASC White, as a failure log.

Nothing in it is real. The shape of it follows "Reliability-aware resource allocation", section 3.2 to 3.7: 512 nodes
watched from July 2000 to October 2004, Weibull gaps whose shapes and scales spread as in Table 3.5, more failures in
the first 27 months (Figure 3.1), three quarters of the incidents on one node, 15 % on a group of nodes in one frame,
10 % on the whole system, 72.3 % of the records put down to hardware and 13.8 % to software. Clocks are UTC.

The same seed gives the same bytes: ``python data/make_white.py`` writes into ``relfit/io/datasets/files``.
"""

from __future__ import annotations

import argparse
import lzma
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

SEED = 20000701
NODES, NODES_PER_FRAME = 512, 16
START, END, INFANCY_ENDS = pd.Timestamp("2000-07-01"), pd.Timestamp("2004-10-01"), pd.Timestamp("2002-10-01")
LEMONS = 6
LEAST_GAP_HOURS = 10 / 60
GROUP_SPAN_HOURS = 168.0

CAUSES = ("hardware", "software", "network", "facilities", "human error")
CAUSE_SHARES = {  # of the incidents that hit one node, a group, the system
    "node": (0.794, 0.117, 0.037, 0.012, 0.040),
    "group": (0.655, 0.150, 0.112, 0.063, 0.020),
    "system": (0.420, 0.260, 0.120, 0.140, 0.060),
}
REPAIRS = {  # median hours and standard deviation of the logarithm
    "hardware": (1.9, 1.05),
    "software": (0.7, 1.25),
    "network": (1.3, 1.00),
    "facilities": (3.0, 0.90),
    "human error": (0.5, 0.95),
}
DETAILS = {
    "hardware": (("memory", 34), ("processor", 24), ("disk", 18), ("node board", 14), ("power supply", 10)),
    "software": (("parallel file system", 40), ("operating system", 34), ("scheduler", 16), ("message passing", 10)),
    "network": (("switch", 55), ("cable", 30), ("adapter", 15)),
    "facilities": (("power", 65), ("cooling", 35)),
    "human error": (("wrong command", 60), ("wrong cable", 40)),
}


def node_parameters(rng: np.random.Generator) -> pd.DataFrame:
    """Frame, Weibull shape and Weibull scale (hours) of every node; the moments are those of Table 3.5."""
    rank = (np.arange(NODES) + 0.5) / NODES
    shape = 0.4659 + (1.582 - 0.4659) * stats.beta(1.22, 2.46).ppf(rank)
    shape[[0, -1]] = 0.4659, 1.582
    scale = 520.0 + (5107.0 - 520.0) * stats.beta(0.48, 0.89).ppf(rank)
    scale[:LEMONS] = np.linspace(323.4, 352.0, LEMONS)
    scale[-1] = 5107.0
    shape, scale = rng.permutation(shape), rng.permutation(scale)
    # an outlier node fails at a steady pace: shapes near 0.8, exchanged with those of other nodes
    outliers = np.flatnonzero(scale < 400.0)
    steady = np.argsort(np.abs(shape - 0.8) + 10.0 * (scale < 400.0))[:LEMONS]
    shape[outliers], shape[steady] = shape[steady], shape[outliers]
    number = np.arange(NODES)
    return pd.DataFrame(
        {
            "node": [f"n{i:03d}" for i in number],
            "rack": [f"frame{1 + i // NODES_PER_FRAME:02d}" for i in number],
            "shape": shape,
            "scale": scale,
        }
    )


def operational_clock() -> tuple[np.ndarray, np.ndarray]:
    """Hours since the start, and the operational hours by then: how fast the fleet wears at each hour of the log."""
    hours = np.arange(int((END - START) / pd.Timedelta(hours=1)))
    when = START + pd.to_timedelta(hours, unit="h")
    infancy = (INFANCY_ENDS - START) / pd.Timedelta(hours=1)
    settling = 1.0 / (1.0 + np.exp((hours - infancy) / 200.0))
    rate = 1.0 + settling * (0.75 + 1.1 * np.exp(-hours / 4000.0))
    rate *= 1.0 + 0.18 * np.cos((when.hour.to_numpy() - 14) * np.pi / 12.0)
    rate *= np.where(when.day_of_week.to_numpy() >= 5, 0.82, 1.07)
    operational = np.concatenate([[0.0], np.cumsum(rate)])
    return np.append(hours, hours.size).astype(float), operational * hours.size / operational[-1]


def node_failures(nodes: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Node number and hour of every failure: Weibull renewals on the operational clock."""
    hours, operational = operational_clock()
    shape, scale = nodes["shape"].to_numpy()[:, None], nodes["scale"].to_numpy()[:, None]
    gaps = scale * rng.weibull(1.0, (NODES, 400)) ** (1.0 / shape)
    instants = np.cumsum(gaps, axis=1)
    if instants[:, -1].min() < operational[-1]:
        raise SystemExit("a node has more failures than were drawn")
    node, number = np.nonzero(instants < operational[-1])
    return pd.DataFrame({"node": node, "hour": np.interp(instants[node, number], operational, hours)})


def join_groups(failures: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Let failures that are close in time in one frame happen at once, until one incident in six is a group's."""
    table = failures.assign(frame=failures["node"] // NODES_PER_FRAME).sort_values(["frame", "hour"], ignore_index=True)
    sizes = rng.choice([1, 2, 3, 4, 6], len(table), p=[0.36, 0.36, 0.16, 0.09, 0.03])
    block = np.repeat(np.arange(sizes.size), sizes)[: len(table)]
    grouped = table.assign(block=block).groupby("block")
    summary = grouped.agg(
        size=("node", "size"),
        different=("node", "nunique"),
        frames=("frame", "nunique"),
        first=("hour", "min"),
        last=("hour", "max"),
    )
    possible = summary[
        (summary["size"] > 1)
        & (summary["different"] == summary["size"])
        & (summary["frames"] == 1)
        & (summary["last"] - summary["first"] < GROUP_SPAN_HOURS)
    ]
    order = rng.permutation(possible.index.to_numpy())
    saved = np.cumsum(summary.loc[order, "size"].to_numpy() - 1)
    enough = np.arange(1, order.size + 1) * 6 >= len(table) - saved
    chosen = order[: int(np.argmax(enough)) + 1] if enough.any() else order
    joined = np.isin(block, chosen)
    hour = np.where(
        joined, summary["first"].to_numpy()[np.searchsorted(summary.index.to_numpy(), block)], table["hour"]
    )
    incident = np.where(joined, block, len(table) + np.arange(len(table)))
    return pd.DataFrame(
        {"node": table["node"], "hour": hour, "incident": incident, "scope": np.where(joined, "group", "node")}
    )


def with_system_incidents(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Add the incidents that stop the whole system: one in ten, without a node."""
    hours, operational = operational_clock()
    count = round(table["incident"].nunique() / 9)
    hour = np.interp(np.sort(rng.uniform(0.0, operational[-1], count)), operational, hours)
    first = int(table["incident"].max()) + 1
    system = pd.DataFrame({"node": -1, "hour": hour, "incident": first + np.arange(count), "scope": "system"})
    return pd.concat([table, system], ignore_index=True)


def pick(values: tuple[str, ...], shares: tuple[float, ...], count: int, rng: np.random.Generator) -> np.ndarray:
    """`count` values in exactly these shares, as far as whole numbers allow, in random order."""
    edges = np.round(np.cumsum(shares) / np.sum(shares) * count).astype(int)
    return rng.permutation(np.repeat(np.array(values, dtype=object), np.diff(edges, prepend=0)))


def describe_incidents(table: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Give every incident a cause and a detail, and every record of it a repair time in hours."""
    incidents = table.drop_duplicates("incident")[["incident", "scope"]].reset_index(drop=True)
    incidents["cause"] = ""
    for scope, shares in CAUSE_SHARES.items():
        rows = incidents["scope"] == scope
        incidents.loc[rows, "cause"] = pick(CAUSES, shares, int(rows.sum()), rng)
    incidents["detail"] = ""
    for cause, details in DETAILS.items():
        rows = incidents["cause"] == cause
        names, weights = zip(*details, strict=True)
        incidents.loc[rows, "detail"] = pick(names, weights, int(rows.sum()), rng)
    table = table.merge(incidents[["incident", "cause", "detail"]], on="incident")
    median = table["cause"].map({c: m for c, (m, _) in REPAIRS.items()}).to_numpy(float)
    spread = table["cause"].map({c: s for c, (_, s) in REPAIRS.items()}).to_numpy(float)
    return table.assign(repair=median * np.exp(spread * rng.standard_normal(len(table))))


def on_the_clock(table: pd.DataFrame, nodes: pd.DataFrame) -> pd.DataFrame:
    """Records to the minute: no node fails again while it is down, and one that is down at the end has no end."""
    table = table.assign(minute=np.floor(table["hour"] * 60)).sort_values(["node", "minute"], ignore_index=True)
    of_node = table["node"] >= 0
    gap = (table["minute"] - table.groupby("node")["minute"].shift()) / 60
    table = table[~(of_node & (gap < LEAST_GAP_HOURS))].reset_index(drop=True)
    alone = (table["scope"] == "group") & (table.groupby("incident")["node"].transform("size") < 2)
    table.loc[alone, "scope"] = "node"
    following = (table.groupby("node")["minute"].shift(-1) - table["minute"]).where(table["node"] >= 0)
    repair = np.maximum(np.round(table["repair"] * 60), 1)
    repair = np.fmin(repair, np.floor(0.9 * following))
    start = START + pd.to_timedelta(table["minute"], unit="min")
    end = start + pd.to_timedelta(repair, unit="min")
    name = np.append(nodes["node"].to_numpy(), "")[table["node"]]
    rack = np.append(nodes["rack"].to_numpy(), "")[table["node"]]
    events = pd.DataFrame(
        {
            "system": "white",
            "node": name,
            "start": start.dt.strftime("%Y-%m-%d %H:%M"),
            "end": end.where(end <= END).dt.strftime("%Y-%m-%d %H:%M").fillna(""),
            "cause": table["cause"],
            "detail": table["detail"],
            "scope": table["scope"],
            "rack": rack,
        }
    )
    return events.sort_values(["start", "node"], kind="stable", ignore_index=True)


def make(seed: int = SEED) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The events and the population of the sample."""
    rng = np.random.default_rng(seed)
    nodes = node_parameters(rng)
    table = with_system_incidents(join_groups(node_failures(nodes, rng), rng), rng)
    events = on_the_clock(describe_incidents(table, rng), nodes)
    population = pd.DataFrame(
        {
            "system": "white",
            "node": nodes["node"],
            "rack": nodes["rack"],
            "entered": f"{START:%Y-%m-%d %H:%M}",
            "left": f"{END:%Y-%m-%d %H:%M}",
        }
    )
    return events, population


def main() -> None:
    """Write ``white.csv.xz`` and ``white-nodes.csv``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    home = Path(__file__).resolve().parents[1] / "relfit" / "datasets" / "files"
    parser.add_argument("--out", type=Path, default=home, help="folder to write into")
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    events, population = make(given.seed)
    given.out.mkdir(parents=True, exist_ok=True)
    text = events.to_csv(index=False, lineterminator="\n").encode()
    for name, content in (
        ("white.csv.xz", lzma.compress(text, preset=9 | lzma.PRESET_EXTREME)),
        ("white-nodes.csv", population.to_csv(index=False, lineterminator="\n").encode()),
    ):
        target = given.out / name
        part = target.with_name(f".{name}.part")
        part.write_bytes(content)
        part.replace(target)
        print(target, len(content), "bytes")


if __name__ == "__main__":
    main()
