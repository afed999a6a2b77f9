"""Numbers of replicates, draws and workers are checked before anything is computed, wherever they are given."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import relfit as rf
from relfit.analyses import independence, screening
from relfit.analyses.independence import failures_of

LOG = rf.datasets.load("white")
TTF = LOG.ttf()
CALLS: dict[str, Callable[[object], object]] = {
    "dispersion": lambda n: independence.dispersion(failures_of(LOG), n_resamples=n),
    "cofailures": lambda n: independence.cofailures(LOG, n_resamples=n),
    "correlations": lambda n: independence.correlations(TTF, n_resamples=n),
    "serial_tests": lambda n: independence.serial_tests(TTF, n_resamples=n),
    "pooled_tests": lambda n: independence.pooled_tests(failures_of(LOG), n_resamples=n),
    "change_points": lambda n: screening.change_points(LOG, n_resamples=n),
    "outlier_nodes": lambda n: screening.outlier_nodes(LOG, n_resamples=n),
    "fit": lambda n: rf.fit([[1.0, 2.0, 4.0]], "weibull", n_resamples=n),
    "fit by workers": lambda n: rf.fit([[1.0, 2.0, 4.0]], "weibull", workers=n),
    "fit_by_size": lambda n: rf.fleet.fit_by_size(LOG, n_resamples=n),
    "forecast": lambda n: rf.forecast(LOG, n_draws=n),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("number", [-5, 2.5, "many"])
def test_a_number_that_cannot_be_is_refused(name: str, number: object) -> None:
    with pytest.raises(rf.ArgumentError, match=r"is (-5|2\.5|'many'|not known)|='many'|few"):
        CALLS[name](number)


def test_workers_of_a_sweep() -> None:
    campaign = rf.campaigns.Campaign(run="builtins:pow", parameters={"base": [2]}, config={"exp": 2}, replications=1)
    with pytest.raises(rf.ArgumentError, match="workers is -5"):
        rf.campaigns.sweep(campaign, executor="threads", workers=-5)
