#!/usr/bin/env bash
# Runs what needs a GPU, and writes the results: run.sh [BUILD [FILE]]. It needs a built tree only: no compiler, no
# network, no git. A part that fails or exceeds its time does not stop the next one. Ends with 77, and the reason, where no
# GPU is usable.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../../build/release}
results=${2:-$here/RESULTS.md}
check=$build/tests/gpu/device_check

reason=$("$check" check 2>&1 | head -1)
if [[ $reason == 'no usable GPU: '* ]]; then
  echo "skipped: $reason"
  exit 77
fi

failed=0
show() { tee -a "$results.new"; }
# part NAME SECONDS COMMAND…: runs a part, and appends its output and its end to the results.
part() {
  local name=$1 limit=$2 status
  shift 2
  printf '\n## %s\n\n' "$name" | show
  timeout "$limit" "$@" 2>&1 | show
  status=${PIPESTATUS[0]}
  if ((status == 0)); then
    printf '\nThis part passed.\n' | show
  else
    printf '\nThis part failed with status %d.\n' "$status" | show
    failed=1
  fi
}
# shellcheck disable=SC2016  # the inner shell expands it
machine='set -o pipefail; uname -srm; "$0" version; nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv'

rm -f "$results.new"
printf '# Results on %s\n' "${reason%%: *}" | show
part 'Machine and versions' 60 bash -c "$machine" "$build/dtrain"
part 'Kernels have the bits of the CPU' 180 "$check" check
part 'Speeds' 120 "$check" speed
part 'GPUs, by dtrain check' 60 "$build/dtrain" check -H localhost
mv "$results.new" "$results"
exit $failed
