"""Public failure logs and lists of jobs by name: fetched once, pinned, checked by SHA-256, kept in a cache."""

from __future__ import annotations

import os
import shutil
import tarfile
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from relfit.base.errors import ArgumentError, ReadError, Remedy
from relfit.base.writing import complete
from relfit.io.datasets.catalogue import CATALOGUE, DataSet

if TYPE_CHECKING:
    from pooch import Pooch

    from relfit.io.workloads import Workload
    from relfit.log.failurelog import FailureLog

_TIMEOUT = 30.0  # seconds without a byte
_LONGEST = 86_400.0
_TRIES = 2
_ANOTHER_CACHE = Remedy("name another with cache or RELFIT_DATA", "name another with --cache or RELFIT_DATA")
_TAR = ".tar.gz"
_SUM = ".sha256"


def public() -> dict[str, str]:
    """The public data sets that `fetch` knows, and what they hold.

    Examples
    --------
    >>> list(public())
    ['lanl', 'grid5000', 'titan', 'grizzly2018', 'grizzly2022', 'lanl-cm5', 'sdsc-blue']
    """
    return {name: each.what for name, each in CATALOGUE.items()}


def lists_jobs(name: str) -> bool:
    """Whether a public data set is a list of jobs, not a failure log.

    Examples
    --------
    >>> lists_jobs("grizzly2018"), lists_jobs("lanl")
    (True, False)
    """
    return name in CATALOGUE and CATALOGUE[name].jobs


def is_fetched(name: str, cache: str | Path | None = None) -> bool:
    """Whether the files of a public data set are in the cache, so that `fetch` needs no network.

    Examples
    --------
    >>> is_fetched("lanl", cache="/nowhere")
    False
    """
    if name not in CATALOGUE:
        return False
    try:
        folder = _folder(name, cache)
    except ArgumentError:
        return False
    return all((folder / file).is_file() for file in CATALOGUE[name].files)


def _pooch() -> Any:
    try:
        import pooch
        import requests  # noqa: F401
    except ImportError:
        raise ArgumentError("fetching needs the package pooch", remedy="pip install 'relfit[datasets]'") from None
    return pooch


def _folder(name: str, cache: str | Path | None) -> Path:
    return Path(cache or os.environ.get("RELFIT_DATA") or _pooch().os_cache("relfit")) / name


def fetch(
    name: str,
    *,
    cache: str | Path | None = None,
    mirror: str | None = None,
    progress: bool = False,
    timeout: float = _TIMEOUT,
) -> FailureLog | Workload:
    """Read a public data set, fetched first where it is not in the cache.

    Parameters
    ----------
    name : str
        As in `public`.
    cache : str or Path, optional
        Folder for the files; by default that of the environment variable ``RELFIT_DATA``, else the user's cache.
    mirror : str, optional
        Address to fetch from in place of the data set's own; the files are checked all the same.
    progress : bool
        Show a progress bar on stderr.
    timeout : float
        Seconds without a byte after which fetching fails.

    Returns
    -------
    FailureLog or Workload
        A workload where the data set is a list of jobs.

    Raises
    ------
    ArgumentError
        When there is no such data set; it names the nearest. When pooch is not installed, `mirror` is no address,
        or `timeout` is not between 0 and 86,400 s.
    ReadError
        When a file cannot be fetched, or its SHA-256 is not the expected one.
    """
    if name not in CATALOGUE:
        near = get_close_matches(str(name).lower(), CATALOGUE, n=1)
        remedy = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(CATALOGUE)}"
        raise ArgumentError(f"no public data set is called {name!r}", remedy=remedy)
    if mirror is not None and not str(mirror).lower().startswith(("http://", "https://")):
        raise ArgumentError(f"mirror={str(mirror)[:80]!r} is not an address", remedy="write https://...")
    if not 0.0 < timeout <= _LONGEST:
        raise ArgumentError(f"timeout={timeout:g} is not between 0 and {_LONGEST:g} seconds", remedy="write 30")
    pooch = _pooch()
    chosen, folder = CATALOGUE[name], _folder(name, cache)
    base = chosen.base if mirror is None else mirror.rstrip("/") + "/"
    sums = {file: value or _first_sum(folder / file) for file, value in chosen.files.items()}
    registry = {file: value and f"sha256:{value}" for file, value in sums.items()}
    keeper = pooch.create(path=folder, base_url=base, registry=registry)
    pooch.get_logger().setLevel("ERROR")
    for file, value in sums.items():
        _fetched(pooch, keeper, file, base, folder, progress, timeout)
        if value is None:
            with complete(folder / (file + _SUM)) as part:
                part.write_text(f"{pooch.file_hash(folder / file)}  {Path(file).name}\n")
    return _read(chosen, folder)


