# Every target is a line in `make help`. Needed: Go, git and make; `make test` installs what else it needs.

MODULES := .
BIN := bin
FUZZTIME ?= 30s
STAY ?=

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0

export MODULES STATICCHECK GOVULNCHECK FUZZTIME

.DEFAULT_GOAL := help
.PHONY: help build test test-all check demo test-chaos test-backlog bench-local fuzz model fresh clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## the binary, in bin/cloudqueue
	@mkdir -p $(BIN)
	go build -o $(BIN)/ ./cmd/...

test: ## all tests, with real RabbitMQ and etcd on free ports (installs RabbitMQ and Python's pika if missing)
	@scripts/test

test-all: check test ## everything: check, test, race detector, fuzzing, full chaos, backlog
	@scripts/race
	@$(MAKE) --no-print-directory fuzz test-chaos test-backlog

check: ## gofmt, vet, staticcheck, layers, known vulnerabilities
	@scripts/check

demo: build ## three sites on this machine, a cut link, a killed router, the balance; STAY=1 keeps it running
	@$(BIN)/cloudqueue demo $(if $(STAY),--stay)

test-chaos: ## real brokers, etcd and routers under 30 kills and some pauses, then 200 restarts of a destination; prints the tables (CHAOS_SEED, CHAOS_KILLS)
	@scripts/needs rabbitmq
	go test -count=1 -v -timeout 30m -tags 'integration chaos' -run TestChaos ./sim/chaos
	RESTARTS=200 go test -count=1 -v -timeout 30m ./sim/restarts

test-backlog: build ## 10 GB stored: time to the first delivery, memory at 1 GB and at 10 GB
	@scripts/needs rabbitmq
	go test -count=1 -v -timeout 60m -tags 'integration backlog' -run TestBacklog ./sim/backlog

bench-local: build ## Cloudqueue, Shovel and Federation side by side on this machine
	@scripts/needs rabbitmq
	go run ./sim/bench -router $(BIN)/cloudqueue -json $(BIN)/bench-local.json

fuzz: ## every decoder for FUZZTIME=30s each
	@scripts/fuzz

model: ## the lane protocol's specification, every scenario to the end, and every changed rule caught (about 2 min)
	go test -count=1 -timeout 30m -tags model -v ./sim/model

fresh: ## make demo cold (6 min at most) and again (1 min), make test, in a Debian 12 chroot that has only Go, git, make and apt (needs root)
	@scripts/fresh 360:'make demo' 60:'make demo' 'make test'

clean: ## removes what the other targets left in this folder
	rm -rf $(BIN) .cache
