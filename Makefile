# Everything is run from here, by people and by .ci/run alike; "make help" lists
# the targets. Tools are built from the versions pinned under hack/tools and
# test/tools into bin/, so that a Go toolchain is all a machine has to have.

# The image that the Docker targets build and the deployment targets install.
IMG ?= controller:latest
# The overlay that the deployment targets install; config/default-certmanager and config/default-prometheus are others.
OVERLAY ?= config/default
CONTAINER_TOOL ?= docker
KUBECTL ?= kubectl
# The platforms of "make docker-buildx"; the Deployment's node affinity names the same.
PLATFORMS ?= linux/amd64,linux/arm64,linux/ppc64le,linux/s390x
# How long "make fuzz" spends on each target, and "make campaign-badinput" on all.
FUZZTIME ?= 1m
# Which benchmarks "make bench" runs.
BENCH ?= .
# Flags of test/bench/load for "make bench-load".
LOAD ?=
# Flags of test/bench/holders for "make bench-holders".
HOLDERS ?=
# Flags of test/bench/rollouts for "make bench-rollouts".
ROLLOUTS ?=
# Flags of test/bench/targets for "make bench-targets".
TARGETS ?=
# Flags of test/bench/kyverno for "make bench-kyverno".
KYVERNO ?=
# Flags of test/bench/scale for "make bench-scale".
SCALE ?=
# The race detector needs cgo and a C compiler; where there is none, tests run without it.
RACE ?= $(if $(filter 1,$(shell go env CGO_ENABLED)),-race)

# How many processes run specs, which wait more than they work: against one cluster, or one for each
# process where specs are about the whole of it.
E2E_PROCS ?= 3

comma := ,
space := $(subst ,, )

SHELL = /usr/bin/env bash -o pipefail
.SHELLFLAGS = -ec
# The go command spreads its work over the processors by itself, and the tests
# are phases: a parallel make would only interleave their output.
.NOTPARALLEL:

LOCALBIN := $(CURDIR)/bin
CONTROLLER_GEN := $(LOCALBIN)/controller-gen
KUSTOMIZE := $(LOCALBIN)/kustomize
GOLANGCI_LINT := $(LOCALBIN)/golangci-lint
PROMTOOL := $(LOCALBIN)/promtool
HELM := $(LOCALBIN)/helm
CRD_REF_DOCS := $(LOCALBIN)/crd-ref-docs
CYCLONEDX := $(LOCALBIN)/cyclonedx-gomod

# Where tests find etcd and kube-apiserver.
export KUBEBUILDER_ASSETS := $(LOCALBIN)/controlplane

# The code that is generated from and built into the operator; test code is apart.
OPERATOR_PACKAGES := ./api/... ./cmd/... ./config/... ./internal/... ./docs/...
# Those that start no goroutine, and whose tests start none: the race detector finds nothing there, and makes them take up to
# twenty times as long.
SEQUENTIAL_PACKAGES := ./internal/approved ./internal/change ./internal/cli/check ./internal/decision ./internal/derive/... \
	./internal/generate/... ./internal/interception ./internal/ledger ./internal/lifecycle ./internal/lineage

.PHONY: all
all: build

##@ General

.PHONY: help
help: ## Show this help.
	@awk 'BEGIN {FS = ":.*##"; printf "Usage: make <target>\n"} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-zA-Z0-9_-]+:.*##/ {printf "  %-22s%s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Development

.PHONY: generate
generate: $(CONTROLLER_GEN) ## Write the DeepCopy methods of the API types.
	$(CONTROLLER_GEN) object:headerFile=hack/boilerplate.go.txt paths=./api/... paths=./test/crossplane/provider/apis/...

.PHONY: manifests
manifests: $(CONTROLLER_GEN) ## Write CRDs, RBAC rules and webhook configurations from the markers in the code.
	$(CONTROLLER_GEN) crd rbac:roleName=manager-role webhook \
		paths=./api/... paths=./cmd/... paths=./internal/... \
		output:crd:artifacts:config=config/crd/bases
	$(CONTROLLER_GEN) crd paths=./test/crossplane/provider/apis/... output:crd:dir=test/crossplane/manifests/crds

