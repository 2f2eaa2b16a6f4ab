# Every target works on a fresh machine: it creates .venv and installs what it needs.
PYTHON ?= python3
BIN = .venv/bin
# Tests that need no optional dependencies.
LOCAL = not parity and not browser
QUICK = $(LOCAL) and not slow and not exhaustive
MODEL_TESTS = tests/layers tests/models tests/objectives tests/backends tests/training tests/data tests/test_plotting.py
# Tests with the marker `every_backend`, and tests that `test-all` runs on JAX and PyTorch.
JAX_TESTS = tests/test_masks.py tests/test_testing.py tests/test_course_calls.py tests/test_docs.py tests/test_wheel.py tests/layers tests/objectives tests/backends tests/data/test_prefetching.py tests/training tests/inference
ALL_TESTS_jax = $(JAX_TESTS) tests/models tests/export tests/scripts tests/pages tests/pretrained
ALL_TESTS_torch = $(ALL_TESTS_jax) tests/test_plotting.py tests/test_exercises.py
# The tests of `test-all` that neither `test` nor `test-slow` runs: a SLICE has only these.
FURTHER_tensorflow = exhaustive
FURTHER_jax = (exhaustive or not every_backend)
FURTHER_torch = (exhaustive or slow or not every_backend)
# 25 minutes: run by `make fuzz`, not by `make test-all`.
KILLED = tests/training/test_trainer.py::test_a_run_killed_at_random_times_ends_with_the_same_result
SPEED = attention training translating decoding course scaling token_shards corpus llama
# Python compiles a module when it is first imported; most of the installed ones never are.
INSTALL = $(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable
export TF_CPP_MIN_LOG_LEVEL ?= 2
# Caches JAX's compiled programs across tests and runs.
export JAX_COMPILATION_CACHE_DIR = $(CURDIR)/.pytest_cache/jax
export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS = 0
export JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES = -1

# Tests spend most of their time compiling, so optimization does not pay.
test-models test-others test-jax test-slow-models test-slow-others test-slow-jax test-torch test-all-tensorflow test-all-jax test-all-torch parity: export XLA_FLAGS = --xla_backend_optimization_level=0

.PHONY: train train-book translate bundled-run small-bert test test-for test-models test-others test-jax test-torch test-slow test-slow-models test-slow-others test-slow-jax test-all test-all-tensorflow test-all-jax test-all-torch test-browser page-proof mutants fuzz parity check format bench bench-gpu notebooks docs release-check clean

train: .venv/tensorflow ## train on the bundled corpus; ARGS="--epochs 5" passes flags
	$(BIN)/python scripts/train.py $(ARGS)

train-book: .venv/tensorflow ## train the run of books on PAIRS=pairs.pkl, shortest pairs first (70 minutes)
	$(BIN)/python scripts/train.py --recipe book $(PAIRS) $(ARGS)

translate: .venv/tensorflow ## translate with the newest run in runs/, or the bundled one; ARGS='"I am hungry."' passes arguments
	$(BIN)/python scripts/translate.py $(ARGS)

bundled-run: .venv/tensorflow ## train the run that translates without training, data/bundled-run (20 minutes)
	$(BIN)/python scripts/train.py --run runs/bundled --dtype float32 --epochs 9 --rate 0.05
	$(BIN)/python scripts/export.py runs/bundled --to float16 --output data/bundled-run --overwrite

small-bert: .venv/tensorflow ## pre-train the BERT of notebook 10, data/small-bert (ten minutes)
	$(BIN)/python scripts/train_bert.py --run data/small-bert --d-model 64 --seq-length 32 --learning-rate 2e-3

test: .venv/installed ## run the test suite on TensorFlow and JAX
	$(MAKE) --jobs 2 test-models test-jax test-others

test-for: .venv/installed ## run the tests of one file: FILE=keras_transformer/layers/encoder.py
	$(if $(FILE),,$(error Pass FILE=keras_transformer/...))
	$(BIN)/python -m pytest -q -m "$(QUICK)" $$($(BIN)/python tests/tests_of.py $(FILE)) $(ARGS)

# The TensorFlow tests in two parts: test-models takes as long as test-others and test-jax together.
test-models: .venv/installed
	KERAS_BACKEND=tensorflow $(BIN)/python -m pytest -q -m "$(QUICK)" $(MODEL_TESTS)

test-others: .venv/installed
	KERAS_BACKEND=tensorflow $(BIN)/python -m pytest -q -m "$(QUICK)" $(addprefix --ignore=,$(MODEL_TESTS))

test-jax: .venv/installed
	KERAS_BACKEND=jax $(BIN)/python -m pytest -q -m "$(QUICK) and every_backend" $(JAX_TESTS)

test-torch: .venv/parity ## run the tests that depend on the backend on PyTorch, which `make test` does not install
	KERAS_BACKEND=torch $(BIN)/python -m pytest -q -m "$(QUICK) and every_backend" $(JAX_TESTS)

test-all: .venv/parity ## run all tests but those of `make fuzz` on all backends (2 hours); SLICE=3/29 runs one of 29 parts of those that `make test test-torch test-slow` leaves out
	$(MAKE) --jobs 2 test-all-tensorflow test-all-jax test-all-torch

test-all-torch: .venv/parity
test-all-tensorflow test-all-jax test-all-torch: test-all-%: .venv/installed
	KERAS_BACKEND=$* $(BIN)/python -m pytest -q -m "$(LOCAL)$(if $(SLICE), and $(FURTHER_$*))" $(if $(SLICE),--slice $(SLICE)) --deselect "$(KILLED)[100]" $(ALL_TESTS_$*)

# HALF=1/2 runs a half of them, and all of the files in ALSO.
HALVED = $(if $(HALF),--slice $(HALF) --also "$(ALSO)")
test-slow: .venv/installed ## run the slow tests: training to convergence, exports, killed runs
	$(MAKE) --jobs 2 test-slow-others test-slow-models test-slow-jax

test-slow-models: .venv/installed
	KERAS_BACKEND=tensorflow $(BIN)/python -m pytest -q $(HALVED) -m "slow and not exhaustive" $(MODEL_TESTS)

test-slow-others: .venv/installed
	KERAS_BACKEND=tensorflow $(BIN)/python -m pytest -q $(HALVED) -m "slow and not exhaustive" $(addprefix --ignore=,$(MODEL_TESTS))

test-slow-jax: .venv/installed
	KERAS_BACKEND=jax $(BIN)/python -m pytest -q $(HALVED) -m "slow and every_backend and not exhaustive" $(JAX_TESTS)

test-browser: .venv/browser ## test the web pages in Chromium (Debian packages chromium and chromium-driver)
	$(BIN)/python -m pytest -q -m "browser and not exhaustive" tests/browser

page-proof: .venv/browser ## compare the page that translates with Translate: thousands of sentences; SENTENCES=FILE adds those of a file
	SENTENCES="$(SENTENCES)" $(BIN)/python -m pytest -q -s -rs -m "browser and exhaustive" tests/browser $(ARGS)

mutants: .venv/installed ## mutation tests: check that the suite detects 167 injected faults (an hour)
	$(BIN)/python tests/mutants/run.py $(ARGS)

fuzz: .venv/installed ## fuzzing: 20,000 hostile files, arguments and sentences, and a run killed 100 times (1 hour)
	$(BIN)/python tests/fuzz/run.py $(ARGS)
	$(BIN)/python -m pytest -q "$(KILLED)[100]"

parity: .venv/parity ## compare with PyTorch
	$(BIN)/python -m pytest -q -m parity

check: .venv/installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: .venv/installed
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# One target for each table of README.md and docs/, named in the text around the table.
bench: $(addprefix results-,$(SPEED)) ## measure the tables of speed again (1 hour)

$(addprefix results-,$(SPEED)): results-%: .venv/bench ## speed: benchmarks/NAME.py; ARGS=... passes flags
	$(BIN)/python benchmarks/$*.py $(ARGS)

results-time_to_quality results-faults: results-%: .venv/tensorflow ## on the pairs in PAIRS=english-german-both.pkl
	$(BIN)/python benchmarks/$*.py $(PAIRS) $(ARGS)

results-pickle: .venv/tensorflow
	$(BIN)/python benchmarks/results.py pickle --data $(PAIRS) $(ARGS)

results-default results-candidates results-blocks: results-%: .venv/tensorflow ## quality: three seeds of each run
	$(BIN)/python benchmarks/results.py $* $(ARGS)

results-multi30k: .venv/tensorflow ## Multi30k from the files that its recipe names, three seeds (5 hours); ARGS="--seeds 1"
	$(BIN)/python benchmarks/multi30k.py $(ARGS)

results-translators: .venv/tensorflow ## the three translators of docs/course.md
	for model in bahdanau luong transformer; do \
		$(BIN)/python scripts/train.py --model $$model --run runs/$$model $(ARGS) || exit 1; \
	done
	$(BIN)/python benchmarks/translators.py runs/bahdanau runs/luong runs/transformer

results-language_models: .venv/tensorflow ## the two language models of docs/course.md
	$(BIN)/python scripts/train_language_model.py $(ARGS)

bench-gpu: ## benchmark training and decoding on a GPU with JAX; PYTHON=... must have the dependencies
	PYTHONPATH="$(CURDIR)" $(PYTHON) benchmarks/gpu.py $(ARGS)

notebooks: .venv/notebooks ## build and execute the notebooks; ARGS="01_attention" selects some
	$(BIN)/python notebooks/build.py $(ARGS)

docs: .venv/docs ## build the documentation site in site/; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

release-check: .venv/docs ## check a release: versions, clean checkout, types, wheel, saved files, links, documents, notebooks
	$(BIN)/python .ci/check_release.py
	$(MAKE) check
	for backend in tensorflow jax; do \
		KERAS_BACKEND=$$backend $(BIN)/python -m pytest -q tests/test_wheel.py tests/runs/test_saved_files.py || exit 1; \
	done
	$(BIN)/python -m pytest -q tests/test_docs.py tests/test_readme.py -m "$(QUICK)"
	$(MAKE) docs notebooks

clean: ## delete everything generated except runs/
	rm -rf .venv build dist site *.egg-info .cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/tensorflow: setup.cfg pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) ".[tensorflow]"
	touch $@

.venv/installed: .venv/tensorflow
	$(INSTALL) ".[test]"
	touch $@

.venv/parity .venv/bench .venv/browser .venv/notebooks .venv/docs .venv/ray: .venv/%: .venv/installed
	$(INSTALL) ".[test,$*]"
	touch $@

# All that CI needs: one resolution by pip instead of seven, each of which takes a quarter of a minute.
.venv/all: setup.cfg pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) ".[tensorflow,test,parity,browser,notebooks,docs,ray]"
	touch .venv/tensorflow .venv/installed
	touch .venv/parity .venv/browser .venv/notebooks .venv/docs .venv/ray $@
