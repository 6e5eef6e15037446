# Binaries whose clock tests set (test/clockshift): the operator, and for campaigns what
# it talks to. Included by the Makefile; all paths are relative to the root of the repository.

SHIFTED_BIN := bin/shifted
shifted-overlay = $$(go run ./test/clockshift/cmd/overlay $(SHIFTED_BIN)/overlay)

.PHONY: shifted-operator
shifted-operator: ## Build bin/shifted/manager, an operator whose clock tests set.
	@echo "an operator whose clock can be set (first build: about 3 minutes, cached afterwards)"
	@overlay=$(shifted-overlay) && go build -overlay=$$overlay -o $(SHIFTED_BIN)/manager ./cmd

.PHONY: shifted-controlplane
shifted-controlplane: $(addprefix $(SHIFTED_BIN)/,kube-apiserver kube-controller-manager) ## Build an API server and controllers whose clocks tests set.

$(SHIFTED_BIN)/kube-apiserver $(SHIFTED_BIN)/kube-controller-manager: test/tools/kubernetes/go.mod test/tools/kubernetes/go.sum test/clockshift/clockshift.go
	@echo "$(@F) whose clock can be set (first build: about 4 minutes, cached afterwards)"
	@overlay=$(shifted-overlay) && CGO_ENABLED=0 go -C test/tools/kubernetes build -overlay=$$overlay \
		-ldflags '$(CONTROLPLANE_LDFLAGS)' -o $(abspath $@) k8s.io/kubernetes/cmd/$(@F)
	@touch $@
