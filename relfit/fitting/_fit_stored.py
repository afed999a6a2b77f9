"""`fit_stored`: fits of every node of logs larger than memory, part by part, to a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from relfit.base.arrays import BoolArray
from relfit.base.errors import ArgumentError, DataError
from relfit.base.numeric.batches import worker_number
from relfit.base.numeric.worker_processes import in_processes
from relfit.base.results import Result
from relfit.base.text import count
from relfit.base.writing import complete, workplace
from relfit.fitting._fit import fit
from relfit.fitting.families import CORE
from relfit.io.node_parts import NodeParts, set_apart
from relfit.log.failurelog import FailureLog
from relfit.log.tables import question_of, unseen

_KEYS = ["system", "node"]


class StoredFits(Result):
    """What `fit_stored` wrote.

    Attributes
    ----------
    path : Path
        The file, one row per node and distribution, with the columns of `Fits.to_frame`.
    groups, durations : int
        Nodes, and the durations of all of them.
    status : pandas.DataFrame
        Nodes by status, one row per distribution; ``best`` counts those that it fits best by AICc.
    left_out : dict
        Durations that were left out, by reason.
    notes : tuple of str
        Rules that were applied.
    """

    path: Path
    groups: int
    durations: int
    status: pd.DataFrame
    left_out: dict[str, int]
    notes: tuple[str, ...]

    _frame = "status"

    @property
    def headline(self) -> str:
        """Distributions, nodes, durations, how often each distribution is the best, and where the fits are."""
        best = ", ".join(f"{family} {number:,}" for family, number in self.status["best"].items())
        families = count(len(self.status), "family", "families")
        return (
            f"{families} of {count(self.groups, 'node')}, {count(self.durations, 'duration')}; "
            f"best by AICc: {best}; written to {self.path}"
        )


@dataclass
class _Tally:
    """What parts add up to."""

    numbers: Counter[str] = field(default_factory=Counter)
    status: Counter[tuple[str, str]] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    notes: dict[str, None] = field(default_factory=dict)

    def add(self, other: _Tally) -> None:
        """Take in another part."""
        self.numbers += other.numbers
        self.status += other.status
        self.left_out.update(other.left_out)
        self.notes |= other.notes


def fit_stored(  # noqa: PLR0913 - the arguments of `fit`, and of the cut of a log
    path: str | Path | Sequence[str | Path],
    out: str | Path,
    families: Sequence[str] | str = CORE,
    *,
    measure: str = "ttf",
    censor: bool = True,
    first: str = "known",
    since: object = None,
    until: object = None,
    method: str = "ml",
    bias_correction: bool = False,
    level: float = 0.95,
    workers: int | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> StoredFits:
    """Fit distributions to every node of stored logs that are larger than memory.

    Rows are first split by node into temporary files beside `out` (one to four times the size of the logs), so the rows
    of a node may be in any files. Then parts of about a million events are fitted in turn. The numbers are those of
    `fit` for ``rf.read(path).between(since, until)``, without bootstrap, and with the rows in another order.

    Parameters
    ----------
    path : str, Path, or several
        Files that `relfit.write` (``relfit convert``) wrote, a folder or a pattern of them.
    out : str or Path
        A Parquet file.
    families, method, bias_correction, level
        As for `fit`.
    measure : {"ttf", "ttr"}
        Times to failure, or to repair.
    censor, first
        As for `FailureLog.ttf`.
    since, until : str, datetime or pandas.Timestamp, optional
        Observe from and up to here, as `FailureLog.between`.
    workers : int, optional
        Processes; all cores when left out. Does not change the numbers.
    progress : callable, optional
        Called with the step and the share that is done.

    Raises
    ------
    ArgumentError
        For another `measure`, or an argument that `fit` rejects.
    ReadError
        For a file that `relfit.write` did not write, or that holds lifetimes without dates.
    DataError
        Where half of the records or more have no end, since bursts are found from all nodes together; or where no event
        names a node.

    Examples
    --------
    >>> import tempfile
    >>> import relfit as rf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     stored = rf.write(rf.datasets.load("white"), Path(folder, "log"), by="year")
    ...     fits = rf.fitting.fit_stored(stored, Path(folder, "fits.parquet"), ["weibull", "gamma"], workers=1)
    ...     len(pd.read_parquet(fits.path))
    1024
    """
    if measure not in ("ttf", "ttr"):
        raise ArgumentError(f"measure={measure!r} is not known", remedy="use ttf or ttr")
    place = Path(out)
    fit([[1.0, 2.0, 4.0]], families, method=method, bias_correction=bias_correction, level=level, workers=1)
    crew = worker_number(workers)
    options = {"families": families, "method": method, "bias_correction": bias_correction, "level": level}
    times = {"censor": censor, "overlaps": "ends"} | ({"first": first} if measure == "ttf" else {})
    say = progress or (lambda what, share: None)
    with workplace(place) as folder, complete(place) as file:
        say("setting nodes apart", 0.0)
        parts = set_apart(path, folder, crew)
        _need_ends(parts.ended, parts.records)
        tasks = [(parts, part, (since, until), measure, times, options) for part in range(parts.number)]
        tally = _Tally()
        writer: parquet.ParquetWriter | None = None
        for done, (table, one) in enumerate(in_processes(_fitted, tasks, crew)):
            tally.add(one)
            if table is not None:
                if writer is None:
                    texts = [column.name for column in table.schema if pa.types.is_string(column.type)]
                    writer = parquet.ParquetWriter(file, table.schema, compression="zstd", use_dictionary=texts)
                writer.write_table(table)
            say("fitting", (done + 1) / parts.number)
        _need_ends(tally.numbers["ended"], tally.numbers["records"])
        if writer is None:
            raise DataError("no event of these logs names a node", remedy="look at them with relfit info")
        writer.close()
    return _told(place, tally)


def _need_ends(ended: int, records: int) -> None:
    if 2 * ended <= records:
        raise DataError(
            "most records have no end, and which of them are bursts of one failure is found from all nodes together",
            remedy="join them first, or fit the log in memory",
        )


def _fitted(
    parts: NodeParts,
    part: int,
    period: tuple[object, object],
    measure: str,
    times: Mapping[str, Any],
    options: dict[str, Any],
) -> tuple[pa.Table | None, _Tally]:
    """The fits of one part, none where it has no node, and what it adds."""
    log = parts.log(part)
    tally = _Tally(Counter(records=len(log.events), ended=int(log.events["end"].notna().sum())))
    log = _of_nodes(log).between(*period)
    if not len(log.population) and not len(log.events):
        return None, tally
    lives = log.ttf(**times) if measure == "ttf" else log.ttr(**times)
    fits = fit(lives, n_resamples=0, workers=1, **options)
    once, twice = log.nodes_with_one_or_two
    tally.numbers.update(once=once, twice=twice, named=log.nodes_with_records, listed=len(log.population))
    tally.numbers.update(declared=bool(log.population["declared"].any()))
    tally.numbers.update(groups=len(fits), durations=int(lives.n_lives.sum()))
    for family in fits.families:
        tally.status.update((family, status) for status in fits[family].status.tolist())
    tally.status.update((family, "best") for family in fits.best().dropna().tolist())
    if lives.counts is not None:
        tally.left_out.update({str(name): int(number) for name, number in lives.counts.sum().items()})
    tally.notes = dict.fromkeys(note for note in lives.notes if note != log.question)
    frame = fits.to_frame()
    texts = [name for name in frame.columns if frame[name].dtype == object or name in _KEYS]
    frame = frame.astype(dict.fromkeys(texts, object))
    schema = pa.schema(
        [(name, pa.string() if name in texts else pa.from_numpy_dtype(frame[name].dtype)) for name in frame.columns]
    )
    return pa.Table.from_pandas(frame, schema, preserve_index=False), tally


def _of_nodes(log: FailureLog) -> FailureLog:
    """Without the records that name no node."""
    named: BoolArray = log.events["node"].notna().to_numpy()
    return log if named.all() else replace(log, events=log.events[named].reset_index(drop=True))


def _told(place: Path, tally: _Tally) -> StoredFits:
    families = list(dict.fromkeys(family for family, _ in tally.status))
    names = ["best", "ok", *sorted({status for _, status in tally.status} - {"best", "ok"})]
    counts = np.array([[tally.status[family, name] for name in names] for family in families])
    once, twice, named, listed = (tally.numbers[name] for name in ("once", "twice", "named", "listed"))
    question = question_of(0 if tally.numbers["declared"] else unseen(once, twice, named, listed), named, twice)
    notes = (*([] if question is None else [question]), *tally.notes)
    status = pd.DataFrame(counts, index=pd.Index(families, name="family"), columns=names)
    left_out = {name: number for name, number in tally.left_out.items() if number}
    return StoredFits(place, tally.numbers["groups"], tally.numbers["durations"], status, left_out, notes)
