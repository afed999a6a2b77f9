"""The regression of a failure log: its lives or repairs, with its attributes as covariates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from relfit.errors import ArgumentError
from relfit.regression.covariates import MEASURES, measure_named, regression_table, suggestion
from relfit.regression.formula import split
from relfit.regression.models import regression

if TYPE_CHECKING:
    from relfit.failurelog import FailureLog
    from relfit.regression.results import Regression

__all__ = ["regress"]


def regress(
    log: FailureLog,
    formula: str,
    model: str = "cox",
    *,
    measure: str | None = None,
    level: float = 0.95,
    cluster: str | None = "node",
    reference: Mapping[str, Any] | None = None,
    **options: Any,
) -> Regression:
    """How attributes of nodes and events lengthen or shorten lives or repairs; needs ``relfit[regression]``.

    Parameters
    ----------
    log : FailureLog
    formula : str
        ``"life ~ cage + column"`` or ``"repair ~ cause"``: the right side names attributes of the log, ``system``
        or ``cause``, in the language of formulaic; text is a category, ``C(cage)`` makes a number one. The cause of
        a life is that of the failure with which it began, that of a repair its own.
    model : {"cox", "weibull", "lognormal"}
        Proportional hazards, or accelerated failure time.
    measure : {"ttf", "ttr"}, optional
        For a formula without a left side.
    level : float
        Level of the intervals.
    cluster : str or None
        Standard errors are robust to dependence among lives with one value of this; ``"node"`` since a node has
        several lives. ``None`` takes lives as independent.
    reference : mapping from attribute to level, optional
        What other levels are compared to; the first in natural order when left out.
    **options
        ``censor``, ``origin``, ``first``, ``overlaps`` and ``zeros`` of `FailureLog.ttf`.

    Returns
    -------
    relfit.regression.Regression

    Raises
    ------
    ArgumentError
        See `relfit.regression.regression`.

    Examples
    --------
    >>> import relfit as rf
    >>> log = rf.datasets.load("white")
    >>> regress(log, "life ~ rock")
    Traceback (most recent call last):
    ...
    relfit.errors.ArgumentError: no column 'rock'; did you mean 'rack'? there is system, rack, cause, detail, scope
    """
    left, right = split(formula)
    if measure is not None and measure not in MEASURES:
        raise ArgumentError(f"measure={measure!r} is not known", remedy=suggestion(str(measure), MEASURES))
    wanted = "ttf" if measure is None else MEASURES[measure]
    if left is not None:
        asked = measure_named(left)
        if measure is not None and asked != wanted:
            raise ArgumentError(f"the formula asks for {left!r} and measure={measure!r}", remedy="leave out measure")
        wanted = asked
    table, left_out = regression_table(log, wanted, **options)
    offered = [str(name) for name in table.columns if name not in ("node", "duration", "observed")]
    keys: list[str] | str | None = ["system", "node"] if cluster == "node" else cluster
    return regression(
        table,
        f"{left or ('life' if wanted == 'ttf' else 'repair')} ~ {right}",
        model,
        duration="duration",
        cluster=keys,
        reference=reference,
        level=level,
        left_out=left_out,
        covariates=offered,
    )
