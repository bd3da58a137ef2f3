#!/usr/bin/env bash
# Builds what it needs, without the GPU parts. Four processes then train a small network together. A table has the
# accuracy and the speed of one, two and four processes. All numbers come from the runs.
set -euo pipefail
cd "$(dirname "$0")/.."
# Tests need libraries that a demo does not. But a build with tests keeps them: ctest would run stale programs.
testing=$(sed -n 's/^BUILD_TESTING:BOOL=//p' build/cpu/CMakeCache.txt 2>/dev/null) || testing=OFF
cmake --preset cpu -DBUILD_TESTING="${testing:-OFF}" --log-level=NOTICE
cmake --build --preset cpu --target dtrain digits
dtrain=build/cpu/dtrain
digits=build/cpu/examples/digits

# Prints the number on the line that starts with a word.
number_of() {
  local number
  number=$(awk -v word="$1" '$1 == word { print $2 }' <<<"$report")
  if [[ -z $number ]]; then
    echo "demo: digits printed no line '$1'" >&2
    exit 1
  fi
  echo "$number"
}

echo "\$ dtrain run -np 4 digits"
"$dtrain" run -np 4 "$digits"

rows=()
for np in 1 2 4; do
  report=$("$dtrain" run -np "$np" --no-tag "$digits")
  accuracy=$(number_of accuracy)
  speed=$(number_of speed)
  rows+=("$(printf '%4d %10s %% %12s' "$np" "$accuracy" "$speed")")
done

printf '\n%4s %12s %12s\n' np accuracy samples/s
printf '%s\n' "${rows[@]}"
