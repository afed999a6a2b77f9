"""Append this version's line to history.csv, from what ``make bench`` printed.

Run: make bench | tee bench.txt; python benchmarks/history.py bench.txt [--replace]

One line per release: its version and date, the commit that was measured, and a column for each number below. Lower is
better in all of them, but only for lines measured on one machine. An empty cell was not measured. The lines of 0.2.0
and 0.3.0 were entered by hand, from one comparison of the two commits; 66e7760 lies before the release of 0.3.0.
"""

from __future__ import annotations

import argparse
import csv
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
HISTORY = HERE / "history.csv"

COLUMNS = {
    "startup_s": ("startup", r"relfit --help ([\d.]+) ms", 1e-3),
    "all_sizes_100k_nodes_s": ("system", r"by_size: reliability, hazard and mean for every k: ([\d.]+) s", 1.0),
    "lanl18_analyses_s": ("time", r"LANL system 18:[\s\S]*?together +([\d.]+) s wall", 1.0),
    "analyses_5m_events_s": ("time", r"simulated:[\s\S]*?together +([\d.]+) s wall", 1.0),
    "calibrate_9216_nodes_s": ("calibration", r"^ *9216(?: +[\d.]+){4} +([\d.]+)", 1e-3),
    "best_size_100k_nodes_s": ("nodes", r"RA-Opt, order over the work, 100000 nodes: ([\d.]+) s", 1.0),
    "spearman_8m_pairs_s": ("dependence", r"20 TTFs each, spearman +([\d.]+) s", 1.0),
    "fit_400k_censored_s": ("fitting", r"right-censored \(\d+% censored\): ([\d.]+) s", 1.0),
    "fit_400k_complete_s": ("fitting", r"complete \(0% censored\): ([\d.]+) s", 1.0),
    "fit_1m_groups_s": ("fleet", r"1000000 groups: +([\d.]+) s", 1.0),
    "fit_50k_left_truncated_s": ("fleet", r"left-truncated +([\d.]+) s", 1.0),
    "read_fta_ratio_pyarrow": ("reading", r"pandas, pyarrow .*relfit takes ([\d.]+) times that \(limit 2\)", 1.0),
    "fit_partitioned_s": ("partitioned", r"workers, \d+ partitions, shuffled: ([\d.]+) s", 1.0),
    "batch_130k_jobs_s": ("batch", r"rf\.simulate_batch +([\d.]+) s", 1.0),
    "training_run_ms": ("training", r"11 000 failures: ([\d.]+) ms a run", 1.0),
    "report_sample_s": ("report", r"white: report ([\d.]+) s", 1.0),
}
"""By column: the benchmark, the number in what it prints, and what the number is multiplied by."""


def measured(text: str) -> dict[str, str]:
    """Numbers of the output of ``benchmarks/run.py``, four digits each; empty where a benchmark did not print it."""
    parts = re.split(r"^== (\w+)$", text, flags=re.MULTILINE)
    outputs = dict(zip(parts[1::2], parts[2::2], strict=True))
    row = {}
    for column, (benchmark, pattern, factor) in COLUMNS.items():
        match = re.search(pattern, outputs.get(benchmark, ""), re.MULTILINE)
        row[column] = f"{float(match[1]) * factor:.4g}" if match else ""
    return row


def with_line(rows: list[dict[str, str]], line: dict[str, str], replace: bool) -> list[dict[str, str]]:
    """The lines with one more, or with one replaced.

    Raises
    ------
    SystemExit
        If the version has a line and it is not to be replaced.
    """
    if any(row["version"] == line["version"] for row in rows) and not replace:
        sys.exit(f"{line['version']} has a line in {HISTORY.name}; add --replace to measure it again")
    return [row for row in rows if row["version"] != line["version"]] + [line]


def main() -> None:
    """Read what was printed, write the line, and show it beside the one before."""
    sys.path.insert(0, str(HERE.parent))
    import relfit

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("output", type=Path, help="what make bench printed")
    parser.add_argument("--replace", action="store_true", help="replace the line that this version has")
    options = parser.parse_args()
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True, check=True
    )
    head = {"version": relfit.__version__, "date": date.today().isoformat(), "commit": commit.stdout.strip()}
    with HISTORY.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    line = {**head, **measured(options.output.read_text(encoding="utf-8"))}
    before = next((row for row in reversed(rows) if row["version"] != line["version"]), {})
    rows = with_line(rows, line, options.replace)
    with HISTORY.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [*head, *COLUMNS], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"{'':26}{before.get('version', ''):>10}{line['version']:>10}")
    for column in COLUMNS:
        print(f"{column:26}{before.get(column, ''):>10}{line[column] or 'missing':>10}")


if __name__ == "__main__":
    main()
