# Everything a contributor runs. The venv is made on first use; PYTHON picks the interpreter it is made with.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check
# Tests are compiled once, also where somebody set this.
unexport PYTHONDONTWRITEBYTECODE
FUZZ_SECONDS ?= 60
EXAMPLES ?= 5
SEED ?= $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help prepared install demo test pytest test-long explore test-interop test-browser test-gpu lint lint-page shells wheels test-wheel test-wheel-debian cross release bench bench-gpu docs docs-serve gallery recording corpus fuzz guided blind native tsan clean

help: ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

# The cmake and ninja of the venv build the package and the C++ tests.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) -U "pip>=25.1" cmake ninja

# The package is built again when its sources changed; dependencies are installed when pyproject.toml changed.
SOURCES := $(shell find src cpp -type f -not -path 'cpp/tests/*' -not -path 'cpp/fuzz/*' -not -name '*.so' -not -name '*.pyi' -not -path '*/__pycache__/*') CMakeLists.txt pyproject.toml

$(VENV)/installed: $(BIN)/python $(SOURCES)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) .
	@touch $@

$(VENV)/tests-installed: $(BIN)/python pyproject.toml
	$(PIP) --group test --group lint
	@touch $@

# Both, one pip at a time. What the tests need comes first: it leaves a CPU to the sanitized build.
prepared: $(VENV)/tests-installed
	@$(MAKE) --no-print-directory $(VENV)/installed

install: $(VENV)/installed ## venv with tbq in it

demo: install ## a sample logdir, exported, queried and plotted
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh

# Tests by their marks, three for two CPUs: many wait for servers and other processes.
pytest = $(BIN)/python -m pytest -n "$$(($$(getconf _NPROCESSORS_ONLN) * 3 / 2))" -q -m $(1)

test: $(BIN)/python ## all tests but the long ones, and those of frameworks and browsers
	$(call together,prepared build/checked/built)
	$(call together,pytest lint native)

pytest: prepared
	$(call pytest,"not long")

test-long: prepared shells ## tests that take seconds each: kills, bombs, random histories, real servers
	$(call pytest,long)

# For the tests of completion; without them these tests are skipped.
shells:
	@{ command -v zsh && command -v fish; } > /dev/null \
	  || { command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq zsh fish > /dev/null; } \
	  || echo "there is no zsh or no fish: completion is tested without it"

explore: prepared ## property tests with EXAMPLES times as many new examples each, from SEED (by default a random one)
	env -u CI TBQ_EXAMPLES=$(EXAMPLES) $(call pytest,hypothesis) --timeout=0 --hypothesis-seed=$(SEED)

test-interop: prepared ## torch, TensorFlow, Keras and Lightning as real writers
	$(PIP) --group interop
	$(BIN)/python -m pytest -q tests/interop

# On a GPU machine PYTHON has torch with CUDA: the venv sees its packages (python3 -m venv --system-site-packages .venv).
test-gpu: prepared ## the writer beside a real GPU, if there is one
	$(BIN)/python -m pytest -q tests/gpu
	TBQ_TEST_DEVICE=cuda $(BIN)/python -m pytest -q tests/interop/test_write_device.py \
	  tests/interop/test_write_device_histograms.py tests/interop/test_write_watch.py

bench-gpu: prepared ## what logging costs beside a training loop on a GPU
	$(BIN)/python -m benchmarks.bench_gpu

# Chromium is Debian's package if apt-get may install it; otherwise whatever is on the PATH, or Playwright's own.
test-browser: prepared ## pages in a real Chromium; screenshots are in build/screens
	$(PIP) --group browser
	@command -v chromium chromium-browser google-chrome > /dev/null \
	  || (command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq chromium > /dev/null) \
	  || $(BIN)/playwright install chromium
	@PATH="$$PATH:/usr/sbin" command -v nginx > /dev/null \
	  || { command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq nginx-light > /dev/null; } \
	  || echo "there is no nginx: the page behind a proxy is not tested"
	$(BIN)/python -m pytest -q tests/browser

