#!/bin/sh
# Runs clang-tidy on the given .cc files, with the compile commands of build/dev. For all files, the preset
# `tidy` is quicker, because it checks changed files only.
set -eu
cd "$(dirname "$0")/.."

tools/clang_tools.sh
printf '%s\n' "$@" |
  xargs -r -P "$(nproc)" -n 1 build/tools/bin/clang-tidy -p build/dev --quiet