.PHONY: api-reference
api-reference: $(CRD_REF_DOCS) ## Write docs/api.md from the API types.
	$(CRD_REF_DOCS) --source-path=api/v1alpha1 --config=hack/tools/crd-ref-docs/config.yaml --renderer=markdown \
		--templates-dir=hack/tools/crd-ref-docs/templates --output-path=docs/api.md --log-level=ERROR

.PHONY: chart
chart: manifests ## Write the templates of charts/kausality from what kustomize builds of config.
	go -C hack/chart run .

# The version of what "make bundle" writes, and the one that it replaces.
BUNDLE_VERSION ?= 0.1.0
BUNDLE_REPLACES ?=

.PHONY: bundle
bundle: manifests ## Write bundle and bundle.Dockerfile, for OLM, from config/olm (IMG, BUNDLE_VERSION, BUNDLE_REPLACES).
	go -C hack/bundle run . -version=$(BUNDLE_VERSION) -image=$(IMG) $(if $(BUNDLE_REPLACES),-replaces=$(BUNDLE_REPLACES))

.PHONY: fmt
fmt: $(GOLANGCI_LINT) ## Format the code and sort its imports.
	$(GOLANGCI_LINT) fmt

.PHONY: vet
vet: ## Run go vet.
	go vet ./...

.PHONY: lint
lint: verify $(GOLANGCI_LINT) ## Check generated files and run all linters.
	$(GOLANGCI_LINT) run
	cd hack/chart && $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml --path-prefix hack/chart
	cd hack/bundle && $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml --path-prefix hack/bundle
	cd test/bench/scale && $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml --path-prefix test/bench/scale
	cd test/peers/crossplane && $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml --path-prefix test/peers/crossplane
	cd test/peers/cert-manager && $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml --path-prefix test/peers/cert-manager

.PHONY: lint-fix
lint-fix: $(GOLANGCI_LINT) ## Run all linters and repair what they can repair.
	$(GOLANGCI_LINT) run --fix

.PHONY: verify
verify: $(CONTROLLER_GEN) $(KUSTOMIZE) ## Check that generated files are up to date and that each overlay builds.
	@hack/verify-generated.sh
	@for overlay in access/all access/requests cri default default-certmanager default-prometheus dev olm samples samples/crossplane samples/upgrades samples/controllers/{argo-rollouts,cert-manager,prometheus-operator,kustomize-controller}; do \
		echo "kustomize build config/$$overlay"; \
		$(KUSTOMIZE) build config/$$overlay >/dev/null; \
	done

##@ Tests

.PHONY: test
test: test-unit test-integration test-e2e demo ## Run every test: unit, integration, end to end, and the story that the README begins with.
	@echo "=== all tests passed"

.PHONY: test-unit
test-unit: ## Run unit and property tests, and the seeds of the fuzz targets.
	@echo "=== unit, property and fuzz seeds"
	go test -timeout=10m $(SEQUENTIAL_PACKAGES)
	go test $(RACE) -timeout=10m $$(go list $(OPERATOR_PACKAGES) | grep -vxF "$$(go list $(SEQUENTIAL_PACKAGES))") ./test/crossplane/... ./test/demo/... ./test/pages/... ./test/mutants/... ./test/bench/... ./test/campaign/... ./test/clockshift/... ./test/failures/... ./test/golden/...
	go -C test/bench/scale test ./...
	@echo "=== the Helm chart, object by object, and the bundle for OLM"
	go -C hack/chart test -count=1 ./...
	go -C hack/bundle test -count=1 ./...

.PHONY: test-integration
test-integration: controlplane-binaries ## Run the tests that need a real API server.
	@echo "=== integration: a real API server"
	go tool ginkgo --procs=$(E2E_PROCS) $(RACE) --timeout=15m --silence-skips --no-color ./test/integration

