"""`SourceError`: a failure outside relfit when a source is fetched, in one line that holds no password."""

from __future__ import annotations

from relfit.base.errors import RelfitError
from relfit.live.live_records import Fetched


class SourceError(RelfitError):
    """A source could not be fetched: refused, too slow, cut short, of another form.

    Parameters
    ----------
    what : str
        In one sentence without a full stop.
    remedy : str, optional
    fetched : Fetched, optional
        Records that were fetched all the same, which are stored.

    Examples
    --------
    >>> str(SourceError("the server refused", remedy="is it up?"))
    'the server refused; is it up?'
    """

    def __init__(self, what: str, *, remedy: str | None = None, fetched: Fetched | None = None) -> None:
        super().__init__(what, remedy=remedy)
        self.fetched = fetched
