"""A queue of jobs on single trays with spares, as plainly as it can be said: exponential times, a draw per event."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field


@dataclass(eq=False)
class Job:
    """One job and what becomes of it; `every` is infinite where it never saves."""

    submit: float
    blocks: int
    work: float
    saved: float = 0.0
    mode: str = "waits"
    since: float = 0.0
    until: float = math.inf
    started: float = math.nan
    ended: float = math.nan
    lost: float = 0.0
    blocked: float = 0.0
    stops: int = 0
    missing: list[int] = field(default_factory=list)


class SlowQueue:
    """Trays of zones; `reserve` of each zone are spare."""

    def __init__(self, jobs, zones, trays, reserve, mtbf, mttr, recovery, every, save, seed):
        self.random, self.jobs = random.Random(seed), jobs
        self.zones, self.trays, self.reserve = zones, trays, reserve
        self.mtbf, self.mttr, self.recovery, self.every, self.save = mtbf, mttr, recovery, every, save
        self.now = 0.0
        q = mttr / (mttr + mtbf)
        self.up = {(z, i): self.random.random() >= q for z in range(zones) for i in range(trays)}
        self.owner = dict.fromkeys(self.up)

    def idle(self, zone):
        return [tray for tray in self.up if tray[0] == zone and self.up[tray] and self.owner[tray] is None]

    def held(self, zone):
        owned = sum(tray[0] == zone and job is not None for tray, job in self.owner.items())
        return owned + sum(job.missing.count(zone) for job in self.jobs)

    def room(self, zone):
        return max(0, min(len(self.idle(zone)), self.trays - self.reserve - self.held(zone)))

    def saves_of(self, work):
        """Saves on the way to the end of so much work; none at the end."""
        number = 0
        while (number + 1) * self.every < work:
            number += 1
        return number

    def run_on(self, job):
        left = job.work - job.saved
        job.mode, job.since, job.until = "runs", self.now, self.now + left + self.saves_of(left) * self.save

    def start_jobs(self):
        for job in self.jobs:
            if job.mode != "waits":
                continue
            if job.submit > self.now:
                return
            rooms = [self.room(zone) for zone in range(self.zones)]
            if sum(rooms) < job.blocks:
                return
            whole = [zone for zone in range(self.zones) if rooms[zone] >= job.blocks]
            left = job.blocks
            for zone in whole[:1] or range(self.zones):
                for tray in self.idle(zone)[: min(rooms[zone], left)]:
                    self.owner[tray] = job
                    left -= 1
            job.started = self.now
            self.run_on(job)

    def stop(self, job):
        """A tray of a job failed."""
        if job.mode == "runs":
            ran, done = self.now - job.since, 0
            while done < self.saves_of(job.work - job.saved) and ran >= (done + 1) * (self.every + self.save):
                done += 1
            job.saved += done * self.every
            job.stops += 1
            job.lost += ran - done * (self.every + self.save)
            job.mode, job.since, job.until = "recovers", self.now, self.now + self.recovery
        if job.missing and job.mode == "recovers":
            job.lost += self.now - job.since
            job.mode, job.since, job.until = "blocked", self.now, math.inf

    def give(self, tray):
        for job in self.jobs:
            if tray[0] in job.missing:
                job.missing.remove(tray[0])
                self.owner[tray] = job
                if not job.missing:
                    job.blocked += self.now - job.since
                    job.mode, job.since, job.until = "recovers", self.now, self.now + self.recovery
                return
        self.owner[tray] = None

    def device_event(self):
        rates = [1 / self.mtbf if up else 1 / self.mttr for up in self.up.values()]
        tray = self.random.choices(list(self.up), rates)[0]
        self.up[tray] = not self.up[tray]
        if self.up[tray]:
            self.give(tray)
            return
        job, self.owner[tray] = self.owner[tray], None
        if job is not None:
            spares = self.idle(tray[0])
            if spares:
                self.owner[spares[0]] = job
            else:
                job.missing.append(tray[0])
            self.stop(job)

    def run(self):
        while any(math.isnan(job.ended) for job in self.jobs):
            self.start_jobs()
            rate = sum(1 / self.mtbf if up else 1 / self.mttr for up in self.up.values())
            device = self.now + self.random.expovariate(rate)
            first = min(self.jobs, key=lambda job: job.until)
            submit = min((job.submit for job in self.jobs if job.submit > self.now), default=math.inf)
            self.now = min(device, first.until, submit)
            if self.now == first.until and first.mode == "recovers":
                first.lost += self.now - first.since
                self.run_on(first)
            elif self.now == first.until:
                first.mode, first.ended, first.until = "over", self.now, math.inf
                for tray in [tray for tray, job in self.owner.items() if job is first]:
                    self.give(tray)
            elif self.now == device:
                self.device_event()
        return self.jobs
