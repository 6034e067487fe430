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

.PHONY: demo collector-demo test coverage check docs graph methods package bench data experiments evidence fuzz hard mutate clean

demo: $(VENV)/.demo
	$(BIN)/tacit demo --out report.html

# A collector on this machine only, with made-up people who contribute while one looks on; FINISH= leaves the end to you.
FINISH ?= --finish
collector-demo: $(VENV)/.collector
	$(BIN)/tacit serve --demo $(FINISH)

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
	@echo "The pages are in docs/_build/html: open docs/_build/html/index.html in a browser."

# The picture of who imports whom, in docs/architecture.svg.
graph: $(VENV)/.dev
	$(BIN)/python -m docs.draw

# What `tacit methods` prints, worked out from the code, in src/tacit/report/methods.json.
methods: $(VENV)/.dev
	$(BIN)/python -m docs.methods_list

# Build what users install, look inside, install it in empty environments with the oldest versions of its dependencies,
# with the newest and with our own, and use it there, far from this folder.
package: $(VENV)/.dev
	rm -rf dist $(PACKAGE)
	$(BIN)/python -m build --outdir dist
	$(BIN)/python tests/package/contents.py dist
	mkdir -p $(PACKAGE)
	$(PYTHON) tests/package/oldest.py > $(PACKAGE)/oldest.txt
	touch $(PACKAGE)/newest.txt
	cp constraints.txt $(PACKAGE)/ours.txt
	set -e; for versions in oldest newest ours; do \
		echo "The $$versions dependencies:"; \
		$(PYTHON) -m venv $(PACKAGE)/$$versions; \
		$(PACKAGE)/$$versions/bin/python -m pip install --quiet --disable-pip-version-check -c $(PACKAGE)/$$versions.txt dist/*.whl; \
		mkdir $(PACKAGE)/$$versions/empty; \
		(cd $(PACKAGE)/$$versions/empty && ../bin/python -I -W error $(CURDIR)/tests/package/smoke.py); \
	done
	$(PACKAGE)/ours/bin/python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps dist/*.tar.gz
	cd $(PACKAGE)/ours/empty && ../bin/tacit --version

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/run.py

# Attack the promises, longer than the tests do: altered files, wrong arguments, problems that are hard to solve, altered code.
fuzz: $(VENV)/.dev
	$(BIN)/python tests/fuzz/run.py 100000
	$(BIN)/python tests/fuzz/arguments.py --pairs 20000

hard: $(VENV)/.dev
	$(BIN)/python benchmarks/adversarial_solves.py --cases 10000

mutate: $(MUTATE)/.ready
	$(MUTATE)/bin/python benchmarks/mutate.py --children $(WORKERS) $(MODULES)

# The recorded studies of published theorems, and the page that is made of them.
evidence: $(VENV)/.dev
	$(BIN)/python -m papers.evidence
	$(BIN)/python -m papers.evidence --page > docs/audit-evidence.inc

# Every data set of the papers, from public places, compared with its checksum.
data: $(VENV)/.experiments
	$(BIN)/python -m tacit.datasets --all

# make experiments SIZE=--quick for minutes instead of hours. At the size of the papers, what takes far less time
# side by side than one by one comes first.
experiments: $(VENV)/.experiments
	test -z "$(TACIT_DATA)" || $(BIN)/python benchmarks/convert_data.py $(TACIT_DATA)
	test -n "$(SIZE)" || $(BIN)/python -m papers.kang_2020b.walks --out reproduced
	test -n "$(SIZE)" || $(BIN)/python -m papers.perceptrons.away --out reproduced --only-gpu
	$(BIN)/python -m papers --all $(SIZE)

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e '.[plot]'
	touch $@

$(VENV)/.collector: $(VENV)/bin/python pyproject.toml constraints.txt
	@echo "Installing what the collector needs: a minute or two, once ..."
	$(PIP) -e '.[collector]'
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
