# Every target is safe to run twice, and from two clones at once: what is built goes to a
# cache folder outside the clone, where clones share what they have in common.
#
#   TIMESTRATA_CACHE   where everything built goes (default ~/.cache/timestrata)
#   CARGO_TARGET_DIR   where cargo builds (default a folder in the cache)

SHELL := /bin/bash
.DEFAULT_GOAL := help
SUITE ?= engine
HOURS ?= 1
# Those of timestrata-bench, and all that there are.
SUITES_RUST = engine logs store
SUITES = all $(SUITES_RUST) graph table timelog topic tsbs

# With QUICK=1 all sizes are small: that it works is shown, and no figure says much.
QUICKLY = $(if $(QUICK),--quick --out bench/results/quick.json)
# Rows of published reports go to a file of their own.
PUBLISHED = bench/results/$(if $(QUICK),report.quick,report).json

IN = tools/with-environment
# What is compared with Python packages has an environment of its own.
IN_BENCH = TIMESTRATA_VENV=venv-bench tools/with-environment
# After the workspace's tests, and with what they switch on: nothing from the engine up is built again.
EXTENSION_TO_TEST = maturin develop --profile dev --features as-tested --manifest-path python/Cargo.toml
# The extension is named for its features: with them nothing that these share with it is built again.
BUILD_RELEASE = cargo build --locked --release -p timestrata-python -p timestrata-cli -p timestrata-bench
# Real logs and a real graph for the parts in Rust; in a clone that stands alone, what stands in for them.
LOGS = TIMESTRATA_LOGS="$$($(IN) python3 -m bench.python.logs.stand_in)"
GRAPH = TIMESTRATA_BENCH_GRAPH="$$($(IN) python3 -m bench.python.graph.library)"

.PHONY: help setup demo wheels test lint locks docs references bench bench-check report soak lab lab-short lab-tables lab-threads clean

help:
	@echo "make demo               build the wheel as a user gets it, run demo/run.py"
	@echo "make wheels             a source distribution and wheels for others, to dist/"
	@echo "make test               all tests, Rust and Python"
	@echo "make lint               formatting, clippy, docs, house rules"
	@echo "make bench SUITE=engine benchmarks, to docs/benchmarks.md; also graph, logs, store,"
	@echo "                        table, timelog, topic, tsbs, all; QUICK=1: only whether they work"
	@echo "make bench-check        whether ratios are those of the kept baseline; before each release; UPDATE=1:"
	@echo "                        write a new baseline; ONLY=NAME: only measures whose name holds that"
	@echo "make report             the rows of five systems' published reports, to docs/report; QUICK=1 as above;"
	@echo "                        KEEP=0.1.0: keep them as that release's"
	@echo "                        DLS=, KAUSALDB=, PULSORA=FOLDER, clones: theirs beside ours (bench/README.md)"
	@echo "make soak HOURS=1       a mixed load on all models of one store, to docs/report; under half an hour, or"
	@echo "                        with QUICK=1, to bench/results; SEED=n repeats the steps of another one"
	@echo "make lab HOURS=1        random seeds on and on: kills, power cuts, models, the simulator"
	@echo "make lab-short          some of it with fixed seeds, on what make test has built"
	@echo "make lab-tables         files that packages carry, as tables, against pandas and DuckDB"
	@echo "make lab-threads        Rust's tests with threads, under ThreadSanitizer (nightly)"
	@echo "make docs               the site of docs/, into the cache; says where"
	@echo "make references         write the pages of docs/reference that are made of the real thing"
	@echo "make locks              whether every lock file fits its manifest"
	@echo "make setup              only what the others need (they call it themselves)"
	@echo "make clean              remove what was built"

setup:
	@tools/setup base

