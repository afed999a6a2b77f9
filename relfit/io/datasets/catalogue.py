"""The public data sets that can be fetched: where their files are, pinned, and what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_GITHUB = "https://raw.githubusercontent.com"
_ESEUR = f"{_GITHUB}/Derek-Jones/ESEUR-code-data/1a49d102b38680531cb1d79ca131510b11b64e06/"
_TITAN = f"{_GITHUB}/olcf/TitanGPULife/f3303559ff63d341eb913ac530267b412d30ed7e/"
_GRIZZLY = "https://github.com/hpc/LANL-grizzly-data/raw/8938246ef206aa883486952a1212531f32f3c597/"
_ARCHIVE = "https://www.cs.huji.ac.il/labs/parallel/workload/"
_GRIZZLY_MACHINE = {"n_nodes": 1490, "timezone": "America/Denver"}


@dataclass(frozen=True)
class DataSet:
    """Files below ``base``, an address with a commit or a numbered version, with their SHA-256 (None: that of the first
    copy), and how they are read: the ``folder``, or else the only file, with the ``options`` of its reader.
    """

    what: str
    base: str
    files: Mapping[str, str | None]
    folder: str = ""
    jobs: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


CATALOGUE = {
    "lanl": DataSet(
        "outages of 23 systems of Los Alamos, 1996 to 2005 (LA-UR-05-7318)",
        _ESEUR,
        {
            "reliability/LA-UR-05-7318-failure-data-1996-2005.csv.xz":
                "ed32fd254a013df79f5f475f4eac85980f7229735e100ac427343ef449a75140",
        },
    ),
    "grid5000": DataSet(
        "availability of 1,288 nodes of Grid'5000, 2005 to 2006 (Failure Trace Archive, g5k_grid07)",
        _ESEUR,
        {
            "hardware/grid5k-fail/event_trace.tab.xz":
                "6faba020a0325a3d80372c297ebeaaaa575ce81a397ae4dcc2660601c21f8533",
            "hardware/grid5k-fail/component.tab.xz":
                "e50f9d2567dd1b15b913bb07e4e086f73d6fe94b5cde7c9a520c0152c550be05",
            "hardware/grid5k-fail/node.tab.xz":
                "ccbaba7bcec6f398f265cb6fbd0b79a1a02b5aeaa235443db0f9e9e6f76d5ee6",
            "hardware/grid5k-fail/platform.tab.xz":
                "48e68fd5a9709ae313a5452ae3ae902bc5d39e37b6ee3b8e51aacfe7fbf2544f",
        },
        "hardware/grid5k-fail",
    ),
    "titan": DataSet(
        "lifetimes of the GPUs of Titan, 2013 to 2019 (Ostrouchov et al., SC20)",
        _TITAN,
        {"data/gc_full.csv": "a1f29b9b9b67c1e8ef2370cbaf783e4eeb7ba9ccadc5511ca7056d8feeeefed8"},
    ),
    "grizzly2018": DataSet(
        "jobs of Grizzly at Los Alamos, January to November 2018 (LA-UR-18-30996)",
        _GRIZZLY,
        {"gr-slurm-logs_anon-LA-UR-18-30996/gr-slurm-logs_anon.gz": None},
        jobs=True,
        options=_GRIZZLY_MACHINE,
    ),
    "grizzly2022": DataSet(
        "jobs of Grizzly at Los Alamos, December 2021 to November 2022 (LA-UR-24-28033)",
        _GRIZZLY,
        {"gr-slurm-sacct_no_identifiers-LA-UR-24-28033/gr-slurm-sacct_no_identifiers-LA-UR-24-28033.tar.gz": None},
        jobs=True,
        options=_GRIZZLY_MACHINE,
    ),
    "lanl-cm5": DataSet(
        "jobs of the CM-5 of Los Alamos, 1994 to 1996 (Parallel Workloads Archive, cleaned log 4.1)",
        _ARCHIVE,
        {"l_lanl_cm5/LANL-CM5-1994-4.1-cln.swf.gz": None},
        jobs=True,
    ),
    "sdsc-blue": DataSet(
        "jobs of Blue Horizon at San Diego, 2000 to 2003 (Parallel Workloads Archive, cleaned log 4.2)",
        _ARCHIVE,
        {"l_sdsc_blue/SDSC-BLUE-2000-4.2-cln.swf.gz": None},
        jobs=True,
        options={"processors_per_node": 1},
    ),
}  # fmt: skip
