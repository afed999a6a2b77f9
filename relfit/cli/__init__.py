"""The command line: a thin layer over the library, cheap to import (see `relfit.cli.app`)."""
