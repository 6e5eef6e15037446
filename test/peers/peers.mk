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

# Published controllers, which "make e2e-controllers" runs, and one of them "make test".
CONTROLLERS := argo-rollouts cert-manager prometheus-operator kustomize-controller kro
# The one that "make test" runs.
CONTROLLER_OF_TEST := argo-rollouts

.PHONY: controllers-binaries
controllers-binaries: $(foreach c,$(CONTROLLERS),$(PEERS_BIN)/$(c) $(PEERS_BIN)/$(c)-crds/.copied) ## Build the published controllers that tests run.

.PHONY: controller-of-test-binaries
controller-of-test-binaries: $(foreach c,$(CONTROLLER_OF_TEST),$(PEERS_BIN)/$(c) $(PEERS_BIN)/$(c)-crds/.copied)

.PHONY: cert-manager-binaries
cert-manager-binaries: $(PEERS_BIN)/cert-manager $(PEERS_BIN)/cert-manager-crds/.copied

# controller-build announces and builds one of them.
# $(1): package, $(2): how long the very first build takes on two cores, $(3): further flags of the
# linker.
define controller-build
	@echo "$(@F) (first build: about $(2), cached afterwards)"
	@mkdir -p $(@D)
	@CGO_ENABLED=0 go -C test/peers/$(@F) build -ldflags '-s -w $(3)' -o $(abspath $@) $(1)
	@touch $@
endef

# The module of the controller whose definitions are being made.
CONTROLLER_DIR = test/peers/$(patsubst $(PEERS_BIN)/%-crds,%,$(@D))

# controller-definitions copies the custom resource definitions of a module.
# $(1): module, $(2): the files in it.
define controller-definitions
	@mkdir -p $(@D)
	@go -C $(CONTROLLER_DIR) mod download $(1)
	@dir=$$(go -C $(CONTROLLER_DIR) list -m -f '{{.Dir}}' $(1)) && \
		cd $$dir && install -m 0644 $(2) $(abspath $(@D))
endef

$(foreach c,$(CONTROLLERS),$(eval $(PEERS_BIN)/$(c): test/peers/$(c)/go.mod test/peers/$(c)/go.sum))
$(foreach c,$(CONTROLLERS),$(eval $(PEERS_BIN)/$(c)-crds/.copied: test/peers/$(c)/go.mod))

$(PEERS_BIN)/argo-rollouts:
	$(call controller-build,github.com/argoproj/argo-rollouts/cmd/rollouts-controller,4 minutes)
