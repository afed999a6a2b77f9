"""Execute the notebooks of this folder again and keep what they show: python notebooks/execute.py [--check]

With --check nothing is written; a notebook that fails ends the run with exit code 1 either way. A notebook tells which
version of relfit executed it, and the checksum of its cells then.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

import relfit

HERE = Path(__file__).resolve().parent


def executed(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """What a notebook that is executed now tells of it: the version of relfit and a checksum of the cells of code."""
    cells = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    return {"version": relfit.__version__, "cells": hashlib.sha256(cells.encode()).hexdigest()[:16]}


def execute(path: Path, keep: bool) -> bool:
    """Execute one notebook; whether it went through."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:  # what a notebook writes goes with it
        shutil.copy(HERE / "matplotlibrc", folder)
        client = NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": folder}})
        try:
            client.execute()
        except CellExecutionError as error:
            print(f"{path.name}: {error}", file=sys.stderr)
            return False
    if keep:
        for cell in notebook.cells:
            cell.get("metadata", {}).pop("execution", None)  # times of execution would differ in every run
        notebook.metadata["relfit"] = executed(notebook)
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        nbformat.write(notebook, part)
        part.replace(path)
    print(f"{path.name}: executed")
    return True


def main() -> int:
    """Execute all notebooks; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="execute only, write nothing")
    keep = not parser.parse_args().check
    done = [execute(path, keep) for path in sorted(HERE.glob("*.ipynb"))]
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
