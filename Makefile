PYTHON ?= python3
BIN := .venv/bin
# every dependency at the version it is tested with, also those that build the package
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test fast docs clean

demo: .venv/installed  ## make dates, train on them, show a score, a heatmap and a report
	$(BIN)/seq2see quickstart

test: .venv/tested check  ## everything that must hold
	$(BIN)/python -m pytest -n auto --dist worksteal

fast: .venv/tested check  ## the same without what trains or runs whole commands
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow"

docs: .venv/documented  ## the documentation as a site in site/, strictly: a warning is an error; needs no network
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

.PHONY: check
check: .venv/tested
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict src

.PHONY: wheel
wheel: .venv/tested  ## the wheel of the commit, in dist/: the same bytes wherever and whenever it is built
	rm -rf .venv/source && mkdir -p .venv/source
	umask 022 && git archive HEAD | tar --no-same-permissions -xC .venv/source
	umask 022 && SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m build --wheel --outdir dist .venv/source
	cd dist && sha256sum *.whl

.PHONY: lock
lock: .venv/tested  ## hashes and a bill of materials of the pinned dependencies, in deploy/
	$(BIN)/python deploy/supply_chain.py

.PHONY: measure
measure:  ## how the source is laid out, in numbers beside their goals
	$(PYTHON) bench/source_measures.py

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet -e ".[serve]"
	touch $@

.venv/tested: .venv/installed
	$(BIN)/python -m pip install --quiet -e ".[test,images,meteor,transformers]"
	touch $@

.venv/documented: .venv/installed
	$(BIN)/python -m pip install --quiet -e ".[docs]"
	touch $@

clean:
	rm -rf .venv runs site
