# What a person does with this tree. `make` alone lists it.
GO ?= go

# Tests find what make ferretdb, make cassandra and make mongo-java have made.
export PATH := $(PATH):$(CURDIR)/bin

# Compiled without the path of this folder, a second clone finds in the cache what the first one compiled.
export GOFLAGS := -trimpath $(GOFLAGS)

.DEFAULT_GOAL := help
.PHONY: help build native jvm ferretdb cassandra mongo-java demo test test-long kills lint fuzz bench bench-servers generate golden outdated dist dist-check rename axe clean

help: ## list these targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/assay: core and Go worker in one static binary
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags="-s -w" -o bin/assay ./cmd/assay

native: ## build bin/native: a worker for each engine in C or C++ whose library is here, and how to get the others
	@if command -v "$(firstword $(CC))" >/dev/null; then $(MAKE) --no-print-directory -s -C workers/c OUT=$(CURDIR)/bin/native all; \
	else echo "no C compiler here (Debian: apt-get install gcc libc6-dev pkg-config libjson-c-dev), and no native worker"; fi

JAVA_WORKERS = host whalin spymemcached xmemcached folsom jedis lettuce mvstore jdbc rocksdb tokyocabinet lmdb mongodb cassandra riak
jvm: ## build bin/jvm: the Java worker, and one for each client with the jars that Maven resolves for it
	@for program in mvn javac; do command -v $$program >/dev/null || \
	  { echo "no $$program here, and no Java worker (Debian: apt-get install --no-install-recommends maven openjdk-17-jdk-headless)"; exit 0; }; done; \
	rm -rf bin/jvm && mvn -B -q -f workers/java/pom.xml package -Dassay.out=$(CURDIR)/bin/jvm && \
	for worker in $(JAVA_WORKERS); do cp workers/java/assay-worker bin/jvm/assay-worker-$$worker; done && \
	(cd workers/java && find . -type f ! -name '*.go' -exec sha256sum {} +) >bin/jvm/sources.sha256

# It is built from a copy of its module, which leaves out the file with its version.
FERRETDB = github.com/FerretDB/FerretDB@v1.24.2
ferretdb: ## build bin/ferretdb, the server that MongoDB's driver is tested with: two minutes, once
	@copy=$$(mktemp -d); trap 'rm -rf "$$copy"' EXIT; set -e; \
	module=$$(cd "$$copy" && $(GO) mod download -json $(FERRETDB) | sed -n 's/^.*"Dir": "\(.*\)",$$/\1/p'); \
	cp -r "$$module/." "$$copy"; chmod -R u+w "$$copy"; \
	echo $(lastword $(subst @, ,$(FERRETDB))) >"$$copy/build/version/version.txt"; \
	cd "$$copy" && CGO_ENABLED=0 $(GO) build -trimpath -ldflags="-s -w" -o $(CURDIR)/bin/ferretdb ./cmd/ferretdb

cassandra: bin/assay-cassandra ## fetch bin/cassandra with Maven, the node that Cassandra's driver is tested with: 70 MB, once

