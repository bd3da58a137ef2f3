#!/usr/bin/env bash
# PyTorch scripts as they are.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$(dirname "$0")/../net/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

train=$examples/pytorch_ddp/train.py

test_gradients_are_those_of_one_process() {
  uses debian-torch
  run_dtrain run -np 3 --no-tag "$python" "$scripts/pytorch_gradients.py"
  expect_status 0
  expect_stdout_lines 'rank '{0,1,2}' of 3 has the same gradients'
  expect_stderr ''
  expect_no_processes
}

test_training_ends_as_it_does_alone() {
  uses debian-torch
  local np
  for np in 1 4; do
    run_dtrain run -np "$np" --no-tag "$python" "$train"
    expect_status 0
    expect_stderr ''
    expect_training_result "$np"
  done
  expect_no_processes
}

test_training_goes_over_two_hosts() {
  uses debian-torch
  hosts_up 2
  run_on_launcher "$DTRAIN" run -H node1:2,node2:2 --no-tag "$python" "$train"
  expect_status 0
  expect_stderr ''
  expect_training_result 4
  run_on_launcher "$DTRAIN" run -H node1:2,node2:2 --no-tag "$python" "$scripts/pytorch_gradients.py"
  expect_status 0
  expect_stdout_lines 'rank '{0,1,2,3}' of 4 has the same gradients'
  expect_no_processes
}

test_an_error_of_one_rank_is_told_as_the_cause() {
  uses debian-torch
  cat >broken.py <<'END'
import torch
import torch.distributed

torch.distributed.init_process_group("gloo")
if torch.distributed.get_rank() == 1:
    raise RuntimeError("no such image")
torch.distributed.all_reduce(torch.ones(1))
END
  run_dtrain run -np 3 --grace 2s "$python" broken.py
  expect_status 1
  expect_stderr_contains '[1]<stderr>:RuntimeError: no such image'
  # Others may see the lost connection, and end, before the one that raised has ended.
  # shellcheck disable=SC2031  # set by the library
  grep -q '^dtrain: .*failed: exit status 1' "$out/stderr" || fail 'no failure told'
  expect_no_processes
}

run_tests "$@"
