# Each target does everything on a fresh machine: it makes .venv, installs, and runs.
PYTHON ?= python3
BIN = .venv/bin
# The tests that need no further installation.
LOCAL = not parity and not browser
QUICK = $(LOCAL) and not slow and not exhaustive
MODEL_TESTS = tests/layers tests/models tests/objectives tests/backends tests/training tests/data tests/test_plotting.py
# Where the tests lie that are marked `every_backend`, and what runs on JAX in test-all.
JAX_TESTS = tests/test_masks.py tests/test_testing.py tests/layers tests/objectives tests/backends tests/data/test_prefetching.py tests/training tests/inference
ALL_TESTS_jax = $(JAX_TESTS) tests/models tests/export tests/scripts tests/pages tests/pretrained
INSTALL = $(BIN)/python -m pip install --quiet --constraint constraints.txt --editable
export TF_CPP_MIN_LOG_LEVEL ?= 2
# What JAX has compiled serves the tests that follow, and the next run.
export JAX_COMPILATION_CACHE_DIR = $(CURDIR)/.pytest_cache/jax
export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS = 0
export JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES = -1

# Tests compile much and compute little.
test-models test-others test-jax test-slow-tensorflow test-slow-jax test-all-tensorflow test-all-jax parity: export XLA_FLAGS = --xla_backend_optimization_level=0

.PHONY: train test test-models test-others test-jax test-slow test-slow-tensorflow test-slow-jax test-all test-all-tensorflow test-all-jax test-browser mutants parity check format bench bench-gpu notebooks docs clean

train: .venv/tensorflow ## trains on the embedded corpus; ARGS="--epochs 5" passes flags on
	$(BIN)/python scripts/train.py $(ARGS)

test: .venv/installed ## the suite, on both backends at once
	$(MAKE) --jobs 2 test-models test-jax test-others

# Two parts of what TensorFlow runs: the longer one takes as long as the other and test-jax.
test-models: .venv/installed
	KERAS_BACKEND=tensorflow $(BIN)/python -m pytest -q -m "$(QUICK)" $(MODEL_TESTS)

test-others: .venv/installed
	KERAS_BACKEND=tensorflow $(BIN)/python -m pytest -q -m "$(QUICK)" $(addprefix --ignore=,$(MODEL_TESTS))

test-jax: .venv/installed
	KERAS_BACKEND=jax $(BIN)/python -m pytest -q -m "$(QUICK) and every_backend" $(JAX_TESTS)

test-all: .venv/installed ## every case of every test on both backends, an hour and a half; SLICE=3/19: one of nineteen parts
	$(MAKE) --jobs 2 test-all-tensorflow test-all-jax

test-all-tensorflow test-all-jax: test-all-%: .venv/installed
	KERAS_BACKEND=$* $(BIN)/python -m pytest -q -m "$(LOCAL)" $(if $(SLICE),--slice $(SLICE)) $(ALL_TESTS_$*)

test-slow: .venv/installed ## what takes long: models that learn, exports, runs that are killed
	$(MAKE) --jobs 2 test-slow-tensorflow test-slow-jax

test-slow-tensorflow: .venv/installed
	KERAS_BACKEND=tensorflow $(BIN)/python -m pytest -q -m "slow and not exhaustive"

test-slow-jax: .venv/installed
	KERAS_BACKEND=jax $(BIN)/python -m pytest -q -m "slow and every_backend and not exhaustive" $(JAX_TESTS)

test-browser: .venv/browser ## the pages of attention and of the demo, in Debian's chromium with chromium-driver
	$(BIN)/python -m pytest -q -m browser tests/browser

mutants: .venv/installed ## does the suite notice? a hundred faults, each in a copy of the package; a quarter of an hour
	$(BIN)/python tests/mutants/run.py $(ARGS)

parity: .venv/parity ## the comparisons with PyTorch
	$(BIN)/python -m pytest -q -m parity

check: .venv/installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check

format: .venv/installed
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: .venv/bench ## one table row per system and question; an hour. PAIRS=FILE: an hour more
	for name in attention training decoding course scaling streaming; do \
		$(BIN)/python benchmarks/$$name.py || exit 1; \
	done
	for name in $(if $(PAIRS),time_to_quality faults); do \
		$(BIN)/python benchmarks/$$name.py $(PAIRS) || exit 1; \
	done

bench-gpu: ## training and decoding on a GPU, by JAX; installs nothing, PYTHON=... has what it needs
	PYTHONPATH="$(CURDIR)" $(PYTHON) benchmarks/gpu.py $(ARGS)

notebooks: .venv/notebooks ## builds and executes all of them; ARGS="01_attention" only some
	$(BIN)/python notebooks/build.py $(ARGS)

docs: .venv/docs ## the site of documents and reference, in site/; a warning is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

clean: ## runs/ is yours and stays
	rm -rf .venv build dist site *.egg-info .cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/tensorflow: setup.cfg pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) ".[tensorflow]"
	touch $@

.venv/installed: .venv/tensorflow
	$(INSTALL) ".[test]"
	touch $@

.venv/parity .venv/bench .venv/browser .venv/notebooks .venv/docs: .venv/%: .venv/installed
	$(INSTALL) ".[test,$*]"
	touch $@
