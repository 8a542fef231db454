# The two commands a newcomer needs are `make evaluate` and `make test`; each sets itself up.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup setup-all setup-models evaluate test soak recipes lint bench tools-doc checks-doc servers-doc prefect-yaml serve image application-image

RUN := scripts/uv run --no-sync

help: ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

setup: ## Install uv and the locked environment if they are missing
	@scripts/setup

setup-all: ## The same with every extra and with what tests need
	@scripts/setup all

setup-models: ## Install the larger local model, 1.1 GB
	@scripts/setup models

evaluate: setup ## Evaluate the default agents on two starter tasks of each category
	@$(RUN) nightshift run --sample 2

test: setup-all ## Run every test
	@$(RUN) pytest -n 3 --dist loadgroup

soak: setup-all ## Run the tests that kill, schedule and wait, at full length (two hours)
	@NIGHTSHIFT_SOAK=1 $(RUN) pytest -m soak

recipes: setup-all ## Install the programs of docs/other-agents.md and let each do a task
	@$(RUN) pytest -m recipes tests/stages/execute/recipes

lint: setup-all ## Check style, types and import direction
	@$(RUN) ruff check .
	@$(RUN) ruff format --check .
	@$(RUN) mypy
	@$(RUN) lint-imports

bench: setup-all ## Run the benchmarks
	@for file in benchmarks/*.py; do echo "== $$file"; $(RUN) python "$$file" || exit 1; done

tools-doc: setup ## Write docs/tools.md from the catalogue
	@$(RUN) python -m environments.tool_runtime.document

checks-doc: setup ## Write docs/checks.md from the library of checks
	@$(RUN) python -m stages.score.guide.document

servers-doc: setup ## Write docs/servers.md from the catalogue of MCP servers
	@$(RUN) python -m environments.mcp.document

prefect-yaml: setup ## Write prefect.yaml from what `nightshift serve` serves
	@$(RUN) python -m flows.serving.work_pool

serve: setup ## Serve the Prefect UI, the nightly schedule and every stage
	@$(RUN) nightshift serve

image: setup ## Build the Docker sandbox image (BASE=debootstrap where no registry is reachable)
	@environments/image/build.sh

application-image: setup ## Build the image that compose.yaml starts (BASE=debootstrap likewise)
	@deploy/build.sh
