PYTHON ?= python3
VENV := .venv
MUTATE := .venv-mutate
PACKAGE := build/package
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
WORKERS ?= 2
SIZE ?=
MODULES ?=
# Data sets for tests, benchmarks and experiments; a folder shared/data beside the checkout is taken where there is one.
export TACIT_DATA ?= $(abspath $(wildcard ../shared/data))

.PHONY: demo test coverage check docs graph package bench experiments evidence fuzz hard mutate clean

demo: $(VENV)/.demo
	$(BIN)/tacit demo --out report.html

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(WORKERS)

# The tests again, watching which branches they take: slower, so a target of its own.
coverage: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(WORKERS) --cov --cov-report=term --cov-report=html:build/coverage

check: $(VENV)/.dev docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.dev
	$(BIN)/sphinx-build --quiet -W --keep-going -b html docs docs/_build/html

# The picture of who imports whom, in docs/architecture.svg.
graph: $(VENV)/.dev
	$(BIN)/python -m docs.draw

# Build what users install, look inside, install it in an empty environment, and use it far from this folder.
package: $(VENV)/.dev
	rm -rf dist $(PACKAGE)
	$(BIN)/python -m build --outdir dist
	$(BIN)/python tests/package/contents.py dist
	$(PYTHON) -m venv $(PACKAGE)
	mkdir -p $(PACKAGE)/empty
	$(PACKAGE)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt dist/*.whl
	cd $(PACKAGE)/empty && ../bin/python -I -W error $(CURDIR)/tests/package/smoke.py
	$(PACKAGE)/bin/python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps dist/*.tar.gz
	cd $(PACKAGE)/empty && ../bin/tacit --version

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/run.py

# Attack the promises, longer than the tests do: altered files, problems that are hard to solve, altered code.
fuzz: $(VENV)/.dev
	$(BIN)/python tests/fuzz/run.py 100000

hard: $(VENV)/.dev
	$(BIN)/python benchmarks/adversarial_solves.py --cases 10000

mutate: $(MUTATE)/.ready
	$(MUTATE)/bin/python benchmarks/mutate.py --children $(WORKERS) $(MODULES)

# The recorded studies of published theorems, and the page that is made of them.
evidence: $(VENV)/.dev
	$(BIN)/python -m papers.evidence
	$(BIN)/python -m papers.evidence --page > docs/audit-evidence.inc

# make experiments SIZE=--quick for minutes instead of hours
experiments: $(VENV)/.experiments
	test -z "$(TACIT_DATA)" || $(BIN)/python benchmarks/convert_data.py $(TACIT_DATA)
	$(BIN)/python -m papers --all $(SIZE)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e '.[plot]'
	touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e '.[dev,torch]'
	touch $@

# The mutation tester needs an older pytest than the tests use, so it has an environment of its own.
$(MUTATE)/.ready: pyproject.toml
	$(PYTHON) -m venv $(MUTATE)
	$(MUTATE)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev]' 'mutmut>=3.8' 'pytest<9'
	touch $@

$(VENV)/.bench: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e '.[dev,torch,bench]'
	touch $@

$(VENV)/.experiments: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e '.[plot,parquet,torch,datasets]'
	touch $@

clean:
	rm -rf $(VENV) $(MUTATE) docs/_build build dist .pytest_cache .mypy_cache .ruff_cache
