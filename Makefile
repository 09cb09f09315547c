# make run   sets everything up and starts Brim
# make test  sets everything up and runs every check and test
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: run test check nightly bench docs clean

$(READY): pyproject.toml setup.py constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[all,dev]'
	touch $(READY)

run: $(READY)
	$(BIN)/brim demo

test: $(READY)
	PATH="$(abspath $(BIN)):$$PATH" scripts/check
	$(BIN)/pytest

check: $(READY)
	PATH="$(abspath $(BIN)):$$PATH" scripts/check

# The same property tests with many more examples; about half an hour.
nightly: $(READY)
	HYPOTHESIS_PROFILE=nightly $(BIN)/pytest tests/test_fit_properties.py tests/wire -p no:cacheprovider

# DATA is a folder with the measurement data: see docs/benchmarks.md
bench: $(READY)
	$(BIN)/python bench/count.py --data $(DATA)
	$(BIN)/python bench/fit.py --data $(DATA)
	$(BIN)/python bench/compact.py --data $(DATA)

clean:
	rm -rf $(VENV) build dist src/*.egg-info
