#!/usr/bin/env bash
# Measures the start of a job of four nodes that start by themselves (network namespaces of this machine), beside
# torchrun: from the start of the last node to the first line of a rank. The launchers alternate. Then it measures 64
# nodes on loopback, from the start of the last one to the first and last rank's line on node 0. Runs as root, needs
# build/venv-torch (tools/setup.sh frameworks) for the first table, and prints Markdown tables of ms.
#
#   nodes.sh [rounds] [many]     many: only the 64 nodes
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
only=${2-all}
many=64

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

# Writes the time of each line of its input.
stamp() { while read -r _; do echo "$EPOCHREALTIME"; done; }

free_port() { python3 -c 'import socket; s = socket.create_server(("", 0)); print(s.getsockname()[1])'; }

# All nodes but the last one are connected when that starts.
measure_many() {
  local k began node_0
  local words=(run --nnodes "$many" --master-addr 127.0.0.1 --master-port "$(free_port)" --no-tag --verbose)
  "$dtrain" "${words[@]}" --node-rank 0 echo up 2>log > >(stamp >lines) &
  node_0=$!
  for ((k = 1; k < many - 1; ++k)); do "$dtrain" "${words[@]}" --node-rank "$k" echo up >/dev/null 2>&1 & done
  until [[ $(grep -cE 'node [0-9]+ is ' log) -eq $((many - 2)) ]]; do
    if ! kill -0 "$node_0"; then cat log >&2 && exit 1; fi
    sleep 0.1
  done
  began=$EPOCHREALTIME
  "$dtrain" "${words[@]}" --node-rank $((many - 1)) echo up >/dev/null 2>&1 &
  wait
  until [[ $(wc -l <lines) -eq $many ]]; do sleep 0.01; done
  awk -v began="$began" 'NR == 1 { printf "%.1f\n", ($1 - began) * 1000 }' lines >>"ms/first rank of $many nodes"
  awk -v began="$began" 'END { printf "%.1f\n", ($1 - began) * 1000 }' lines >>"ms/last rank of $many nodes"
}

# table NAME…: the measured times of these.
table() {
  local name
  printf '| start | median ms | quartiles | min | max |\n|---|---|---|---|---|\n'
  for name in "$@"; do
    sort -n "ms/$name" | awk -v name="$name" '{ ms[NR] = $1 }
      function at(part) { return ms[int(1 + part * (NR - 1) + 0.5)] }
      END { printf "| %s | %.1f | %.1f - %.1f | %.1f | %.1f |\n", name, at(0.5), at(0.25), at(0.75), ms[1], ms[NR] }'
  done
}

many_nodes() {
  local round
  DTRAIN_NODES_TOKEN=$("$dtrain" token)
  export DTRAIN_NODES_TOKEN
  for ((round = 0; round < rounds; ++round)); do measure_many; done
  unset DTRAIN_NODES_TOKEN
  table "first rank of $many nodes" "last rank of $many nodes"
}

(
  cd "$folder"
  mkdir ms
  many_nodes
  if [[ $only == many ]]; then exit 0; fi
  [[ -x $torchrun ]] || skip "no $torchrun; run: tools/setup.sh frameworks"
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
  table 'dtrain run' torchrun
)
