"""From a table and a formula to covariates that can be estimated: names, categories, and what rules an estimate out.

The language of the right side is that of formulaic, which lifelines uses: ``a + b``, ``a * b``, ``C(a)``, ``log(a)``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from keyword import iskeyword

import numpy as np
import numpy.typing as npt
import pandas as pd

from relfit.base.arrays import FloatArray
from relfit.base.errors import ArgumentError
from relfit.base.numeric.ordering import natural_key
from relfit.base.text import count

INTERCEPT = "Intercept"
_ANSI = re.compile(r"\x1b\[[0-9;]*m|[⧛⧚]")
_CODED = re.compile(r"\bC\(\s*`?([^`,()]+?)`?\s*[,)]")
_QUOTED = re.compile(r"`([^`]+)`")
_Q = re.compile(r"""\bQ\(\s*(["'])([^`]+?)\1\s*\)""")
_SIDES = re.compile(r"~(?=(?:[^`]*`[^`]*`)*[^`]*$)")  # outside backticks
_DEPENDENT = 1e-9


def suggestion(name: str, known: Iterable[str], noun: str = "columns") -> str:
    """What to do about a name that is not there: the nearest one, and all of them."""
    names = list(known)
    near = get_close_matches(name, names, n=1) or get_close_matches(name.lower(), names, n=1)
    listed = f"the {noun} are {', '.join(names)}" if names else "the log has none"
    return f"did you mean {near[0]!r}? {listed}" if near else listed


def split(formula: str) -> tuple[str, str]:
    """The two sides of a formula, in which names of columns may be quoted with backticks, or as in ``Q("rack no")``."""
    text = _Q.sub(r"`\2`", formula) if isinstance(formula, str) else ""
    sides = [side.strip() for side in _SIDES.split(text)]
    if len(sides) != 2 or not all(sides):
        raise ArgumentError(f"{formula!r} is not a formula", remedy="write it as 'ttf ~ rack + position'")
    return sides[0], sides[1]


def names_in(right: str) -> list[str]:
    """Columns that the right side of a formula names, in order."""
    quoted = {f"_quoted_{i}_": name for i, name in enumerate(_QUOTED.findall(right))}
    text = right
    for stand_in, name in quoted.items():
        text = text.replace(f"`{name}`", stand_in)
    try:
        nodes = list(ast.walk(ast.parse(text.replace(":", "*"), mode="eval")))
    except SyntaxError as error:
        remedy = "the language is that of formulaic, as in 'a + C(b) + a:c'; quote odd names with backticks"
        raise ArgumentError(f"cannot read the formula {right!r}: {error.msg}", remedy=remedy) from error
    functions = {id(getattr(node, "func", None)) for node in nodes}
    functions |= {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    variables = [node for node in nodes if isinstance(node, ast.Name) and id(node) not in functions]
    names = [quoted.get(node.id, node.id) for node in sorted(variables, key=lambda node: node.col_offset)]
    if not names:
        raise ArgumentError(f"the formula {right!r} names no covariate", remedy="write it as 'ttf ~ rack + position'")
    return list(dict.fromkeys(names))


def covariates_of(
    table: pd.DataFrame, right: str, reference: Mapping[str, object], offered: Iterable[str]
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Columns of a formula, less rows that miss one (counted by column); text, booleans and ``C()`` are categories."""
    names, known = names_in(right), list(offered)
    for name in names:
        if name not in known:
            raise ArgumentError(f"no column {name!r}", remedy=suggestion(name, known))
    for name in reference:
        if name not in names:
            what = f"a reference for {name!r}, which is not in the formula"
            raise ArgumentError(what, remedy=suggestion(name, names))
    missing: dict[str, int] = {}
    kept = np.ones(len(table), dtype=bool)
    for name in names:
        gone = table[name].isna().to_numpy() & kept
        if pd.api.types.is_float_dtype(table[name].dtype):
            gone |= np.isinf(table[name].to_numpy(dtype=float, na_value=0.0)) & kept
        if gone.any():
            missing[name] = int(gone.sum())
        kept &= ~gone
    coded = {*_CODED.findall(right), *reference}
    frame = table.loc[kept, names]
    return pd.DataFrame({n: _column(frame[n], n in coded, reference.get(n)) for n in names}), missing


def _column(values: pd.Series, coded: bool, reference: object) -> pd.Series:
    values = values.astype(object).infer_objects()
    if values.dtype.kind in "mM" or isinstance(values.dtype, (pd.DatetimeTZDtype, pd.PeriodDtype)):
        remedy = "turn them into numbers (hours since some day) or categories"
        raise ArgumentError(f"{values.name!r} holds dates", remedy=remedy)
    if pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype) and not coded:
        return values.astype(float)
    levels = sorted(values.unique(), key=lambda level: natural_key(str(level)))
    if reference is not None:
        first = [level for level in levels if str(level) == str(reference)]
        if not first:
            shown = [str(level) for level in levels[:20]]
            remedy = suggestion(str(reference), shown, "levels")
            raise ArgumentError(f"{values.name!r} has no level {reference!r} to refer to", remedy=remedy)
        levels = [*first, *(level for level in levels if level is not first[0])]
    return values.astype(object).astype(pd.CategoricalDtype(pd.Index(levels, dtype=object)))


def matrix_of(frame: pd.DataFrame, right: str, failures: FloatArray, noun: str = "duration") -> pd.DataFrame:
    """The matrix of a regression without its intercept; an `ArgumentError` for what cannot be estimated."""
    import formulaic

    if not failures.any():
        raise ArgumentError(f"none of the {len(frame)} {noun}s has a failure", remedy="there is nothing to estimate")
    for name in frame.columns:
        if isinstance(frame[name].dtype, pd.CategoricalDtype) and len(frame[name].cat.categories) == 1:
            raise _constant(str(name))
    try:
        with np.errstate(all="ignore"):  # what is not finite is rejected below
            matrix = pd.DataFrame(formulaic.Formula(right).get_model_matrix(frame, na_action="ignore"))
    except Exception as error:  # formulaic evaluates what the user wrote: anything can come out of it
        reason = (_ANSI.sub("", str(error)).strip().splitlines() or [type(error).__name__])[0]
        remedy = "the functions are those of formulaic and numpy, as in C(a), log(a), np.sqrt(a)"
        raise ArgumentError(f"cannot compute the formula {right!r}: {reason}", remedy=remedy) from error
    matrix = matrix.drop(columns=INTERCEPT, errors="ignore").astype(float)
    _reject_without_failure(frame, matrix, failures > 0.0, noun)
    _reject_dependent(matrix.to_numpy(), [str(name) for name in matrix.columns])
    if failures.sum() <= matrix.shape[1]:
        few = count(int(failures.sum()), "failure is", "failures are")
        what = f"{few} too few for {count(matrix.shape[1], 'coefficient')}"
        raise ArgumentError(what, remedy="merge levels, leave covariates out, or take more of the log")
    return matrix


def _constant(name: str) -> ArgumentError:
    what = f"{name!r} is the same everywhere"
    return ArgumentError(what, remedy="leave it out: a constant has no effect to estimate")


def _reject_without_failure(
    frame: pd.DataFrame, matrix: pd.DataFrame, failed: npt.NDArray[np.bool_], noun: str
) -> None:
    """Reject a level, or a cell of an interaction, in which nothing failed: its coefficient has no finite estimate."""
    cells = {
        f"{name} {level!r}": (frame[name] == level).to_numpy()
        for name in frame.columns
        if isinstance(frame[name].dtype, pd.CategoricalDtype)
        for level in frame[name].cat.categories
    }
    cells |= {str(name): matrix[name].to_numpy() != 0.0 for name in matrix.columns if "[T." in str(name)}
    for name, rows in cells.items():
        if rows.any() and not failed[rows].any():
            what = f"no failure among the {rows.sum()} {noun}s with {name}, so its coefficient has no finite estimate"
            texts = [text for column in frame.columns if (text := why_text(column, frame[column]))]
            remedy = "merge that level with another, or leave its rows out; attribute_effects (relfit regress without "
            raise ArgumentError(what, remedy="; ".join([*texts, f"{remedy}--formula) gives its upper limit"]))


def why_text(name: object, values: pd.Series) -> str:
    """Which value made a column of numbers one of text; empty for others."""
    if not isinstance(values.dtype, pd.CategoricalDtype):
        return ""
    numbers = pd.to_numeric(pd.Series(values.cat.categories.astype(str)), errors="coerce")
    if numbers.notna().sum() <= max(len(numbers) // 2, 3) or numbers.notna().all():
        return ""
    return f"{str(name)!r} is text, since {values.cat.categories[int(numbers.isna().argmax())]!r} is not a number"


def _reject_dependent(matrix: FloatArray, columns: list[str]) -> None:
    finite = np.isfinite(matrix).all(axis=0)
    if not finite.all():
        name = columns[int(np.flatnonzero(~finite)[0])]
        raise ArgumentError(f"{name!r} is not finite everywhere", remedy="take the logarithm of values above zero only")
    centred = matrix - matrix.mean(axis=0)
    size = np.sqrt((centred**2).sum(axis=0))
    flat = size <= _DEPENDENT * np.sqrt((matrix**2).sum(axis=0))
    if flat.any():
        raise _constant(columns[int(np.flatnonzero(flat)[0])])
    unit = centred / size
    upper = np.asarray(np.linalg.qr(unit, mode="r"))
    short = np.abs(np.diag(upper)) < _DEPENDENT
    if short.any() or min(upper.shape) < len(columns):
        at = int(np.flatnonzero(short)[0]) if short.any() else min(upper.shape)
        part = np.linalg.lstsq(unit[:, :at], unit[:, at], rcond=None)[0]
        others = [columns[i] for i in np.flatnonzero(np.abs(part) > 1e-6)][:4]
        what = f"{columns[at]!r} follows from {', '.join(map(repr, others))}, so their effects cannot be distinguished"
        raise ArgumentError(what, remedy="leave one of them out")


def check_strata(strata: str, right: str, offered: Sequence[str]) -> None:
    """An `ArgumentError` for strata by a column that is not there, or that the formula names."""
    if strata not in offered:
        raise ArgumentError(f"no column {strata!r} for strata", remedy=suggestion(strata, offered))
    if strata in names_in(right):
        raise ArgumentError(f"{strata!r} is in the formula and in the strata", remedy="take it out of one of them")


def reject_same_within(matrix: pd.DataFrame, strata: pd.Series) -> None:
    """Reject a covariate that does not vary within any stratum."""
    within = matrix - matrix.groupby(strata.to_numpy()).transform("mean")
    flat = within.abs().max() <= _DEPENDENT * matrix.abs().max()
    if flat.any():
        name = str(matrix.columns[int(flat.to_numpy().argmax())])
        what = f"{name!r} is the same everywhere within each {strata.name}"
        raise ArgumentError(what, remedy="leave it out, or stratify by another column")


def reference_of(column: str, frame: pd.DataFrame) -> str | None:
    """Level that a column of the matrix, such as ``C(no)[T.2]:rack no[T.b]``, is compared to; None for a number."""
    levels = []
    for name in frame.columns[[isinstance(kind, pd.CategoricalDtype) for kind in frame.dtypes]]:
        factor = rf"(?:^|:|[(`])(?:{re.escape(str(name))})`?(?:[^\[\]:`]*\))?\[T\."
        levels += [(at.start(), str(frame[name].cat.categories[0])) for at in re.finditer(factor, column)]
    return ", ".join(level for _, level in sorted(levels)) if levels else None


def without_keywords(frame: pd.DataFrame, right: str) -> tuple[pd.DataFrame, str]:
    """The covariates, and the formula, with an underscore after names that Python keeps to itself."""
    own = {str(name): f"{name}_" for name in frame.columns if iskeyword(str(name))}
    for name, other in own.items():
        right = right.replace(f"`{name}`", f"`{other}`")
    return frame.rename(columns=own), right
