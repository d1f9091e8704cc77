SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

PYTHON ?= python3
PORT ?=
DB ?=
ARGS ?=
ONLY ?=
QUICK ?=
SCENARIO ?=
MUTANT ?=
SEEDS ?=
SEED ?=
HOURS ?=
MINUTES ?=
RATE ?=
EXAMPLES ?=
CASES ?=
# One more than there are cores, and not so many that a large machine is full of databases.
TEST_PROCESSES := $(shell cores=$$(nproc); echo $$(( cores < 3 ? cores + 1 : 4 )))

# uv from the machine if it has one, otherwise our own pinned copy.
UV := $(or $(shell command -v uv 2>/dev/null),.tools/bin/uv)
# Only the interpreter that was asked for, and the certificate authorities that the system trusts.
export UV_PYTHON_DOWNLOADS := never
export UV_SYSTEM_CERTS := true

# A lock must not depend on this machine's mirrors and wheel directories.
LOCK := env -u UV_INDEX -u UV_INDEX_URL -u UV_DEFAULT_INDEX -u UV_EXTRA_INDEX_URL -u UV_FIND_LINKS \
	$(UV) --no-config pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--custom-compile-command "make lock"

.PHONY: help
help: ## Show this help
	@echo "Dueline. Every target sets up what it needs; the first run takes a minute."
	@echo
	@sed -nE 's/^([a-z]+):[^#]*## (.*)$$/  make \1\t\2/p' $(firstword $(MAKEFILE_LIST)) | expand -t 18

.PHONY: run
run: .venv/.ready ## Start a server: make run PORT=8700 DB=dueline.db
	@$(if $(PORT),DUELINE_PORT='$(PORT)') $(if $(DB),DUELINE_DB='$(DB)') .venv/bin/dueline serve

.PHONY: test
test: .venv/.ready-dev ## Run the tests: make test ARGS="-k leases -n 4"
ifdef ARGS
	.venv/bin/pytest $(ARGS)
else
	@# One more than there are cores, since many wait; those with fleets of processes look at the clock, and have the machine for themselves.
	.venv/bin/pytest -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder --durations 15 --durations-min 5 --ignore tests/faults
	.venv/bin/pytest tests/faults
endif

.PHONY: years
years: .venv/.ready-dev ## Walk through two years of time in twelve zones
	.venv/bin/pytest -m long tests/testing/test_years.py $(ARGS)

.PHONY: model
model: .venv/.ready-dev ## Hold both stores to the model by many examples: make model EXAMPLES=5000
	EXAMPLES='$(EXAMPLES)' .venv/bin/pytest -m long tests/model $(ARGS)

.PHONY: fuzz
fuzz: .venv/.ready-dev ## Send what the API document allows, and what it does not: make fuzz CASES=5000
	CASES='$(CASES)' .venv/bin/pytest -m long tests/api/test_schemathesis.py $(ARGS)

.PHONY: faults
faults: .venv/.ready-dev ## Hurt real processes, and judge what became of their work: make faults SCENARIO=worker_killed
ifndef SCENARIO
	.venv/bin/pytest -m "long or not long" tests/faults tests/proof $(ARGS)
endif
	@SEED='$(SEED)' .venv/bin/python -m proof $(SCENARIO)

.PHONY: moving
moving: .venv/.ready-dev ## Move a server under load to PostgreSQL, and judge what became of its work: make moving JOBS=1000000 RATE=200
	@JOBS='$(JOBS)' RATE='$(RATE)' .venv/bin/python -m proof.moving

.PHONY: soak
soak: .venv/.ready-dev ## Half an hour of load and accidents, and what grows by it: make soak MINUTES=30 RATE=5000
	@MINUTES='$(MINUTES)' RATE='$(RATE)' SEED='$(SEED)' .venv/bin/python -m proof.soak

.PHONY: guarantees
guarantees: .venv/.ready-dev ## Write what make faults found last into docs/operating/guarantees.md
	@.venv/bin/python -m proof.guide

