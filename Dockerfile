# The compiler runs on the platform of the machine that builds and compiles for
# the platform that is asked for, so that no emulation is needed. BuildKit and
# buildah set BUILDPLATFORM, TARGETOS and TARGETARCH.
ARG GO_IMAGE=docker.io/library/golang:1.26
ARG BASE_IMAGE=gcr.io/distroless/static:nonroot

FROM --platform=${BUILDPLATFORM} ${GO_IMAGE} AS build
WORKDIR /workspace

# The dependencies have a layer of their own: it changes with go.mod only.
COPY go.mod go.sum ./
RUN go mod download

COPY api/ api/
COPY cmd/ cmd/
COPY internal/ internal/
ARG TARGETOS
ARG TARGETARCH
RUN CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} \
    go build -trimpath -ldflags="-s -w" -o /manager ./cmd

FROM ${BASE_IMAGE}
COPY --from=build /manager /manager
# distroless' "nonroot", as a number: the kubelet can check runAsNonRoot only then.
USER 65532:65532
ENTRYPOINT ["/manager"]
