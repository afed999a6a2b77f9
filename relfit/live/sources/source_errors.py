"""What goes wrong outside of relfit when a source is asked: one line that names no password."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relfit.base.errors import RelfitError

if TYPE_CHECKING:
    from relfit.live.live_records import Fetched

__all__ = ["SourceError"]


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
