# Everything that is done with this checkout. `make help` lists it.

# The backend of `make demo`: jax, tensorflow or torch.
KERAS_BACKEND ?= jax
BACKENDS := jax tensorflow torch
# Python 3.11, 3.12 or 3.13, to make the virtual environments with, and the folder of the environment that all but
# `make test-oldest` and `make test-newest` use. One folder per Python: make test PYTHON=python3.13 VENV=.venv-3.13
PYTHON ?= $(shell python3.11 -c "" 2>/dev/null && echo python3.11 || echo python3)
VENV ?= .venv

export KERAS_BACKEND
export TF_CPP_MIN_LOG_LEVEL ?= 3
# Without bytecode, each of the hundred processes that the tests start takes ten seconds more to import its libraries.
unexport PYTHONDONTWRITEBYTECODE

BIN := $(VENV)/bin
# Twice quiet: pip's warnings about the machine's own settings say nothing about this project.
# Bytecode is written at the first import, of what is imported: half a minute less.
PIP_INSTALL := -m pip install --quiet --quiet --disable-pip-version-check --no-compile

# The oldest versions that the package supports. PyPI's PyTorch for Linux brings 5 GB of CUDA libraries, also to a machine
# without a GPU; PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu has small builds.
# With JAX 0.6.0, `Skip` is wrong on CPUs; 0.6.2 compiles no kernels for a GPU. Keras 3.10 fails for some C files.
OLDEST := keras==3.12.0 jax==0.8.1 jaxlib==0.8.1 tensorflow==2.20.0 torch==2.6.0

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the commands.
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

.PHONY: demo
demo: backend-is-known $(VENV)/installed-$(KERAS_BACKEND),hub,plot ## Train a Mogrifier and an LSTM on text. KERAS_BACKEND=torch ARGS="--text FILE"
	$(BIN)/python examples/char_language_model.py $(ARGS)

.PHONY: test
test: $(VENV)/installed-jax,tensorflow,torch,hub,plot,test ## Lint, and test on every backend. ARGS="jax -- -k golden" picks
	@$(BIN)/python tools/run_tests.py $(ARGS)

.PHONY: test-all
test-all: $(VENV)/installed-jax,tensorflow,torch,hub,plot,test ## Run every row of every test on every backend, for hours. ARGS=torch picks
	@$(BIN)/python tools/run_tests.py --every-row $(ARGS)

.PHONY: test-oldest
test-oldest: .venv-oldest/installed ## Test on the oldest supported versions, in an environment of their own.
	@.venv-oldest/bin/python tools/run_tests.py $(or $(ARGS),$(BACKENDS))

.PHONY: test-newest
test-newest: .venv-newest/installed ## Test on the newest versions, and Keras's nightly build, likewise.
	@.venv-newest/bin/python tools/run_tests.py $(or $(ARGS),$(BACKENDS))

.PHONY: coverage
coverage: $(VENV)/installed-jax,tensorflow,torch,hub,plot,test ## Write which lines the tests run, in build/coverage/. ARGS=torch picks
	@$(BIN)/python $(PIP_INSTALL) --constraint constraints.txt pytest-cov
	@rm -f .coverage
	@$(BIN)/python tools/run_tests.py $(or $(ARGS),$(BACKENDS)) -- --cov --cov-append --cov-report=html:build/coverage

.PHONY: lint
lint: $(VENV)/installed-test ## Check the code, its format and its types.
	@$(BIN)/python tools/run_tests.py lint

.PHONY: format
format: $(VENV)/installed-test ## Fix what ruff can fix, and format the code.
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: stubs
stubs: $(VENV)/installed-test ## Write the stubs that editors read anew, after a change of arguments.
	@$(BIN)/python -m tools.make_stubs

.PHONY: hooks
hooks: $(VENV)/installed-test ## Have git check every commit.
	@$(BIN)/python $(PIP_INSTALL) --constraint constraints.txt pre-commit
	$(BIN)/pre-commit install

.PHONY: dist
dist: $(VENV)/bin/python ## Build the wheels and the source archives, in dist/, and check their metadata.
	@$(BIN)/python $(PIP_INSTALL) build twine
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python -m build --outdir dist compare
	$(BIN)/twine check --strict dist/*

.PHONY: check-dist
check-dist: ## Install the wheels of dist/ with each backend alone, and run the README. ARGS=--newest without pins
	$(BIN)/python tools/check_dist.py $(ARGS)

# The pages run on TensorFlow, which tokenizes for the language model of the live page anyway, and exports it.
SITE := KERAS_BACKEND=tensorflow $(BIN)/python -m tools.site

.PHONY: docs
docs: $(VENV)/installed-tensorflow,hub,docs ## Build the documentation site, in build/docs/. It needs npm.
	$(SITE) $(ARGS)

.PHONY: docs-serve
docs-serve: $(VENV)/installed-tensorflow,hub,docs ## Build the site, and serve it at http://127.0.0.1:8000.
	$(SITE) --serve $(ARGS)

.PHONY: test-docs
test-docs: $(VENV)/installed-tensorflow,hub,docs ## Build the site, and read all of it in Chromium.
	@$(BIN)/python tools/run_tests.py docs $(ARGS)

.PHONY: gpu
gpu: ## Measure all cells on the GPU of this machine, with the Python and the backends at hand. ARGS="--backends jax"
	@$(PYTHON) -m benchmarks.gpu $(ARGS)

.PHONY: clean
clean: ## Remove the environments and everything built.
	rm -rf .venv .venv-* build dist runs .coverage .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find keras_adaptive_rnn -name '*.pyi' -delete
	find . -name __pycache__ -prune -exec rm -r {} +

.PHONY: backend-is-known
backend-is-known:
	$(if $(filter $(KERAS_BACKEND),$(BACKENDS)),,$(error KERAS_BACKEND is '$(KERAS_BACKEND)', and must be one of: $(BACKENDS)))

%/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and f"Python 3.11 or later is needed, and this is {sys.version}. Name another one: make PYTHON=...")'
	@echo "Making $*"
	@$(PYTHON) -m venv $*

# One stamp a list of extras. What another list has installed stays, so lists add up; new pins or metadata install anew.
$(VENV)/installed-%: pyproject.toml compare/pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "Installing keras_adaptive_rnn[$*] and keras_rnn_compare into $(VENV) (minutes, the first time)"
	@$(BIN)/python $(PIP_INSTALL) --constraint constraints.txt --editable ".[$*]" --editable compare
	@touch $@

.venv-oldest/installed: pyproject.toml compare/pyproject.toml Makefile | .venv-oldest/bin/python
	@echo "Installing keras_adaptive_rnn and $(OLDEST) into .venv-oldest (minutes, the first time)"
	@.venv-oldest/bin/python $(PIP_INSTALL) $(OLDEST) --editable ".[jax,tensorflow,torch,plot,test]" --editable compare
	@touch $@

# Without pins. The nightly build is the package `keras`, too, so no other may be there.
.venv-newest/installed: pyproject.toml compare/pyproject.toml Makefile | .venv-newest/bin/python
	@echo "Installing keras_adaptive_rnn and the newest of all that it needs into .venv-newest (minutes, the first time)"
	@.venv-newest/bin/python $(PIP_INSTALL) --editable ".[jax,tensorflow,torch,hub,plot,test]" --editable compare
	@.venv-newest/bin/python -m pip uninstall --quiet --yes keras
	@.venv-newest/bin/python $(PIP_INSTALL) --pre --no-deps keras-nightly
	@touch $@
