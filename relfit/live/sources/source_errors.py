"""What goes wrong outside of relfit when a source is asked: one line that names no password."""

from __future__ import annotations

from relfit.base.errors import RelfitError
from relfit.live.live_records import Fetched

__all__ = ["SourceError", "on_one_line"]


class SourceError(RelfitError):
    """A source could not be fetched: refused, slow, cut short, of another form.

    Parameters
    ----------
    what : str
        In one sentence without a full stop.
    remedy : str, optional
    fetched : Fetched, optional
        What came in spite of it; it is stored.

    Examples
    --------
    >>> str(SourceError("the server refused", remedy="is it up?"))
    'the server refused; is it up?'
    """

    def __init__(self, what: str, *, remedy: str | None = None, fetched: Fetched | None = None) -> None:
        super().__init__(what, remedy=remedy)
        self.fetched = fetched


def on_one_line(text: object, most: int = 300) -> str:
    r"""The beginning of what another program says, without breaks of lines.

    Examples
    --------
    >>> on_one_line("refused:\n  no such host", 15)
    'refused: no suc'
    """
    return " ".join(str(text).split())[:most]