.PHONY: sim
sim: .venv/.ready-dev ## Simulate clusters in trouble: make sim SEEDS=500 HOURS=0.1, or SEED=17 to see one again
	@SEEDS='$(SEEDS)' SEED='$(SEED)' HOURS='$(HOURS)' .venv/bin/python -m tests.simulation

.PHONY: mutants
mutants: .venv/.ready-dev ## Break the product on purpose, and see which suite finds out: make mutants MUTANT=finish_any_token
	@.venv/bin/python -m proof.mutants $(MUTANT)

.PHONY: bench
bench: .venv/.ready-dev | $(UV) ## Measure: make bench ONLY=dispatch_limits_pg QUICK=1
	@ONLY='$(ONLY)' QUICK='$(QUICK)' UV='$(UV)' .venv/bin/python -m bench

.PHONY: growth
growth: .venv/.ready-dev ## Draw what becomes of costs: make growth ONLY=jobs,backlog QUICK=1
	@ONLY='$(ONLY)' QUICK='$(QUICK)' .venv/bin/python -m bench.growth

.PHONY: capacity
capacity: .venv/.ready-dev ## Write what bench and growth measured last into docs/operating/capacity.md
	@.venv/bin/python -m bench.growth.guide

.PHONY: check
check: .venv/.ready-dev ## Check format, lint, types and the rules of the house
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy
	.venv/bin/pytest --quiet tests/tidy

.PHONY: format
format: .venv/.ready-dev ## Format the code and apply the safe fixes
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

.PHONY: lock
lock: | $(UV) ## Pin the requirements anew: make lock ARGS=--upgrade
	$(LOCK) $(ARGS) --group build --output-file requirements/run.txt pyproject.toml
	$(LOCK) $(ARGS) --group build --group dev --constraint requirements/run.txt \
		--output-file requirements/dev.txt pyproject.toml
	$(LOCK) $(ARGS) --group pyproject.toml:installer --output-file requirements/uv.txt
	for file in bench/peers/requirements/*.in; do $(LOCK) $(ARGS) --output-file "$${file%.in}.txt" "$$file"; done
	if command -v npm >/dev/null; then cd bench/peers/node && \
		npm $(if $(findstring upgrade,$(ARGS)),update,install) --package-lock-only --no-audit --no-fund && \
		$(PYTHON) ../lock.py package-lock.json; fi

.PHONY: clean
clean: ## Remove the environment, caches and build products
	rm -rf .venv .tools build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find src tests examples -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: setup
setup: .venv/.ready-dev

# To run: the locked requirements, then the project itself, built by the locked hatchling.
.venv/.ready: requirements/run.txt pyproject.toml | $(UV)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Dueline needs Python 3.11 or newer, and '$(PYTHON)' is not." >&2; \
		echo "Name another interpreter: make PYTHON=python3.12 …" >&2; exit 1; }
	@echo "Setting up .venv"
	@test -x .venv/bin/python || \
		$(UV) venv --quiet --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" .venv
	@$(UV) pip install --quiet --python .venv --require-hashes -r requirements/run.txt
	@$(UV) pip install --quiet --python .venv --no-deps --no-build-isolation --editable .
	@touch $@

# To develop: the same, and the tools.
.venv/.ready-dev: .venv/.ready requirements/dev.txt | $(UV)
	@$(UV) pip install --quiet --python .venv --require-hashes -r requirements/dev.txt
	@touch $@

# Debian splits venv from Python; pip alone is enough to fetch uv.
.tools/bin/uv: requirements/uv.txt
	@echo "Fetching uv into .tools"
	@rm -rf .tools
	@if $(PYTHON) -c 'import ensurepip, venv' 2>/dev/null; then \
		$(PYTHON) -m venv .tools; \
		.tools/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt; \
	elif $(PYTHON) -m pip --version >/dev/null 2>&1; then \
		$(PYTHON) -m pip install --quiet --disable-pip-version-check --require-hashes \
			--target .tools -r requirements/uv.txt; \
	else \
		echo "Setting up needs one of: uv, Python's venv module, or pip." >&2; \
		echo "On Debian and Ubuntu: apt install python3-venv" >&2; exit 1; \
	fi
	@touch $@
