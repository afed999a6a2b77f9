"""``python -m relfit`` is the command ``relfit``.

Its linear algebra is small: OpenBLAS gets one thread, since idle ones only wait for work.
"""

from __future__ import annotations

import os
import sys

from relfit.cli.stopping import stop_before_start

__all__ = ["main"]


def main() -> int:
    """Run the command line of this process; a signal that comes while it is imported ends it in order.

    Returns
    -------
    int
        The exit status, as `relfit.cli.app.main` has it.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        stop_before_start(sys.argv[1:])
        from relfit.cli.app import main as run
    except KeyboardInterrupt:
        return 130
    return run()


if __name__ == "__main__":
    sys.exit(main())
