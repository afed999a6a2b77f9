"""Formulas are read into columns and levels; scores and errors of a few rows are worked out by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd

import relfit as rf
from relfit.analyses.regression.covariates import node_table, regression_table
from relfit.analyses.regression.design import names_in, reference_of, split, without_keywords
from relfit.analyses.regression.scores import aft_scores, sandwich


def test_a_formula_has_two_sides() -> None:
    assert split("ttf ~ cage + column") == ("ttf", "cage + column")
    assert split('ttf ~ Q("rack no")') == ("ttf", "`rack no`")


def test_columns_that_a_formula_names() -> None:
    assert names_in("C(cage) * np.log(size) + `rack no`") == ["cage", "size", "rack no"]


def test_levels_that_columns_of_the_matrix_are_compared_to() -> None:
    frame = pd.DataFrame({"rack no": pd.Categorical(["a", "b"]), "no": pd.Categorical([1, 2])})
    assert reference_of("rack no[T.b]", frame) == "a"
    assert reference_of("C(no)[T.2]:rack no[T.b]", frame) == "1, a"


def test_words_of_python_get_an_underscore() -> None:
    frame, right = without_keywords(pd.DataFrame({"class": [1.0], "rack no": [2.0]}), "C(`class`) + `rack no`")
    assert (list(frame.columns), right) == (["class_", "rack no"], "C(`class_`) + `rack no`")


def test_the_score_of_one_row() -> None:
    scores = aft_scores("weibull", np.array([1.0]), np.array([True]), np.ones((1, 1)), np.zeros(1), 0.0)
    assert scores.tolist() == [[0.0, 1.0]]


def test_the_covariance_of_two_clusters() -> None:
    assert sandwich(np.eye(1), np.array([[1.0], [1.0], [-2.0]]), np.array([0, 0, 1])).tolist() == [[16.0]]


def test_tables_of_white() -> None:
    log = rf.datasets.load("white")
    columns = ["system", "node", "duration", "observed", "rack", "cause", "detail", "scope"]
    assert list(regression_table(log, "ttr")[0].columns) == columns
    table = node_table(log)
    assert table.columns.tolist() == ["system", "node", "failures", "hours", "rack"]
    assert (len(table), table["failures"].sum()) == (512, 9076)
