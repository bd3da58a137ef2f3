#!/usr/bin/env bash
# Fuzzes every target of tests/fuzz, or those in the arguments, for SECONDS each (60). Inputs that break a target
# stay in build/fuzz/found, and the script prints the command that repeats the failure. Inputs that reach new code
# stay, too: the next run starts from them. Readers of bytes before and after the authentication of a process get a
# million inputs at least.
#
#   tools/fuzz.sh [SECONDS [TARGET…]]
set -euo pipefail
cd "$(dirname "$0")/.."

limit=${1:-60}
shift $(($# > 0 ? 1 : 0))
tools/setup.sh fuzz
cmake --preset fuzz --log-level=WARNING
cmake --build --preset fuzz

if (($# == 0)); then
  for corpus in tests/fuzz/corpus/*; do set -- "$@" "$(basename "$corpus")"; done
fi
# fuzz LIMIT: runs the fuzzer within a limit of libFuzzer, and adds the number of its inputs to `executed`.
fuzz() {
  "$fuzzer" "$1" -timeout=30 -rss_limit_mb=2048 -max_len=4096 -print_final_stats=1 -artifact_prefix="$found/" \
    "$found/corpus" "tests/fuzz/corpus/$target" >"$found/log" 2>&1 || return 1
  executed=$((executed + $(sed -n 's/^stat::number_of_executed_units: *//p' "$found/log")))
}

broken=0
for target in "$@"; do
  printf '\n== %s, %s s\n' "$target" "$limit"
  found=build/fuzz/found/$target
  mkdir -p "$found/corpus"
  fuzzer=build/fuzz/tests/fuzz/fuzz_$target
  executed=0 wanted=0
  case $target in frames | handshake | engine) wanted=1000000 ;; esac
  if fuzz "-max_total_time=$limit" && { ((executed >= wanted)) || fuzz "-runs=$((wanted - executed))"; }; then
    echo "$executed inputs"
    continue
  fi
  broken=1
  tail -n 40 "$found/log"
  input=$(sed -n 's/.*Test unit written to //p' "$found/log" | tail -n 1)
  echo "fuzz: $target is broken; again: $fuzzer ${input:-(no input was kept)}"
done
exit $broken
