"""`forecast_record`: today's forecast, to be compared with its outcome."""

from __future__ import annotations

import numpy as np
import pandas as pd

from relfit.study import Study

DRAWS, HORIZONS = 1000, ("7d", "30d")
"""Random futures of a forecast, and its horizons."""
_COLUMNS = {"name": "system", "horizon": "horizon_hours", "incidents": "mean"}
_COLUMNS |= {"incidents_low": "lower", "incidents_high": "upper"}


def forecast_record(study: Study) -> pd.DataFrame:
    """The expected incidents of each system in the 7 and the 30 days after the end of a log.

    Returns
    -------
    pandas.DataFrame
        ``made`` (the end of the log), ``system``, ``horizon_hours``; ``mean`` and prediction interval (``lower``,
        ``upper``, ``level``) of the number of incidents; ``happened`` and ``score``, still NaN.

    Raises
    ------
    DataError
        When there is nothing to forecast.

    Examples
    --------
    >>> import relfit as rf
    >>> record = forecast_record(rf.Study(rf.datasets.load("white")))
    >>> record["horizon_hours"].tolist(), bool(record["happened"].isna().all())
    ([168.0, 720.0], True)
    """
    ahead = study.forecast(HORIZONS, n_draws=DRAWS)
    rows = ahead.by_system[list(_COLUMNS)].rename(columns=_COLUMNS).astype({"system": str})
    return rows.assign(made=ahead.start, level=ahead.level, happened=np.nan, score=np.nan)
