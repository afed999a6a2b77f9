"""A slow, obvious training cluster: servers are objects in lists, every failure is a draw over all that run.

It has the published program's behaviour (exponential lives), written apart from the simulator that it checks.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from relfit.simulation.training import TrainingParameters


@dataclass(eq=False)
class Machine:
    bad: bool
    score: float
    failed_at: list[float] = field(default_factory=list)
    repairs: int = 0


class SlowCluster:
    def __init__(self, params: TrainingParameters, seed: int) -> None:
        self.p, self.random = params, random.Random(seed)
        p = params
        n = p.working_pool_size + p.spare_pool_size
        machines = [Machine(i < int(n * p.systematic_failure_fraction), p.retirement.initial_score) for i in range(n)]
        self.random.shuffle(machines)
        self.pool, self.spares = machines[: p.working_pool_size], machines[p.working_pool_size :]
        self.active: list[Machine] = []
        self.standbys: list[Machine] = []
        self.repairs: list[tuple[float, int, str, Machine]] = []
        self.order = itertools.count()
        self.now, self.count, self.retired = 0.0, Counter[str](), 0
        self.signal = False

    def pass_time(self, until: float) -> None:
        """Let repairs end on the way."""
        while self.repairs and self.repairs[0][0] <= until:
            self.next_repair()
        self.now = until

    def next_repair(self) -> None:
        time, _, stage, machine = heapq.heappop(self.repairs)
        p, self.now = self.p, time
        if stage == "delivered":
            self.count["servers_replaced"] += 1
            self.signal = True
            bad = self.random.random() < p.systematic_failure_fraction
            self.give_back(Machine(bad, p.retirement.initial_score))
            return
        if stage == "auto":
            self.count["auto_repairs"] += 1
            if self.random.random() < self.by_history("prob_auto_to_manual", machine):
                self.begin("manual", machine)
                return
            mended = self.random.random() >= self.by_history("auto_repair_fail_prob", machine)
        else:
            self.count["manual_repairs"] += 1
            mended = self.random.random() >= self.by_history("manual_repair_fail_prob", machine)
        if mended:
            machine.bad = False
        self.signal = True
        beyond = self.random.random() < p.beyond_repair_prob[min(machine.repairs, len(p.beyond_repair_prob) - 1)]
        self.count["servers_beyond_repair"] += beyond
        machine.repairs += 1
        rule = p.retirement
        recent = [t for t in machine.failed_at if t >= self.now - rule.window_minutes]
        if (
            beyond
            or (rule.policy == "threshold" and len(recent) >= rule.max_failures)
            or (rule.policy == "score" and machine.score <= rule.retirement_threshold)
        ):
            self.retired += 1
            self.count["servers_retired"] += 1
            if p.replacement_time is not None:
                order = (self.now + p.replacement_time, next(self.order), "delivered", machine)
                heapq.heappush(self.repairs, order)
            return
        self.give_back(machine)

    def by_history(self, name: str, machine: Machine) -> float:
        values = getattr(self.p.repeated_repairs, name) or [getattr(self.p, name)]
        return float(values[min(machine.repairs, len(values) - 1)])

    def begin(self, stage: str, machine: Machine) -> None:
        mean = self.by_history(f"{stage}_repair_time", machine)
        heapq.heappush(self.repairs, (self.now + self.random.expovariate(1 / mean), next(self.order), stage, machine))

    def give_back(self, machine: Machine) -> None:
        self.pool.append(machine)
        if len(self.standbys) < self.p.warm_standbys:
            self.standbys.append(machine)

    def select(self) -> bool:
        wanted = min(self.p.job_size + self.p.warm_standbys, len(self.pool))
        if wanted < self.p.job_size:
            return False
        chosen = self.random.sample(self.pool, wanted)
        self.active, self.standbys = chosen[: self.p.job_size], chosen[self.p.job_size :]
        self.count["host_selection_count"] += 1
        return True

    def find_hosts(self) -> bool:
        """Preempt and stall until there are enough; False where too many are retired."""
        p = self.p
        wanted = p.job_size + p.warm_standbys
        while not self.select():
            while len(self.pool) < wanted:
                if self.spares:
                    self.pass_time(self.now + p.preemption_wait_time)
                    self.count["total_wait_time"] += p.preemption_wait_time  # type: ignore[assignment]
                    self.pool.append(self.spares.pop(0))
                    self.count["preemption_count"] += 1
                    continue
                self.count["job_stall_count"] += 1
                gone = self.retired if p.replacement_time is None else 0  # for good
                if p.working_pool_size + p.spare_pool_size - gone < wanted:
                    self.count["depleted"] = 1
                    return False
                while not self.signal:
                    self.next_repair()
                self.signal = False
        return True

    def run(self) -> dict[str, float]:
        p, left = self.p, self.p.job_length
        r = p.random_failure_rate
        while left > 0 and self.find_hosts():
            self.pass_time(self.now + p.host_selection_time)
            while left > 0:
                rates = [r * (1 + p.systematic_failure_rate_multiplier * m.bad) for m in self.active]
                ran = self.random.expovariate(sum(rates))
                self.pass_time(self.now + min(ran, left))
                left -= min(ran, left)
                if left <= 0:
                    break
                failed = self.random.choices(self.active, rates)[0]
                self.fail(failed, ran)
                blamed = self.blame(failed)
                self.pass_time(self.now + p.recovery_time)
                self.active.remove(blamed)
                if not self.standbys:
                    break
                self.active.append(self.standbys.pop(0))
        outputs = {"total_training_time": self.now, **self.count}
        while any(stage != "delivered" for _, _, stage, _ in self.repairs):  # repairs in progress, no deliveries
            self.next_repair()
        repairs = ("auto_repairs", "manual_repairs", "servers_retired", "servers_beyond_repair", "servers_replaced")
        return {**outputs, **{name: self.count[name] for name in repairs}}

    def fail(self, failed: Machine, ran: float) -> None:
        p = self.p
        for machine in self.active:
            if machine is not failed:
                machine.score += ran // p.retirement.time_period * p.retirement.success_increment
        m = p.systematic_failure_rate_multiplier
        systematic = failed.bad and self.random.random() < m / (1 + m)
        self.count["systematic_failures" if systematic else "random_failures"] += 1
        self.count["total_failures"] += 1
        failed.failed_at.append(self.now)

    def blame(self, failed: Machine) -> Machine:
        """The server that leaves the job: the failed one, or an innocent one."""
        p = self.p
        self.pool.remove(failed)
        if self.random.random() >= p.diagnosis_probability:
            self.give_back(failed)
            self.signal = True
            return failed
        if self.random.random() < p.diagnosis_uncertainty and len(self.active) > 1:
            innocent = self.random.choice([machine for machine in self.active if machine is not failed])
            self.pool.remove(innocent)
            self.pool.append(failed)
            self.signal = True
            failed = innocent
        failed.score -= p.retirement.failure_penalty
        self.begin("auto", failed)
        return failed


def slow_runs(params: TrainingParameters, n: int, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Outputs of some runs."""
    for i in range(n):
        yield SlowCluster(params, 1000 * seed + i).run()