.PHONY: test-e2e
test-e2e: build shifted-operator controlplane-binaries peers-binaries controller-of-test-binaries ## Run the tests that need a whole control plane with its controllers.
	@echo "=== end to end: etcd, API server, controllers, scheduler and nodes"
	go test $(RACE) -count=1 -p=1 -timeout=10m ./test/controlplane/...
	go tool ginkgo --procs=$(E2E_PROCS) $(RACE) --timeout=45m --silence-skips --no-color --label-filter='!controllers && !alone && !long' ./test/e2e
	@echo "=== end to end, what takes the operator away: a cluster for each process"
	E2E_APART=yes go tool ginkgo --procs=$(E2E_PROCS) $(RACE) --timeout=20m --silence-skips --no-color --label-filter=alone ./test/e2e
	@echo "=== end to end with Crossplane: a provider, and a cloud that remembers"
	go tool ginkgo --procs=$(E2E_PROCS) $(RACE) --timeout=25m --silence-skips --no-color --label-filter='!previous && !long' ./test/e2e/crossplane
	@echo "=== end to end with $(CONTROLLER_OF_TEST): a published controller"
	go tool ginkgo --procs=$(E2E_PROCS) $(RACE) --timeout=10m --silence-skips --no-color \
		--label-filter='$(CONTROLLER_OF_TEST) && smoke' ./test/e2e/controllers -- -controllers=$(CONTROLLER_OF_TEST)
	@echo "=== strangers, for a moment"
	go build -o bin/stranger ./test/campaign/stranger
	bin/stranger -seed=1 -acts=120 -rest=false

.PHONY: e2e-long
e2e-long: build shifted-operator controlplane-binaries peers-binaries ## Run the tests that "make test" leaves out, as they take minutes each (some 20 minutes).
	@echo "=== end to end, what takes long"
	go tool ginkgo --procs=$(E2E_PROCS) $(RACE) --timeout=45m --silence-skips --no-color --label-filter='long && !controllers' ./test/e2e
	@echo "=== end to end with Crossplane, what takes long"
	go tool ginkgo --procs=$(E2E_PROCS) $(RACE) --timeout=45m --silence-skips --no-color --label-filter='long && !previous' ./test/e2e/crossplane

.PHONY: e2e-controllers
e2e-controllers: build controlplane-binaries controllers-binaries ## Run the tests with published controllers, of which "make test" runs one (CONTROLLERS: which; some 15 minutes).
	@echo "=== end to end with $(CONTROLLERS): published controllers, and what they write"
	go tool ginkgo --procs=$(E2E_PROCS) $(RACE) --timeout=30m --silence-skips --no-color \
		--label-filter='$(subst $(space), || ,$(CONTROLLERS))' ./test/e2e/controllers -- -controllers=$(subst $(space),$(comma),$(CONTROLLERS))
	@echo "=== end to end with a controller that does the worst that is legal"
	go tool ginkgo --procs=$(E2E_PROCS) $(RACE) --timeout=15m --silence-skips --no-color --label-filter=controllers ./test/e2e

.PHONY: test-alerts
test-alerts: $(PROMTOOL) ## Have Prometheus judge the alerts of config/prometheus on made-up series, which "make test" leaves out.
	@echo "=== alerts: each fires, and does not fire, when it should"
	go test -count=1 ./test/alerts

.PHONY: e2e-provider-kubernetes
e2e-provider-kubernetes: build controlplane-binaries peers-binaries provider-kubernetes-binaries ## Run the tests with a published provider, which "make test" leaves out (some 5 minutes).
	@echo "=== end to end with provider-kubernetes: a published provider, and the audit log of what it manages"
	go test $(RACE) -count=1 -timeout=20m ./test/e2e/providerkubernetes

.PHONY: e2e-kyverno
e2e-kyverno: build controlplane-binaries kyverno-binaries ## Run the tests with an installed Kyverno beside the operator (some 5 minutes).
	@echo "=== end to end beside Kyverno: the same policy in both, and the hand-over"
	go test $(RACE) -count=1 -timeout=20m ./test/e2e/kyverno -ginkgo.no-color

.PHONY: e2e-cri
e2e-cri: build controlplane-binaries cri-binaries ## Run the tests of kausality-cri with containerd, critest and a kubelet; as root (some 5 minutes).
	@echo "=== end to end with containerd: containers that try each other"
	go test $(RACE) -count=1 -timeout=20m ./test/e2e/cri -ginkgo.no-color

# The commit of the previous release, which "make e2e-upgrade" goes up from and back to. A release names the one before it.
PREVIOUS ?= c08ae1979cbf1a007e50751057391cdebd221e4d

