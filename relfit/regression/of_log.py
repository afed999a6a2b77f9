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

__all__ = ["regression_of_log"]


def regression_of_log(
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
    """Regression of a log; `FailureLog.regression` documents the arguments.

    Examples
    --------
    >>> import relfit as rf
    >>> log = rf.datasets.load("white")
    >>> regression_of_log(log, "life ~ rock")
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
