# freshet: see `make help`.
SHELL := /bin/bash
.DEFAULT_GOAL := help

GO           ?= go
GOLANGCI     ?= $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
STATICCHECK  ?= $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME     ?= 20s
KILLROUNDS   ?= 200
CHAOSBLOCKS  ?= 10
CHAOSSEED    ?= $(shell echo $$RANDOM)
SEEDS        ?= 2000
MUTANTS      ?=
BENCHREPO    ?= .
TIMEOUT      ?= 25m
CORPUS       ?= .corpus
QUERIES      ?= testdata/eval
REPOS        ?= ..

# SQLite is C translated to Go, nearly all of it memory accesses under a lock of its own: the
# detector would triple the time of what uses it, and find no race of these sources.
RACE := -race -gcflags='modernc.org/libc/...=-race=false -d=checkptr=0' -gcflags='modernc.org/sqlite/lib=-race=false -d=checkptr=0'

# The race detector makes every process sleep for a second when it ends; the tests start
# hundreds of them.
export GORACE ?= atexit_sleep_ms=0

.PHONY: help build install test check race lint fmt fuzz bench killloop damage chaos simulate mutants histories freshness docs conformance topology corpus model eval clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build ./freshet
	$(GO) build -trimpath -o freshet ./cmd/freshet

install: ## install freshet into GOBIN
	$(GO) install -trimpath ./cmd/freshet

test: check ## check the sources and run every test with the race detector, with PostgreSQL
	.ci/postgres $(GO) test $(RACE) -timeout $(TIMEOUT) ./...

check: ## gofmt, go vet and the generated tool reference
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); \
	if [ -n "$$unformatted" ]; then echo "not gofmt-ed:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) run ./cmd/freshet docs --check

race: test ## another name for test

lint: ## staticcheck and the linters of .golangci.yml
	$(STATICCHECK) ./...
	$(GOLANGCI) run

fmt: ## format the sources
	gofmt -w $$(git ls-files '*.go')

fuzz: ## run every fuzz target for FUZZTIME
	@set -euo pipefail; \
	for package in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "== $$package $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package; \
		done; \
	done

bench: ## run the Go benchmarks, with PostgreSQL
	.ci/postgres $(GO) test -run '^$$' -bench . -benchmem ./...

killloop: ## the kill loop with KILLROUNDS rounds
	$(GO) test -timeout 60m -run '^TestKillLoop$$' -v ./cmd/freshet -kill.rounds $(KILLROUNDS)

damage: ## all damage of a data directory, before the start and under a live host, as a table, all small disks, 400 flipped bytes of a log; the tests take a share a day
	$(GO) test -timeout 60m -run '^TestDamageWalk' -v ./cmd/host -damage.all
	$(GO) test -timeout 30m -run '^TestFullDisk$$' -v ./cmd/freshet -disks.all
	$(GO) test -timeout 30m -run '^TestAnyFlippedByteIsNoticed$$' -v ./pipeline/bus/natsbus -flips 400

chaos: ## kill parts of a cluster for CHAOSBLOCKS blocks of edits, by CHAOSSEED
	.ci/postgres $(GO) test -timeout 60m -run '^TestChaos$$' -v ./cmd/freshet -chaos.blocks $(CHAOSBLOCKS) -chaos.seed $(CHAOSSEED)

simulate: ## SEEDS random histories of edits and faults through the pipeline, in virtual time
	$(GO) test -timeout 60m -run '^TestSimulation$$' -v ./cmd/simulation -simulation.seeds $(SEEDS)

mutants: ## plant the bugs of testdata/mutants (MUTANTS, all by default) and want each to be caught
	.ci/mutants $(MUTANTS)

histories: ## rewrite the digests of testdata/histories
	$(GO) test -run '^TestHistories$$' ./pipeline -update

freshness: ## 1,000 rounds of write-then-search over stdio and over HTTP
	$(GO) test -timeout 30m -run '^TestNoStaleAnswer$$' -v ./cmd/freshet -mcp.rounds 1000

docs: ## make the tool reference anew
	$(GO) run ./cmd/freshet docs --write

conformance: ## the official conformance suite for MCP servers; needs npm and its registry
	.ci/conformance

topology: ## the topology of docker-compose.yml from binaries on loopback
	$(GO) build -o freshet ./cmd/freshet
	.ci/postgres .ci/topology ./freshet

# Debian's packages need deb-src lines: apt-get reads them from the system, or from the
# file that APT_CONFIG names.
corpus: ## fetch the sources of the built-in model into CORPUS, name those that are gone
	$(GO) run ./cmd/train fetch -cache $(CORPUS)

model: ## train the built-in model on CORPUS again; the same corpus gives the same bytes
	$(GO) run ./cmd/train build -cache $(CORPUS)

eval: ## retrieval quality over the checkouts in REPOS, by the annotations in QUERIES
	$(GO) run ./cmd/freshet eval --ablations --queries $(QUERIES) --repos $(REPOS)

clean: ## remove what build made
	rm -f freshet
