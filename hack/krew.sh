#!/usr/bin/env bash
# Writes what a release of the kubectl plugin is for krew: an archive for each
# platform, and the manifest with their digests. The manifest can be installed from as
# it is ("kubectl krew install --manifest=dist/krew/kausality.yaml --archive=..."), or be
# put into an index once the archives are where it says.
#
#   hack/krew.sh v0.1.0 https://example.org/releases/v0.1.0
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=${1:?the version, such as v0.1.0}
base=${2:?where the archives will be found}
platforms=(linux/amd64 linux/arm64 linux/ppc64le linux/s390x darwin/amd64 darwin/arm64 windows/amd64)
out=dist/krew

rm -rf "${out}"
mkdir -p "${out}"
cp config/krew/kausality.yaml "${out}/kausality.yaml"
sed -i.bak "s|^  version: .*|  version: ${version}|" "${out}/kausality.yaml"
rm "${out}/kausality.yaml.bak"

for platform in "${platforms[@]}"; do
  os=${platform%/*} arch=${platform#*/}
  bin=kubectl-kausality
  [[ ${os} == windows ]] && bin+=.exe
  archive=kubectl-kausality_${os}_${arch}.tar.gz
  work=$(mktemp -d)
  CGO_ENABLED=0 GOOS=${os} GOARCH=${arch} go build -trimpath -ldflags='-s -w' -o "${work}/${bin}" ./cmd/kubectl-kausality
  cp LICENSE "${work}"
  # The same sources give the same archive, and so the same digest.
  tar -C "${work}" --mtime=@0 --owner=0 --group=0 --numeric-owner -cf - "${bin}" LICENSE | gzip -n >"${out}/${archive}"
  rm -r "${work}"
  digest=$(openssl dgst -sha256 -r "${out}/${archive}" | cut -d' ' -f1)
  cat >>"${out}/kausality.yaml" <<PLATFORM
  - selector:
      matchLabels:
        os: ${os}
        arch: ${arch}
    uri: ${base}/${archive}
    sha256: ${digest}
    bin: ${bin}
PLATFORM
  echo "${out}/${archive}"
done
echo "${out}/kausality.yaml"
