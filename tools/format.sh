#!/bin/sh
# Formats all C and C++ files. With --check, it only lists the files that are not formatted, and fails.
set -eu
cd "$(dirname "$0")/.."

if [ "${1-}" = --check ]; then set -- --dry-run -Werror; else set -- -i; fi
tools/clang_tools.sh
find . \( -name .git -o -path ./build \) -prune -o -type f \
  \( -name '*.cc' -o -name '*.h' -o -name '*.hpp' -o -name '*.c' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
  xargs -0 -P "$(nproc)" -n 20 build/tools/bin/clang-format "$@"
