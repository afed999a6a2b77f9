"""``python -m relfit`` is the command ``relfit``."""

from __future__ import annotations

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
    try:
        stop_before_start(sys.argv[1:])
        from relfit.cli.app import main as run
    except KeyboardInterrupt:
        return 130
    return run()


if __name__ == "__main__":
    sys.exit(main())
