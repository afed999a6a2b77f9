"""Texts of the alarms of nodes that stand out and of repairs that did not help."""

from __future__ import annotations

from collections.abc import Iterator

from relfit.base.text import count, duration, number
from relfit.fleet.surveillance import NodeEpisode, WatchedFleet, failed_repairs, nodes_standing_out
from relfit.live.live_records import Alarm, Episode, stamp


def node_episodes(fleet: WatchedFleet, allowed: float) -> Iterator[Episode]:
    """Alarms of nodes with more failures than the others, at most `allowed` false ones per year on average."""
    for each in nodes_standing_out(fleet, allowed):
        label = fleet.node_label(each.node)
        text = (
            f"Node {label} stands out: {count(each.number, 'failure')} of any cause in the {_span(each)}, others had "
            f"{number(each.others)} on average{_lately(fleet, each)}."
        )
        advice = "Take it out of service and test it, or replace the part that its failures have in common."
        if _slower(fleet, each):
            advice = "It fails more seldom since: test it when it is free. relfit nodes says how often nodes fail now."
        evidence = {"ratio": each.number / max(each.expected, 1e-9)}
        yield _episode(fleet, each, ("node", f"node {label}", text, advice), evidence)


def repeat_episodes(fleet: WatchedFleet, allowed: float) -> Iterator[Episode]:
    """Alarms of nodes that failed again from the same cause, sooner than by chance."""
    for each in failed_repairs(fleet, allowed):
        label, why = fleet.node_label(each.node), fleet.causes[each.cause]
        text = (
            f"The repair of node {label} did not help: {count(each.number, 'failure')} by {why} in the {_span(each)}, "
            f"others had {number(each.others)} on average{_lately(fleet, each)}."
        )
        advice = "Don't put it back into service after the same repair: look for another cause."
        if _slower(fleet, each):
            advice = "It fails more seldom since: if it fails so again, look for another cause."
        yield _episode(fleet, each, ("repeat", f"node {label}, {why}", text, advice), {"hours": each.hours})


def _slower(fleet: WatchedFleet, each: NodeEpisode) -> bool:
    """Whether a node whose alarm still stands has failed more seldom since the run that raised it."""
    return each.slower and each.over >= fleet.steps.edges[-1]


def _lately(fleet: WatchedFleet, each: NodeEpisode) -> str:
    """How many failures came since, where they are fewer."""
    return f"; since then it had {f'{each.later:,}' if each.later else 'none'}" if _slower(fleet, each) else ""


def _span(each: NodeEpisode) -> str:
    return f"{duration(each.hours)} to {stamp(each.at):%Y-%m-%d}"


def _episode(
    fleet: WatchedFleet, each: NodeEpisode, said: tuple[str, str, str, str], more: dict[str, float]
) -> Episode:
    kind, subject, text, advice = said
    evidence = {"failures": float(each.number), "others": each.others, "expected": each.expected, **more, "p": each.p}
    alarm = Alarm(kind, subject, stamp(each.since), stamp(each.raised), text, advice, evidence)
    return Episode(alarm, stamp(each.over) if each.over < fleet.steps.edges[-1] else None)
