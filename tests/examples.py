"""How many random examples a test has."""

from __future__ import annotations

from typing import Any

from hypothesis import settings


def examples(number: int, **options: Any) -> settings:
    """A third of `number`, the same in every run; ``make verify`` looks for new ones, and takes all.

    `options` go to ``hypothesis.settings``.
    """
    searching = settings.get_current_profile_name() == "searching"
    return settings(max_examples=number if searching else -(-number // 3), deadline=None, **options)
