#!/usr/bin/env bash
# Unchanged Horovod scripts for PyTorch, with the Horovod that tools/setup.sh frameworks has built.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$(dirname "$0")/../net/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

train=$examples/horovod_torch/train.py

test_two_and_four_ranks_add_gather_and_broadcast() {
  uses horovod-torch
  local np rank expected
  for np in 2 4; do
    run_dtrain run -np "$np" --no-tag --report report.json "$python" "$scripts/horovod_torch_operations.py"
    expect_status 0
    expected=()
    for ((rank = 0; rank < np; rank++)); do expected+=("rank $rank of $np is content"); done
    expect_stdout_lines "${expected[@]}"
    expect_stderr ''
    expect grep -q '"rejected": 0' report.json
  done
  expect_no_processes
}

test_options_become_the_variables_that_horovodrun_sets() {
  uses horovod-torch
  run env -u HOROVOD_LOG_LEVEL "$python" -W ignore "$scripts/horovod_options.py" "$DTRAIN"
  expect_status 0
  expect_stdout '33 rows agree'
}

test_training_ends_as_it_does_alone() {
  uses horovod-torch
  local np
  for np in 1 2; do
    run_dtrain run -np "$np" --no-tag "$python" "$train"
    expect_status 0
    expect_stderr ''
    expect_training_result "$np"
  done
  run_readme horovod_torch
  expect_status 0
  expect_stderr ''
  expect_training_result 4
  expect_no_processes
}

test_training_goes_over_two_hosts() {
  uses horovod-torch
  hosts_up 2
  run_on_launcher "$DTRAIN" run -H node1:2,node2:2 --no-tag "$python" "$train"
  expect_status 0
  expect_training_result 4
  expect_stderr ''
  expect_no_processes
}

test_training_goes_through_a_relay_where_hosts_cannot_dial_the_launcher() {
  uses horovod-torch
  hosts_up 2
  firewall l -i bridge -p tcp --syn -j REJECT --reject-with tcp-reset
  run_on_launcher "$DTRAIN" run --verbose -H node1:2,node2:2 --no-tag "$python" "$train"
  expect_status 0
  expect_training_result 4
  expect_stderr_contains 'node1: cannot reach this machine; its agent relays the rendezvous'
  expect_no_processes
}

test_training_continues_from_its_checkpoint_after_restarts() {
  uses horovod-torch
  expect_resumed_training -np 2 "$python" "$scripts/horovod_restarts.py"
}

# node3 and node2 leave, and node4 is new in the second life.
test_training_continues_on_other_hosts_with_fewer_ranks() {
  uses horovod-torch
  hosts_up 4
  printf 'node%s slots=1\n' 1 2 3 >hosts
  printf 'node%s slots=1\n' 1 4 >hosts.1
  KILLS=1 run_on_launcher "$DTRAIN" run -np 3 --min-np 2 --max-np 3 --hostfile hosts --no-tag --report report.json \
    "$python" "$scripts/horovod_restarts.py"
  expect_status 0
  # shellcheck disable=SC2031  # set by the library
  expect test "$(cut -d, -f1 "$out/stdout" | uniq -c | tr -s ' ')" = ' 4 restart 0
 4 restart 1
 4 restart 2'
  expect python3 -c 'import json
generations = json.load(open("report.json"))["generations"]
assert [g["world_size"] for g in generations] == [3, 2, 2]
assert [g["hosts"] for g in generations] == [["node1", "node2", "node3"], ["node1", "node4"], ["node1", "node4"]]'
  expect_no_processes
}

test_an_error_of_one_rank_ends_the_job() {
  uses horovod-torch
  cat >broken.py <<'END'
import horovod.torch as hvd
import torch

hvd.init()
if hvd.rank() == 1:
    raise RuntimeError("no such image")
hvd.allreduce(torch.ones(1))
END
  run_dtrain run -np 3 --grace 2s "$python" broken.py
  expect_status 1
  expect_stderr_contains '[1]<stderr>:RuntimeError: no such image'
  expect_cause 1 "RuntimeError: no such image ($PWD/broken.py:6)"
  expect_no_processes
}

run_tests "$@"