# One build: the command is a function of the package's extension.
demo:
	@tools/setup demo
	@$(IN) bash -c 'set -o pipefail; mkdir -p "$$CARGO_TARGET_DIR"; log="$$CARGO_TARGET_DIR/demo-build.log"; \
		maturin develop --locked --release --manifest-path python/Cargo.toml 2>&1 | tee "$$log" && \
		python demo/run.py --build-log "$$log"'

wheels:
	@tools/setup wheels
	@$(IN) tools/wheels

test:
	@tools/setup test
	@$(IN) cargo test --locked --workspace --exclude timestrata-python
	@$(IN) $(EXTENSION_TO_TEST)
	@cd python && ../$(IN) python -m pytest
	@cd python && ../$(IN) mypy --strict timestrata
	@echo "make test: all passed"

lint:
	@tools/setup test
	@$(IN) cargo fmt --all --check
	@$(IN) cargo clippy --locked --workspace --all-targets -- -D warnings
	@RUSTDOCFLAGS="-D warnings" $(IN) cargo doc --locked --workspace --no-deps --quiet
	@$(IN) cargo test --locked --quiet -p timestrata-tidy
	@echo "make lint: clean"

# What stands beside the workspace has locks of its own, which nothing else holds.
locks:
	@for manifest in Cargo.toml bench/compare/Cargo.toml fuzz/Cargo.toml lab/cutfs/Cargo.toml; do \
		$(IN) cargo metadata --locked --format-version 1 --manifest-path $$manifest >/dev/null || exit 1; \
	done
	@echo "make locks: all fit"

# Links that lead nowhere are errors.
docs:
	@tools/setup docs
	@$(IN) bash -c 'python -m tools.documents site "$$DOCS_DIR"'

# They are held by a test, which says when to do this; make test has built what it asks.
references:
	@$(IN) python -m tools.documents references

lab:
	@tools/setup lab
	@$(IN) cargo build --locked --bin timestrata-sim
	@$(IN) python -m lab.fuzz --build
	@$(IN) $(EXTENSION_TO_TEST)
	@$(IN) python -m lab --hours $(HOURS)

lab-tables:
	@tools/setup lab-tables
	@$(IN) $(EXTENSION_TO_TEST)
	@$(IN) bash -c 'python -m lab.tables --packages "$$VIRTUAL_ENV/lab-tables"'

lab-threads:
	@$(IN) python3 -m lab.threads

lab-short:
	@tools/setup lab
	@$(IN) python -m lab --short

bench:
	$(if $(filter $(SUITES),$(SUITE)),,$(error SUITE=$(SUITE) is none of: $(SUITES)))
	@TIMESTRATA_VENV=venv-bench tools/setup bench $(SUITE)
	@mkdir -p bench/results
ifneq ($(filter all $(SUITES_RUST),$(SUITE)),)
	@$(IN) $(BUILD_RELEASE) --bin timestrata --bin timestrata-bench
	@$(if $(filter logs all,$(SUITE)),$(LOGS)) $(IN) bash -c '"$$CARGO_TARGET_DIR/release/timestrata-bench" $(SUITE) $(QUICKLY)'
endif
ifneq ($(filter engine all,$(SUITE)),)
	@$(IN) cargo run --locked --release --manifest-path bench/compare/Cargo.toml -- $(QUICKLY)
endif
ifneq ($(filter topic all,$(SUITE)),)
	@$(IN) cargo run --locked --release --manifest-path bench/compare/Cargo.toml \
		--no-default-features --features topic --bin timestrata-bench-topic -- $(QUICKLY)
endif
ifneq ($(filter graph all,$(SUITE)),)
	@$(GRAPH) $(IN) cargo run --locked --release --manifest-path bench/compare/Cargo.toml \
		--no-default-features --features graph --bin timestrata-bench-graph -- $(QUICKLY)
endif
ifneq ($(filter graph logs store table timelog tsbs all,$(SUITE)),)
	@$(IN_BENCH) maturin develop --release --manifest-path python/Cargo.toml
endif
ifneq ($(filter graph all,$(SUITE)),)
	@$(IN_BENCH) python -m bench.python.graph $(QUICKLY)
