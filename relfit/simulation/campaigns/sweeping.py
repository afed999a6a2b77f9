"""`sweep`: computes the missing runs of a campaign, on any executor, however often it is stopped."""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from relfit.base.arrays import IntArray
from relfit.base.errors import ArgumentError
from relfit.base.results import json_ready
from relfit.base.text import count, duration
from relfit.simulation.campaigns.campaign import Campaign, cells_of, read_campaign
from relfit.simulation.campaigns.campaign_results import CampaignResults, load, replications_needed
from relfit.simulation.campaigns.campaign_store import Block, CampaignStore
from relfit.simulation.campaigns.executors import Computing, WorkersLostError, computing, runner_here
from relfit.simulation.campaigns.runners import Runner, runner_of

Progress = Callable[[str, float], None]

_TASK = 1.0  # seconds that a task should take
_LARGEST = 20_000  # runs per task
_TOGETHER = 16  # replications of one cell before the next cell's
_FIRST, _SHARE, _LAST = 2.0, 0.02, 60.0  # seconds between two parts: first, as a share of the time so far, longest
_DEATHS = 3  # deaths of its process after which a run counts as failed


def sweep(
    campaign: Campaign | str | Path,
    store: str | Path | None = None,
    *,
    executor: str = "processes",
    workers: int | None = None,
    retry_failed: bool = False,
    progress: Progress | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> CampaignResults:
    """Compute the missing runs of a campaign.

    A second call continues where the first one stopped. Results do not depend on the executor, the number of workers or
    the order. Several calls may work on one store at once.

    Parameters
    ----------
    campaign : Campaign, str or Path
        A path is read by `read_campaign`.
    store : str or Path, optional
        Folder for the results, created if missing; without it nothing stays on disk.
    executor : str
        ``"processes"`` of this machine, ``"threads"`` of this process, ``"serial"``, ``"dask"`` (a local cluster), or
        the address of a Dask scheduler.
    workers : int, optional
        Processes or threads; one per processor by default.
    retry_failed : bool
        Repeat the failed runs of the store.
    progress : callable, optional
        Called with a text and the share done.
    stopped : callable, optional
        Called regularly; the sweep stops when it returns True, after it has written the finished runs.

    Returns
    -------
    CampaignResults
        The results so far; `CampaignResults.missing` is above zero where the sweep was stopped.

    Raises
    ------
    ArgumentError
        Before anything is run: for an unknown parameter, an empty grid, the store of another campaign.

    Examples
    --------
    >>> campaign = Campaign(run="builtins:pow", parameters={"base": [2, 3]}, config={"exp": 2}, replications=1)
    >>> sweep(campaign, "squares", executor="serial").of("value")["mean"].tolist()
    [4.0, 9.0]
    """
    if store is None:
        with TemporaryDirectory(prefix="relfit-") as folder:
            return sweep(campaign, folder, executor=executor, workers=workers, progress=progress, stopped=stopped)
    plan = campaign if isinstance(campaign, Campaign) else read_campaign(campaign)
    runner, cells = runner_of(plan), cells_of(plan)
    unique = {cell.key: cell.settings for cell in cells}
    for settings in unique.values():
        try:
            runner.check(settings)
        except ArgumentError as error:
            values = ", ".join(f"{name} = {value}" for name, value in settings.items())
            raise ArgumentError(f"{error.what} (cell {values})", remedy=error.remedy) from None
    where, place = computing(executor, workers, runner), CampaignStore(store)
    varied = dict.fromkeys(name for cell in cells for name in cell.settings)
    configured = json_ready({name: runner.configured(name) for name in varied})
    for name in plan.prices:
        if name in configured and configured[name] is None and not all(name in cell.settings for cell in cells):
            what = f"{name} has a price, but neither some cells nor the configuration have a value of it"
            raise ArgumentError(what, remedy="write it in the configuration")
    document = {**plan.document(), **runner.sides(plan), "configured": configured}
    shared = place.begin(document, runner.identity(), plan.output or runner.output, cells)
    work = _Work(plan, place, unique, where, progress, stopped)
    work.count_stored(retry_failed)
    while not stopped() and (pending := work.pending()).size:
        offset = secrets.randbelow(pending.shape[1]) if shared else 0  # other writers may have begun with the first
        work.run(np.roll(pending, -offset, axis=1))
        if plan.until is None:
            break
    return load(store)


class _Work:
    """The runs of a campaign, done and to be done."""

    def __init__(
        self,
        campaign: Campaign,
        store: CampaignStore,
        unique: dict[str, dict[str, object]],
        where: Computing,
        progress: Progress | None,
        stopped: Callable[[], bool],
    ) -> None:
        self.campaign, self.store, self.where = campaign, store, where
        self.keys, self.settings = pd.Index(list(unique)), list(unique.values())
        self.progress, self.stopped = progress, stopped
        self.done = np.zeros((len(self.keys), campaign.replications), dtype=bool)
        self.needed = np.full(len(self.keys), campaign.replications)
        self.seconds = 0.0  # seconds per run

    def count_stored(self, retry_failed: bool = False) -> None:
        """Mark the runs in the store as done, also those of other writers."""
        if retry_failed:
            for place in (self.store.folder / "failed").glob("*.parquet"):
                place.unlink()
        for rows in self.store.new_rows():
            cell = self.keys.get_indexer(pd.Index(rows["cell"]))
            self._mark(cell[cell >= 0], rows["replication"].to_numpy()[cell >= 0])

    def _mark(self, cell: IntArray, replication: IntArray) -> None:
        inside = replication < self.campaign.most_replications
        most = int(replication[inside].max(initial=-1)) + 1
        if most > self.done.shape[1]:
            self.done = np.pad(self.done, ((0, 0), (0, most - self.done.shape[1])))
        self.done[cell[inside], replication[inside]] = True

    def pending(self) -> IntArray:
        """Cell and replication of the runs to be done, shape (2, runs): some of every cell, then more."""
        until = self.campaign.until
        if until is not None:
            runs, failed = self.store.rows(columns=[until.output]), self.store.rows("failed", [])
            self.needed = replications_needed(self.campaign.document(), self.keys, runs, failed).to_numpy()
        most = max(int(self.needed.max()), self.done.shape[1])
        self.done = np.pad(self.done, ((0, 0), (0, most - self.done.shape[1])))
        cell, replication = np.nonzero(~self.done & (np.arange(most) < self.needed[:, None]))
        order = np.argsort(replication // _TOGETHER, kind="stable")
        return np.stack([cell[order], replication[order]])

    def run(self, pending: IntArray) -> None:
        """Run the pending runs and write them, until all are done or `stopped` says so."""
        self.begun = self.flushed = time.monotonic()
        self.buffer = Block()
        if self.progress is not None and self.where.starts:
            self.progress(f"starting {count(self.where.workers, 'worker')}", 0.0)
        try:
            with self.where:
                self._hand_out(pending)
        finally:
            self._flush()

    def _hand_out(self, pending: IntArray) -> None:
        running: dict[Future[Block], tuple[IntArray, int]] = {}
        again: deque[tuple[IntArray, int]] = deque()  # runs whose process died, and how often
        where, at = self.where, 0
        while (at < pending.shape[1] or running or again) and not self.stopped():
            while again or at < pending.shape[1]:
                alone = bool(again) and again[0][1] > 1
                if len(running) >= (1 if alone or any(deaths > 1 for _, deaths in running.values()) else where.slots):
                    break
                if again:
                    runs, deaths = again.popleft()
                else:
                    size = 1 if not self.seconds else int(np.clip(_TASK / self.seconds, 1, _LARGEST))
                    runs, deaths = pending[:, at : at + size], 0
                    runs = runs[:, ~self.done[runs[0], runs[1]]]  # without those that others have done meanwhile
                    at += size
                if runs.size:
                    settings = {cell: self.settings[cell] for cell in np.unique(runs[0]).tolist()}
                    asked = self.stopped if where.here else None
                    running[where.submit(_run, where.token, settings, runs, self.campaign.seed, asked)] = runs, deaths
            done = wait(running, timeout=0.2, return_when=FIRST_COMPLETED).done
            if self.stopped() and where.starts:  # what is in progress is worth a moment
                done = wait(running, timeout=_TASK).done
            for future in done:
                runs, deaths = running.pop(future)
                try:
                    self._take(where.result(future))
                except WorkersLostError:
                    self._lost(runs, deaths + 1, again)
            now = time.monotonic()
            if now - self.flushed > min(max(_FIRST, _SHARE * (now - self.begun)), _LAST):
                self._flush()

    def _lost(self, runs: IntArray, deaths: int, again: deque[tuple[IntArray, int]]) -> None:
        """Repeat the runs of a lost process; a run that ends its process by itself, again and again, has failed."""
        if runs.shape[1] == 1 and deaths > _DEATHS:
            error = f"the process that ran it ended, {deaths} times"
            self._take(Block(failed=[(int(runs[0, 0]), int(runs[1, 0]), error)]))
        elif deaths == 2:
            again.extend((run[:, None], deaths) for run in runs.T)
        else:
            again.append((runs, deaths))

    def _take(self, block: Block) -> None:
        if block.size:
            each = max(block.seconds / block.size, 1e-7)
            self.seconds = each if not self.seconds else 0.5 * (self.seconds + each)
        self.buffer.add(block)

    def _flush(self) -> None:
        block, self.buffer = self.buffer, Block()
        self.store.write(block, self.keys.to_list())
        for runs in block.runs:
            self._mark(runs["cell"], runs["replication"])
        if block.failed:
            self._mark(*(np.array([row[k] for row in block.failed]) for k in (0, 1)))
        self.count_stored()
        now, before = time.monotonic(), self.flushed
        self.flushed = now
        if self.progress is not None:
            inside = self.done & (np.arange(self.done.shape[1]) < self.needed[:, None])
            done, total = int(inside.sum()), int(self.needed.sum())
            left = (total - done) * (now - before) / max(block.size, 1)
            text = f"{done:,} of {total:,} runs stored"
            self.progress(
                text + (f", {duration(left / 3600.0)} left" if block.size and done < total else ""), done / total
            )


def _run(
    token: str, settings: dict[int, dict[str, object]], runs: IntArray, seed: int, stopped: Callable[[], bool] | None
) -> Block:
    """Do runs, consecutive ones of one cell together; one that fails is recorded with its error."""
    runner, block, begun = runner_here(token), Block(), time.perf_counter()
    begins = np.flatnonzero((np.diff(runs, prepend=-1) != [[0], [1]]).any(axis=0))
    for part in np.split(runs, begins[1:], axis=1):
        if stopped is not None and stopped():
            break
        cell, first = part[:, 0].tolist()
        _attempt(runner, settings[cell], cell, first, first + part.shape[1], seed, block)
    block.seconds = time.perf_counter() - begun
    return block.packed()


def _attempt(
    runner: Runner, values: dict[str, object], cell: int, first: int, last: int, seed: int, block: Block
) -> None:
    """Run replications together; each by itself where one of them fails."""
    try:
        outputs = runner.run(values, first, last, seed)
    except (Exception, SystemExit) as error:  # a function that exits counts as failed
        if last - first == 1:
            text = " ".join(str(error).split())
            text = text if getattr(error, "what", None) else f"{type(error).__name__}: {text}"
            block.failed.append((cell, first, text))
        else:
            for r in range(first, last):
                _attempt(runner, values, cell, r, r + 1, seed, block)
        return
    block.runs.append({"cell": np.full(last - first, cell), "replication": np.arange(first, last), **outputs})
