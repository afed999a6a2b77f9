"""The report: one HTML file that a reliability engineer can hand on.

`report_data` and `analyses` compute, the modules of sections say and show, `drawing` makes pictures, `rendering` fills
the template and writes the file.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from relfit import __version__
from relfit.failurelog import FailureLog
from relfit.reporting.event_sections import by_time, causes, clock, data, heading, key_figures, summary
from relfit.reporting.fit_sections import chosen, comparison, distributions, means
from relfit.reporting.independence_sections import incidents_section, independence, nodes_section
from relfit.reporting.method_notes import methods
from relfit.reporting.rendering import render, write_whole
from relfit.reporting.report_data import collect
from relfit.reporting.time_sections import availability_section, repairs_section, steady, validation_section

__all__ = ["report"]


def report(
    log: FailureLog,
    path: str | Path,
    *,
    families: Sequence[str] | None = None,
    per: str = "node",
    level: float = 0.95,
    nodes: Sequence[Any] | None = None,
    title: str | None = None,
    censor: bool = True,
) -> Path:
    """Write the report of a failure log: one self-contained HTML file, complete or absent.

    Parameters
    ----------
    log : FailureLog
    path : str or Path
        The file to write.
    families : sequence of str, optional
        Families to fit; those of `relfit.fit` when left out.
    per : str
        What the tables of mean times and the comparison are about: ``"node"``, ``"system"`` or a column.
    level : float
        Level of the intervals.
    nodes : sequence, optional
        Nodes (or groups of `per`) to show one by one; those with the most failures when left out. A node is named by
        itself or as ``"system/node"``.
    title : str, optional
        Head of the report.
    censor : bool
        As in `FailureLog.lives`.

    Returns
    -------
    pathlib.Path
        `path`.

    Raises
    ------
    ArgumentError
        For an unknown family, column, level or node, or a file that cannot be written.

    Examples
    --------
    >>> import tempfile, relfit as rf
    >>> log = rf.datasets.load("white").between("2004-08-01", "2004-09-01")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = report(log, Path(folder, "report.html"), families=["exponential", "weibull"])
    ...     written.name, written.stat().st_size > 100_000
    ('report.html', True)
    """
    material = collect(log, families, per, level, nodes, censor)
    sections = [
        by_time(material),
        steady(material),
        causes(material),
        incidents_section(material),
        nodes_section(material),
        independence(material),
        clock(material),
        distributions(material),
        repairs_section(material),
        availability_section(material),
        validation_section(material),
        chosen(material),
        comparison(material),
        means(material),
        data(material),
        methods(material),
    ]
    sentences, warnings = summary(material)
    name, subtitle = heading(material, title)
    page = render(
        title=name,
        subtitle=subtitle,
        key_figures=key_figures(material),
        sentences=sentences,
        warnings=warnings,
        sections=sections,
        version=__version__,
    )
    return write_whole(Path(path), page)
