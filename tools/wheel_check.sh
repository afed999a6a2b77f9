#!/usr/bin/env bash
# What a user gets: build the wheel, install it (and nothing else) into an empty environment, work in an empty folder.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/home" "$scratch/work" "$scratch/source"

# a copy of what git tracks, so that nothing left over in the folder gets in
(cd "$root" && git ls-files -z | xargs -0 -r tar -cf -) | tar -xf - -C "$scratch/source"
"${PYTHON:-python3}" -m venv "$scratch/venv"
bin=$scratch/venv/bin
"$bin/python" -m pip install --quiet "$scratch/source"

cd "$scratch/work"
export HOME=$scratch/home
run() { echo "relfit $*"; "$bin/relfit" "$@" > out.txt 2> err.txt || { cat out.txt err.txt >&2; echo "failed: relfit $*" >&2; exit 1; }; }
run --version
run info white
run fit white --out fits.csv
run report white --out report.html
run calibrate white --out params.toml
run plan checkpoint params.toml --nodes 64 --save 5min --restore 10min
run plan sparing params.toml --racks 16 --trays 16 --gpus 8 --save 2s --restart 5min
printf 'job_size = 8\nworking_pool_size = 9\nspare_pool_size = 1\njob_length = "10h"\n' > training.toml
run simulate training training.toml --runs 2
for file in fits.csv report.html params.toml; do test -s "$file" || { echo "$file is missing or empty" >&2; exit 1; }; done
"$bin/python" - "$root" <<'PY'
import sys
from pathlib import Path

import relfit

package, source = Path(relfit.__file__).parent, Path(sys.argv[1]) / "relfit"
assert not package.is_relative_to(source.parent), f"the source folder was imported: {package}"
kept = {p.relative_to(source) for p in source.rglob("*") if p.is_file() and "__pycache__" not in p.parts}
missing = sorted(str(p) for p in kept if not (package / p).exists())
assert not missing, f"the wheel lacks {missing}"
PY
echo "The wheel works: $("$bin/relfit" --version)"
