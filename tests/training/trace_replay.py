"""The trace of a run followed event by event: all that the draws leave open must be what the program's rules say.

The draws (who fails and when, how long a repair takes, who is selected) are taken from the trace; servers are never
retired.
"""

from __future__ import annotations

from collections import Counter

import pandas as pd
import pytest

from relfit.simulation.training import TrainingParameters

REPAIRS = ("auto_repair", "manual_repair")
AT_HAND = ("active", "standby", "idle")


class Replay:
    def __init__(self, params: TrainingParameters) -> None:
        self.p = params
        self.state: dict[int, str] = {}
        self.phase, self.began, self.mark = "done", 0.0, 0.0
        self.selected: set[int] = set()  # standbys of the latest selection, in an order that the trace does not tell
        self.queue: list[int] = []  # those that came after it
        self.ready = 0  # standbys before a selection
        self.spent, self.count = Counter[str](), Counter[str]()

    def number(self, *states: str) -> int:
        return sum(state in states for state in self.state.values())

    @property
    def wanted(self) -> int:
        return self.p.job_size + self.p.warm_standbys

    def run(self, trace: pd.DataFrame) -> None:
        rows = list(
            zip(trace["minute"], trace["server"], trace["before"].astype(str), trace["after"].astype(str), strict=True)
        )
        coming: list[tuple[float, str]] = [(-1.0, "")] * len(rows)  # the next change of the job's phase
        latest = (-1.0, "")
        for i in range(len(rows) - 1, -1, -1):
            if rows[i][1] < 0:
                latest = (rows[i][0], rows[i][3])
            coming[i] = latest
        for (minute, server, before, after), (at, into) in zip(rows, coming, strict=True):
            following = into if at == minute else ""
            if server < 0:
                self.job(minute, before, after)
            else:
                self.server(minute, server, before, after, following)

    def server(self, minute: float, server: int, before: str, after: str, following: str) -> None:
        assert self.state.get(server, "new") == before
        refilled = self.phase in ("running", "recovery", "selection") and self.number("standby") < self.p.warm_standbys
        selecting = {before, after} <= set(AT_HAND) and following == "selection"
        self.state[server] = after
        if selecting:
            return
        if before == "new":
            assert minute == 0.0
            assert after == ("idle" if server < self.p.working_pool_size else "spare")
        elif before == "spare":
            assert (self.phase, after) == ("waiting", "idle")
            assert minute == pytest.approx(self.mark + self.p.preemption_wait_time)
            self.mark = minute
            self.count["preemption_count"] += 1
            if not following:
                assert self.number(*AT_HAND) < self.wanted
                assert self.number("spare") > 0
        elif before == "active" and self.phase == "running":
            assert following == "recovery"
            assert after in ("auto_repair", "standby" if refilled else "idle")
        elif before == "active" or self.phase in ("done", "depleted"):
            assert self.phase in ("done", "depleted")
            assert after in ("idle", "manual_repair")
            self.count[before] += 1
        elif before == "standby":
            assert (self.phase, after, following) == ("recovery", "active", "running")
            if self.selected:
                self.selected.remove(server)
            else:
                assert self.queue.pop(0) == server
            self.count["standby_swaps"] += 1
        else:
            assert before in REPAIRS
            assert after in ("standby" if refilled else "idle", "manual_repair" if before == "auto_repair" else "")
            self.count[before] += 1
            if self.phase == "stalled" and after == "idle" and not following:
                assert self.number(*AT_HAND) < self.wanted
        if after == "standby":
            self.queue.append(server)
        self.ready = self.number("standby")

    def job(self, minute: float, before: str, after: str) -> None:
        assert self.phase == before
        p, lasted, at_hand = self.p, minute - self.began, self.number(*AT_HAND)
        fixed = {"recovery": p.recovery_time, "selection": p.host_selection_time}
        if before in fixed:
            assert lasted == pytest.approx(fixed[before])
        if before == "done":
            assert minute == 0.0
        else:
            self.spent[before] += lasted  # type: ignore[assignment]
        assert (
            after
            in {
                "done": ("selection", "waiting"),
                "running": ("recovery", "done"),
                "selection": ("running",),
                "recovery": ("running", "selection", "waiting", "stalled"),
                "waiting": ("selection", "stalled"),
                "stalled": ("selection",),
            }[before]
        )
        if after == "running":
            assert self.number("active") == p.job_size
        elif after == "recovery":
            assert self.number("active") == p.job_size - 1
            self.count["total_failures"] += 1
        elif after == "selection":
            assert self.number("active") == p.job_size
            assert self.number("standby") == min(p.warm_standbys, at_hand - p.job_size)
            assert at_hand >= (p.job_size if before in ("done", "recovery") else self.wanted)
            assert before != "recovery" or self.ready == 0
            self.selected, self.queue = {s for s, state in self.state.items() if state == "standby"}, []
            self.count["host_selection_count"] += 1
        elif after in ("waiting", "stalled"):
            assert at_hand < (self.wanted if before == "waiting" else p.job_size)
            assert (self.number("spare") > 0) == (after == "waiting")
        else:
            assert self.spent["running"] == pytest.approx(p.job_length)
            self.count["total_training_time"] = minute  # type: ignore[assignment]
        self.phase, self.began, self.mark = after, minute, minute