endif
ifneq ($(filter timelog all,$(SUITE)),)
	@$(IN_BENCH) python -m bench.python.timelog $(QUICKLY)
endif
ifneq ($(filter logs table all,$(SUITE)),)
	@$(IN_BENCH) $(BUILD_RELEASE) --bin timestrata --bin timestrata-bench
endif
ifneq ($(filter table all,$(SUITE)),)
	@$(IN_BENCH) python -m bench.python.table $(QUICKLY)
endif
ifneq ($(filter tsbs all,$(SUITE)),)
	@$(IN_BENCH) python -m bench.python.tsbs $(QUICKLY)
endif
ifneq ($(filter store all,$(SUITE)),)
	@$(IN_BENCH) python -m bench.python.store $(QUICKLY)
endif
ifneq ($(filter logs all,$(SUITE)),)
	@$(IN_BENCH) python -m bench.python.logs $(QUICKLY)
endif
	@$(IN) python3 -m bench.python.report $(SUITE) $(if $(QUICK),--results bench/results/quick.json --page bench/results/quick.md)

# The package alone: what is compared with is in the environment, or a floor in Python.
bench-check:
	@TIMESTRATA_VENV=venv-bench tools/setup bench timelog
	@$(IN_BENCH) maturin develop --release --manifest-path python/Cargo.toml
	@$(IN_BENCH) python -m bench.python.check $(if $(UPDATE),--update) $(if $(ONLY),--only "$(ONLY)")

# A folder that can't be measured with is told before anything is.
report:
	$(if $(and $(QUICK),$(KEEP)),$(error QUICK=1 measures small sizes, which no release keeps))
	@TIMESTRATA_VENV=venv-bench tools/setup bench timelog
	@$(IN_BENCH) python -m bench.python.published live --check
	@mkdir -p bench/results
	@$(IN) $(BUILD_RELEASE) --bin timestrata-bench
	@$(IN) bash -c '"$$CARGO_TARGET_DIR/release/timestrata-bench" published $(if $(QUICK),--quick) --out $(PUBLISHED)'
	@$(IN) cargo run --locked --release --manifest-path bench/compare/Cargo.toml \
		--no-default-features --features topic --bin timestrata-bench-topic -- \
		published $(if $(QUICK),--quick) --out $(PUBLISHED)
	@$(IN_BENCH) maturin develop --release --manifest-path python/Cargo.toml
	@$(IN_BENCH) python -m bench.python.published measure $(if $(QUICK),--quick) --results $(PUBLISHED)
	@$(IN_BENCH) python -m bench.python.published live $(if $(QUICK),--quick) --results $(PUBLISHED)
	@$(IN) python3 -m bench.python.published page --stamp all --results $(PUBLISHED) \
		$(if $(QUICK),--page bench/results/report.quick)
	$(if $(KEEP),@$(IN) python3 -m bench.python.published keep $(KEEP) && $(IN) python3 -m bench.python.published page)

# It fails if the verdict does.
soak:
	@TIMESTRATA_VENV=venv-bench tools/setup bench timelog
	@mkdir -p bench/results
	@$(IN_BENCH) maturin develop --release --manifest-path python/Cargo.toml
	@$(IN_BENCH) python -m bench.python.soak run --hours $(HOURS) $(if $(SEED),--seed $(SEED)) $(if $(QUICK),--quick)

clean:
	@tools/with-environment --print CARGO_TARGET_DIR | xargs -r rm -rf --
	@$(IN) --print VIRTUAL_ENV | xargs -r rm -rf --
	@$(IN) --print DOCS_DIR | xargs -r rm -rf --
	@$(IN_BENCH) --print VIRTUAL_ENV | xargs -r rm -rf --
	@$(IN) --print GOCACHE | xargs -r rm -rf --
	@$(IN) --print GOMODCACHE | xargs -r rm -rf --
