"""Starts planned ahead as plainly as they can be said: which nodes are free at which instants, asked every time."""

from __future__ import annotations

import math

from tests.batch.slow_cluster import SlowCluster


class SlowPlanner(SlowCluster):
    """Conservative backfilling, or EASY, with or without fixed nodes; reservations are (start, end, nodes)."""

    def __init__(self, *args, fixed=False, reservations=(), **more):
        super().__init__(*args, **more)
        self.fixed, self.reservations, self.plans = fixed, reservations, {}
        self.changed = self.failed = False

    def run(self):
        edges = sorted({end for _, end, _ in self.reservations})
        while any(job.status in ("later", "waiting", "running") for job in self.jobs):
            times = [job.submit for job in self.jobs if job.status == "later"]
            times += [job.ends for job in self.jobs if job.status == "running"]
            times += list(self.back.values()) + [f[0] for f in self.failures] + edges
            if not times:
                break
            now = min(times)
            self.changed = now in edges or now in self.back.values()
            self.changed |= any(job.status == "running" and job.ends == now for job in self.jobs)
            edges = [edge for edge in edges if edge > now]
            self.instant(now)
        return self

    def strike(self, now):
        ignored, rows = self.ignored, sum(1 for f in self.failures if f[0] == now)
        killed = super().strike(now)
        if rows > self.ignored - ignored:
            self.changed = self.failed = True
        return killed

    def blocked(self, when):
        """Nodes that cannot be used at an instant, and how many more are promised without saying which."""
        nodes = set(self.back)
        for job in self.jobs:
            if job.status == "running" and when < job.estimate:
                nodes |= set(job.held)
        for start, end, reserved in self.reservations:
            if start <= when < end:
                nodes |= set(reserved)
        promised = 0
        for number, (start, chosen) in self.plans.items():
            if start <= when < start + self.jobs[number].left:
                if self.fixed:
                    nodes |= set(chosen)
                else:
                    promised += self.jobs[number].nodes
        return nodes, promised

    def instants(self, now):
        times = {now} | {job.estimate for job in self.jobs if job.status == "running"}
        times |= {t for start, end, _ in self.reservations for t in (start, end)}
        times |= {t for n, (start, _) in self.plans.items() for t in (start, start + self.jobs[n].left)}
        return sorted(t for t in times if t >= now)

    def earliest(self, job, now, only_now=False):
        """The first instant from which enough nodes are free for the whole walltime, and the lowest of them."""
        times = self.instants(now)
        for begin in times[:1] if only_now else times:
            usable, enough = set(range(self.n)), True
            for when in [t for t in times if begin <= t < begin + job.left]:
                nodes, promised = self.blocked(when)
                usable -= nodes
                enough &= self.n - len(nodes) - promised >= job.nodes
            if enough and len(usable) >= job.nodes:
                return begin, sorted(usable)[: job.nodes]
        return math.inf, []

    def decide(self, now):
        if self.failed or self.scheduler == "easy":
            self.plans = {}
        passed = False
        for job in self.waiting():
            if job.nodes > self.n - len(self.back):
                continue
            if job.number in self.plans and not self.changed:
                passed = True
                continue
            self.plans.pop(job.number, None)
            first = self.scheduler == "conservative" or not passed
            begin, nodes = self.earliest(job, now, only_now=not first)
            if begin == now:
                self.begin(job, now, passed)
                job.held = nodes
                self.starts[-1] = (now, job.number, tuple(nodes))
                continue
            passed = True
            if first and begin < math.inf:
                self.plans[job.number] = begin, nodes
        self.changed = self.failed = False