.PHONY: e2e-install
e2e-install: build controlplane-binaries $(KUSTOMIZE) $(HELM) ## Follow docs/install.md into an empty cluster and out again, and lose replicas (some 10 minutes).
	@echo "=== in and out: kubectl, Helm, in any order, and with the operator dead"
	go test $(RACE) -count=1 -timeout=30m ./test/e2e/install -ginkgo.no-color -ginkgo.label-filter='!olm && !upgrade && !cert-manager && !argo-cd'

.PHONY: e2e-olm
e2e-olm: build controlplane-binaries olm-binaries ## Have OLM's own operator install the bundle and take it out again (some 2 minutes).
	@echo "=== in and out with OLM"
	go test $(RACE) -count=1 -timeout=20m ./test/e2e/install -ginkgo.no-color -ginkgo.label-filter=olm

.PHONY: e2e-cert-manager
e2e-cert-manager: build controlplane-binaries $(KUSTOMIZE) cert-manager-binaries ## Have cert-manager renew the serving certificate under load (some 3 minutes).
	@echo "=== with certificates of cert-manager"
	go test $(RACE) -count=1 -timeout=20m ./test/e2e/install -ginkgo.no-color -ginkgo.label-filter=cert-manager

.PHONY: e2e-argo-cd
e2e-argo-cd: build controlplane-binaries $(KUSTOMIZE) $(GOLANGCI_LINT) argo-cd-binaries ## Have Argo CD's engine install, compare, heal and prune (some 3 minutes).
	cd test/peers/argo-cd && $(GOLANGCI_LINT) run --config $(CURDIR)/.golangci.yml --path-prefix test/peers/argo-cd
	@echo "=== with the engine of Argo CD"
	go test $(RACE) -count=1 -timeout=20m ./test/e2e/install -ginkgo.no-color -ginkgo.label-filter=argo-cd

.PHONY: e2e-upgrade
e2e-upgrade: build controlplane-binaries $(KUSTOMIZE) peers-binaries previous-operator ## Go up from the previous release, back, and up again, under load and with gates (some 6 minutes).
	@echo "=== up from $(PREVIOUS), and back"
	go test $(RACE) -count=1 -timeout=30m ./test/e2e/install -ginkgo.no-color -ginkgo.label-filter=upgrade
	go test $(RACE) -count=1 -timeout=20m ./test/e2e/crossplane -ginkgo.no-color -ginkgo.label-filter=previous

# Its operator is built from the sources of that commit, which need the history.
.PHONY: previous-operator
previous-operator:
	@git cat-file -e $(PREVIOUS)^{commit} 2>/dev/null || { echo "the history has no $(PREVIOUS): git fetch --unshallow, or name another PREVIOUS" >&2; exit 1; }
	@rm -rf bin/previous && mkdir -p bin/previous/tree
	git archive $(PREVIOUS) | tar -x -C bin/previous/tree
	go -C bin/previous/tree build -o $(LOCALBIN)/previous/manager ./cmd

.PHONY: mutants
mutants: controlplane-binaries ## Take each check out, and see the tests of the ways around it fail (more than an hour).
	go run ./test/mutants

.PHONY: fuzz
fuzz: ## Fuzz each fuzz target for FUZZTIME.
	hack/fuzz.sh $(FUZZTIME)

.PHONY: bench
bench: bench-go bench-load ## Run all benchmarks, on a machine that does nothing else.

.PHONY: bench-go
bench-go: ## Run the Go benchmarks that match BENCH.
	go test -run='^$$' -bench='$(BENCH)' -benchmem ./api/... ./internal/...

.PHONY: bench-load
bench-load: build controlplane-binaries ## Measure what Kausality adds to requests, beside a bare pair of webhooks (LOAD: its flags).
	go run ./test/bench/load $(LOAD)

.PHONY: bench-holders
bench-holders: build controlplane-binaries ## Measure memory, and the time until it is ready, of an operator with many holders (HOLDERS: flags).
	go run ./test/bench/holders $(HOLDERS)

.PHONY: bench-rollouts
bench-rollouts: build controlplane-binaries ## Measure what Kausality and its records cost 50 Deployments that are rolled at once (ROLLOUTS: flags).
	go run ./test/bench/rollouts $(ROLLOUTS)

.PHONY: bench-targets
bench-targets: build controlplane-binaries ## Measure how 5,000 objects come to show that a policy is in effect for them (TARGETS: flags).
	go run ./test/bench/targets $(TARGETS)

