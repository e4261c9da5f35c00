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
