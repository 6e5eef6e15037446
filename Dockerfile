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
COPY config/record-protection/ config/record-protection/
COPY internal/ internal/
ARG TARGETOS
ARG TARGETARCH
# Such as v0.1.0; "make" says it.
ARG VERSION
RUN CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} \
    go build -trimpath -ldflags="-s -w -X main.version=${VERSION}" -o /manager ./cmd
RUN CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} \
    go build -trimpath -ldflags="-s -w" -o /kausality-cri ./cmd/kausality-cri

# Another image: --target=kausality-cri. It is root, as only root may open the runtime's
# socket; config/cri says with how little else.
FROM ${BASE_IMAGE} AS kausality-cri
ARG VERSION
LABEL org.opencontainers.image.title=kausality-cri org.opencontainers.image.version=${VERSION} org.opencontainers.image.licenses=Apache-2.0
COPY --from=build /kausality-cri /kausality-cri
USER 0:0
ENTRYPOINT ["/kausality-cri"]

FROM ${BASE_IMAGE}
ARG VERSION
LABEL org.opencontainers.image.title=kausality org.opencontainers.image.version=${VERSION} org.opencontainers.image.licenses=Apache-2.0
COPY --from=build /manager /manager
# distroless' "nonroot", as a number: the kubelet can check runAsNonRoot only then.
USER 65532:65532
ENTRYPOINT ["/manager"]
