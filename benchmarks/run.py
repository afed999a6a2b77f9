"""Run the benchmarks of this folder, each in a fresh process: python benchmarks/run.py [--verify] [NAME...].

With ``--verify`` the long simulations run instead: what intervals cover, how often tests reject.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main(arguments: list[str]) -> int:
    """Run the scripts named, or all of their kind."""
    kind = "verify_" if "--verify" in arguments else "bench_"
    names = [argument for argument in arguments if argument != "--verify"]
    scripts = sorted(HERE.glob(f"{kind}*.py"))
    known = [script.stem.removeprefix(kind) for script in scripts]
    unknown = [name for name in names if name not in known]
    if unknown:
        print(f"no benchmark {unknown[0]!r}; there is {', '.join(known)}", file=sys.stderr)
        return 2
    failed = []
    for name, script in zip(known, scripts, strict=True):
        if names and name not in names:
            continue
        print(f"== {name}", flush=True)
        if subprocess.run([sys.executable, str(script)], check=False).returncode:
            failed.append(name)
        print(flush=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