.PHONY: bench-kyverno
bench-kyverno: build controlplane-binaries kyverno-binaries ## Measure generating for 5,000 namespaces beside Kyverno (KYVERNO: flags).
	go run ./test/bench/kyverno $(KYVERNO)

# Flags of test/bench/cri for "make bench-cri" and "make soak-cri".
CRI ?=

.PHONY: bench-cri
bench-cri: build cri-bench-binaries ## Measure what kausality-cri adds to calls of a runtime, beside a published proxy; as root (CRI: its flags).
	go build -o bin/bench-cri ./test/bench/cri
	bin/bench-cri $(CRI)

.PHONY: bench-critest
bench-critest: build cri-binaries ## Measure critest's Pods and containers on a real containerd with and without kausality-cri; as root (CRI: flags).
	go build -o bin/bench-cri ./test/bench/cri
	bin/bench-cri -critest $(CRI)

.PHONY: soak-cri
soak-cri: build cri-bench-binaries ## See whether kausality-cri grows over 1,000,000 calls and 10,000 connections; as root (CRI: flags).
	go build -o bin/bench-cri ./test/bench/cri
	bin/bench-cri -growth $(CRI)

.PHONY: bench-scale
bench-scale: ## Measure how costs grow with policies, rules, ledgers and sizes, and draw docs/benchmarks (SCALE: flags).
	go -C test/bench/scale build -o $(LOCALBIN)/bench-scale .
	bin/bench-scale $(SCALE)

# What "make campaign" plans by, how many Deployments it rolls, and further flags.
SEED ?= 1
DEPLOYMENTS ?= 200
FAULTS ?=

.PHONY: campaign
campaign: build shifted-operator controlplane-binaries ## Break things while Deployments roll, and judge by the audit log (SEED, DEPLOYMENTS, FAULTS).
	go run ./test/campaign/faults -seed=$(SEED) -deployments=$(DEPLOYMENTS) $(FAULTS)

# How many changes "make e2e-overtaking" makes.
OVERTAKING ?= 200

.PHONY: e2e-overtaking
e2e-overtaking: build controlplane-binaries peers-binaries ## Change OVERTAKING times what is being composed of an older spec, and lose nothing (some 10 minutes).
	go test -count=1 -timeout=60m ./test/e2e/crossplane -args -overtaking=$(OVERTAKING) -ginkgo.focus='composed of an older spec'

# The campaigns of "make campaign-crossplane", how long they are, and further flags.
SEEDS ?= 1,2,3
STEPS ?= 1000
CAMPAIGN ?=

.PHONY: campaign-crossplane
campaign-crossplane: build shifted-operator controlplane-binaries peers-binaries ## Compare what a cloud was asked for with what was allowed, at random (SEEDS, STEPS, CAMPAIGN).
	go run ./test/campaign/cloud -seeds=$(SEEDS) -steps=$(STEPS) $(CAMPAIGN)

# How many things "make campaign-stranger" does, and further flags.
ACTS ?= 5000
STRANGER ?=

.PHONY: campaign-stranger
campaign-stranger: build controlplane-binaries ## Do what the API server lets strangers do, at random, and judge by the audit log (SEED, ACTS, STRANGER).
	go run ./test/campaign/stranger -seed=$(SEED) -acts=$(ACTS) $(STRANGER)

# How many things "make campaign-generating" does in each of SEEDS, and further flags.
CHANGES ?= 1000
GENERATING ?=

.PHONY: campaign-generating
campaign-generating: build controlplane-binaries ## Change GeneratingPolicies and what they are about at random, and compare with a model (SEEDS, CHANGES, GENERATING).
	go run ./test/campaign/generating -seed=$(SEEDS) -acts=$(CHANGES) $(GENERATING)

# For how many acts "make campaign-mutants" has strangers look for each mutant, and further flags.
HUNT ?= 2000
MUTANTS ?=

.PHONY: campaign-mutants
campaign-mutants: controlplane-binaries ## Have strangers look for each mutant, and say after how many acts it is found (SEED, HUNT, MUTANTS).
	go run ./test/mutants -stranger=$(HUNT) -seed=$(SEED) $(MUTANTS)

