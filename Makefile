.DEFAULT_GOAL := help

# Everything but infra, which is a lane of its own: building the CDK takes minutes.
PACKAGES := . ./functions/... ./shared/... ./scripts/...

# Not the whole tree: the npm package of the CDK holds templates that look like Go, and gofmt knows no `ignore`.
GOFILES := *.go functions shared scripts infra

# Run by version, so that it is no dependency of the module.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## Check the tools that are needed and fetch the modules that are used
	@scripts/setup

# The program is built and then replaces the shell: a signal or a kill reaches the stack itself, not a wrapper of it.
.PHONY: dev
dev: ## Run the whole product on this machine; Ctrl-C ends it
	@go build -o bin/local ./scripts/local
	@exec bin/local

.PHONY: demo
demo: ## Run one governed job through a fresh stack and show every step
	@go run ./scripts/demo

.PHONY: bailing
bailing: ## Build the operator's command line, bin/bailing
	go build -o bin/bailing ./scripts/bailing

.PHONY: agent
agent: ## Build the login of agents on a person's machine, bin/agent
	go build -o bin/agent ./scripts/agent

.PHONY: bootstrap
bootstrap: ## Build the functions as deployed, check and measure them, run the demo through them
	@go run ./scripts/bootstrap

.PHONY: test
test: setup lint ## Check and test everything, from nothing
	go test -timeout 30m $(PACKAGES)

.PHONY: race
race: ## Run the tests with the race detector (needs a C compiler)
	go test -race -timeout 30m $(PACKAGES)

.PHONY: browser
browser: ## Open the demo's consent page in headless Chromium, as a person would; installs Chromium if it may
	@scripts/setup browser
	BAILING_BROWSER=required go test -count=1 ./scripts/demo/browser

# Each target of the compiler for FUZZTIME; go test runs one at a time. What one finds is written below its package's testdata/fuzz.
FUZZTIME := 20s
.PHONY: fuzz
fuzz: ## Fuzz the specification compiler, approval rules, validation, agent answers, FUZZTIME each
	go test ./shared/capability/compile -run '^$$' -fuzz '^FuzzCompile$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x
	go test ./shared/capability -run '^$$' -fuzz '^FuzzRules$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x
	go test ./shared/capability -run '^$$' -fuzz '^FuzzValidate$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x
	go test ./shared/agentclient -run '^$$' -fuzz '^FuzzRedirect$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x
	go test ./shared/agentclient -run '^$$' -fuzz '^FuzzAnswers$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 10x

.PHONY: lint
lint: ## Check formatting, go vet and staticcheck
	@unformatted=$$(gofmt -l $(GOFILES)); test -z "$$unformatted" || { echo "not formatted (make fmt):"; echo "$$unformatted"; exit 1; }
	go vet $(PACKAGES)
	go run $(STATICCHECK) $(PACKAGES)

.PHONY: fmt
fmt: ## Format all Go files
	gofmt -w $(GOFILES)

# A program that needs bubbles of testing/synctest is a test binary. SEEDS plays that many, from FROM on; SEED plays one again; TRACE=1 prints its steps.
SEEDS := 20
FROM := 1
.PHONY: sim
sim: ## Let the whole product run through faults: SEEDS=n plays n seeds, SEED=n one again
	@go test -c -o bin/sim ./scripts/sim
	@cd scripts/sim && exec ../../bin/sim -test.run '^TestSimulation$$' -test.timeout 0 $(if $(SEED),-seed $(SEED),-seeds $(SEEDS) -from $(FROM)) $(if $(TRACE),-trace)

JOBS := 2000
.PHONY: soak
soak: ## Run JOBS jobs while one of a hundred requests to AWS fails; nothing may be lost, happen twice, or grow
	@go build -o bin/soak ./scripts/soak
	@exec bin/soak -jobs $(JOBS)

.PHONY: bench
bench: ## Print benchmarks beside baselines of the same run
	go test -run '^$$' -bench . -benchmem ./shared/...
	go run ./scripts/bench

.PHONY: routes
routes: ## Print every route with its function and handler
	@go run ./scripts/routes

FUNCTIONS := $(patsubst functions/%/bootstrap,%,$(wildcard functions/*/bootstrap))

# The same sources give the same bytes on every machine, so that a deployment replaces only what changed.
.PHONY: build
build: ## Build every function for Lambda (arm64) into build/
	@for f in $(FUNCTIONS); do \
		GOOS=linux GOARCH=arm64 CGO_ENABLED=0 go build -buildvcs=false -tags lambda.norpc -trimpath -ldflags '-s -w -buildid=' \
			-o build/$$f/bootstrap ./functions/$$f/bootstrap || exit 1; done

# jsii complains about versions of Node.js that still do; the command line is not to call home.
export JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION := 20
export CDK_DISABLE_CLI_TELEMETRY := true
CDK := node_modules/.bin/cdk
INFRA := ./infra/...

# npm writes the second file at the end of an installation.
node_modules/.package-lock.json: package.json package-lock.json
	@command -v npm >/dev/null || { echo 'npm is missing: the CDK needs Node.js 22 or newer, see https://nodejs.org' >&2; exit 1; }
	npm ci --no-audit --no-fund

.PHONY: assembly
assembly: build node_modules/.package-lock.json
	go build -o bin/infra ./infra

.PHONY: synth
synth: assembly ## Write the CloudFormation templates to cdk.out/
	$(CDK) synth --quiet $(FLAGS)

.PHONY: deploy
deploy: assembly ## Deploy into the AWS account of your credentials; FLAGS='-c bailing:...' sets options
	$(CDK) deploy --all -c bailing:commit=$$(git rev-parse HEAD) -c bailing:buildTime=$$(git log -1 --format=%cI) $(FLAGS)

.PHONY: infra
infra: ## Check and test the CDK app; the first time takes minutes
	go vet $(INFRA)
	go run $(STATICCHECK) $(INFRA)
	go test -count=1 $(INFRA)
