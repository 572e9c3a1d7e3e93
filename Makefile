# Two commands do everything: `make start` and `make test`. The rest is for people who work on Davy.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PORT   ?= 8460

export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help start test lint types docs bench pictures wheel clean

help: ## Show this list
	@grep -hE '^[a-z]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 12

start: $(VENV)/.installed ## Install into .venv, build the assets, serve the demo on loopback
	$(BIN)/davy serve --demo --port $(PORT)

test: $(VENV)/.installed-dev ## Install what tests need, then lint, types and all tests
	sh scripts/test-machine.sh
	$(MAKE) --no-print-directory lint types
	$(BIN)/pytest -q -n 2

lint: $(VENV)/.installed-dev ## ruff: format and lint
	$(BIN)/ruff format --check src tests benchmarks scripts hatch_build.py
	$(BIN)/ruff check src tests benchmarks scripts hatch_build.py

types: $(VENV)/.installed-dev ## mypy, strict on core and store
	$(BIN)/mypy

docs: $(VENV)/.installed-dev ## Write docs/commands/, the reference of the library and the table of attributes from the program
	$(BIN)/python scripts/document_commands.py
	$(BIN)/python scripts/document_library.py
	$(BIN)/python scripts/document_attributes.py

bench: $(VENV)/.installed-dev ## Compare with the best alternatives, in one run
	$(BIN)/python -m benchmarks

pictures: $(VENV)/.installed-dev ## Take the README's pictures again
	$(BIN)/python scripts/pictures.py

wheel: $(VENV)/.installed-dev ## Build the wheels into dist/
	$(BIN)/pip wheel --no-deps -w dist . ./packages/davy-large ./packages/davy-memes

clean: ## Remove what was built (data and databases stay)
	rm -rf $(VENV) dist build node_modules src/davy/web/static/vendor .mypy_cache .pytest_cache .ruff_cache

# A marker file per kind of install: make runs pip again only when the project's own files changed.
$(VENV)/bin/python:
	$(PYTHON) scripts/check_python.py
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml packages/davy-large/pyproject.toml packages/davy-memes/pyproject.toml constraints.txt package-lock.json hatch_build.py | $(VENV)/bin/python
	$(BIN)/python -m pip install -q -e . -e packages/davy-large -e packages/davy-memes
	@: > $@

$(VENV)/.installed-dev: pyproject.toml packages/davy-large/pyproject.toml packages/davy-memes/pyproject.toml constraints.txt package-lock.json hatch_build.py | $(VENV)/bin/python
	$(BIN)/python -m pip install -q -e '.[dev,train,memes,postgres,scale]' -e packages/davy-large -e packages/davy-memes
	@: > $@ && : > $(VENV)/.installed
