"""The report: one HTML file that a director reads on its first screen and a statistician to its end.

``report_data`` holds the results of a `Study`, ``first_screen`` and the modules of sections make the parts of the page,
``drawing`` draws figures, ``rendering`` fills the template and writes the file; ``campaign_page`` is the page of a
campaign. A newcomer adds a section: a function that returns a `Section`, and its place in ``_SECTIONS``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from relfit import __version__
from relfit.base.numeric.levels import level_checked
from relfit.base.text import count
from relfit.fitting.families import CORE, family_named
from relfit.log.failurelog import FailureLog
from relfit.log.tables import check_log
from relfit.reporting import detail_sections, fleet_sections, lifetime_report
from relfit.reporting.components import FirstScreen, Section
from relfit.reporting.drawing import drawn
from relfit.reporting.first_screen import fleet_summary
from relfit.reporting.rendering import render, write_whole
from relfit.reporting.report_data import ReportData
from relfit.study import Study

__all__ = ["report", "report_with_answer"]

_SECTIONS: dict[str, Callable[[ReportData], Section | str]] = {
    "what if": detail_sections.questions,
    "periods": fleet_sections.steady,
    "interruptions": fleet_sections.interruptions,
    "systems": fleet_sections.systems,
    "nodes": fleet_sections.nodes,
    "attributes": detail_sections.attributes,
    "forecast": fleet_sections.ahead,
    "jobs": detail_sections.jobs,
    "independence": fleet_sections.independence,
    "availability": detail_sections.availability,
    "repairs": detail_sections.repairs,
    "times to failure": detail_sections.times,
}


def _parts(data: ReportData, say: Callable[[str, float], None] | None) -> Iterator[FirstScreen | Section | str]:
    """The first screen and the sections; the reason in place of a section that the log cannot fill."""
    if data.log.lifetimes is not None:
        yield lifetime_report.lifetime_summary(data)
        yield from lifetime_report.sections(data)
        return
    pages: dict[str, Callable[[ReportData], FirstScreen | Section | str]] = {"first screen": fleet_summary, **_SECTIONS}
    for i, (about, part) in enumerate(pages.items()):
        if say is not None:
            say(about, i / len(pages))
        yield part(data)


def _until(log: FailureLog) -> str:
    """To when the data reach, for the head of the page; empty without dates."""
    end = log.window.end
    if log.undated:
        return ""
    return f"data to {end.day} {end:%B %Y}" if end == end else "data to an unknown date"


def report(
    log: FailureLog | Study,
    path: str | Path,
    *,
    period: str | tuple[object, object] = "stable",
    first: str = "known",
    families: Sequence[str] | None = None,
    level: float = 0.95,
    title: str | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> Path:
    """Write the report of a failure log: one self-contained HTML file, complete or absent.

    Parameters
    ----------
    log : FailureLog or Study
        Several systems are compared; lifetimes without repair have a report of their own kind. A `Study` has its own
        period, `first` and level: those below are then not used.
    path : str or Path
        The file to write.
    period : {"stable", "all"} or tuple
        The part of the log to use, as for `relfit.fleet_model`; the report's first line names it.
    first : {"known", "always", "never"}
        The time before a place's first incident, as for `FailureLog.ttf`.
    families : sequence of str, optional
        Distributions to fit; by default those of `relfit.fitting.families.CORE`.
    level : float
        Level of the intervals.
    title : str, optional
        Heading; by default the system and its number of nodes.
    progress : callable, optional
        Called as ``progress(subject, share_done)`` before each part of a fleet's page.

    Returns
    -------
    pathlib.Path
        `path`.

    Raises
    ------
    ArgumentError
        For an unknown distribution or period, a level outside 0..1, or a file that cannot be written.

    Examples
    --------
    >>> import tempfile, relfit as rf
    >>> log = rf.datasets.load("white").where(rack="frame01").between("2004-08-01", "2004-09-01")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = report(log, Path(folder, "report.html"), families=["exponential", "weibull"])
    ...     written.name, written.stat().st_size > 50_000
    ('report.html', True)
    """
    if not isinstance(log, Study):
        check_log(log)
    level_checked(level)
    study = log if isinstance(log, Study) else Study(log, period, first=first, level=level)
    return report_with_answer(study, path, families, title, progress)[1]


def report_with_answer(
    study: Study,
    path: str | Path,
    families: Sequence[str] | None = None,
    title: str | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> tuple[str, Path]:
    """As `report`, of a study; the first sentence of the page, and its file."""
    names = tuple(family_named(name).name for name in (families if families is not None else CORE))
    log, data = study.log, ReportData(study, names)
    parts = list(_parts(data, progress))
    figures = [figure for part in parts if not isinstance(part, str) for figure in part.figures]
    sections = [part for part in parts if isinstance(part, Section)]
    sections += [detail_sections.data(data), detail_sections.methods(data, {section.key for section in sections})]
    missing = [part for part in parts if isinstance(part, str) and part]
    systems = log.systems
    name = f"System {systems[0]}" if len(systems) == 1 else count(len(systems), "system")
    name = "Failure log" if name == "System system" else name  # of a log that names no system
    answer = next(part.sentence for part in parts if isinstance(part, FirstScreen))
    page = render(
        title=title or f"{name}: {count(log.n_nodes, 'node' if log.lifetimes is None else lifetime_report.noun(log))}",
        subtitle=data.chosen.headline,
        until=_until(log),
        first=parts[0],
        sections=sections,
        left_out=f"Left out, since this log has no answer: {'; '.join(missing)}." if missing else "",
        version=__version__,
        zone=log.source.timezone,
        pictures={figure.key: drawn(figure) for figure in figures},
    )
    return answer, write_whole(Path(path), page)
