#!/bin/sh
# Checks all shell scripts.
set -eu
cd "$(dirname "$0")/.."

find . \( -name .git -o -path ./build \) -prune -o -type f \( -name '*.sh' -o -path ./.ci/run \) \
  -print0 | xargs -0 shellcheck
