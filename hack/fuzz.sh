#!/usr/bin/env bash
# Fuzzes each fuzz target for the time given as the first argument ("1m" if none).
# The go command takes one target of one package at a time, hence the loops.
# An input that fails is saved under the package's testdata/fuzz: commit it,
# and every later test run tries it again. Making inputs smaller that only cover
# more gets little of the time: left alone, it takes all of it.
set -euo pipefail

fuzztime="${1:-1m}"
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages=$(grep -rl --include='*_test.go' '^func Fuzz' api internal | xargs -r -n1 dirname | sort -u)
for package in ${packages}; do
  for target in $(grep -h '^func Fuzz' "${package}"/*_test.go | sed 's/^func \(Fuzz[A-Za-z0-9_]*\).*/\1/'); do
    echo "=== fuzz ${package} ${target} for ${fuzztime}"
    go test "./${package}" -run='^$' -fuzz="^${target}\$" -fuzztime="${fuzztime}" -fuzzminimizetime=5s
  done
done
