# make demo | test | coverage | test-gpu | test-min | fuzz | check | counts | bench | docs : each builds .venv itself, with nothing but Python >= 3.11.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test coverage test-gpu test-min fuzz check counts bench docs vendor clean

# the example data of README, and all that its commands need
demo: .venv/.demo
	$(BIN)/unelisa demo --out demo
	@test -e demo/ra.duckdb || $(BIN)/unelisa simulate ehr --patients 3000 --out demo/ra.duckdb --quiet

test: .venv/.test
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal

# the GPU solver, on the processor where there is no GPU; apart, because torch can bring gigabytes
test-gpu: .venv/.gpu
	$(BIN)/python -m pytest tests/paper/solvers -k torch

check: .venv/.check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# which lines the tests reach; fails below the floor. It takes twice the time of `make test`
coverage: .venv/.test
	$(PIP) pytest-cov
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal --cov=unelisa --cov-report=term:skip-covered --cov-fail-under=90

# how large the house is, and how long the way of a fit
counts: .venv/.demo
	$(BIN)/python benchmarks/counts.py

bench: .venv/.test
	$(BIN)/python benchmarks/solver.py

# DOCS="-D plot_gallery=0" leaves the gallery's scripts unrun: `make test` runs them
docs: .venv/.docs
	$(BIN)/sphinx-build -W --keep-going -q -j auto $(DOCS) -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# the graph library of the report, from npm; its files are part of the repository
vendor:
	.ci/vendor-cytoscape

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "unelisa needs Python 3.11 or newer"; exit 1; }
	@echo "Creating a Python environment in .venv ..."
	@$(PYTHON) -m venv .venv

.venv/.demo: .venv/bin/python pyproject.toml constraints.txt
	@echo "Installing unelisa and its libraries into .venv (about a minute, once) ..."
	@$(PIP) --editable ".[report,review,omop]"
	@touch $@

.venv/.test: .venv/.demo
	@echo "Installing the libraries of the tests into .venv (a minute or two, once) ..."
	@$(PIP) --editable ".[report,test]"
	@touch $@

# everything that .ci/run needs, in one step: resolving once instead of five times
.venv/.all: .venv/bin/python pyproject.toml constraints.txt
	@echo "Installing all libraries into .venv (a minute or two, once) ..."
	@$(PIP) --editable ".[report,test,check,docs,gpu]"
	@for part in demo test check docs gpu all; do touch .venv/.$$part; done

# the oldest libraries that pyproject.toml admits, in an environment of their own
test-min:
	$(PYTHON) -m venv .venv-min
	.venv-min/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint constraints-min.txt --editable ".[report,datasets]" \
		pytest pytest-timeout pytest-xdist hypothesis polars
	.venv-min/bin/python -m pytest --numprocesses 2 tests/hostile tests/kernels tests/report \
		tests/cli/test_fit.py tests/cli/test_compare.py tests/cli/test_model_commands.py \
		tests/votes/test_votes.py tests/votes/test_coding.py tests/test_storage.py tests/aggregators/test_identifiability.py \
		tests/test_degenerate.py tests/test_determinism.py tests/test_estimator.py \
		tests/paper/test_neighborhood.py tests/paper/test_experts.py tests/paper/test_ising.py tests/paper/test_em.py

# ten minutes of coverage-guided fuzzing of the readers
fuzz: .venv/.test
	$(PIP) atheris
	$(BIN)/python fuzz/seeds.py results/fuzz
	$(BIN)/python fuzz/read_votes.py results/fuzz -max_total_time=600 -max_len=4096

.venv/.gpu: .venv/.test
	$(PIP) --editable ".[gpu,test]"
	@touch $@

.venv/.check: .venv/.demo
	$(PIP) --editable ".[report,check]"
	@touch $@

.venv/.docs: .venv/.demo
	$(PIP) --editable ".[docs]"
	@touch $@

clean:
	rm -rf .venv .venv-min demo dist build docs/_build docs/auto_examples docs/generated
