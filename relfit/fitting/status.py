"""The status of the fit of one group, as a word and as the code that the compiled kernels write."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

OK = 0
TOO_FEW = 1
ALL_CENSORED = 2
NO_VARIANCE = 3
ZEROS = 4
NOT_CONVERGED = 5
NO_MAXIMUM = 6
NOT_APPLICABLE = 7
FEW = 8

MEANING = {  # in the order of the codes
    "ok": "the likelihood has a maximum and it was found",
    "too_few": "no life at all, or a single failure with no longer life, for a family of two parameters",
    "all_censored": "no failure was observed",
    "no_variance": "one failure time agrees with all lives, so the likelihood rises without end as the spread vanishes",
    "zeros": "a failure time of zero has no density under this family",
    "not_converged": "the search ended before the gradient vanished; no parameters are given",
    "no_maximum": "the likelihood still rises, or stays level, at the edge of what the parameters can be",
    "not_applicable": "the estimator is not defined for such lives, as moments are not for censored ones",
    "few": "fewer failures than parameters, among fewer than ten lives: shape and scale cannot both be estimated",
}
_WORDS = np.array(list(MEANING), dtype=object)


def words(codes: npt.NDArray[np.int8]) -> npt.NDArray[np.object_]:
    """Status words for codes, same shape."""
    words_of_codes: npt.NDArray[np.object_] = _WORDS[codes]
    return words_of_codes
