"""Which files a path means: one, those of a folder, or those whose names fit a pattern."""

from __future__ import annotations

import glob
from pathlib import Path


def files_meant(path: str | Path) -> list[Path]:
    """The files that a path means, in the order of their names; a path that is no folder and no pattern as it is.

    Hidden files of a folder are left out.
    """
    place = Path(path)
    try:
        is_folder, there = place.is_dir(), place.exists()
    except (OSError, ValueError):  # not a possible path; opening it raises the error
        is_folder, there = False, True
    if is_folder:
        return sorted(file for file in place.iterdir() if file.is_file() and not file.name.startswith("."))
    if not there and any(sign in str(path) for sign in "*?["):
        # Path.glob takes no absolute pattern
        matching = glob.glob(str(path), recursive=True)  # noqa: PTH207
        return sorted(Path(name) for name in matching if Path(name).is_file())
    return [place]
