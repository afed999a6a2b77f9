"""The options of ``relfit fit``: what to fit, to which times, and what to show of the fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from relfit.base.errors import ArgumentError
from relfit.cli import option_values as checked
from relfit.cli import options as opt

_MOST_RESAMPLES = 100_000

Per = Annotated[str, opt.option("COLUMN", "Group by node, system or any column; all for one sample of all nodes.")]
NoCensor = Annotated[
    bool,
    opt.flag("--no-censor", "Omit censored times, as the papers do; biases the mean downwards."),
]


@dataclass(frozen=True, kw_only=True)
class Fitting:
    """What to fit, to which times, and what to show of the fits."""

    per: Per = "node"
    measure: Annotated[str, opt.option("ttf|ttr", "Times to failure or times to repair.")] = "ttf"
    no_censor: NoCensor = False
    families: opt.Families = opt.FAMILIES
    method: Annotated[str, opt.option("NAME", "ml, moments, rank_y or rank_x.")] = "ml"
    bias_correction: Annotated[
        bool, opt.flag("--bias-correction", "Correct the Weibull shape for its bias in small samples.")
    ] = False
    resamples: Annotated[
        str,
        opt.option("N|auto", "Resamples for p-values without a table; 0 for none, auto for 199 where quick."),
    ] = "auto"
    interval: Annotated[
        list[str] | None,
        opt.option(
            "QUANTITY[@AT]",
            "Show intervals: mean, median, quantile@0.1, reliability@24h, hazard@24h or a parameter. Repeatable.",
        ),
    ] = None
    ahead: Annotated[
        list[str] | None,
        opt.option("TIME", "Predict how many units that still run fail within this time from now. Repeatable."),
    ] = None
    kind: Annotated[str, opt.option("NAME", "Kind of the intervals: profile, wald, bootstrap, resample or exact.")] = (
        "profile"
    )
    level: opt.Level = 0.95
    seed: opt.Seed = 0
    stream: Annotated[
        bool,
        opt.flag("--stream", "Read a folder that relfit convert wrote part by part, for logs larger than memory."),
    ] = False

    @property
    def n_resamples(self) -> int | str:
        """What ``--resamples`` asks for, checked."""
        text = self.resamples.strip().lower()
        if text == "auto":
            return text
        if not text.isdigit() or 0 < int(text) < 19:
            raise ArgumentError(
                f"--resamples {self.resamples!r} is not possible", remedy="give auto, 0, or at least 19"
            )
        if len(text) > 6 or int(text) > _MOST_RESAMPLES:
            raise ArgumentError(f"--resamples {text[:20]} are too many", remedy=f"give at most {_MOST_RESAMPLES}")
        return int(text)

    @property
    def horizons(self) -> list[float]:
        """Hours of ``--ahead``."""
        return [checked.duration("--ahead", text, positive=True) for text in self.ahead or ()]

    @property
    def intervals(self) -> dict[str, tuple[str, float | str | None]]:
        """Quantities of ``--interval`` and where they are wanted, by the text that asks for them."""
        wanted: dict[str, tuple[str, float | str | None]] = {}
        for text in self.interval or ():
            name, sign, place = text.partition("@")
            at: float | str | None = place.strip() if sign else None
            if name.strip() == "quantile" and at is not None:
                try:
                    at = float(at)
                except ValueError:
                    remedy = "write quantile@0.1"
                    raise ArgumentError(f"--interval {text!r}: {place!r} is not a probability", remedy=remedy) from None
            wanted[text] = (name.strip(), at)
        return wanted
