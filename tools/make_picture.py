"""The picture of the README: python tools/make_picture.py writes docs/picture.png from the bundled sample."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

import relfit as rf

PLACE = Path(__file__).resolve().parents[1] / "docs" / "picture.png"


def main() -> None:
    """Draw the failure rate with its periods, and the forecast."""
    log = rf.datasets.load("white")
    with rf.plotting.look():
        sheet = Figure(figsize=(11.0, 3.9), layout="constrained")
        left, right = sheet.subplots(1, 2)
        rf.plot(rf.change_points(log), left)
        rf.plot(rf.forecast(log), right)
        left.set_title("Incidents a day, and the period that answers rest on", loc="left")
        right.set_title("What to expect in the next 30 and 90 days", loc="left")
        sheet.savefig(PLACE, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
