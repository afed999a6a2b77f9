"""Merges logs of one fleet: overlapping exports count once, renamed nodes are one node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pandas as pd

from relfit.base.errors import ArgumentError
from relfit.base.text import count
from relfit.io.frames import text_column
from relfit.log.failurelog import FailureLog, Source, Window
from relfit.log.tables import NOT_SEEN, pairs, recounted

_SAME = ["system", "node", "start", "cause", "scope"]


def merge(
    logs: Sequence[FailureLog], *, renames: Mapping[str, str] | None = None, replaced: Mapping[str, str] | None = None
) -> FailureLog:
    """Merge several logs of one fleet.

    Parameters
    ----------
    logs : sequence of FailureLog
        Their times are instants, so their zones may differ.
    renames : mapping of str to str, optional
        New names by old names, of nodes that were renamed.
    replaced : mapping of str to str, optional
        By node the time at which its hardware was replaced, UTC where it has no zone: later events belong to a new node
        called ``name#2``.

    Returns
    -------
    FailureLog
        An event of one node, start, cause and scope that several logs have counts once, with the latest known end. A
        node is observed from the first to the last instant at which any log observed it. Nodes of which only the number
        is known fill up a system to the largest number of nodes in any log.

    Raises
    ------
    ArgumentError
        When there is no log, logs with and without dates are mixed, or a replaced node was not observed at that time.

    Examples
    --------
    >>> import relfit as rf
    >>> log = rf.datasets.load("white")
    >>> early, late = log.between(until="2003-01-01"), log.between(since="2002-06-01")
    >>> merged = rf.io.merge([early, late])
    >>> merged.n_nodes, abs(len(merged) - len(log)) < 30
    (512, True)
    """
    if not logs:
        raise ArgumentError("there is no log to merge", remedy="give one or more")
    are_lifetimes = [log.lifetimes is not None for log in logs]
    if any(are_lifetimes) and not all(are_lifetimes):
        raise ArgumentError(
            "durations without dates and logs with dates cannot be merged", remedy="merge them separately"
        )
    tables = [{name: _renamed(frame, renames) for name, frame in log.tables.items()} for log in logs]
    events, people, *lives = (_together([each[name] for each in tables]) for name in tables[0])
    number = len(events)
    # of several records of one event, the one with the latest known end is kept; the end of a log is none
    known = events["end"].notna() & ~events["end_cut"]
    in_order = events[["end"]].assign(known=known).sort_values(["known", "end"], na_position="first")
    events = events.loc[in_order.index]
    events = events[~events.duplicated(_SAME, keep="last")].sort_values(["start", "line"], kind="stable")
    events = events.reset_index(drop=True)
    window = joint_window([log.window for log in logs])
    population = _within_number(_people(people), logs)
    if replaced:
        events, population = _split(events, population, replaced)
    sources = [log.source for log in logs]
    notes = [recounted(note, events) for source in sources for note in source.notes]
    left_out: Counter[str] = Counter()
    for source in sources:
        left_out.update(dict(source.left_out))
    if number > len(events):
        notes.append(f"{count(number - len(events), 'event')} in more than one log, counted once")
        left_out["in more than one log"] += number - len(events)
    zones = {source.timezone for source in sources}
    source = Source(
        tuple(dict.fromkeys(path for source in sources for path in source.paths)),
        sources[0].format,
        sum(source.rows_read for source in sources),
        sum(source.rows_kept for source in sources),
        tuple(digest for source in sources for digest in source.sha256),
        zones.pop() if len(zones) == 1 else "UTC",
        tuple(dict.fromkeys(filter(None, notes))),
        rows_deselected=sum(source.rows_deselected for source in sources) + number - len(events),
        rules=tuple(dict.fromkeys(rule for source in sources for rule in source.rules)),
        left_out=tuple(left_out.items()),
    )
    rejected = pd.concat([log.rejected for log in logs], ignore_index=True)
    return FailureLog(events, population, window, rejected, source, lives[0] if lives else None)


def joint_window(windows: Sequence[Window]) -> Window:
    """The window from the first start to the last end of several."""
    first, last = min(window.start for window in windows), max(window.end for window in windows)
    return Window(
        first,
        last,
        all(window.start_known for window in windows if window.start == first),
        all(window.end_known for window in windows if window.end == last),
    )


def _renamed(frame: pd.DataFrame, renames: Mapping[str, str] | None) -> pd.DataFrame:
    if not renames:
        return frame
    names = frame["node"].astype(object)
    return frame.assign(node=text_column(names.map(lambda name: renames.get(name, name), na_action="ignore")))


def _together(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """The rows of all frames; categoricals stay categorical."""
    if len(frames) == 1:
        return frames[0]
    texts = {
        str(name) for frame in frames for name, kind in frame.dtypes.items() if isinstance(kind, pd.CategoricalDtype)
    }
    plain = [frame.astype({name: object for name in texts if name in frame}) for frame in frames]
    joined = pd.concat([frame for frame in plain if len(frame)] or plain[:1], ignore_index=True)
    return joined.assign(**{name: text_column(joined[name]) for name in texts if name in joined})


def _people(everyone: pd.DataFrame) -> pd.DataFrame:
    """One row per node, observed from the first to the last instant of any of its rows."""
    key = pairs(everyone)
    order = everyone.assign(_key=pd.factorize(key)[0])
    first = order.sort_values("entered", kind="stable").drop_duplicates("_key").set_index("_key")
    last = order.sort_values("left", kind="stable").drop_duplicates("_key", keep="last").set_index("_key")
    merged = last.sort_index().copy()
    begin = first.sort_index()
    merged["entered"], merged["entered_known"] = begin["entered"], begin["entered_known"]
    merged["declared"] = order.groupby("_key")["declared"].any()
    return merged.reset_index(drop=True)[list(everyone.columns)]


def _within_number(people: pd.DataFrame, logs: Sequence[FailureLog]) -> pd.DataFrame:
    """The nodes without those without a name that are more than the largest number of nodes in any log."""
    nameless = people["node"].astype(str).str.startswith(NOT_SEEN).to_numpy()
    if not nameless.any():
        return people
    systems = people["system"].astype(object)
    most = pd.concat([log.population["system"].astype(object).value_counts() for log in logs]).groupby(level=0).max()
    room = systems.map(most) - (~pd.Series(nameless)).groupby(systems).transform("sum")
    number = pd.Series(nameless).groupby(systems).cumsum()
    return people[~nameless | (number <= room).to_numpy()].reset_index(drop=True)


def _split(
    events: pd.DataFrame, people: pd.DataFrame, replaced: Mapping[str, str]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split nodes whose hardware was replaced in two; the second is new when it begins."""
    names, owner = events["node"].astype(object).copy(), people["node"].astype(object).copy()
    further = []
    people = people.copy()
    for name, moment in replaced.items():
        at = pd.Timestamp(moment)
        at = at.tz_localize("UTC") if at.tzinfo is None else at.tz_convert("UTC")
        rows = (owner == name) & (people["entered"] < at) & (people["left"] > at)
        if not rows.any():
            raise ArgumentError(f"node {name!r} was not watched at {moment}", remedy="check its name and the time")
        new = people[rows].assign(node=f"{name}#2", entered=at, entered_known=True)
        people.loc[rows, "left"], people.loc[rows, "left_known"] = at, True
        names = names.where(~((names == name) & (events["start"] >= at)), f"{name}#2")
        further.append(new)
    everyone = pd.concat([people.astype({"node": object}), *(new.astype({"node": object}) for new in further)])
    everyone = everyone.reset_index(drop=True)
    return events.assign(node=text_column(names)), everyone.assign(node=text_column(everyone["node"]))
