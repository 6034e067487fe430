PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
WORKERS ?= 2
SIZE ?=

.PHONY: demo test check docs bench experiments clean

demo: $(VENV)/.demo
	$(BIN)/tacit demo --out report.html

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n $(WORKERS)

check: $(VENV)/.dev docs
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.dev
	$(BIN)/sphinx-build --quiet -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/run.py

# make experiments SIZE=--quick for minutes instead of hours
experiments: $(VENV)/.experiments
	$(BIN)/tacit reproduce --all $(SIZE)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml
	$(PIP) -e '.[plot]'
	touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml
	$(PIP) -e '.[dev,torch]'
	touch $@

$(VENV)/.bench: $(VENV)/bin/python pyproject.toml
	$(PIP) -e '.[dev,torch,bench]'
	touch $@

$(VENV)/.experiments: $(VENV)/bin/python pyproject.toml
	$(PIP) -e '.[plot,parquet,torch]'
	touch $@

clean:
	rm -rf $(VENV) docs/_build build dist .pytest_cache .mypy_cache .ruff_cache
