"""The dashboard for Grafana of the metrics of `write_metrics`, as a file to import."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from relfit.base.writing import complete


def write_dashboard(path: str | Path) -> None:
    """Write the dashboard as JSON; Grafana asks for the Prometheus to use when it is imported.

    Examples
    --------
    >>> import json, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_dashboard(Path(folder, "relfit.json"))
    ...     json.loads(Path(folder, "relfit.json").read_text())["title"]
    'relfit watch'
    """
    with complete(Path(path)) as part:
        part.write_bytes(resources.files("relfit.live").joinpath("files/grafana.json").read_bytes())
