# Two ways into a fresh clone: `make demo` confirms findings in a small program, `make test` passes the tests. Both need Python 3.11 or
# newer (`make test PYTHON=python3.12` takes another one than python3) and set up everything else in .venv.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test docs
demo: .venv/jaxlint
	$(BIN)/jaxlint check --isolated --exit-zero --confirm --run "python fixtures/example/train.py" fixtures/example

test: .venv/dev
	$(BIN)/python -m pytest -n auto --dist loadfile

docs: .venv/dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "jaxlint needs Python 3.11 or newer: make $(MAKECMDGOALS) PYTHON=python3.12")'
	$(PYTHON) -m venv .venv

.venv/jaxlint: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[confirm]'
	touch $@

.venv/dev: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ .venv/jaxlint
