"""How many nodes a log does not name, and the question about them."""

from __future__ import annotations

import math

from relfit.base.text import count

_MOST_UNSEEN = 0.05  # of the nodes: more, and rates of one node are not known


def unseen(once: int, twice: int, named: int, listed: int) -> int:
    """Least number of nodes that are not listed, from those with one record and with two; 0 below 5 % of all.

    `named` are nodes with any record, `listed` these and the nodes that are listed without a record.
    """
    least = once * (once - 1) / (2.0 * (twice + 1.0)) - (listed - named)
    return math.ceil(least) if least > _MOST_UNSEEN * (least + listed) else 0


def question_of(unseen_nodes: int, seen: int, twice: int) -> str | None:
    """What the user must answer before results for one node can be given; None if nothing.

    Without nodes that failed `twice`, the estimate of those unseen is no number to give.
    """
    if not unseen_nodes:
        return None
    known = f"only nodes that failed are known ({seen:,})"
    if twice:
        more = f", and at least {count(unseen_nodes, 'more is', 'more are')} likely, so nothing is said of one node"
    else:
        more = ", none of them twice, so how many more there are is not known and nothing is said of one node"
    return (
        f"{known}{more}: how many are there? Give --n-nodes NUMBER or --population FILE (n_nodes or population in "
        "Python)"
    )
