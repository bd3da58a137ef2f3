#!/usr/bin/env bash
# Unchanged Horovod scripts for TensorFlow. Only make test-long has them: building this Horovod takes minutes.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$(dirname "$0")/../net/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

train=$examples/horovod_tensorflow/train.py

test_ranks_learn_a_line_and_the_first_saves_it() {
  uses horovod-tensorflow
  run_readme horovod_tensorflow
  expect_status 0
  expect_readme horovod_tensorflow
  expect test -e checkpoints/model.ckpt-400.index
  expect_no_dtrain_message
  run_dtrain run -np 1 --no-tag "$python" "$train" saved
  expect_status 0
  expect_stdout_contains 'rank 0 of 1: y = 2.000 x + 10.000'
  expect test -e saved/model.ckpt-400.index
  expect_no_dtrain_message
  expect_no_processes
}

test_training_goes_over_two_hosts() {
  uses horovod-tensorflow
  hosts_up 2
  run_on_launcher "$DTRAIN" run -H node1:1,node2:1 --no-tag "$python" "$train" saved
  expect_status 0
  expect_stdout_lines 'rank '{0,1}' of 2: y = 2.000 x + 10.000'
  expect test -e saved/model.ckpt-400.index
  expect_no_dtrain_message
  expect_no_processes
}

run_tests "$@"
