"""``python -m relfit`` is the command ``relfit``."""

import sys

from relfit.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
