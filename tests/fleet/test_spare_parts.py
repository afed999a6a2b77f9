"""For which causes parts are held in stock."""

from __future__ import annotations

import pytest

import relfit as rf
from relfit.fleet.spare_parts import needs_part

PARTS = [
    "hardware",
    "Hardware",
    "disk",
    "bad disk sda",
    "hard drive",
    "DIMM failure",
    "memory",
    "memory corrected",
    "gpu memory",
    "gpu other",
    "GPU_ECC",
    "gpu interconnect",
    "power supply",
    "cooling fan",
    "network card",
    "NIC",
    "system board",
    "machine check",
    "XID 79",
    "blade",
]
NO_PARTS = [
    "software",
    "Software",
    "human error",
    "network",
    "facilities",
    "undetermined",
    "unknown",
    "Unknown cause",
    "other",
    "",
    "nan",
    "not stated",
    "None",
    "n/a",
    "gpu application",
    "out of memory",
    "kernel panic",
    "file system",
    "Not responding",
    "operator error",
    "power outage",
    "switch",
    "infiniband fabric",
    "air-conditioning",
    "gpu driver",
    "environment",
    "heartbeat timeout",
]


@pytest.mark.parametrize("cause", PARTS)
def test_parts_are_held_for_what_is_replaced(cause: str) -> None:
    assert needs_part(cause)


@pytest.mark.parametrize("cause", NO_PARTS)
def test_no_part_is_held_for_what_is_no_part_or_is_not_known(cause: str) -> None:
    assert not needs_part(cause)


def test_causes_of_the_sample() -> None:
    causes = rf.datasets.load("white").events["cause"].astype(str).unique()
    assert {cause for cause in causes if needs_part(cause)} == {"hardware"}
