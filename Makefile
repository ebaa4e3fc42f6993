# Everything a contributor runs. The venv is made on first use; PYTHON picks the interpreter it is made with.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check
FUZZ_SECONDS ?= 60

.DEFAULT_GOAL := help
.PHONY: help install demo test test-interop lint bench fuzz native clean

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) -U "pip>=25.1"

# The package is built again when its sources changed; dependencies are installed when pyproject.toml changed.
SOURCES := $(shell find src cpp -type f -not -path 'cpp/tests/*' -not -path 'cpp/fuzz/*' -not -name '*.so' -not -name '*.pyi' -not -path '*/__pycache__/*') CMakeLists.txt pyproject.toml

$(VENV)/installed: $(BIN)/python $(SOURCES)
	$(PIP) .
	@touch $@

$(VENV)/tests-installed: $(BIN)/python pyproject.toml
	$(PIP) --group test --group lint
	@touch $@

install: $(VENV)/installed ## venv with tbq in it

demo: install ## a sample logdir, exported and queried
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh

test: $(VENV)/installed $(VENV)/tests-installed lint native ## all tests but the slow ones against real frameworks
	$(BIN)/python -m pytest -n auto -q

test-interop: $(VENV)/installed $(VENV)/tests-installed ## torch, TensorFlow, Keras and Lightning as real writers
	$(PIP) --group interop
	$(BIN)/python -m pytest -q tests/interop

lint: $(VENV)/installed $(VENV)/tests-installed ## ruff, mypy --strict, clang-format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cd $(VENV) && bin/mypy --config-file ../pyproject.toml -p tbq
	git ls-files '*.cpp' '*.hpp' | xargs $(BIN)/clang-format --dry-run --Werror

# The C++ tests and fuzz targets under ASan and UBSan.
build/checked/built: $(SOURCES) $(wildcard cpp/tests/* cpp/fuzz/*) $(VENV)/tests-installed
	$(PIP) cmake ninja
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake -S . -B build/checked -G Ninja -DTBQ_PYTHON=OFF -DTBQ_TESTS=ON -DTBQ_WERROR=ON
	PATH="$(CURDIR)/$(BIN):$$PATH" cmake --build build/checked
	@touch $@

native: build/checked/built ## C++ tests, and the fuzz targets for a few seconds
	build/checked/tbq_tests
	for target in build/checked/fuzz_*; do if [ -x $$target ] && [ -f $$target ]; then $$target -seconds=3 || exit 1; fi; done

fuzz: build/checked/built ## the fuzz targets for FUZZ_SECONDS each
	for target in build/checked/fuzz_*; do if [ -x $$target ] && [ -f $$target ]; then $$target -seconds=$(FUZZ_SECONDS) || exit 1; fi; done

bench: $(VENV)/installed $(VENV)/tests-installed ## speed and memory beside the peers, as ratios
	$(PIP) --group bench
	$(BIN)/python -m benchmarks

clean: ## remove what make made
	rm -rf $(VENV) build demo
