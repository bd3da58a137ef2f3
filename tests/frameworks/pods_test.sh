#!/usr/bin/env bash
# Scripts of the frameworks on pods, each of which starts dtrain by itself; and the installed torchrun beside it.
# shellcheck disable=SC2031  # the library sets them
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$(dirname "$0")/../net/lib.sh"
# shellcheck source=../net/pods.sh
. "$(dirname "$0")/../net/pods.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

test_pytorch_computes_the_same_gradients_in_a_trainjob() {
  uses debian-torch
  pods_up 3
  new_token
  publish 0
  train_job_variables 1
  start_pods "$DTRAIN" run --no-tag -- "$python" "$scripts/pytorch_gradients.py"
  finish_pods
  expect_pods 0 0 0
  expect_pod_lines 0 'rank '{0,1,2}' of 3 has the same gradients'
  local k
  for k in 1 2; do expect_pod_lines "$k" "rank $k of 3 has the same gradients"; done
  expect_no_processes
}

test_pytorch_trains_the_digits_on_pods() {
  uses debian-torch
  pods_up 2
  new_token
  start_nodes --nproc-per-node 2 --no-tag "$python" "$examples/pytorch_ddp/train.py"
  finish_pods
  expect_pods 0 0
  cp "$(pod_folder 0)/stdout" "$out/stdout"
  expect_training_result 4
  expect_no_processes
}

test_horovod_trains_the_digits_on_pods() {
  uses horovod-torch
  pods_up 2
  new_token
  start_nodes --nproc-per-node 2 --no-tag "$python" "$examples/horovod_torch/train.py"
  finish_pods
  expect_pods 0 0
  grep -v '^\[Gloo\] ' "$(pod_folder 0)/stdout" >"$out/stdout"
  expect_training_result 4
  expect_no_processes
}

test_jax_gathers_from_all_pods() {
  uses jax
  pods_up 3
  new_token
  start_nodes --no-tag "$python" "$examples/jax_allgather/gather.py"
  finish_pods
  expect_pods 0 0 0
  sed -i '/^\[Gloo\] /d' "$(pod_folder 0)/stdout"
  expect_pod_lines 0 'process '{0,1,2}' of 3: the squares are [0, 1, 4]'
  expect_no_processes
}

# both STATUS ARGUMENT…: torchrun and dtrain on three pods with these arguments. Both end well or neither does.
both() {
  local wanted=$1 k
  shift
  for ((k = 0; k < pod_count; ++k)); do
    start_pod "$k" "$torchrun" --nnodes 3 --node-rank "$k" --master-addr "$(pod_address 0)" --nproc-per-node 2 "$@"
  done
  finish_pods
  for k in 0 1 2; do
    [[ $((pod_status[k] != 0)) -eq $((wanted != 0)) ]] || pod_fail "torchrun ended with ${pod_status[k]}"
  done
  cat "$out"/pods/*/stdout | sort >by_torchrun
  start_nodes --nproc-per-node 2 --no-tag "$@"
  finish_pods
  expect_pods "$wanted" "$wanted" "$wanted"
  sort "$(pod_folder 0)/stdout" >by_dtrain
}

test_torchrun_and_dtrain_give_the_same_ranks_on_three_pods() {
  uses torch
  torchrun=${python%/*}/torchrun
  [[ -x $torchrun ]] || skip 'build/venv-torch has no torchrun'
  pods_up 3
  new_token
  local k
  cat >main.py <<'END'
import os
import sys

names = ("RANK", "LOCAL_RANK", "GROUP_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR")
print(*[os.environ[name] for name in names], flush=True)
sys.exit(int(sys.argv[1]))
END
  for k in 0 1 2; do
    cp main.py "$(pod_folder "$k")/home"
    pod_variable "$k" "PATH=${python%/*}:$PATH"
  done
  both 0 main.py 0
  expect test "$(wc -l <by_dtrain)" = 6
  expect diff by_torchrun by_dtrain
  # All ranks fail: where one does, the other nodes of torchrun wait for minutes.
  both 7 main.py 7
  expect_no_processes
}

run_tests "$@"
