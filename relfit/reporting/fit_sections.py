"""The sections about lives: distributions, chosen nodes, comparison of families, mean times."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from relfit import plotting
from relfit.families import FAMILIES
from relfit.plotting.node_figures import group_name, node_name
from relfit.reporting.components import NOTHING, Figure, Section, Table
from relfit.reporting.drawing import draw, draw_grid
from relfit.reporting.report_data import ReportData
from relfit.results import key_columns
from relfit.text import count, number

__all__ = ["chosen", "comparison", "distributions", "means"]

_SMALL = (5.4, 5.2)


def distributions(m: ReportData) -> Section:
    """Empirical against fitted distribution functions and probability plots of the systems, and of repairs."""
    title = "How long until the next failure: the system" + ("s" if m.several_systems else "")
    if not m.largest_systems:
        return Section("distributions", title, empty="No failure was observed, so there is nothing to fit.")
    figures: list[Figure] = []
    for place, label in enumerate(m.largest_systems):
        figures.append(draw(f"cdf{place}", plotting.distributions, m.system_fits, label))
        if place == 0:
            figures.append(_papers(m, label))
    words = (
        "The lives that the source gives, taken together."
        if m.whole_lives
        else "A system's time to failure is the gap between consecutive failures of any of its nodes."
    )
    if m.several_systems:
        words += f" Shown: the {len(m.largest_systems)} systems with the most failures; the table has all."
    tables = [_fit_table("fits-by-system", "Fitted families by system", m.system_fits, sort=False)]
    empty = ""
    repaired = m.repair_fits.lives.n_failures
    if repaired.size and repaired.max() > 1:
        label = m.repair_fits.groups[int(repaired.argmax())]
        figures.append(draw("repairs", plotting.distributions, m.repair_fits, label))
        best = str(m.repair_fits.best().iloc[int(repaired.argmax())] or m.repair_fits.families[0])
        figures.append(draw("repairpaper", plotting.probability_plot, m.repair_fits, label, family=best))
        tables.append(
            _fit_table("repair-fits-by-system", "Families fitted to times to repair", m.repair_fits, sort=False)
        )
    else:
        empty = "There are no times to repair: the log does not say when outages ended."
        if m.whole_lives:
            empty = "There are no times to repair: the source gives lives, not outages."
    return Section("distributions", title, (words,), tuple(figures), tuple(tables), empty=empty)


def _papers(m: ReportData, label: Any) -> Figure:
    panels = [
        (f"{family} paper", partial(plotting.probability_plot, m.system_fits, label, family=family))
        for family in m.system_fits.families
    ]
    name = group_name(label)
    if len(panels) == 1:
        return draw("papers", panels[0][1])
    return draw_grid(
        "papers",
        f"System {name} on each family's probability paper: the straighter the points, the better the family",
        panels[:6],
        size=(5.4, 2.5 * -(-min(len(panels), 6) // 2)),
    )


def chosen(m: ReportData) -> Section:
    """The same for single nodes."""
    title = "Nodes one by one" if m.per == "node" else f"One by one, by {m.per}"
    failures = dict(zip(m.lives.groups, m.lives.n_failures, strict=True))
    usable = [label for label in m.chosen if failures[label] > 0]
    if not usable:
        return Section("chosen", title, empty="No node has enough failures (two or more) to show a distribution.")
    shown = usable[:4]
    single = not m.several_systems and m.per == "node"
    names = [
        f"{_short(node_name(label[-1]) if single else group_name(label))} ({failures[label]:,})" for label in shown
    ]
    family = "weibull" if "weibull" in m.fits.families else m.fits.families[0]
    size = (5.4, _SMALL[1] if len(shown) > 2 else 3.2)
    curves = draw_grid(
        "chosen",
        "Observed times to failure against the fitted families",
        [(n, partial(plotting.distributions, m.fits, label)) for n, label in zip(names, shown, strict=True)],
        size=size,
        legend=True,
    )
    papers = draw_grid(
        "chosenpaper",
        f"The same lives on {family} paper: points on the line mean that the family fits",
        [
            (n, partial(plotting.probability_plot, m.fits, label, family=family))
            for n, label in zip(names, shown, strict=True)
        ],
        size=size,
        legend=True,
    )
    positions = m.fits.groups.get_indexer(pd.Index(usable)).tolist()
    table = _fit_table("fits-of-chosen", "Their fits", m.fits, positions, shown=24)
    return Section("chosen", title, figures=(curves, papers), tables=(table,))


def comparison(m: ReportData) -> Section:
    """Which family fits best, and how its parameters spread."""
    title = f"Which family fits best, by {m.per}"
    compared = m.fits.compare()
    if not int(compared["best_by_aicc"].sum()):
        return Section("families", title, empty="No group has enough failures for families to be compared.")
    tables = [
        Table(
            "families-compared",
            "Groups that each family fits best, and as well as any",
            compared.reset_index(),
            {
                "family": "family",
                "fitted": "fitted",
                "best_by_aicc": "best by AICc",
                "as_good_by_aicc": "within 2 of the best AICc",
                "as_good_by_aicc_percent": "%",
                "best_by_p": "highest K-S p",
                "as_good_by_p": "K-S p > 0.05 or best",
                "as_good_by_p_percent": "% ",
            },
            note="The K-S p-values here treat fitted parameters as known and accept far too much; trust AICc.",
        )
    ]
    tested = m.fits.rejected("ad")
    if int(tested["tested"].sum()):
        tables.append(
            Table(
                "families-rejected",
                "Groups in which Anderson-Darling rejects the family",
                tested.reset_index(),
                {
                    "family": "family",
                    "tested": "tested",
                    "rejected": "p < 0.05",
                    "expected": "by chance",
                    "rejected_adjusted": "p < 0.05, adjusted",
                    "not_computed": "not computed",
                },
                note="P-values account for the fitted parameters. By chance: as many would be rejected if the family "
                "were right everywhere. Adjusted: the false-discovery rate over the groups is at most 5 %.",
            )
        )
    tables.append(_spread(m))
    if len(m.fits.groups) > 1:
        tables.append(_fit_table(f"fits-by-{_slug(m.per)}", f"All fits, by {m.per}", m.fits))
    words = (
        f"{count(int(compared['fitted'].max()), 'group')} of {len(m.fits.groups):,} have enough failures for at least "
        "one family. A family within 2 of the lowest AICc is as good as the best for any practical purpose."
    )
    return Section("families", title, (words,), tables=tuple(tables))


def means(m: ReportData) -> Section:
    """Mean times to failure and to repair with intervals."""
    level = f"{100 * m.level:g} %"
    title = f"MTTF and MTTR by {m.per}"
    table = key_columns(m.group_means.index)
    mean = m.group_means.reset_index(drop=True)
    table = table.assign(
        failures=mean["failures"], hours=mean["hours"], mttf=mean["mean"], mttf_low=mean["low"], mttf_high=mean["high"]
    )
    columns = {str(c): str(c) for c in table.columns[: m.group_means.index.nlevels]}
    if not m.several_systems and "node" in columns:
        columns.pop("system", None)
    columns |= {"failures": "failures", "hours": "hours", "mttf": "MTTF (h)", "mttf_low": "low", "mttf_high": "high"}
    figures: list[Figure] = []
    if m.group_means["failures"].max() > 1:
        figures.append(_forest("mttf", m.group_means, "MTTF", m))
    empty = ""
    if m.whole_lives or not m.repairs.durations.size:
        empty = "No MTTR: " + (
            "the source gives lives, not outages." if m.whole_lives else "no repair was observed to its end."
        )
    else:
        repair = m.repair_means.reindex(m.group_means.index).reset_index(drop=True)
        table = table.assign(
            repairs=repair["failures"].fillna(0).astype(int),
            mttr=repair["mean"],
            mttr_low=repair["low"],
            mttr_high=repair["high"],
        )
        columns |= {"repairs": "repairs", "mttr": "MTTR (h)", "mttr_low": "low ", "mttr_high": "high "}
        figures.append(_forest("mttr", m.repair_means, "MTTR", m))
    table = table.iloc[np.lexsort((table["mttf"].to_numpy(), -table["failures"].to_numpy()))].reset_index(drop=True)
    tables = [
        Table(
            "mttf-and-mttr", title, table, columns, note=f"Low and high: {level} interval. ∞: no failure was observed."
        )
    ]
    if m.several_systems and m.per != "system":
        tables.insert(0, _systems(m))
    if not figures:
        empty = f"No {m.per} failed more than once, so their mean times are not drawn. {empty}".strip()
    return Section("means", title, figures=tuple(figures), tables=tuple(tables), empty=empty)


def _systems(m: ReportData) -> Table:
    mean, repair = m.system_means, m.system_repair_means.reindex(m.system_means.index)
    nodes = m.log.population.groupby(m.log.population["system"].astype(str), observed=True).size()
    frame = pd.DataFrame(
        {
            "system": [group_name(label) for label in mean.index],
            "nodes": nodes.reindex([str(label) for label in mean.index]).fillna(0).astype(int).to_numpy(),
            "failures": mean["failures"].to_numpy(),
            "mtbf": mean["mean"].to_numpy(),
            "mtbf_low": mean["low"].to_numpy(),
            "mtbf_high": mean["high"].to_numpy(),
            "mttr": repair["mean"].to_numpy(),
            "mttr_low": repair["low"].to_numpy(),
            "mttr_high": repair["high"].to_numpy(),
            "best": [str(name or NOTHING) for name in m.system_fits.best()],
        }
    )
    heads = ("system", "nodes", "failures", "MTBF (h)", "low", "high", "MTTR (h)", "low ", "high ", "best family")
    return Table("systems", "Systems", frame, dict(zip(frame.columns, heads, strict=True)), shown=60)


def _forest(key: str, table: pd.DataFrame, what: str, m: ReportData) -> Figure:
    if not m.several_systems and table.index.nlevels > 1:
        table = table.droplevel(0)
    finite = int(np.isfinite(table["mean"].to_numpy(float)).sum())
    named = finite <= 40
    height = 1.6 + 0.17 * finite if named else 3.6
    return draw(key, plotting.means_by_group, table, what=what, level=m.level, size=(5.4, max(height, 2.6)))


def _fit_table(
    name: str, title: str, fits: Any, positions: list[int] | None = None, *, shown: int = 12, sort: bool = True
) -> Table:
    """Fits as a table, a row a group and family; groups that no family could be fitted to are left out."""
    frame = fits.to_frame()
    families = len(fits.families)
    group = np.repeat(np.arange(len(fits.groups)), families)
    wanted = np.ones(len(frame), dtype=bool)
    if positions is not None:
        rank = {position: place for place, position in enumerate(positions)}
        wanted = np.isin(group, positions)
        order = np.argsort([rank.get(g, 0) for g in group[wanted]], kind="stable")
        frame = frame[wanted].iloc[order]
    else:
        fitted = (frame["status"] == "ok").to_numpy()
        any_fitted = np.zeros(len(fits.groups), dtype=bool)
        np.logical_or.at(any_fitted, group, fitted)
        frame = frame[any_fitted[group]]
        if sort:
            frame = frame.sort_values("failures", ascending=False, kind="stable")
    keys = key_columns(fits.groups).columns
    several = len(pd.unique(frame["system"])) > 1 if "system" in frame and len(keys) > 1 else True
    columns = {str(k): str(k) for k in keys if k != "system" or several}
    columns |= {"family": "family", "parameters": "parameters (hours)", "failures": "failures", "censored": "censored"}
    columns |= {"mean": "mean (h)", "mean_low": "low", "mean_high": "high", "aicc": "AICc"}
    columns |= {"ks": "K-S", "ks_p": "K-S p", "ad_p": "A-D p", "p_source": "p from"}
    frame = frame.reset_index(drop=True)
    shown = max(shown, families)
    page = frame.head(shown).assign(parameters=_parameters(frame.head(shown)))
    return Table(name, title, frame, columns, shown=shown, page=page)


def _parameters(frame: pd.DataFrame) -> list[str]:
    """Each row's parameters in words, or why there are none."""
    known = {name for family in FAMILIES.values() for name in family.parameter_names()}
    names = [str(name) for name in frame.columns if name in known]
    words = []
    for status, *values in frame[["status", *names]].itertuples(index=False):
        found = [f"{name} {number(value)}" for name, value in zip(names, values, strict=True) if np.isfinite(value)]
        words.append(", ".join(found) if found else str(status).replace("_", " "))
    return words


def _spread(m: ReportData) -> Table:
    """How parameters and mean lives spread over the groups, a row a parameter (Table 3.5)."""
    heads = {"scale": "scale (h)", "rate": "rate (/h)", "mean_hours": "mean life (h)"}
    parts = []
    for family in m.fits.families:
        if m.fits[family].ok.any():
            spread = m.fits.describe(family).T.rename_axis("parameter").reset_index()
            parts.append(spread.assign(parameter=spread["parameter"].replace(heads)).assign(family=family))
    frame = pd.concat(parts, ignore_index=True)
    frame["groups"] = frame["groups"].astype(int)
    frame = frame[["family", *(c for c in frame.columns if c != "family")]]
    note = "Groups with two or three failures have wild estimates: look at the median before the mean."
    return Table("spread", "Spread of the fitted parameters over the groups", frame, note=note, shown=20)


def _short(name: str) -> str:
    return name if len(name) <= 18 else "…" + name[-17:]


def _slug(text: str) -> str:
    return "".join(c if c.isalnum() and c.isascii() else "-" for c in text.lower()) or "group"
