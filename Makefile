# `make demo` and `make test` do all the set-up on a machine that has Python 3.11 or 3.12 and make.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin
INSTALL := $(RUN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test test-long check bench clean

demo: $(VENV)/light
	$(RUN)/transformer-mb demo

test: $(VENV)/all
	$(RUN)/python -m pytest -m "not long"

test-long: $(VENV)/all
	$(RUN)/python -m pytest -m long

check: $(VENV)/all
	$(RUN)/ruff check .
	$(RUN)/ruff format --check .
	$(RUN)/mypy transformer_mb backends/numpy backends/torch

bench: $(VENV)/all
	$(RUN)/python benchmarks/d2l_training.py

# Editable, because an installed copy that the checkout shadows does not find the backends.
$(VENV)/light: pyproject.toml constraints.txt
	test -x $(RUN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable .
	touch $@

$(VENV)/all: $(VENV)/light
	$(INSTALL) --editable ".[torch,test]"
	touch $@

clean:
	rm -rf $(VENV) build dist *.egg-info