$(PEERS_BIN)/argo-rollouts-crds/.copied:
	$(call controller-definitions,github.com/argoproj/argo-rollouts,manifests/crds/*-crd.yaml)
	@touch $@

# The command of cert-manager is in a module that is not published: this is the tests' own.
$(PEERS_BIN)/cert-manager: test/peers/cert-manager/main.go
	$(call controller-build,.,4 minutes)
$(PEERS_BIN)/cert-manager-crds/.copied:
	$(call controller-definitions,github.com/cert-manager/cert-manager,deploy/crds/*.yaml)
	@touch $@

$(PEERS_BIN)/prometheus-operator:
	$(call controller-build,github.com/prometheus-operator/prometheus-operator/cmd/operator,3 minutes)
$(PEERS_BIN)/prometheus-operator-crds/.copied:
	$(call controller-definitions,github.com/prometheus-operator/prometheus-operator,example/prometheus-operator-crd/*.yaml)
	@touch $@

# Of source-controller only the types are published, of which its definitions are generated.
$(PEERS_BIN)/kustomize-controller:
	$(call controller-build,github.com/fluxcd/kustomize-controller,3 minutes)
$(PEERS_BIN)/kustomize-controller-crds/.copied: $(CONTROLLER_GEN)
	$(call controller-definitions,github.com/fluxcd/kustomize-controller,config/crd/bases/*.yaml)
	@cd $(CONTROLLER_DIR) && $(CONTROLLER_GEN) crd paths=github.com/fluxcd/source-controller/api/v1 output:crd:dir=$(abspath $(@D))
	@touch $@

# Its version is on all that it makes, as the linker says it.
kro-version = -X sigs.k8s.io/release-utils/version.gitVersion=$(shell sed -n 's|.*kubernetes-sigs/kro \(v[0-9.]*\).*|\1|p' test/peers/$(@F)/go.mod)

$(PEERS_BIN)/kro:
	$(call controller-build,github.com/kubernetes-sigs/kro/cmd/controller,2 minutes,$(kro-version))
$(PEERS_BIN)/kro-crds/.copied:
	$(call controller-definitions,github.com/kubernetes-sigs/kro,helm/crds/*.yaml)
	@touch $@

# The version before it, from which specs upgrade.
$(PEERS_BIN)/kro-previous: test/peers/kro-previous/go.mod test/peers/kro-previous/go.sum
	$(call controller-build,github.com/kubernetes-sigs/kro/cmd/controller,20 seconds after kro,$(kro-version))
controllers-binaries: $(if $(filter kro,$(CONTROLLERS)),$(PEERS_BIN)/kro-previous)

# OLM's operator, which only "make e2e-olm" runs, and its definitions.
.PHONY: olm-binaries
olm-binaries: $(PEERS_BIN)/olm $(PEERS_BIN)/olm-crds/.copied

$(PEERS_BIN)/olm $(PEERS_BIN)/olm-crds/.copied: test/peers/olm/go.mod test/peers/olm/go.sum
$(PEERS_BIN)/olm:
	$(call controller-build,github.com/operator-framework/operator-lifecycle-manager/cmd/olm,4 minutes)
$(PEERS_BIN)/olm-crds/.copied:
	$(call controller-definitions,github.com/operator-framework/api,crds/*.yaml)
	@touch $@

# What Argo CD compares and applies with, which only "make e2e-argo-cd" runs: its application controller
# takes a repository server and Redis, and this is the tests' own.
.PHONY: argo-cd-binaries
argo-cd-binaries: $(PEERS_BIN)/argo-cd

$(PEERS_BIN)/argo-cd: test/peers/argo-cd/go.mod test/peers/argo-cd/go.sum test/peers/argo-cd/main.go
	$(call controller-build,.,4 minutes)

# Kyverno, which only "make e2e-kyverno" and "make bench-kyverno" run: two of its controllers, and the
# manifest that it is installed by.
KYVERNO_MODULE := github.com/kyverno/kyverno

.PHONY: kyverno-binaries
kyverno-binaries: $(addprefix $(PEERS_BIN)/,kyverno kyverno-background kyverno-install/.copied) ## Build Kyverno's admission and background controllers, which tests and a benchmark run.

# kyverno-build announces and builds one of its controllers.
# $(1): command, $(2): how long the very first build takes on two cores.
define kyverno-build
	@echo "$(@F) (first build: about $(2), cached afterwards)"
	@mkdir -p $(@D)
	@CGO_ENABLED=0 go -C test/peers/kyverno build -ldflags '-s -w' -o $(abspath $@) $(KYVERNO_MODULE)/cmd/$(1)
	@touch $@
endef

$(PEERS_BIN)/kyverno $(PEERS_BIN)/kyverno-background: test/peers/kyverno/go.mod test/peers/kyverno/go.sum
$(PEERS_BIN)/kyverno:
	$(call kyverno-build,kyverno,10 minutes)
$(PEERS_BIN)/kyverno-background:
	$(call kyverno-build,background-controller,1 minute)

$(PEERS_BIN)/kyverno-install/.copied: test/peers/kyverno/go.mod
	@mkdir -p $(@D)
	@go -C test/peers/kyverno mod download $(KYVERNO_MODULE)
	@dir=$$(go -C test/peers/kyverno list -m -f '{{.Dir}}' $(KYVERNO_MODULE)) && \
		install -m 0644 $$dir/config/install-latest-testing.yaml $(@D)/install.yaml
	@touch $@

# A container runtime, what it runs containers with, and who asks it: only
# "make e2e-cri" has them.
CRI_BIN := bin/cri
KUBELET_VERSION := $(shell sed -n 's|^[[:space:]]*k8s.io/kubernetes \(v[0-9.]*\).*|\1|p' test/peers/kubelet/go.mod)
CRI_CONTAINERD := containerd containerd-shim-runc-v2 bridge host-local loopback
CRI_BINARIES := $(addprefix $(CRI_BIN)/,$(CRI_CONTAINERD) runc crictl critest kubelet)

# What runc is built with, and the shell of its containers, where they are missing.
.PHONY: cri-packages
cri-packages: ## Install what "make cri-binaries" needs of Debian; as root.
	@{ pkg-config --exists libseccomp && command -v busybox; } >/dev/null 2>&1 || { \
		apt-get update -q && apt-get install -yq --no-install-recommends libseccomp-dev pkg-config busybox-static; }

.PHONY: cri-binaries
cri-binaries: $(CRI_BINARIES) $(CRI_BIN)/busybox $(CRI_BIN)/pod ## Build containerd, runc, crictl, critest and a kubelet.

# cri-build announces and builds one of them.
# $(1): module, $(2): package, $(3): how long the very first build takes on two cores,
# $(4): further flags of the linker.
define cri-build
	@echo "$(@F) (first build: about $(3), cached afterwards)"
	@mkdir -p $(@D)
	@CGO_ENABLED=0 go -C test/peers/$(1) build -ldflags '-s -w $(4)' -o $(abspath $@) $(2)
	@touch $@
endef

$(addprefix $(CRI_BIN)/,$(CRI_CONTAINERD)): test/peers/containerd/go.mod test/peers/containerd/go.sum
$(addprefix $(CRI_BIN)/,crictl critest): test/peers/cri-tools/go.mod test/peers/cri-tools/go.sum
$(CRI_BIN)/kubelet: test/peers/kubelet/go.mod test/peers/kubelet/go.sum
$(CRI_BIN)/runc: test/peers/runc/go.mod test/peers/runc/go.sum

$(CRI_BIN)/containerd $(CRI_BIN)/containerd-shim-runc-v2:
	$(call cri-build,containerd,github.com/containerd/containerd/v2/cmd/$(@F),2 minutes)
$(CRI_BIN)/bridge $(CRI_BIN)/loopback:
	$(call cri-build,containerd,github.com/containernetworking/plugins/plugins/main/$(@F),10 seconds)
$(CRI_BIN)/host-local:
	$(call cri-build,containerd,github.com/containernetworking/plugins/plugins/ipam/$(@F),10 seconds)
$(CRI_BIN)/crictl:
	$(call cri-build,cri-tools,sigs.k8s.io/cri-tools/cmd/crictl,2 minutes)
$(CRI_BIN)/kubelet:
	$(call cri-build,kubelet,k8s.io/kubernetes/cmd/kubelet,5 minutes,$(subst $(CONTROLPLANE_VERSION),$(KUBELET_VERSION),$(CONTROLPLANE_LDFLAGS)))

# critest is published as a test, and no command.
$(CRI_BIN)/critest:
	@echo "$(@F) (first build: about 30 seconds, cached afterwards)"
	@mkdir -p $(@D)
	@CGO_ENABLED=0 go -C test/peers/cri-tools test -c -ldflags '-s -w' -o $(abspath $@) sigs.k8s.io/cri-tools/cmd/critest
	@touch $@

# What enters containers has to be in C, and what it may call there is libseccomp's.
$(CRI_BIN)/runc:
	@pkg-config --exists libseccomp || { echo "runc needs the headers of libseccomp: install libseccomp-dev and pkg-config (make cri-packages)" >&2; exit 1; }
	@echo "$(@F) (first build: about 30 seconds, cached afterwards)"
	@mkdir -p $(@D)
	@CGO_ENABLED=1 go -C test/peers/runc build -tags seccomp -ldflags '-s -w' -o $(abspath $@) github.com/opencontainers/runc
	@touch $@

# The shell of critest's containers.
$(CRI_BIN)/busybox:
	@mkdir -p $(@D)
	@install -m 0755 "$$(command -v busybox)" $@ || { echo "critest's containers have a shell: install busybox-static (make cri-packages)" >&2; exit 1; }

# The program of the containers; go knows what has changed.
.PHONY: $(CRI_BIN)/pod
$(CRI_BIN)/pod:
	@mkdir -p $(@D)
	@CGO_ENABLED=0 go build -ldflags '-s -w' -o $@ ./test/node/cmd/pod

# A published proxy, beside which "make bench-cri" measures; go knows what has changed.
.PHONY: cri-bench-binaries $(PEERS_BIN)/grpc-proxy
cri-bench-binaries: $(PEERS_BIN)/grpc-proxy
$(PEERS_BIN)/grpc-proxy:
	@mkdir -p $(@D)
	@CGO_ENABLED=0 go -C test/peers/$(@F) build -ldflags '-s -w' -o $(abspath $@) .