def _first_sum(file: Path) -> str | None:
    """The SHA-256 of the first copy of a file; None before one was fetched."""
    try:
        return Path(f"{file}{_SUM}").read_text().split()[0]
    except (OSError, IndexError):
        return None


def _read(chosen: DataSet, folder: Path) -> FailureLog | Workload:
    """A data set whose files are there."""
    from relfit.io import read
    from relfit.io.workloads import read_workload

    path = folder / (chosen.folder or next(iter(chosen.files)))
    if not chosen.jobs:
        return read(path)
    if path.name.endswith(_TAR):
        path = _unpacked(path)
    return read_workload(path, **chosen.options)


def _unpacked(archive: Path) -> Path:
    """The one CSV file of an archive, unpacked beside it once."""
    target = archive.with_name(archive.name.removesuffix(_TAR) + ".csv")
    if target.exists() and target.stat().st_mtime >= archive.stat().st_mtime:
        return target
    try:
        with tarfile.open(archive) as files:
            tables = [each for each in files.getmembers() if each.isfile() and each.name.endswith(".csv")]
            source = files.extractfile(tables[0]) if len(tables) == 1 else None
            if source is None:
                raise ReadError(f"holds {len(tables)} CSV files", path=archive, remedy="unpack the table of jobs")
            with complete(target) as part, part.open("wb") as out:
                shutil.copyfileobj(source, out)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise ReadError(f"cannot be unpacked ({error})", path=archive, remedy="remove it and fetch it again") from None
    return target


def _fetched(
    pooch: ModuleType, keeper: Pooch, file: str, base: str, folder: Path, progress: bool, timeout: float
) -> None:
    """One file, in the cache and checked."""
    import requests

    bar = _Bar(file) if progress else None
    for attempt in range(_TRIES):
        try:
            keeper.fetch(file, downloader=pooch.HTTPDownloader(progressbar=bar or False, timeout=timeout))
            return
        except (requests.RequestException, ValueError, OSError) as error:
            if isinstance(error, OSError) and not isinstance(error, requests.RequestException):
                what = f"the cache {folder} cannot be written ({error.strerror or error})"
                raise ReadError(what, remedy=_ANOTHER_CACHE) from None
            if attempt + 1 < _TRIES:
                continue
            raise ReadError(
                f"cannot fetch {base}{file}: {_reason(error)}",
                remedy=(f"try again later, or put the file at {folder / file} yourself"),
            ) from None
        finally:
            if bar is not None and attempt + 1 == _TRIES:
                bar.close()


def _reason(error: Exception) -> str:
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"the server answers {error.response.status_code}"
    if isinstance(error, requests.Timeout):
        return "the server does not answer"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "it is cut short"
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    return "the download is not the expected file (SHA-256)" if isinstance(error, ValueError) else str(error)[:100]


class _Bar:
    """A progress bar on stderr, with the methods that pooch calls."""

    def __init__(self, name: str) -> None:
        from rich.console import Console
        from rich.progress import Progress

        self._progress = Progress(console=Console(stderr=True), transient=True)
        self._task = self._progress.add_task(Path(name).name, total=None)
        self._progress.start()

    @property
    def total(self) -> int:
        return 0

    @total.setter
    def total(self, size: int) -> None:
        self._progress.update(self._task, total=size or None)

    def update(self, size: int) -> None:
        self._progress.advance(self._task, size)

    def reset(self) -> None:
        self._progress.reset(self._task)

    def close(self) -> None:
        self._progress.stop()
