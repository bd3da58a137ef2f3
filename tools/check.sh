#!/usr/bin/env bash
# The quick tier of the tests: no sanitizers, no simulation, clang-tidy on changed files only.
set -euo pipefail
cd "$(dirname "$0")/.."

tools/setup.sh ci
cmake --preset dev --log-level=WARNING
cmake --build --preset dev

# The files that changed since the branch began (or in the last commit), committed or not. For a header, this
# is the .cc file of the same name.
base=$(git merge-base origin/main HEAD 2>/dev/null || git rev-parse -q --verify HEAD~1 || git rev-parse HEAD)
if [[ $base == "$(git rev-parse HEAD)" ]]; then base=$(git rev-parse -q --verify HEAD~1 || echo "$base"); fi
{
  git diff --name-only --diff-filter=d "$base" -- '*.cc' '*.h'
  git ls-files --others --exclude-standard -- '*.cc' '*.h'
} | sed 's/\.h$/.cc/' | sort -u | while read -r file; do
  if [[ -e $file ]]; then echo "$file"; fi
done | xargs -r tools/tidy.sh

ctest --preset dev -j "$(nproc)" -L 'unit|gpu|cli|lint'
