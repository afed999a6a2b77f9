"""The command that says which attributes of nodes go with failures and repairs."""

from __future__ import annotations

from typing import Annotated

import relfit as rf
from relfit.cli import option_values as checked
from relfit.cli import options as opt
from relfit.cli import output
from relfit.cli.progress import ProgressSteps

_FEW = 6  # findings, unless details are asked for
_COEFFICIENTS = 10  # of a formula, in the short answer
_SHOWN = ["measure", "attribute", "system", "term", "reference", "ratio", "low", "high", "p_adjusted"]


def regress(
    reading: opt.PartReading,
    to: opt.Output,
    formula: Annotated[
        str | None, opt.option("FORMULA", "One model, as 'failures ~ rack', 'ttf ~ cage', 'ttr ~ cause'.")
    ] = None,
    model: Annotated[str | None, opt.option("NAME", "Model of times: cox (the default), weibull or lognormal.")] = None,
    cluster: Annotated[
        str, opt.option("COLUMN", "Standard errors allow for dependence within this column, or none.")
    ] = "node",
    reference: Annotated[
        list[str] | None, opt.option("COLUMN=LEVEL", "Reference level of a column. Repeatable.")
    ] = None,
    rates: Annotated[bool, opt.flag("--rates", "Write the rate of each node to --out.")] = False,
    level: opt.Level = 0.95,
    alpha: opt.Alpha = 0.05,
    details: opt.Details = False,
) -> None:
    """Attributes associated with failures.

    Every attribute by itself: failures of nodes (negative binomial), times to failure (Cox and Weibull accelerated
    failure time), times to repair. With --formula one model. --out writes one row per effect.
    """
    output.check_output(to)
    checked.probability("--level", level)
    checked.probability("--alpha", alpha)
    of_formula = {"--model": model, "--reference": reference, "--rates": rates}
    checked.without_effect(of_formula, "--formula", formula is not None)
    with ProgressSteps("reading", "fitting", "writing") as steps:
        period = reading.study(reading.read()).used
        steps.next()
        if formula is None:
            effects = rf.regression.attribute_effects(period.log, level=level, alpha=alpha)
            tables, findings, document = {"regress": effects.table}, effects.findings, effects.to_dict()
            brief = list[str]()
            of_systems = effects.answered["system"].any()
            columns = [name for name in _SHOWN if name != "system" or of_systems]
            shown, missing = effects.answered[columns], effects.unanswered
        else:
            levels = {name: values[0] for name, values in checked.pairs("--reference", reference).items()}
            fit = rf.regress(
                period.log,
                formula,
                model,
                level=level,
                cluster=None if cluster == "none" else cluster,
                reference=levels,
            )
            coefficients = fit.table.reset_index()
            shown, missing = coefficients.drop(columns=["coefficient", "standard_error", "low", "high"]), ()
            brief = ["", *output.few_rows("effects", shown.drop(columns="p_adjusted"), _COEFFICIENTS), ""]
            tables, findings, document = {"regress": coefficients}, fit.findings, fit.to_dict()
            if rates:
                tables = {"regress": fit.node_rates(), "coefficients": coefficients}
            if fit.proportional is not None:
                tables["proportional"] = fit.proportional.reset_index()
        steps.next()
        written = output.write_results(to, tables, "regress", [])
    if to.json:
        output.print_json({"period": period.to_dict(), **document})
        return
    if details:
        output.print_lines([period.headline, *findings, "", *output.few_rows("effects", shown), *missing, *written])
        return
    more = [f"{len(findings) - _FEW:,} further: see --details."] if len(findings) > _FEW else []
    output.print_lines([period.headline, *findings[:_FEW], *more, *missing, *brief, output.TABLES, *written])
