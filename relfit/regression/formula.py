"""Formulas: which columns they name, which of these are categories, and whether the design can be estimated at all.

The language of the right side is that of formulaic, which lifelines uses: ``a + b``, ``a * b``, ``C(a)``, ``log(a)``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.errors import ArgumentError
from relfit.numeric.ordering import natural_key
from relfit.regression.covariates import suggestion

__all__ = ["INTERCEPT", "Design", "as_category", "design_of", "names_in", "prepare", "split"]

FloatArray = npt.NDArray[np.float64]
INTERCEPT = "Intercept"
_ANSI = re.compile(r"\x1b\[[0-9;]*m|[⧛⧚]")
_QUOTED = re.compile(r"`([^`]+)`")
_DEPENDENT = 1e-9


def split(formula: str) -> tuple[str | None, str]:
    """The left side (None where there is none) and the right side of a formula.

    Raises
    ------
    ArgumentError
        When it is no text, or has no right side or more than two sides.

    Examples
    --------
    >>> split("life ~ cage + column")
    ('life', 'cage + column')
    """
    sides = [side.strip() for side in formula.split("~")] if isinstance(formula, str) else []
    if not sides or len(sides) > 2 or not all(sides):
        raise ArgumentError(f"{formula!r} is not a formula", remedy="write it as 'life ~ rack + position'")
    return (None, sides[0]) if len(sides) == 1 else (sides[0], sides[1])


def _terms(right: str) -> list[tuple[str, ...]]:
    """Factors of every term of the right side, the intercept left out."""
    import formulaic
    from formulaic.errors import FormulaicError

    try:
        parsed = formulaic.Formula(right)
        return [tuple(str(f.expr) for f in term.factors) for term in parsed if str(term) not in ("1", "0")]
    except (FormulaicError, SyntaxError, AttributeError) as error:
        reason = _ANSI.sub("", str(error)).strip().splitlines()
        raise ArgumentError(
            f"cannot read the formula {right!r}: {reason[0] if reason else type(error).__name__}",
            remedy="the language is that of formulaic, as in 'a + C(b) + a:c'; quote odd names with backticks",
        ) from error


def names_in(right: str) -> list[str]:
    """Columns that the right side of a formula names, in order.

    Examples
    --------
    >>> names_in("C(cage) * np.log(size) + `rack no`")
    ['cage', 'size', 'rack no']
    """
    return list(dict.fromkeys(name for term in _terms(right) for factor in term for name in _names(factor)))


def _names(factor: str) -> list[str]:
    """Columns in one factor: what is neither called nor taken an attribute of."""
    quoted: list[str] = []

    def hold(match: re.Match[str]) -> str:
        quoted.append(match.group(1))
        return f"_quoted_{len(quoted) - 1}_"

    text = _QUOTED.sub(hold, factor)
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return [factor]
    others = {
        id(part)
        for node in ast.walk(tree)
        for part in (getattr(node, "func", None), node.value if isinstance(node, ast.Attribute) else None)
    }
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in others]
    found.sort(key=lambda node: node.col_offset)
    held = {f"_quoted_{i}_": name for i, name in enumerate(quoted)}
    return [held.get(node.id, node.id) for node in found]


def as_category(values: pd.Series, reference: Any = None, *, wanted: bool = False) -> pd.Series:
    """A covariate as numbers or as a category, its levels in natural order with the reference first.

    Text and booleans are categories, numbers are numbers unless `wanted` (or a reference) makes them categories.

    Raises
    ------
    ArgumentError
        For dates, and for a reference that is no level.

    Examples
    --------
    >>> as_category(pd.Series(["10", "9", "a"]), reference="a").cat.categories.tolist()
    ['a', '9', '10']
    """
    plain = values.astype(object).infer_objects() if values.dtype == object else values
    if plain.dtype.kind in "mM" or isinstance(plain.dtype, (pd.DatetimeTZDtype, pd.PeriodDtype)):
        raise ArgumentError(
            f"{values.name!r} holds dates", remedy="turn them into numbers (hours since some day) or categories"
        )
    number = pd.api.types.is_numeric_dtype(plain.dtype) and not pd.api.types.is_bool_dtype(plain.dtype)
    if number and not wanted and reference is None:
        return plain.astype(float)
    present = plain.dropna().unique()
    levels = sorted(present, key=lambda level: natural_key(str(level)))
    if reference is not None:
        first = [level for level in levels if str(level) == str(reference)]
        if not first:
            raise ArgumentError(
                f"{values.name!r} has no level {reference!r} to refer to",
                remedy=suggestion(str(reference), [str(level) for level in levels[:20]]),
            )
        levels = [first[0], *(level for level in levels if level is not first[0])]
    return pd.Series(
        pd.Categorical(plain.astype(object), categories=pd.Index(levels, dtype=object)),
        index=values.index,
        name=values.name,
    )


def prepare(
    table: pd.DataFrame, right: str, reference: Mapping[str, Any] | None, offered: Iterable[str]
) -> tuple[pd.DataFrame, dict[str, int]]:
    """The columns that a formula names, rows with a missing one left out, and how many these were by column.

    Raises
    ------
    ArgumentError
        For an unknown column, a formula without covariates, or a reference that is none.
    """
    names = names_in(right)
    known = list(offered)
    if not names:
        raise ArgumentError(f"the formula {right!r} names no covariate", remedy=f"there is {', '.join(known)}")
    for name in names:
        if name not in known:
            raise ArgumentError(f"no column {name!r}", remedy=suggestion(name, known))
    references = dict(reference or {})
    for name in references:
        if name not in names:
            raise ArgumentError(
                f"a reference for {name!r}, which is not in the formula", remedy=suggestion(name, names)
            )
    kept = np.ones(len(table), dtype=bool)
    missing: dict[str, int] = {}
    for name in names:
        gone = table[name].isna().to_numpy()
        if pd.api.types.is_float_dtype(table[name].dtype):
            gone = gone | np.isinf(table[name].to_numpy(dtype=float, na_value=np.nan))
        if (kept & gone).any():
            missing[name] = int((kept & gone).sum())
        kept &= ~gone
    chosen = table[kept]
    coded = {
        name
        for term in _terms(right)
        for factor in term
        if re.match(r"C\s*\(", factor)
        for name in _names(factor)
        if name in known
    }
    columns = {name: as_category(chosen[name], references.get(name), wanted=name in coded) for name in names}
    return pd.DataFrame(columns, index=chosen.index), missing


@dataclass(frozen=True, eq=False)
class Design:
    """The matrix of a regression, without its intercept, and what its columns mean."""

    matrix: FloatArray
    columns: tuple[str, ...]
    references: tuple[str | None, ...]
    levels: pd.DataFrame


def design_of(frame: pd.DataFrame, right: str, observed: npt.NDArray[np.bool_], weights: FloatArray) -> Design:
    """Build the matrix and reject what cannot be estimated.

    Parameters
    ----------
    frame : pandas.DataFrame
        What `prepare` gives.
    right : str
    observed : ndarray of bool, shape (n,)
    weights : ndarray of float, shape (n,)

    Raises
    ------
    ArgumentError
        For a factor that cannot be computed, a constant or collinear column, a level without a failure, and fewer
        failures than coefficients.
    """
    import formulaic

    failures = float(weights[observed].sum())
    if failures == 0:
        raise ArgumentError(f"none of the {len(frame)} lives ended in a failure", remedy="there is nothing to estimate")
    try:
        with np.errstate(all="ignore"):  # what is not finite is rejected below
            made = formulaic.Formula(right).get_model_matrix(frame, na_action="ignore")
    except Exception as error:  # formulaic evaluates what the user wrote: anything can come out of it
        reason = _ANSI.sub("", str(error)).strip().splitlines()
        raise ArgumentError(
            f"cannot compute the formula {right!r}: {reason[0] if reason else type(error).__name__}",
            remedy="the functions are those of formulaic and numpy, as in C(a), log(a), np.sqrt(a)",
        ) from error
    spec = made.model_spec
    values = np.asarray(pd.DataFrame(made), dtype=np.float64).reshape(len(frame), -1)
    names = [str(name) for name in spec.column_names]
    levels = _levels(frame, right, observed, weights)
    _reject_without_failure(levels)
    keep = [i for i, name in enumerate(names) if name != INTERCEPT]
    if not keep:
        raise ArgumentError(f"the formula {right!r} has no covariate")
    matrix, columns = values[:, keep], tuple(names[i] for i in keep)
    _reject_dependent(matrix, columns, intercept=True)
    if failures <= len(columns):
        raise ArgumentError(
            f"{failures:g} failures are too few for {len(columns)} coefficients",
            remedy="merge levels, leave covariates out, or take more of the log",
        )
    referred = {str(column): _reference(structure, spec) for structure in spec.structure for column in structure[2]}
    return Design(matrix, columns, tuple(referred.get(name) for name in columns), levels)


def _levels(frame: pd.DataFrame, right: str, observed: npt.NDArray[np.bool_], weights: FloatArray) -> pd.DataFrame:
    """Lives and failures at every level of every term that is made of categories alone."""
    rows = []
    counted: set[tuple[str, ...]] = set()
    for term in _terms(right):
        names = tuple(dict.fromkeys(name for factor in term for name in _names(factor)))
        simple = all(
            re.fullmatch(r"C\s*\(.*\)|`[^`]+`|[\w.]+", factor, re.DOTALL) or factor in names for factor in term
        )
        if names in counted or not simple or not all(isinstance(frame[n].dtype, pd.CategoricalDtype) for n in names):
            continue
        counted.add(names)
        keys = [frame[name] for name in names]
        lives = pd.Series(weights, index=frame.index).groupby(keys, observed=True).sum()
        failed = pd.Series(weights * observed, index=frame.index).groupby(keys, observed=True).sum()
        labels = [level if isinstance(level, tuple) else (level,) for level in lives.index]
        rows.append(
            pd.DataFrame(
                {
                    "covariate": ":".join(names),
                    "level": [", ".join(map(str, label)) for label in labels],
                    "lives": lives.to_numpy().astype(np.int64),
                    "failures": failed.to_numpy().astype(np.int64),
                }
            )
        )
    empty = pd.DataFrame({"covariate": [], "level": [], "lives": [], "failures": []})
    return pd.concat(rows, ignore_index=True) if rows else empty


def _reject_without_failure(levels: pd.DataFrame) -> None:
    for covariate, part in levels.groupby("covariate", sort=False):
        silent = part[part["failures"] == 0]
        if len(part) == 1:
            raise ArgumentError(
                f"{covariate!r} is {part['level'].iloc[0]!r} for every life",
                remedy="leave it out: a constant has no effect to estimate",
            )
        if len(silent):
            more = f" (and {len(silent) - 1} more such)" if len(silent) > 1 else ""
            raise ArgumentError(
                f"no failure among the {silent['lives'].iloc[0]} lives with {covariate} "
                f"{silent['level'].iloc[0]!r}{more}, so its coefficient has no finite estimate",
                remedy="merge that level with another, or leave its lives out with log.where",
            )


def _reject_dependent(matrix: FloatArray, columns: tuple[str, ...], *, intercept: bool) -> None:
    finite = np.isfinite(matrix).all(axis=0)
    if not finite.all():
        name = columns[int(np.flatnonzero(~finite)[0])]
        raise ArgumentError(
            f"{name!r} is not finite for every life", remedy="take the logarithm of what is above zero, say"
        )
    centred = matrix - matrix.mean(axis=0) * intercept
    size = np.sqrt((centred**2).sum(axis=0))
    flat = size <= _DEPENDENT * np.sqrt((matrix**2).sum(axis=0))
    if flat.any():
        name = columns[int(np.flatnonzero(flat)[0])]
        raise ArgumentError(
            f"{name!r} is the same for every life", remedy="leave it out: a constant has no effect to estimate"
        )
    unit = centred / size
    upper: FloatArray = np.asarray(np.linalg.qr(unit, mode="r"))
    rank = min(upper.shape)
    short = np.abs(np.diag(upper)) < _DEPENDENT
    if short.any() or rank < len(columns):
        at = int(np.flatnonzero(short)[0]) if short.any() else rank
        part = np.linalg.lstsq(unit[:, :at], unit[:, at], rcond=None)[0]
        others = [columns[i] for i in np.flatnonzero(np.abs(part) > 1e-6)][:4]
        raise ArgumentError(
            f"{columns[at]!r} follows from {', '.join(map(repr, others))}, so their effects cannot be told apart",
            remedy="leave one of them out",
        )


def _reference(structure: Any, spec: Any) -> str | None:
    """Level that the columns of a term are compared to; None for a number."""
    found = []
    for factor in structure[0].factors:
        state = spec.encoder_state.get(str(factor.expr))
        if state is None or "categories" not in state[1]:
            continue
        shown = [str(level) for level in state[1]["categories"]]
        used = " ".join(str(column) for column in structure[2])
        left = [level for level in shown if f"[T.{level}]" not in used]
        if "[T." in used and len(left) == 1:
            found.append(left[0])
    return ", ".join(found) if found else None
