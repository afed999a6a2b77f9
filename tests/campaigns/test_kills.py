"""Kills at random moments, two in CI and four in ``make verify``.

`benchmarks/stress_campaigns.py` has two hundred, with the scheduler of Dask too. `test_sweeping` has a full disk and a
half-written part without a kill.
"""

from __future__ import annotations

from pathlib import Path

import pytest

KINDS = ("parent", "worker", "full disk", "half-written part")


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [KINDS[:2], pytest.param(KINDS, marks=pytest.mark.verify)], ids=len)
@pytest.mark.long
def test_kills_lose_nothing_and_count_nothing_twice(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch, kinds: tuple[str, ...]
) -> None:
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    monkeypatch.setenv("STRESS_REPLICATIONS", "60")
    import stress_campaigns

    assert sum(stress_campaigns.stress(len(kinds), 1, tmp_path, kinds).values()) == len(kinds)
