# The control plane of the tests and of the development cluster: etcd, the
# Kubernetes components and kwok as plain processes, built from source. Included
# by the Makefile; all paths are relative to the root of the repository.
#
# Versions are pinned in test/tools/*/go.mod. Change them there: the binaries
# are built again when one of these files is newer.

CONTROLPLANE_BIN := bin/controlplane
CONTROLPLANE_KUBERNETES := kube-apiserver kube-controller-manager kube-scheduler kubectl
CONTROLPLANE_BINARIES := $(addprefix $(CONTROLPLANE_BIN)/,etcd $(CONTROLPLANE_KUBERNETES) kwok stages/pod-ready.yaml)
CONTROLPLANE_VERSION := $(shell sed -n 's|^[[:space:]]*k8s.io/kubernetes \(v[0-9.]*\).*|\1|p' test/tools/kubernetes/go.mod)

# Kubernetes reads its own version from the linker. Nothing else is stamped, so
# that the same sources give the same binaries.
CONTROLPLANE_LDFLAGS := -s -w $(foreach pkg,k8s.io/component-base/version k8s.io/client-go/pkg/version, \
	-X $(pkg).gitVersion=$(CONTROLPLANE_VERSION) \
	-X $(pkg).gitMajor=$(word 1,$(subst ., ,$(CONTROLPLANE_VERSION:v%=%))) \
	-X $(pkg).gitMinor=$(word 2,$(subst ., ,$(CONTROLPLANE_VERSION:v%=%))))

# controlplane-build announces and builds one binary.
# $(1): module folder under test/tools, $(2): package, $(3): position of six,
# $(4): how long the very first build takes on two cores.
define controlplane-build
	@echo "[$(3)/6] $(@F) (first build: about $(4), cached afterwards)"
	@mkdir -p $(@D)
	@CGO_ENABLED=0 go -C test/tools/$(1) build -ldflags '$(CONTROLPLANE_LDFLAGS)' -o $(abspath $@) $(2)
	@touch $@
endef

.PHONY: controlplane-binaries
controlplane-binaries: $(CONTROLPLANE_BINARIES) ## Build the control plane that tests and the development cluster run.

$(CONTROLPLANE_BIN)/etcd $(addprefix $(CONTROLPLANE_BIN)/,$(CONTROLPLANE_KUBERNETES)): test/tools/kubernetes/go.mod test/tools/kubernetes/go.sum
$(CONTROLPLANE_BIN)/kwok $(CONTROLPLANE_BIN)/stages/pod-ready.yaml: test/tools/kwok/main.go test/tools/kwok/go.mod test/tools/kwok/go.sum

$(CONTROLPLANE_BIN)/etcd:
	$(call controlplane-build,kubernetes,go.etcd.io/etcd/server/v3,1,1 minute)
$(CONTROLPLANE_BIN)/kube-apiserver:
	$(call controlplane-build,kubernetes,k8s.io/kubernetes/cmd/kube-apiserver,2,3 minutes)
$(CONTROLPLANE_BIN)/kube-controller-manager:
	$(call controlplane-build,kubernetes,k8s.io/kubernetes/cmd/kube-controller-manager,3,1 minute)
$(CONTROLPLANE_BIN)/kube-scheduler:
	$(call controlplane-build,kubernetes,k8s.io/kubernetes/cmd/kube-scheduler,4,10 seconds)
$(CONTROLPLANE_BIN)/kubectl:
	$(call controlplane-build,kubernetes,k8s.io/kubernetes/cmd/kubectl,5,30 seconds)
$(CONTROLPLANE_BIN)/kwok:
	$(call controlplane-build,kwok,.,6,1 minute)

# What kwok makes nodes and pods go through, as its own project ships it. The
# target is the file that is copied last.
$(CONTROLPLANE_BIN)/stages/pod-ready.yaml:
	@mkdir -p $(@D)
	@go -C test/tools/kwok mod download sigs.k8s.io/kwok
	@dir=$$(go -C test/tools/kwok list -m -f '{{.Dir}}' sigs.k8s.io/kwok) && \
		install -m 0644 $$dir/kustomize/stage/node/fast/node-*.yaml $$dir/kustomize/stage/pod/fast/pod-*.yaml $(@D)

##@ Development cluster

# What runs in the cluster beside the operator: crossplane, kro, or nothing. And what is
# built for that.
WITH ?=
WITH_crossplane := peers-binaries
WITH_kro := bin/peers/kro bin/peers/kro-crds/.copied

.PHONY: up
up: controlplane-binaries build $(WITH_$(WITH)) ## Start a cluster with the operator on this machine, WITH=crossplane or WITH=kro if you like (kubeconfig: bin/dev/kubeconfig).
	@go run ./test/controlplane/cmd/devcluster $(if $(WITH),-with=$(WITH)) up

.PHONY: down
down: ## End what "make up" started; its logs stay in bin/dev.
	@go run ./test/controlplane/cmd/devcluster down