# jars FOLDER, NAME: fetches what FOLDER/pom.xml names into bin/NAME.new, which replaces bin/NAME once it is complete, and
# writes bin/assay-NAME, which runs them.
define jars
	@command -v mvn >/dev/null || { echo "no Maven here (Debian: apt-get install --no-install-recommends maven openjdk-17-jre-headless)"; exit 1; }
	@mkdir -p bin && rm -rf bin/$(2).new
	mvn -B -q -f $(1)/pom.xml dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory=$(CURDIR)/bin/$(2).new
	@for script in $(wildcard $(1)/*.bsh); do cp $$script bin/$(2).new; done
	@rm -rf bin/$(2) && mv bin/$(2).new bin/$(2) && cp $(1)/assay-$(2) bin/assay-$(2)
endef

bin/assay-cassandra: drivers/cassandra/node/pom.xml drivers/cassandra/node/assay-cassandra
	$(call jars,drivers/cassandra/node,cassandra)

mongo-java: bin/assay-mongo-java ## fetch bin/mongo-java with Maven, a second server that MongoDB's driver is tested with, in memory: 4 MB, once

bin/assay-mongo-java: $(addprefix internal/testkit/mongojava/,pom.xml server.bsh assay-mongo-java)
	$(call jars,internal/testkit/mongojava,mongo-java)

dist: ## dist/: archives for Linux and macOS, deb, rpm, a container image, what is linked in, SHA-256 of each
	@cd build/dist && $(GO) run . $(CURDIR) $(CURDIR)/dist $(TARGETS)

# The second time in another folder, and without what the first one compiled: ten minutes and more.
dist-check: dist ## make dist a second time, elsewhere and from nothing, and compare each byte
	@work=$$(mktemp -d); trap 'chmod -R u+w "$$work"; rm -rf "$$work"' EXIT; set -e; \
	git clone -q . "$$work/assay"; (cd build/dist && GOCACHE=$$work/cache $(GO) run . "$$work/assay" "$$work/dist" $(TARGETS) >/dev/null); \
	cmp dist/SHA256SUMS "$$work/dist/SHA256SUMS" && echo "twice the same"

rename: ## give the module another path: make rename MODULE=example.org/assay
	@test -n "$(MODULE)" || { echo "usage: make rename MODULE=example.org/assay"; exit 2; }
	@cd build/rename && $(GO) run . $(CURDIR) $(MODULE)

axe: ## fetch axe-core with npm, which pages are held against in tests: 4 MB, once
	@command -v npm >/dev/null || { echo "no npm here (Debian: apt-get install npm)"; exit 1; }
	@npm install --silent --no-save --prefix bin/axe axe-core

demo: build ## compare every pure-Go engine at preset put-get's small scale, in three minutes
	@bin/assay run put-get --time 3m --set blocks_max=10 || { status=$$?; test $$status -eq 3 && echo "Some trials have no rank: the findings above say why. A quieter machine helps most."; }

# Packages in which goroutines meet run under the race detector where C is at hand, and only there. What of
# internal/execution/run looks at figures (ofFigures) runs without it: it would take minutes with. Nor do they link what
# has the clients of all stores, whose modules would be compiled for it: race_test.go names a few.
RACED = ./worker/... ./internal/execution/conductor ./internal/evidence/counters ./internal/evidence/host \
  ./internal/presentation/live ./internal/base/owned ./internal/evidence/record
FIGURES = $$(awk '/^func Test/ { split($$2, name, "(") } /^\tofFigures\(t\)/ { print name[1] }' internal/execution/run/*_test.go | paste -sd'|')
RACE = $$($(GO) env CGO_ENABLED | grep -q 1 && command -v "$$($(GO) env CC)" >/dev/null && echo yes)
# Those that take longest begin first, so that none is alone at the end. Their tests wait for processes more than they
# compute: a third package runs beside two, and the raced ones one by one beside these.
FIRST = ./storetest ./internal/execution/run ./cmd/assay ./drivers ./internal/execution/crash ./drivers/etcd ./workers/java ./workers/c \
  ./internal/testkit/drivertest ./drivers/cassandra
REST = $$($(GO) list $(FIRST) ./... | awk '!seen[$$0]++')
# lint runs vet. Each test program writes what CPU time it took into $$costs. Properties (rapid) are held against the same
# cases each time, and against others, and more of them, in the long tests.
TEST = RAPID_SEED=1 $(GO) test -vet=off -timeout 30m -exec "$(CURDIR)/bin/cputime $$costs"

test: lint ## every fast test, with the race detector where C is at hand; the CPU time of each package at the end
	@$(GO) build -o bin/cputime ./internal/testkit/cputime; costs=$$(mktemp); export costs; trap 'rm -f "$$costs"' EXIT; failed=0; \
	if test "$(RACE)" = yes; then \
	  raced=$$($(GO) list $(RACED)); \
	  CGO_ENABLED=1 $(TEST) -p 1 -race -short $$raced ./internal/execution/run & racing=$$!; \
	  ASSAY_FIGURES="^($(FIGURES))\$$" CGO_ENABLED=0 $(TEST) -p 3 $$(echo "$(REST)" | grep -vxF "$$raced") || failed=1; \
	  wait $$racing || failed=1; \
	else \
	  echo "skipped: the race detector needs a C compiler (Debian: apt-get install gcc libc6-dev)"; \
	  CGO_ENABLED=0 $(TEST) -p 3 $(REST) || failed=1; \
	fi; \
	bin/cputime "$$costs"; exit $$failed

test-long: ## simulations at full length, fuzzing, longer conformance: about half an hour
	ASSAY_LONG=1 RAPID_CHECKS=1000 CGO_ENABLED=0 $(GO) test -vet=off -timeout 60m ./...
	cd build/dist && CGO_ENABLED=0 $(GO) test .
	cd build/rename && ASSAY_LONG=1 CGO_ENABLED=0 $(GO) test .
	$(MAKE) --no-print-directory fuzz

# No file of ours uses C: with cgo, which is the default, all modules would be compiled once more for lint alone.
# Every store that keeps files and is here, and every server that Assay starts; what is not installed is told, and left out.
KILLED ?= badger bbolt boltdb goleveldb pebble pogreb sqlite $(NATIVE) $(SERVERS)
NATIVE = berkeleydb-btree berkeleydb-hash kyotocabinet-hash leveldb lmdb redb rocksdb sqlite-c tokyocabinet-btree tokyocabinet-fixed \
  tokyocabinet-hash tokyocabinet-table wiredtiger
SERVERS = cassandra@start etcd@start ferretdb@start mariadb@start mongodb@start nats@start postgres@start redis@start \
  tarantool@start tokyotyrant@start tokyotyrant-table@start
CUTS ?= 200
kills: build ## CUTS kills (200) of each class of every store: docs/durability/kills.csv. Hours
	@bin/assay crash $(KILLED) --kind kill --cuts $(CUTS) --format csv >docs/durability/kills.csv.new; status=$$?; \
	test $$status -eq 0 -o $$status -eq 3 && mv docs/durability/kills.csv.new docs/durability/kills.csv && exit $$status

lint: ## formatting, width of lines, vet, staticcheck, workflows
	@unformatted=$$(gofmt -l bench build cmd drivers internal store storetest vectors web worker workers presets *.go); test -z "$$unformatted" || { echo "gofmt -w $$unformatted"; exit 1; }
	CGO_ENABLED=0 $(GO) test -vet=off -run TestLines .
	CGO_ENABLED=0 $(GO) vet ./...
	CGO_ENABLED=0 $(GO) tool staticcheck ./...
	CGO_ENABLED=0 $(GO) tool actionlint docs/workflows/*.yml

fuzz: ## each fuzz target for FUZZTIME (default 20s)
	@for target in $$(grep -rlE '^func Fuzz' --include='*_test.go' . | xargs grep -HoE '^func Fuzz[A-Za-z]+' | sed 's/:func /:/'); do \
	  package=$$(dirname "$${target%%:*}"); name=$${target##*:}; echo "== $$package $$name"; \
	  $(GO) test "$$package" -run '^$$' -fuzz "^$$name$$" -fuzztime $${FUZZTIME:-20s} || exit 1; done

bench: ## what the harness costs an operation, by part, and against bare loops
	CGO_ENABLED=0 $(GO) run ./bench

bench-servers: ## the client's CPU time an operation on memcached and Redis, beside other clients that are installed
	CGO_ENABLED=0 $(GO) run ./bench -servers -rounds 5

generate: ## the report page's bundle, the vectors' tables, NOTICE: what is generated and committed
	$(GO) generate ./...

# The tests that hold an output to a file, by themselves or by one of two functions, but for simulations.
GOLDEN = $$(awk '/^func / { test = "" } /^func Test/ { split($$2, name, "("); test = name[1] } \
  test && /golden\.Check\(|commandsSay\(|holdForm\(/ { print test }' *_test.go | sort -u | paste -sd'|')

golden: ## write the outputs that tests compare with anew: read the difference before you commit it
	@for folder in $$(grep -rl testkit/golden --include=*_test.go . | grep -v /analysis/ | xargs dirname | sort -u); do \
	  (cd $$folder && $(GO) test -vet=off -timeout 30m -run "^($(GOLDEN))\$$" . -update) || exit 1; done
	@git diff --stat

outdated: ## modules that we name and of which there is a newer version
	@$(GO) list -e -m -u -f '{{if not (or .Main .Indirect)}}{{if .Update}}{{.Path}} {{.Version}}: there is {{.Update.Version}}{{else if .Error}}{{.Path}} {{.Version}}: unknown, its versions are not told{{end}}{{end}}' all | grep . || echo "all are the newest"

clean: ## remove what make built
	rm -rf bin