lint: prepared ## ruff, mypy --strict, biome and tsc if there is a node, clang-format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cd $(VENV) && bin/mypy --config-file ../pyproject.toml -p tbq
	@if command -v npx > /dev/null; then $(MAKE) --no-print-directory lint-page; \
	  else echo "there is no node: the page's modules are not checked"; fi
	git ls-files '*.cpp' '*.hpp' '*.cu' | xargs $(BIN)/clang-format --dry-run --Werror

# The versions are pinned: another formatter would format another tree. biome.json says what is checked; it leaves
# templates as they are, so their width is checked here.
lint-page:
	npx --yes @biomejs/biome@2.6.7 check --error-on-warnings
	npx --yes --package typescript@7 tsc -p src/tbq/server/static/jsconfig.json
	@! git ls-files src/tbq/server/static tests/page | grep -E '\.(js|mjs|css|html)$$' | grep -v /vendor/ \
	  | xargs awk 'length > 120 { print FILENAME ":" FNR ": longer than 120 characters" }' | grep .

# The C++ tests and fuzz targets under ASan and UBSan, by whatever compiler there is.
CMAKE = PATH="$(CURDIR)/$(BIN):$$PATH" cmake
CORE := $(SOURCES) $(wildcard cpp/tests/* cpp/fuzz/*.?pp)
SANITIZED := -S . -G Ninja -DTBQ_PYTHON=OFF -DTBQ_TESTS=ON -DTBQ_WERROR=ON

build/checked/built: $(CORE) $(BIN)/python
	$(CMAKE) $(SANITIZED) -B build/checked
	$(CMAKE) --build build/checked --target tbq_tests tbq_memory
	@touch $@

build/checked/fuzzers: build/checked/built
	$(CMAKE) --build build/checked
	@touch $@

# The same under ThreadSanitizer, file by file: an include that is missing shows.
build/tsan/built: $(CORE) $(BIN)/python
	$(CMAKE) $(SANITIZED) -B build/tsan -DTBQ_SANITIZE=thread -DTBQ_UNITY=OFF
	$(CMAKE) --build build/tsan
	@touch $@

# The fuzz targets with libFuzzer, which comes with clang (Debian: clang libclang-rt-14-dev).
build/fuzz/built: $(CORE) $(BIN)/python
	$(CMAKE) $(SANITIZED) -B build/fuzz -DTBQ_LIBFUZZER=ON -DCMAKE_CXX_COMPILER=$(CLANG)
	$(CMAKE) --build build/fuzz
	@touch $@

FUZZERS := $(sort $(patsubst cpp/fuzz/fuzz_%.cpp,%,$(wildcard cpp/fuzz/fuzz_*.cpp)))
# Makes the targets $(1), as many at a time as there are CPUs.
together = @$(MAKE) --no-print-directory --output-sync=line -j "$$(getconf _NPROCESSORS_ONLN)" $(1)

build/seeds/unpacked: cpp/fuzz/corpus.py $(wildcard cpp/fuzz/corpus/*.txt) $(BIN)/python
	$(BIN)/python cpp/fuzz/corpus.py unpack build/seeds
	@touch $@

native: build/checked/built ## the C++ tests
	build/checked/tbq_tests
	build/checked/tbq_memory

tsan: build/tsan/built ## decoding with eight threads under ThreadSanitizer
	build/tsan/tbq_threads

CLANG ?= clang++
LIBFUZZER := -max_len=256 -entropic=0 -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 -dict=cpp/fuzz/dictionary.txt
# A third faster: what the sanitizer notes of allocations is short, and freed memory rests for a few inputs, not thousands.
GUIDED := ASAN_OPTIONS=malloc_context_size=2:quarantine_size_mb=1:thread_local_quarantine_size_kb=64:max_malloc_fill_size=16

fuzz: ## the fuzz targets for FUZZ_SECONDS each, guided by coverage if there is a clang++ with libFuzzer
	@mkdir -p build
	@if echo 'extern "C" int LLVMFuzzerTestOneInput(const char*, long) { return 0; }' \
	  | $(CLANG) -x c++ -fsanitize=fuzzer,address - -o build/probe 2> /dev/null; \
	then $(MAKE) --no-print-directory guided; \
	else echo "blind mutation, since $(CLANG) is not there or has no libFuzzer"; $(MAKE) --no-print-directory blind; fi

# By name: make fuzz chooses one of these two.
guided: build/fuzz/built build/seeds/unpacked
	@echo "guided by coverage; what is found is kept in build/corpus, what fails in build/failures"
	$(call together,$(FUZZERS:%=guided-%))

blind: build/checked/fuzzers build/seeds/unpacked
	$(call together,$(FUZZERS:%=blind-%))

$(FUZZERS:%=blind-%): blind-%:
	@build/checked/fuzz_$* -seconds=$(FUZZ_SECONDS) build/seeds/$*

$(FUZZERS:%=guided-%): guided-%:
	@mkdir -p build/corpus/$* build/failures
	@$(GUIDED) build/fuzz/fuzz_$* $(LIBFUZZER) -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=build/failures/$*- \
	  build/corpus/$* build/seeds/$* 2> build/fuzz/$*.log || (tail -n 60 build/fuzz/$*.log; exit 1)
	@echo "$*: $$(grep '^Done' build/fuzz/$*.log), no failure"

corpus: build/checked/fuzzers build/fuzz/built build/seeds/unpacked ## what make fuzz found, minimised, into cpp/fuzz/corpus
	for name in $(FUZZERS); do \
	  build/checked/fuzz_$$name -write=build/seeds/$$name && rm -rf build/merged/$$name \
	  && mkdir -p build/merged/$$name build/corpus/$$name \
	  && build/fuzz/fuzz_$$name -merge=1 -use_counters=0 build/merged/$$name build/seeds/$$name build/corpus/$$name 2> build/merged/$$name.log \
	  && $(BIN)/python cpp/fuzz/corpus.py pack $$name build/merged/$$name || exit 1; done

# zig compiles for every Linux; the Pythons of 3.11 and of 3.12, 3.13 or 3.14 bring only their headers.
wheels: $(BIN)/python ## sdist and Linux wheels into dist/: glibc and musl, x86_64 and aarch64, cp311 and cp312-abi3
	$(BIN)/python release/wheels.py $(WHEELS)

test-wheel: $(BIN)/python ## each wheel of dist/ in a fresh venv of each Python that is here, without a compiler
	$(BIN)/python release/test_wheel.py $(WHEEL_TESTS)

# Needs root and network; for aarch64 also qemu-user-static with binfmt.
DEBIAN := $(BIN)/python release/debian.py
test-wheel-debian: $(BIN)/python ## the same with Debian's Python 3.14 and, under qemu, its Python for aarch64
	$(DEBIAN) --suite forky --package python3.14-venv -- python3.14 release/test_wheel.py $(WHEEL_TESTS)
	$(DEBIAN) --suite trixie --machine arm64 --package python3.13-venv -- python3.13 release/test_wheel.py \
	  --extra polars --tests tests/differential
	$(BIN)/python release/cross.py --target aarch64-linux-musl

cross: $(BIN)/python ## the core and its tests compiled for Windows, macOS and aarch64; run under wine and qemu if these are here
	$(BIN)/python release/cross.py

# Everything but the upload. The quick checks come first; wheels are built twice, to compare their bytes.
release: $(BIN)/python ## checks, tests, sdist and wheels, twine, hashes and a list of components, in dist/
	$(BIN)/python release/release.py check
	rm -rf dist
	@$(MAKE) --no-print-directory test
	$(BIN)/python release/wheels.py --again
	$(BIN)/python release/test_wheel.py
	$(BIN)/python release/release.py finish

bench: prepared ## speed and memory beside the peers, as ratios
	$(PIP) --group bench
	$(BIN)/python -m benchmarks

docs: prepared ## the manual as a site, in build/docs/site; a warning or a dead link is an error
	$(PIP) --group docs
	$(BIN)/python -m docs.site

docs-serve: docs ## the same, on http://127.0.0.1:8000
	$(BIN)/python -m http.server --bind 127.0.0.1 --directory build/docs/site 8000

gallery: prepared ## the pictures of docs/gallery.md and how-it-works.md, drawn again
	$(BIN)/python docs/images/gallery.py
	$(BIN)/python docs/images/drawings.py

recording: prepared ## the recordings of docs/gallery.md, made again
	$(PIP) --group browser
	$(BIN)/python docs/images/watch.py
	$(BIN)/python docs/images/page.py

clean: ## remove what make made
	rm -rf $(VENV) build demo
