"""The picture of the README and of the site: python tools/make_picture.py draws it from the bundled sample.

docs/picture.png has two panels side by side; docs/site/static/picture-narrow.png has one above the other, which
docs/site/static/relfit.css shows on phones.
"""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure

import relfit as rf

DOCS = Path(__file__).resolve().parents[1] / "docs"
SHEETS = {
    DOCS / "picture.png": ((11.0, 3.9), (1, 2), 110),
    DOCS / "site" / "static" / "picture-narrow.png": ((4.8, 7.0), (2, 1), 180),
}
"""File, width and height (inches), rows and columns of panels, dots per inch."""


def main() -> None:
    """Draw the failure rate with its periods, and the forecast."""
    log = rf.datasets.load("white")
    changes, forecast = rf.change_points(log), rf.forecast(log)
    for path, (size, panels, dpi) in SHEETS.items():
        with rf.plotting.look():
            sheet = Figure(figsize=size, layout="constrained")
            past, future = sheet.subplots(*panels)
            rf.plot(changes, past)
            rf.plot(forecast, future)
            past.set_title("Incidents per day; shaded: the period used", loc="left")
            future.set_title("Failures to expect in 30 and 90 days", loc="left")
            sheet.savefig(path, dpi=dpi, metadata={"Software": None})


if __name__ == "__main__":
    main()
