#!/usr/bin/env bash
# Measures the start of a job of four nodes that start by themselves (network namespaces of this machine), beside
# torchrun: from the start of the last node to the first line of a rank. The launchers alternate. Runs as root, needs
# build/venv-torch (tools/setup.sh frameworks), and prints a Markdown table of ms.
#
#   nodes.sh [rounds]
set -euo pipefail
here=$(realpath "$(dirname "$0")")
rounds=${1:-9}
# shellcheck source=lib.sh
. "$here/lib.sh"
# shellcheck source=../cli/lib.sh
. "$here/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$here/../net/lib.sh"
# shellcheck source=../net/pods.sh
. "$here/../net/pods.sh"
out=$folder
skip() { echo "not measured: $*" && exit 0; }
torchrun=$(realpath "$here/../../build")/venv-torch/bin/torchrun
[[ -x $torchrun ]] || skip "no $torchrun; run: tools/setup.sh frameworks"

# measure NAME SECONDS COMMAND…: the nodes 0 to 2 have so long to be ready for the last one. The ranks print the time of
# their start.
measure() {
  local name=$1 settled=$2 k began
  shift 2
  for k in 0 1 2; do start_pod "$k" "$@" --node-rank "$k" "${program[@]}"; done
  sleep "$settled"
  began=$EPOCHREALTIME
  start_pod 3 "$@" --node-rank 3 "${program[@]}"
  finish_pods
  expect_pods 0 0 0 0
  cat "$out"/pods/[0-3]/stdout | awk -v began="$began" 'first == 0 || $1 < first { first = $1 }
    END { printf "%.1f\n", (first - began) * 1000 }' >>"$folder/ms/$name"
}

(
  cd "$folder"
  mkdir ms
  # shellcheck disable=SC2031
  export TEST_MARKER=$$-bench
  pods_up 4
  new_token
  words=(--nnodes 4 --master-addr "$(pod_address 0)" --nproc-per-node 2)
  # shellcheck disable=SC2016
  program=(bash -c 'echo "$EPOCHREALTIME"')
  for ((round = 0; round < rounds; ++round)); do
    measure 'dtrain run' 1 "$dtrain" run --no-tag "${words[@]}"
    measure torchrun 12 "$torchrun" --no-python "${words[@]}"
  done
  printf '| launcher | median ms | quartiles | min | max |\n|---|---|---|---|---|\n'
  for name in 'dtrain run' torchrun; do
    sort -n "ms/$name" | awk -v name="$name" '{ ms[NR] = $1 }
      function at(part) { return ms[int(1 + part * (NR - 1) + 0.5)] }
      END { printf "| %s | %.1f | %.1f - %.1f | %.1f | %.1f |\n", name, at(0.5), at(0.25), at(0.75), ms[1], ms[NR] }'
  done
)
