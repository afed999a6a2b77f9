#!/usr/bin/env bash
# The oldest dependencies that pyproject.toml allows, in an environment of their own: main commands and quick tests.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"${PYTHON:-python3}" -m venv "$scratch/uv" && "$scratch/uv/bin/python" -m pip install --quiet uv
uv=$scratch/uv/bin/uv
"$uv" venv --quiet --python "${PYTHON:-python3}" "$scratch/venv"
python=$scratch/venv/bin/python
"$uv" pip install --quiet --python "$python" --resolution lowest-direct --only-binary :all: --extra dask --extra datasets \
  -r "$root/pyproject.toml"
"$uv" pip freeze --python "$python" > "$scratch/oldest.txt"
"$uv" pip install --quiet --python "$python" pytest pytest-xdist hypothesis mpmath --constraint "$scratch/oldest.txt"
cd "$root"
export OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
relfit() { echo "relfit $1 $2"; (cd "$scratch" && PYTHONPATH=$root "$python" -m relfit "$@" > out.txt 2>&1 || { cat out.txt >&2; exit 1; }); }
relfit info white
relfit fit white --out fits.csv
relfit report white --out report.html
relfit calibrate white --out params.toml
relfit plan checkpoint params.toml --nodes 64 --save 5min --restore 10min
relfit regress white
(cd "$root" && PYTHONPATH=$root "$python" -m pytest -q -n "${WORKERS:-2}" -p no:cacheprovider \
  -m "not slow and not verify and not browser and not live" ${TESTS:-tests/fitting tests/io tests/cli})
echo "The oldest dependencies work: $(grep -E '^(numpy|scipy|pandas|pyarrow|numba|matplotlib|typer)==' "$scratch/oldest.txt" | tr '\n' ' ')"
