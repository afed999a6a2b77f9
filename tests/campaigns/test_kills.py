"""A few kills at random moments; `benchmarks/stress_campaigns.py` has two hundred, with the scheduler of Dask too."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.mark.slow
def test_kills_lose_nothing_and_count_nothing_twice(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    monkeypatch.setenv("STRESS_REPLICATIONS", "60")
    import stress_campaigns

    kinds = ("parent", "worker", "full disk", "half-written part")
    assert sum(stress_campaigns.stress(4, 1, tmp_path, kinds).values()) == 4
