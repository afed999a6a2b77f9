"""What other programs print: run without a shell, their failures as one line."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from typing import Any

from relfit.base.errors import RelfitError
from relfit.base.text import on_one_line


def output_of(command: Sequence[str], timeout: float = 120.0, **environment: str) -> bytes:
    """The output of a program, run without a shell; a `RelfitError` if it is missing, fails or exceeds `timeout`."""
    name = command[0]
    env: dict[str, Any] = {**os.environ, "LC_ALL": "C.UTF-8", **environment}
    try:
        done = subprocess.run(list(command), capture_output=True, timeout=timeout, env=env, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise RelfitError(
            f"there is no program {name} here", remedy="install it, or read its output from a file"
        ) from None
    except OSError as error:
        raise RelfitError(f"{name} cannot be run: {error.strerror or error}") from None
    except subprocess.TimeoutExpired:
        raise RelfitError(f"{name} did not answer within {timeout:g} s") from None
    if done.returncode:
        told = on_one_line(done.stderr.decode(errors="replace"))
        raise RelfitError(f"{name} ended with status {done.returncode}: {told or 'it says nothing'}")
    return done.stdout
