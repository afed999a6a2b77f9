# relfit: what one runs on a fresh clone. Needs make and Python 3.11 or later.
PYTHON ?= python3
VENV ?= .venv
REPORT ?= report.html
# which tests make check runs
TESTS ?= not verify
BIN := $(VENV)/bin
# modules are kept compiled, whatever the surroundings say: tests start many a process that imports them
export PYTHONDONTWRITEBYTECODE :=
# a process for each core: threads of the linear algebra beside them would only wait for each other
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help report test check live-check coverage verify lint hooks docs site notebooks bench papers studies size mutants wheel-check clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

report: $(VENV)/.installed ## Build .venv if need be and write the report of the bundled sample
	@$(BIN)/relfit report white --out $(REPORT) > /dev/null
	@echo "The report is $(abspath $(REPORT))"

test: $(VENV)/.installed-all ## Install what the tests need and run them, but for those that take seconds each
	$(PYTEST) -m 'not slow and not verify'

check: $(VENV)/.installed-all ## Run all tests, the examples in README.md and docs/ and most notebooks; CI leaves out the long tests
	$(PYTEST) -m '$(TESTS)' --doctest-glob='*.md' README.md docs notebooks tests relfit

live-check: $(VENV)/.installed-all ## As root on Debian: install Slurm, Prometheus, PostgreSQL and test relfit watch with them
	tools/live.sh install
	$(PYTEST) -m live tests/live

coverage: $(VENV)/.installed-all ## Run the tests of make test and fail below the floor of coverage in pyproject.toml
	$(BIN)/coverage erase
	OPENBLAS_NUM_THREADS=1 $(BIN)/coverage run -m pytest -n auto --dist loadfile -m 'not slow and not verify'
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

verify: $(VENV)/.installed-all site ## Run the long simulations that check the statistics, the long notebooks, and a browser on the site
	$(PYTEST) -m verify notebooks tests relfit
	$(PYTEST) --hypothesis-profile=searching -m hypothesis tests
	$(BIN)/python benchmarks/run.py --verify

lint: $(VENV)/.installed-all ## Check style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

hooks: $(VENV)/.installed-all ## Check style, format and types before each commit (pre-commit, in .git/hooks)
	$(BIN)/pre-commit install

docs: $(VENV)/.installed-all ## Run the examples in README.md and docs/
	$(PYTEST) --doctest-glob='*.md' README.md docs

site: $(VENV)/.installed-site ## Build the site into build/site: no network needed to read it
	$(BIN)/python tools/build_site.py

notebooks: $(VENV)/.installed-all ## Execute the notebooks again and keep what they show
	$(BIN)/python notebooks/execute.py

bench: $(VENV)/.installed-all ## Print how fast things are, as ratios to peers
	$(BIN)/python benchmarks/run.py

papers: $(VENV)/.installed-all ## Print the papers' tables beside ours, cell by cell
	$(BIN)/python papers/run.py

studies: $(VENV)/.installed-all ## Simulate the papers' studies that are not stored, and write their tables into docs
	$(BIN)/python papers/studies.py

size: ## Count the lines of relfit by package
	@$(PYTHON) tools/size.py

mutants: $(VENV)/.installed-all ## Break the code in a random sample of places and count what the tests notice
	$(BIN)/python tools/mutants.py

wheel-check: ## Build the wheel, install it into an empty environment and run the main commands from an empty folder
	PYTHON=$(PYTHON) bash tools/wheel_check.sh

clean: ## Remove .venv and everything else that was made
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.* $(REPORT)
	find relfit tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	@command -v $(PYTHON) > /dev/null || { echo "no $(PYTHON) here; install Python 3.11 or later, or give PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is $$($(PYTHON) --version 2>&1); relfit needs Python 3.11 or later, as in: make PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); echo "$(PYTHON) -m venv failed; on Debian: apt install python3-venv" >&2; exit 1; }

# the stamps keep pip from running when nothing changed
$(VENV)/.installed: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.installed-site: pyproject.toml | $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[site]'
	@touch $@

$(VENV)/.installed-all: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[test,lint]'
	@touch $@ $(VENV)/.installed
