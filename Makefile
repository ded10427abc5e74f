# Everything a newcomer calls. `make` lists it.
PYTHON ?= python3
SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
VENV := .venv
BIN := $(VENV)/bin

# One target folder for every checkout: Dynamo's frontend is built once a machine, not once a clone.
export CARGO_TARGET_DIR ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/dynamo-regime/target
# maturin builds for the environment named here.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)

light_sources := Cargo.toml Cargo.lock $(shell find rust/core rust/policy/src rust/sim/src rust/binding rust/python -name '*.rs' -o -name Cargo.toml)
frontend_sources := $(shell find rust/core rust/policy/src rust/binding rust/host rust/frontend -name '*.rs' -o -name Cargo.toml)

# Lints of the two heavy crates come with their build: `cargo clippy` would check all 880 packages anew.
clippy_build := CLIPPY_ARGS=-Dwarnings__CLIPPY_HACKERY__ RUSTC_WORKSPACE_WRAPPER=$$(rustup which clippy-driver 2>/dev/null || command -v clippy-driver)

.PHONY: help demo demo-live test test-live test-slow bench bench-full bench-live wheels lint format clean

help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

demo: $(VENV)/.light $(VENV)/.dynamo ## Route a three-phase load to eight mocker workers, swapping (τ, ω) under load (minutes)
	$(BIN)/python -m examples.demo

demo-live: $(VENV)/.frontend $(VENV)/.dynamo ## The same inside Dynamo's own frontend (first build: 25 to 50 minutes); TOPOLOGY=8 or 1P5D
	$(BIN)/python -m examples.demo_live $(or $(TOPOLOGY),8)

test: $(VENV)/.light ## All fast tests: Rust crates and the light wheel
	cargo test --release
	$(BIN)/python -m pytest

test-live: $(VENV)/.frontend $(VENV)/.dynamo ## Tests against the linked frontend, stock Dynamo and NATS, with mocker workers
	$(BIN)/python -m pytest -m "(live or stock or integration) and not slow"

test-slow: $(VENV)/.frontend $(VENV)/.dynamo ## Measurements that need an idle machine, of the controller above all
	$(BIN)/python -m pytest -m slow

bench: $(VENV)/.light ## Benchmark gates: our hot path beside Dynamo's and numpy's, as ratios in one run
	mkdir -p .benchmarks
	cargo bench --bench ratio -- --max-ratio 1.05 | tee .benchmarks/policy-ratio.json
	cargo bench --bench swap -- --max-ratio 1.5 | tee .benchmarks/swap-ratio.json
	$(BIN)/python benches/python/ratio.py --json .benchmarks/select-ratio.json

bench-full: bench ## The same, and criterion's and pytest-benchmark's full reports
	cargo bench --bench selection
	$(BIN)/python -m pytest benches/python -m bench --benchmark-json=.benchmarks/select.json

bench-live: $(VENV)/.frontend $(VENV)/.dynamo ## Dynamo's frontend beside ours on the same workers, alternating
	mkdir -p .benchmarks
	$(BIN)/python -m benches.live --json .benchmarks/live.json

wheels: $(VENV)/.light ## Both wheels, into dist/
	$(BIN)/maturin build --release --locked --out dist
	$(clippy_build) $(BIN)/maturin build --release --locked --out dist -m rust/frontend/Cargo.toml

lint: $(VENV)/.light ## Format, lint and type checks
	cargo fmt --all --check
	cargo clippy --release --all-targets -- -D warnings
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest dynamo_regime._core

format: $(VENV)/.light ## Format everything
	cargo fmt --all
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## Remove the environment and what was built here (the shared target folder stays)
	rm -rf $(VENV) dist build

$(VENV)/.tools: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "dynamo-regime needs Python 3.11 or newer, but $(PYTHON) is " + sys.version.split()[0])'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "maturin>=1.9,<2"
	touch $@

$(VENV)/.light: $(VENV)/.tools $(light_sources) pyproject.toml
	$(BIN)/maturin develop --release --extras dev
	touch $@

$(VENV)/.dynamo: $(VENV)/.tools requirements/dynamo.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements/dynamo.txt
	touch $@

$(VENV)/.frontend: $(VENV)/.light $(frontend_sources) rust/frontend/pyproject.toml
	@command -v protoc >/dev/null || { echo "The linked frontend needs protoc: install Debian's protobuf-compiler." >&2; exit 2; }
	@echo "Building Dynamo's frontend with the plug-in linked in: 25 to 50 minutes the first time on two cores, minutes afterwards."
	$(clippy_build) $(BIN)/maturin develop --release -m rust/frontend/Cargo.toml
	touch $@
