"""Changed rates in a fleet: of systems, and of racks, causes, models and batches relative to the rest of the system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from relfit.fleet.surveillance.rate_episodes import RateEpisode
from relfit.fleet.surveillance.rate_scans import for_each_test, scan_rates
from relfit.fleet.surveillance.watched_fleet import Streams, WatchedFleet

_SHARES = 0.001  # daily chance that a part with its usual share of a system's incidents is named, all parts together


@dataclass(frozen=True)
class RateChange:
    """A time in which the rate of a part of the fleet was significantly changed."""

    streams: Streams  # all parts of its kind; the part is ``when.stream``
    when: RateEpisode
    down: bool = False  # whether the rate fell
    cause: str = ""  # for an increase of a system's rate, the one with most of the excess, beyond its usual share
    node: str = ""  # for a system or a cause, the one with more than half of the window's incidents
    of_node: int = 0  # and their number


def rate_changes(fleet: WatchedFleet, budget: Mapping[str, float]) -> Iterator[RateChange]:
    """Rates that changed; the budget has the false alarms allowed per year for ``system``, ``system down``, ``rack``,
    ``cause`` and ``model`` (batches and all other attributes together).
    """
    systems, causes, parts = fleet.of_systems, fleet.of_causes(), fleet.of_parts()
    for down in (False, True):
        alpha = for_each_test(budget["system down" if down else "system"], len(systems.names))
        for when in scan_rates(systems.counts, systems.exposure, down=down).episodes(alpha, down=down):
            cause = "" if down else causes.main_excess(when.stream, *when.window)
            node = ("", 0) if down else fleet.main_node(when.window, when.stream)
            yield RateChange(systems, when, down, cause, *node)
    models = sum(len(streams.names) for streams in parts if streams.kind != fleet.joined.group)
    for streams in (causes, *parts):
        if not streams.names:
            continue
        every = streams.of_system(len(fleet.systems))
        rest = every[0] - streams.counts, every[1] - streams.exposure
        if streams is causes:  # all nodes have all causes
            kind, number, prior, rest = "cause", len(streams.names), None, (rest[0], streams.exposure)
        elif streams.kind == fleet.joined.group:
            kind, number, prior = "rack", len(streams.names), rest
        else:
            kind, number, prior = "model", models, rest
        alpha = for_each_test(budget[kind], number)
        scan = scan_rates(streams.counts, streams.exposure, prior=prior, rest=rest, of_share=alpha * number / _SHARES)
        for when in scan.episodes(alpha):
            of = int(streams.system[when.stream]), streams.names[when.stream]
            node = fleet.main_node(when.window, *of) if streams is causes else ("", 0)
            yield RateChange(streams, when, False, "", *node)
