# What the operator is tested against and does not build upon: Crossplane, a
# composition function, a provider and a cloud, as plain processes. Included by the
# Makefile; all paths are relative to the root of the repository.
#
# Versions are pinned in test/peers/*/go.mod, as those of the control plane are in
# test/tools. The function, the provider and the cloud are the tests' own.

PEERS_BIN := bin/peers
CROSSPLANE_MODULE := github.com/crossplane/crossplane/v2

.PHONY: peers-binaries
peers-binaries: $(addprefix $(PEERS_BIN)/,crossplane crds/.copied function cloud provider) ## Build Crossplane and what it works with in tests and in the development cluster.

$(PEERS_BIN)/crossplane: test/peers/crossplane/go.mod test/peers/crossplane/go.sum
	@echo "[1/5] $(@F) (first build: about 4 minutes, cached afterwards)"
	@mkdir -p $(@D)
	@CGO_ENABLED=0 go -C test/peers/crossplane build -ldflags '-s -w' -o $(abspath $@) $(CROSSPLANE_MODULE)/cmd/crossplane
	@touch $@

# The custom resource definitions of the Crossplane that is pinned. The target is
# written last.
$(PEERS_BIN)/crds/.copied: test/peers/crossplane/go.mod
	@echo "[2/5] the custom resource definitions of crossplane"
	@mkdir -p $(@D)
	@go -C test/peers/crossplane mod download $(CROSSPLANE_MODULE)
	@dir=$$(go -C test/peers/crossplane list -m -f '{{.Dir}}' $(CROSSPLANE_MODULE)) && \
		install -m 0644 $$dir/cluster/crds/*.yaml $(@D)
	@touch $@

$(PEERS_BIN)/function: test/peers/crossplane/go.mod test/peers/crossplane/go.sum $(wildcard test/peers/crossplane/function/*.go)
	@echo "[3/5] $(@F) (first build: about 10 seconds, cached afterwards)"
	@mkdir -p $(@D)
	@CGO_ENABLED=0 go -C test/peers/crossplane build -ldflags '-s -w' -o $(abspath $@) ./function
	@touch $@

# What the tests' own cloud and provider are built from; go knows what has changed.
.PHONY: $(PEERS_BIN)/cloud $(PEERS_BIN)/provider
$(PEERS_BIN)/cloud $(PEERS_BIN)/provider:
	@echo "[$(if $(filter %cloud,$@),4,5)/5] $(@F) (first build: about 1 minute, cached afterwards)"
	@mkdir -p $(@D)
	@go build -o $@ ./test/crossplane/cmd/$(@F)

PROVIDER_KUBERNETES_MODULE := github.com/crossplane-contrib/provider-kubernetes

# A published provider, which only "make e2e-provider-kubernetes" runs. Its metrics
# have no flag: who waits for it asks for these.
.PHONY: provider-kubernetes-binaries
provider-kubernetes-binaries: $(PEERS_BIN)/provider-kubernetes $(PEERS_BIN)/provider-kubernetes-crds/.copied

PROVIDER_KUBERNETES_METRICS := 127.0.0.1:9444

$(PEERS_BIN)/provider-kubernetes: test/peers/provider-kubernetes/go.mod test/peers/provider-kubernetes/go.sum
	@echo "[1/2] $(@F) (first build: about 3 minutes, cached afterwards)"
	@mkdir -p $(@D)
	@CGO_ENABLED=0 go -C test/peers/provider-kubernetes build -o $(abspath $@) \
		-ldflags '-s -w -X sigs.k8s.io/controller-runtime/pkg/metrics/server.DefaultBindAddress=$(PROVIDER_KUBERNETES_METRICS)' \
		$(PROVIDER_KUBERNETES_MODULE)/cmd/provider
	@touch $@

$(PEERS_BIN)/provider-kubernetes-crds/.copied: test/peers/provider-kubernetes/go.mod
	@echo "[2/2] the custom resource definitions of provider-kubernetes"
	@mkdir -p $(@D)
	@go -C test/peers/provider-kubernetes mod download $(PROVIDER_KUBERNETES_MODULE)
	@dir=$$(go -C test/peers/provider-kubernetes list -m -f '{{.Dir}}' $(PROVIDER_KUBERNETES_MODULE)) && \
		install -m 0644 $$dir/package/crds/*.yaml $(@D)
	@touch $@
