# The verbs of the project. Each makes what it needs; make and a Python of 3.11 or later are enough.
# Environments stand in .venv (development) and .venvs (tests, benchmarks), versions in constraints.txt.

# The first that can make a virtual environment; PYTHON=/path/to/python makes another choice.
PYTHON ?= $(shell for p in python3 python python3.13 python3.12 python3.11 "$$HOME"/.pyenv/versions/3.1[1-9]*/bin/python; do \
	"$$p" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo "$$p" && break; done)
VENV := .venv/bin/python
TYPED = src $(wildcard tests/typing)

.PHONY: help demo test check bench docs format clean python
.DEFAULT_GOAL := help

help:
	@echo "make demo     a real server is killed and comes back, under load"
	@echo "make test     the suite, on every Python from 3.11 that is found, against the built wheel"
	@echo "              PY=3.12 ARGS='-k name' make test: one Python, some of the tests"
	@echo "make check    lint, format, types, import floors, spelling"
	@echo "make bench    speed, beside other libraries"
	@echo "make docs     the documentation, as HTML"
	@echo "make format   what ruff can repair"
	@echo "make clean    remove all that was made"

python:
	@test -n "$(PYTHON)" || { echo "make: no Python of 3.11 or later with venv and ensurepip found; \
	say which: make PYTHON=/path/to/python" >&2; exit 1; }

demo: python
	@"$(PYTHON)" tools/environments.py .venv demo
	@$(VENV) -m forbear demo

test: python
	@"$(PYTHON)" tools/environments.py .venv
	@$(VENV) tools/test.py

check: python
	@"$(PYTHON)" tools/environments.py .venv demo test check
	$(VENV) -m ruff check .
	$(VENV) -m ruff format --check --quiet .
	$(VENV) -m mypy $(TYPED)
	$(VENV) -m basedpyright --pythonpath $(VENV)
	.venv/bin/lint-imports --no-logo
	$(VENV) -m codespell_lib
	$(VENV) -m validate_pyproject pyproject.toml

bench: python
	@"$(PYTHON)" tools/environments.py .venv
	@$(VENV) tools/bench.py

docs: python
	@"$(PYTHON)" tools/environments.py .venv docs
	@$(VENV) -m sphinx -q -W -n --keep-going -d docs/_build/doctrees docs docs/_build/html
	@echo "-- $(CURDIR)/docs/_build/html/index.html"

format: python
	@"$(PYTHON)" tools/environments.py .venv check
	$(VENV) -m ruff check --fix .
	$(VENV) -m ruff format .

clean:
	rm -rf .venv .venvs dist docs/_build .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
