"""What a result is by its base alone."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace

import pytest

from relfit.base.results import Result


class Count(Result):
    nodes: int
    up: int = 0

    @property
    def headline(self) -> str:
        return f"{self.up} of {self.nodes} nodes are up."


class Named(Count, kw_only=True):
    name: str


def test_a_result_is_a_frozen_dataclass_that_shows_its_headline() -> None:
    one, other = Count(4, up=3), Count(4, 3)
    assert [f.name for f in fields(Count)] == ["nodes", "up"]
    assert repr(one) == "Count: 3 of 4 nodes are up."
    assert one != other
    assert hash(one) != hash(other)
    assert replace(one, up=4).up == 4
    with pytest.raises(FrozenInstanceError):
        one.up = 4


def test_fields_of_a_result_on_a_result_may_be_by_name_alone() -> None:
    assert Named(4, 3, name="a").to_dict() == {"findings": ["3 of 4 nodes are up."], "nodes": 4, "up": 3, "name": "a"}
    with pytest.raises(TypeError):
        Named(4, 3, "a")
