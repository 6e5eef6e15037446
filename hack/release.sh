#!/usr/bin/env bash
# Writes the files of a release to dist: one file to install from, the chart, the bundle for
# OLM, the kubectl plugin for krew, of what each program is built, and the digests of all. The same
# commit gives the same files. The image is apart: "make docker-buildx".
#
#   hack/release.sh v0.1.0 registry.example.com/kausality:v0.1.0 https://example.org/releases/v0.1.0
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=${1:?the version, such as v0.1.0}
image=${2:?the image of the operator, with its tag}
downloads=${3:?where the files will be found}
if [[ ! ${version} =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9a-z.]+)?$ ]]; then
  echo "${version} is no version: name one such as v0.1.0" >&2
  exit 1
fi

rm -rf dist
mkdir -p dist
make --no-print-directory build-installer IMG="${image}"
make --no-print-directory helm CHART_VERSION="${version#v}"
# Packed again, as helm has each file be of the moment.
chart=dist/kausality-${version#v}.tgz
tar -C dist -xmzf "${chart}"
tar -C dist --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf - kausality | gzip -n >"${chart}"
rm -r dist/kausality
go -C hack/bundle run . -config=../../config -out=../../dist -version="${version#v}" -image="${image}"
tar -C dist --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf - bundle bundle.Dockerfile | gzip -n >"dist/kausality-bundle-${version}.tar.gz"
rm -r dist/bundle dist/bundle.Dockerfile
hack/krew.sh "${version}" "${downloads}"
mv dist/krew/* dist
rmdir dist/krew

work=$(mktemp -d)
trap 'rm -r "${work}"' EXIT
for program in cmd:manager cmd/kubectl-kausality:kubectl-kausality cmd/kausality-cri:kausality-cri; do
  # As in the Dockerfile and in krew.sh.
  CGO_ENABLED=0 GOOS=linux GOARCH=amd64 go build -trimpath -ldflags="-s -w -X main.version=${version}" -o "${work}/${program#*:}" "./${program%:*}"
  bin/cyclonedx-gomod bin -json -noserial -version "${version}" "${work}/${program#*:}" |
    sed 's|"timestamp": "[^"]*"|"timestamp": "1970-01-01T00:00:00Z"|' >"dist/${program#*:}.cdx.json"
done

(cd dist && sha256sum -- * >checksums.txt)
cat dist/checksums.txt