# Further flags of "make campaign-badinput", how long "make soak" is, and further flags of it.
BADINPUT ?=
DURATION ?= 10m
SOAK ?=

.PHONY: campaign-badinput
campaign-badinput: build controlplane-binaries ## Put bad values into every field and annotation for FUZZTIME (SEED, FUZZTIME, BADINPUT).
	go run ./test/campaign/badinput -seed=$(SEED) -fuzztime=$(FUZZTIME) $(BADINPUT)

.PHONY: soak
soak: build controlplane-binaries ## Work steadily for DURATION, and tell whether the operator takes more and more (SEED, DURATION, SOAK).
	go run ./test/campaign/soak -seed=$(SEED) -duration=$(DURATION) $(SOAK)

##@ Build

.PHONY: build
build: ## Build bin/manager, the operator, bin/kubectl-kausality, the plugin of kubectl, and bin/kausality-cri.
	go build -o bin/manager ./cmd
	go build -o bin/kubectl-kausality ./cmd/kubectl-kausality
	GOOS=linux CGO_ENABLED=0 go build -o bin/kausality-cri ./cmd/kausality-cri
	ln -sf kubectl-kausality bin/kubectl_complete-kausality

# Where the archives of the plugin's release can be downloaded from.
VERSION ?= v0.0.0
DOWNLOADS ?= https://kausality.io/releases/$(VERSION)

.PHONY: krew
krew: ## Write dist/krew: the plugin for all platforms, and its manifest for krew (VERSION, DOWNLOADS).
	hack/krew.sh $(VERSION) $(DOWNLOADS)

.PHONY: release
release: $(KUSTOMIZE) $(HELM) $(CYCLONEDX) ## Write dist: the files of the release VERSION, with digests and SBOMs (IMG, DOWNLOADS).
	hack/release.sh $(VERSION) $(IMG) $(DOWNLOADS)

.PHONY: docker-build
docker-build: ## Build the image IMG for this machine's platform.
	$(CONTAINER_TOOL) build --build-arg=VERSION=$(VERSION) -t $(IMG) .

.PHONY: docker-build-bundle
docker-build-bundle: ## Build the image IMG of the bundle for OLM.
	$(CONTAINER_TOOL) build -f bundle.Dockerfile -t $(IMG) .

.PHONY: docker-build-cri
docker-build-cri: ## Build the image IMG of kausality-cri for this machine's platform.
	$(CONTAINER_TOOL) build --build-arg=VERSION=$(VERSION) --target=kausality-cri -t $(IMG) .

.PHONY: docker-push
docker-push: ## Push the image IMG.
	$(CONTAINER_TOOL) push $(IMG)

.PHONY: docker-buildx
docker-buildx: ## Build the image IMG for all PLATFORMS, and push it with its SBOM and provenance.
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(CONTAINER_TOOL) buildx build --push --build-arg=VERSION=$(VERSION) --platform=$(PLATFORMS) --sbom=true --provenance=mode=max -t $(IMG) .

.PHONY: docker-buildx-cri
docker-buildx-cri: ## Build the image IMG of kausality-cri for all PLATFORMS, and push it with its SBOM and provenance.
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(CONTAINER_TOOL) buildx build --push --build-arg=VERSION=$(VERSION) --target=kausality-cri --platform=$(PLATFORMS) --sbom=true --provenance=mode=max -t $(IMG) .

.PHONY: build-installer
build-installer: manifests generate $(KUSTOMIZE) ## Write dist/install.yaml: all of OVERLAY in one file.
	mkdir -p dist
	$(render) > dist/install.yaml

.PHONY: helm
helm: chart $(HELM) ## Pack the chart into dist (CHART_VERSION, by default that of Chart.yaml), and check it.
	mkdir -p dist
	$(HELM) lint charts/kausality --strict --quiet --set image.repository=kausality
	$(HELM) package charts/kausality --destination dist $(if $(CHART_VERSION),--version=$(CHART_VERSION) --app-version=v$(CHART_VERSION))

##@ Run

.PHONY: demo
demo: build controlplane-binaries ## Play the story of a traced rollout on a cluster of its own, and leave nothing behind.
	go build -o bin/demo ./test/demo
	@bin/demo

.PHONY: run
run: manifests generate ## Run the operator against the cluster of the current kubeconfig ("make install-dev" prepares it).
	go run ./cmd --namespace=kausality-system

