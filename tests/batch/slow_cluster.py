"""A batch cluster as plainly as it can be said: lists, loops over everything, nothing remembered between instants."""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass
class SlowJob:
    """One job and what becomes of it."""

    number: int
    submit: float
    nodes: int
    run_time: float
    walltime: float
    priority: float = 0.0
    every: float = math.inf
    save: float = 0.0
    restore: float = 0.0
    order: tuple = ()
    saved: float = 0.0
    left: float = 0.0
    start: float = math.nan
    finish: float = math.nan
    estimate: float = math.nan
    ends: float = math.nan
    status: str = "later"
    backfilled: bool = False
    kills: int = 0
    lost: float = 0.0
    repairs: int = 0
    held: list[int] = field(default_factory=list)

    def saves(self):
        """Full intervals of what is left to do, but for one that ends with the job."""
        work = self.run_time - self.saved
        number = 0
        while (number + 1) * self.every < work:
            number += 1
        return number

    def duration(self):
        """Seconds of the next attempt if nothing stops it."""
        return (self.restore if self.saved else 0.0) + ((self.run_time - self.saved) + self.saves() * self.save)


class SlowCluster:
    """Simulates; `kills` lists (time, node, job) of every kill."""

    def __init__(self, jobs, n_nodes, scheduler="easy", failures=(), requeue="submit", offer_first=True, reject=None):
        self.jobs, self.n, self.scheduler, self.requeue = jobs, n_nodes, scheduler, requeue
        self.offer_first, self.reject = offer_first, reject
        self.failures = sorted(failures, key=lambda f: f[0])
        self.back = {}  # node -> when it is up again
        self.kills, self.ignored, self.starts = [], 0, []
        for job in jobs:
            job.order = (-job.priority, job.submit, job.number)
            job.left = job.walltime
            if job.nodes > n_nodes:
                job.status = "too wide"

    def idle(self):
        held = {node for job in self.jobs if job.status == "running" for node in job.held}
        return [node for node in range(self.n) if node not in held and node not in self.back]

    def waiting(self):
        return sorted((job for job in self.jobs if job.status == "waiting"), key=lambda job: job.order)

    def begin(self, job, now, backfilled):
        job.held = self.idle()[: job.nodes]
        job.status, job.start, job.backfilled = "running", now, backfilled
        job.ends = now + min(job.duration(), job.left)
        job.estimate = now + job.left
        self.starts.append((now, job.number, tuple(job.held)))

    def decide(self, now):
        up = self.n - len(self.back)
        queue = [job for job in self.waiting() if job.nodes <= up]
        while queue and queue[0].nodes <= len(self.idle()):
            self.begin(queue.pop(0), now, False)
        if not queue or self.scheduler == "fcfs":
            return
        first = queue[0]
        running = sorted((job for job in self.jobs if job.status == "running"), key=lambda job: job.estimate)
        free, shadow = len(self.idle()), math.inf
        for job in running:
            free += job.nodes
            if free >= first.nodes:
                shadow = job.estimate
                break
        at_shadow = len(self.idle()) + sum(job.nodes for job in running if job.estimate <= shadow)
        extra = at_shadow - first.nodes
        for job in queue[1:]:
            if job.nodes > len(self.idle()):
                continue
            if now + job.left <= shadow:
                self.begin(job, now, True)
            elif job.nodes <= extra:
                self.begin(job, now, True)
                extra -= job.nodes

    def run(self):
        while any(job.status in ("later", "waiting", "running") for job in self.jobs):
            times = [job.submit for job in self.jobs if job.status == "later"]
            times += [job.ends for job in self.jobs if job.status == "running"]
            times += list(self.back.values()) + [f[0] for f in self.failures]
            if not times:
                break
            self.instant(min(times))
        return self

    def instant(self, now):
        for job in self.jobs:
            if job.status == "running" and job.ends == now:
                job.status = "done" if job.duration() <= job.left else "late"
                job.finish = now
        for node in sorted(node for node, time in self.back.items() if time == now):
            del self.back[node]
            for job in self.waiting():
                if job.nodes <= self.n - len(self.back):
                    job.repairs = 0
                else:
                    job.repairs += 1
                    if self.reject is not None and job.repairs >= self.reject:
                        job.status = "rejected"
        killed = self.strike(now)
        if killed and self.offer_first:
            self.decide(now)
        for job in killed:
            job.status = "waiting"
            if self.requeue == "head":
                job.order = (-math.inf, -now, job.number)
            elif self.requeue == "tail":
                job.order = (-job.priority, now, job.number)
        for job in self.jobs:
            if job.status == "later" and job.submit == now:
                job.status = "waiting"
        self.decide(now)

    def strike(self, now):
        killed = []
        while self.failures and self.failures[0][0] == now:
            _, node, repair = self.failures.pop(0)
            if node in self.back:
                self.ignored += 1
                continue
            for job in self.jobs:
                if job.status == "running" and node in job.held:
                    job.status = "killed"
                    killed.append(job)
                    self.kills.append((now, node, job.number))
                    self.account(job, now)
            if repair > 0:
                self.back[node] = now + repair
        return killed

    def account(self, job, now):
        restore = job.restore if job.saved else 0.0
        done = 0
        while done < job.saves() and now - job.start - restore >= (done + 1) * (job.every + job.save):
            done += 1
        job.kills += 1
        job.lost += now - job.start - (done * (job.every + job.save) + restore if done else 0.0)
        if done:
            job.saved += done * job.every
            job.left -= done * (job.every + job.save) - job.restore
