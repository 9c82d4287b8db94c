# make help lists the targets. `make test` needs a Rust toolchain (cargo, rustfmt, clippy) and Python 3.11 or newer;
# everything else it installs by itself: Python packages in .venv, cargo-deny in .tools, a C compiler and a browser with
# apt-get (as root, and only if there is none).

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

CARGO ?= cargo
PYTHON ?= python3
CARGO_DENY_VERSION := 0.20.2
TAMIS := target/release/tamis
DENY := .tools/bin/cargo-deny
# Compiles for checking: dependencies once, as for release (the file says how).
CHECK := $(CARGO) --config .ci/checks.toml

.PHONY: help demo test bench lint format clippy no-features features docs rust-tests python-tests python-package \
	browser-tests wheel licences advisories tools browser release release-all c-compiler liblinear sanitize clean-tools

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: release ## build, find the planted features of a generated stream, and show them on a page
	$(TAMIS) demo --report target/demo.html

# What has to be fetched is fetched while the first part compiles.
test: c-compiler ## everything continuous integration checks
	$(MAKE) tools & tools=$$!; $(MAKE) lint && wait $$tools || { kill $$tools 2>/dev/null; exit 1; }
	$(MAKE) rust-tests docs python-tests python-package browser-tests licences
	@echo "make test: all of it passed"

# What the checks need beside the toolchain.
tools: .venv/ready .venv-package/ready .venv-browser/ready browser $(DENY)

bench: release-all .venv-bench/ready .venv-metric/ready wheel liblinear ## measure against Vowpal Wabbit, LIBLINEAR and scikit-learn
	$(CARGO) build --release --locked --package tamis --examples
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps \
		target/wheels/tamis-*.whl
	.venv-bench/bin/python benchmarks/run.py $(BENCH)

lint: format clippy no-features ## formatting and clippy, warnings denied

format: ## is the code formatted?
	$(CARGO) fmt --all --check

clippy: c-compiler
	$(CHECK) clippy --workspace --all-targets --locked -- -D warnings

# The library must compile without its optional parts; `features` checks each of them alone.
no-features: c-compiler
	$(CHECK) clippy --package tamis --locked --no-default-features -- -D warnings

features: no-features ## the library with each of its cargo features alone
	for feature in columnar compression moments; do \
		$(CHECK) clippy --package tamis --locked --no-default-features --features $$feature -- -D warnings; \
	done

rust-tests: c-compiler ## unit, contract, property and program tests
	PYO3_NO_PYTHON=1 $(CHECK) test --release --workspace --locked

docs: c-compiler ## the library's documentation, warnings denied
	RUSTDOCFLAGS="-D warnings" $(CHECK) doc --workspace --no-deps --locked

release: c-compiler ## the program, optimised
	$(CARGO) build --release --locked --package tamis-cli

# The program with all that the Python package needs, too: what they share is compiled once.
release-all: c-compiler
	PYO3_NO_PYTHON=1 $(CARGO) build --release --locked --package tamis-cli --package tamis-python

python-tests: release-all .venv/ready ## scikit-learn, scipy and pyarrow as judges of the program
	TAMIS_BIN=$(CURDIR)/$(TAMIS) .venv/bin/python -m pytest -q -rs -p no:cacheprovider tests/python

# The wheel is built, installed and tested as users get it: nothing of the source folder is on Python's path.
python-package: release-all wheel ## the Python package: its wheel in a virtual environment of its own
	.venv-package/bin/python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps \
		target/wheels/tamis-*.whl
	TAMIS_BIN=$(CURDIR)/$(TAMIS) .venv-package/bin/python -m pytest -q -rs --import-mode=append python/tests

# Reports are opened in a real browser. Without one that can be installed this is said, loudly, and skipped;
# BROWSER_TESTS=required turns it into an error.
browser-tests: release-all .venv-browser/ready browser ## reports in Chromium: whole, safe, usable, accessible
	@if $(call chromium); then \
		TAMIS_BIN=$(CURDIR)/$(TAMIS) .venv-browser/bin/python -m pytest -q -rs -p no:cacheprovider tests/browser; \
	else \
		echo "=================================================================="; \
		echo "NOT CHECKED: reports in a real browser. There is no Chromium and"; \
		echo "it could not be installed (as root: apt-get install chromium)."; \
		echo "=================================================================="; \
		[ "$(BROWSER_TESTS)" != required ]; \
	fi

browser:
	@$(call chromium) || ( $(call install,chromium fonts-dejavu-core fonts-noto-color-emoji) ) || true

chromium = { [ -x "$${CHROMIUM:-}" ] || command -v chromium || command -v chromium-browser; } >/dev/null

wheel: c-compiler .venv-package/ready ## the Python package as a wheel, in target/wheels
	rm -rf target/wheels
	.venv-package/bin/maturin build --quiet --release --locked --interpreter .venv-package/bin/python \
		--manifest-path python/Cargo.toml --out target/wheels

# The one `unsafe` (learn/ahead.rs) and all that leads to it. Needs a nightly toolchain, so it is not part of `test`.
sanitize: c-compiler ## the learners under AddressSanitizer
	RUSTFLAGS=-Zsanitizer=address $(CARGO) +nightly test --locked --package tamis --lib --target x86_64-unknown-linux-gnu \
		--target-dir target/sanitize learn::

licences: $(DENY) advisories ## what the dependencies may be, and their known holes
	$(DENY) --all-features --locked check bans licenses sources

# The database of known holes lives on the network. Where it cannot be had, that is said and the rest goes on;
# ADVISORIES=required turns it into an error.
advisories: $(DENY)
	@if timeout 120 $(DENY) fetch db 2>.tools/fetch.log; then \
		$(DENY) --all-features --locked check advisories; \
	else \
		echo "=================================================================="; \
		echo "NOT CHECKED: known holes in dependencies (RustSec advisories)."; \
		echo "Their database could not be fetched; .tools/fetch.log says why."; \
		echo "=================================================================="; \
		[ "$(ADVISORIES)" != required ]; \
	fi

# Installed unoptimised: it compiles in a minute and runs for a second.
$(DENY):
	$(CARGO) install --quiet --locked --debug --root .tools --version $(CARGO_DENY_VERSION) cargo-deny

.venv/ready: tests/python/requirements.txt
	$(call virtual_environment,.venv,$<)

.venv-package/ready: python/tests/requirements.txt
	$(call virtual_environment,.venv-package,$<)

.venv-browser/ready: tests/browser/requirements.txt
	$(call virtual_environment,.venv-browser,$<)

.venv-bench/ready: benchmarks/requirements.txt
	$(call virtual_environment,.venv-bench,$<)

.venv-metric/ready: experiments/ma2017_sdist/requirements.txt
	$(call virtual_environment,.venv-metric,$<)

# A virtual environment with pinned packages. Debian keeps the module venv in a package of its own.
define virtual_environment
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=…")'
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { $(call install,python3-venv); }
	rm -rf $(1)
	$(PYTHON) -m venv $(1)
	$(1)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $(2)
	@touch $(1)/ready
endef

c-compiler:
	@command -v cc >/dev/null || { $(call install,gcc libc6-dev); }

liblinear:
	@command -v liblinear-train >/dev/null || { $(call install,liblinear-tools); }

# Debian packages, as root only; anyone else is told the names.
define install
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(1); \
	else \
		echo "please install the package(s): $(1)" >&2; exit 2; \
	fi
endef

clean-tools: ## remove what make test and make bench installed here
	rm -rf .venv .venv-bench .venv-browser .venv-metric .venv-package .tools
