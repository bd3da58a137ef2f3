#!/usr/bin/env bash
# Measures speeds: runs every program and script of tests/bench, one after the other.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh ci
cmake --preset release --log-level=WARNING
cmake --build --preset release --target all dtrain_bench
export DTRAIN=$PWD/build/release/dtrain
for bench in build/release/tests/bench/*_bench tests/bench/*.sh; do
  if [[ -x $bench ]]; then
    printf '\n== %s\n' "$(basename "$bench")"
    "$bench"
  fi
done
