"""Public failure logs by name, fetched once: pinned revisions, checked by SHA-256, kept in a cache."""

from __future__ import annotations

import os
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from relfit.errors import ArgumentError, ReadError, Remedy

if TYPE_CHECKING:
    from relfit.failurelog import FailureLog

__all__ = ["fetch", "is_fetched", "public"]

_TIMEOUT = 30.0  # seconds without a byte
_LONGEST = 86_400.0
_TRIES = 2
_ANOTHER_CACHE = Remedy("name another with cache or RELFIT_DATA", "name another with --cache or RELFIT_DATA")
_GITHUB = "https://raw.githubusercontent.com"
_ESEUR = f"{_GITHUB}/Derek-Jones/ESEUR-code-data/1a49d102b38680531cb1d79ca131510b11b64e06/"
_TITAN = f"{_GITHUB}/olcf/TitanGPULife/f3303559ff63d341eb913ac530267b412d30ed7e/"


@dataclass(frozen=True)
class _Public:
    what: str
    base: str
    files: dict[str, str]
    read: str


_SETS = {
    "lanl": _Public(
        "outages of 22 systems of Los Alamos, 1996 to 2005 (LA-UR-05-7318)",
        _ESEUR,
        {
            "reliability/LA-UR-05-7318-failure-data-1996-2005.csv.xz":
                "ed32fd254a013df79f5f475f4eac85980f7229735e100ac427343ef449a75140",
        },
        "reliability/LA-UR-05-7318-failure-data-1996-2005.csv.xz",
    ),
    "grid5000": _Public(
        "availability of 1 288 nodes of Grid'5000, 2005 to 2006 (Failure Trace Archive, g5k_grid07)",
        _ESEUR,
        {
            "hardware/grid5k-fail/event_trace.tab.xz":
                "6faba020a0325a3d80372c297ebeaaaa575ce81a397ae4dcc2660601c21f8533",
            "hardware/grid5k-fail/component.tab.xz":
                "e50f9d2567dd1b15b913bb07e4e086f73d6fe94b5cde7c9a520c0152c550be05",
            "hardware/grid5k-fail/node.tab.xz":
                "ccbaba7bcec6f398f265cb6fbd0b79a1a02b5aeaa235443db0f9e9e6f76d5ee6",
            "hardware/grid5k-fail/platform.tab.xz":
                "48e68fd5a9709ae313a5452ae3ae902bc5d39e37b6ee3b8e51aacfe7fbf2544f",
        },
        "hardware/grid5k-fail",
    ),
    "titan": _Public(
        "lives of the GPUs of Titan, 2013 to 2019 (Ostrouchov et al., SC20)",
        _TITAN,
        {"data/gc_full.csv": "a1f29b9b9b67c1e8ef2370cbaf783e4eeb7ba9ccadc5511ca7056d8feeeefed8"},
        "data/gc_full.csv",
    ),
}  # fmt: skip


def public() -> dict[str, str]:
    """The public data sets that `fetch` knows, and what they hold.

    Examples
    --------
    >>> list(public())
    ['lanl', 'grid5000', 'titan']
    """
    return {name: each.what for name, each in _SETS.items()}


def is_fetched(name: str, cache: str | Path | None = None) -> bool:
    """Whether the files of a public data set are in the cache, so that `fetch` needs no network.

    Examples
    --------
    >>> is_fetched("lanl", cache="/nowhere")
    False
    """
    if name not in _SETS:
        return False
    try:
        folder = _folder(name, cache)
    except ArgumentError:
        return False
    return all((folder / file).is_file() for file in _SETS[name].files)


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
) -> FailureLog:
    """Read a public failure log, fetched first where it is not in the cache.

    Parameters
    ----------
    name : {"lanl", "grid5000", "titan"}
    cache : str or Path, optional
        Folder to keep files in; the environment's ``RELFIT_DATA``, or the user's cache, when left out.
    mirror : str, optional
        Address to fetch from in place of GitHub; the files are checked all the same.
    progress : bool
        Show a bar on stderr.
    timeout : float
        Seconds without a byte after which the source counts as silent.

    Raises
    ------
    ArgumentError
        When there is no such data set; it names the nearest. When pooch is not installed, `mirror` is no address
        or `timeout` not between 0 and a day.
    ReadError
        When a file cannot be fetched, or is not the one that is expected.
    """
    if name not in _SETS:
        near = get_close_matches(str(name).lower(), _SETS, n=1)
        remedy = f"did you mean {near[0]!r}?" if near else f"there is {', '.join(_SETS)}"
        raise ArgumentError(f"no public data set is called {name!r}", remedy=remedy)
    if mirror is not None and not str(mirror).lower().startswith(("http://", "https://")):
        raise ArgumentError(f"mirror={str(mirror)[:80]!r} is no address", remedy="write https://...")
    if not 0.0 < timeout <= _LONGEST:
        raise ArgumentError(f"timeout={timeout:g} is not between 0 and {_LONGEST:g} seconds", remedy="write 30")
    from relfit.io import read

    pooch = _pooch()
    chosen = _SETS[name]
    folder = _folder(name, cache)
    base = chosen.base if mirror is None else mirror.rstrip("/") + "/"
    keeper = pooch.create(path=folder, base_url=base, registry={k: f"sha256:{v}" for k, v in chosen.files.items()})
    pooch.get_logger().setLevel("ERROR")
    for file in chosen.files:
        _fetched(pooch, keeper, file, base, folder, progress, timeout)
    return read(folder / chosen.read)


def _fetched(pooch: Any, keeper: Any, file: str, base: str, folder: Path, progress: bool, timeout: float) -> None:
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
            raise ReadError(f"cannot fetch {base}{file}: {_reason(error)}", remedy=(
                f"try again later, or put the file at {folder / file} yourself"
            )) from None  # fmt: skip
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
    return "what came is not the file that is expected (SHA-256)" if isinstance(error, ValueError) else str(error)[:100]


class _Bar:
    """A bar on stderr, in the way that pooch wants it."""

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
