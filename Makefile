# make demo | test | check | bench | docs : each builds .venv itself, with nothing but Python >= 3.11.
PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo $$p && break; done)
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test check bench docs vendor clean

demo: .venv/.demo
	$(BIN)/unelisa demo --out demo

test: .venv/.test
	$(BIN)/python -m pytest --numprocesses 2 --dist worksteal

check: .venv/.check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/.test
	$(BIN)/python benchmarks/solver.py

docs: .venv/.docs
	$(BIN)/sphinx-build -W --keep-going -q -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

# the graph library of the report, from npm; its files are part of the repository
vendor:
	.ci/vendor-cytoscape

.venv/bin/python:
	@test -n "$(PYTHON)" || { echo "unelisa needs Python 3.11 or newer"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/.demo: .venv/bin/python pyproject.toml constraints.txt
	$(PIP) --editable ".[report]"
	@touch $@

.venv/.test: .venv/.demo
	$(PIP) --editable ".[report,test]"
	@touch $@

.venv/.check: .venv/.demo
	$(PIP) --editable ".[report,check]"
	@touch $@

.venv/.docs: .venv/.demo
	$(PIP) --editable ".[docs]"
	@touch $@

clean:
	rm -rf .venv demo dist build docs/_build
