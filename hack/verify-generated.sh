#!/usr/bin/env bash
# Fails if "make generate manifests chart bundle api-reference" changes anything, that is, if generated
# files were not brought up to date with the types and markers they come from.
# Digests instead of the state of git: the answer is the same for a fresh clone
# and for work that is not committed yet.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A file that does not exist yet has no digest, and so counts as changed.
digests() {
  find api internal test/crossplane -name 'zz_generated.*.go' -exec sha256sum {} + | sort -k2
  find config/crd/bases test/crossplane/manifests/crds config/rbac/role.yaml config/webhook/manifests.yaml charts/kausality/templates bundle bundle.Dockerfile docs/api.md \
    -type f -exec sha256sum {} + 2>/dev/null | sort -k2 || true
}

before=$(digests)
make --no-print-directory generate manifests chart bundle api-reference
after=$(digests)

if ! changed=$(diff <(echo "${before}") <(echo "${after}")); then
  echo "generated files were out of date; they have been regenerated, commit them:" >&2
  awk '/^[<>]/ {print "  " $3}' <<<"${changed}" | sort -u >&2
  exit 1
fi