include test/controlplane/controlplane.mk
include test/peers/peers.mk
include test/clockshift/clockshift.mk

##@ Deployment

# The image is set in the output: setting it in the kustomization would leave a
# changed file behind.
render = $(KUSTOMIZE) build $(OVERLAY) | sed 's|image: controller:latest|image: $(IMG)|'

# Server-side: a client-side apply keeps a copy in an annotation, which a CRD outgrows.
apply = $(KUBECTL) apply --server-side --force-conflicts -f -
delete = $(KUBECTL) delete --ignore-not-found -f -

.PHONY: install
install: manifests $(KUSTOMIZE) ## Install the CRDs into the cluster of the current kubeconfig.
	$(KUSTOMIZE) build config/crd | $(apply)

.PHONY: install-dev
install-dev: manifests $(KUSTOMIZE) ## Install all but the Deployment, for an operator that runs on this machine.
	$(KUSTOMIZE) build config/dev | $(apply)

.PHONY: uninstall
uninstall: $(KUSTOMIZE) ## Remove the CRDs, and with them every policy and record.
	$(KUSTOMIZE) build config/crd | $(delete)

.PHONY: deploy
deploy: manifests $(KUSTOMIZE) ## Install OVERLAY with the image IMG.
	$(render) | $(apply)

# Flags of "kubectl kausality remove" for "make undeploy", such as --held=orphan.
REMOVE ?=

.PHONY: undeploy
undeploy: $(KUSTOMIZE) ## Remove OVERLAY, CRDs included, and what was left on objects; wait until gates are given back (REMOVE: flags).
	go build -o bin/kubectl-kausality ./cmd/kubectl-kausality
	$(KUBECTL) delete --ignore-not-found validatingwebhookconfigurations kausality-validating-webhook-configuration
	bin/kubectl-kausality remove --delete-policies --yes $(REMOVE)
	$(render) | $(delete)

##@ Tools

# A tool is rebuilt when the module that pins it changes. Their modules are
# separate: the linter's many dependencies would move the generators' versions.

$(CONTROLLER_GEN): hack/tools/go.mod
	@echo "controller-gen: first build about half a minute"
	@go -C hack/tools build -o $@ sigs.k8s.io/controller-tools/cmd/controller-gen
	@touch $@

$(KUSTOMIZE): hack/tools/go.mod
	@echo "kustomize: first build about half a minute"
	@go -C hack/tools build -o $@ sigs.k8s.io/kustomize/kustomize/v5
	@touch $@

$(GOLANGCI_LINT): hack/tools/golangci-lint/go.mod
	@echo "golangci-lint: first build about 3 minutes"
	@go -C hack/tools/golangci-lint build -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

$(PROMTOOL): test/tools/prometheus/go.mod test/tools/prometheus/go.sum
	@echo "promtool: first build about 4 minutes"
	@CGO_ENABLED=0 go -C test/tools/prometheus build -ldflags '-s -w' -o $@ github.com/prometheus/prometheus/cmd/promtool
	@touch $@

# Without a cluster to ask, helm goes by the version that it is built for.
$(HELM): hack/chart/go.mod hack/chart/go.sum
	@echo "helm: first build about 2 minutes"
	@CGO_ENABLED=0 go -C hack/chart build -o $@ -ldflags '-s -w $(foreach pkg,chartutil lint/rules, \
		-X helm.sh/helm/v3/pkg/$(pkg).k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/$(pkg).k8sVersionMinor=36)' helm.sh/helm/v3/cmd/helm
	@touch $@

$(CRD_REF_DOCS): hack/tools/crd-ref-docs/go.mod
	@echo "crd-ref-docs: first build about half a minute"
	@go -C hack/tools/crd-ref-docs build -o $@ github.com/elastic/crd-ref-docs
	@touch $@

$(CYCLONEDX): hack/tools/cyclonedx-gomod/go.mod
	@echo "cyclonedx-gomod: first build about half a minute"
	@go -C hack/tools/cyclonedx-gomod build -o $@ github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod
	@touch $@

.PHONY: tools
tools: $(CONTROLLER_GEN) $(KUSTOMIZE) $(GOLANGCI_LINT) ## Build the tools that generate and lint.
