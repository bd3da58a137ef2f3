#!/usr/bin/env bash
# Unchanged TensorFlow 2 scripts: each task finds the others, and itself, by TF_CONFIG.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$(dirname "$0")/../net/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

test_two_mirrored_workers_learn_what_one_learns() {
  uses tensorflow
  run_dtrain run -np 2 --no-tag "$python" "$scripts/tensorflow_mwms.py"
  expect_status 0
  expect_stdout_lines 'worker '{0,1}' of 2 learned the same as one alone'
  expect_no_dtrain_message
  expect_no_processes
}

test_keras_fits_a_line_on_two_mirrored_workers() {
  uses tensorflow
  run_readme tensorflow_mwms
  expect_status 0
  expect_readme tensorflow_mwms
  expect_no_dtrain_message
  expect_no_processes
}

test_keras_continues_from_its_backup_after_a_restart() {
  uses tensorflow
  run_dtrain run -np 2 -x TF_USE_LEGACY_KERAS=1 --max-restarts 2 --no-tag "$python" "$scripts/keras_restarts.py"
  expect_status 0
  expect_stderr_contains 'dtrain: restart 1 of 2 after rank '
  expect_stderr_lacks 'dtrain: restart 2 of 2'
  # shellcheck disable=SC2031  # set by the library
  grep '^restart' "$out/stdout" >epochs
  expect test "$(cut -d: -f1 epochs)" = "$(printf 'restart 0, epoch %d\n' 0 1 2)
$(printf 'restart 1, epoch %d\n' 3 4 5)"
  expect sort -c -r -g -k 6 epochs # the loss falls
  # shellcheck disable=SC2031  # set by the library
  expect test "$(sed -n 's/^worker [01]: //p' "$out/stdout" | uniq -c | cut -d, -f1)" = '      2 as alone'
  expect_no_processes
}

test_mirrored_workers_learn_over_two_hosts() {
  uses tensorflow
  hosts_up 2
  run_on_launcher "$DTRAIN" run -H node1,node2 -np 2 --ppn 1 --no-tag "$python" "$scripts/tensorflow_mwms.py"
  expect_status 0
  expect_stdout_lines 'worker '{0,1}' of 2 learned the same as one alone'
  expect_no_dtrain_message
  expect_no_processes
}

# A batch script's variables are made up; ./rsh runs the agents of its hosts here.
test_a_slurm_job_has_the_cluster_that_its_resolver_finds() {
  uses tensorflow
  printf '#!/bin/sh\nshift\nexec "$@"\n' >rsh
  chmod +x rsh
  SLURM_JOB_ID=21 SLURM_JOB_NODELIST='n[1-3]' SLURM_NTASKS=5 SLURM_TASKS_PER_NODE='2(x2),1' \
    run_dtrain run -np 3 --rsh-agent ./rsh --no-tag "$python" "$scripts/tensorflow_slurm.py"
  expect_status 0
  local cluster='n1:8888 n1:8889 n2:8888'
  expect_stdout_lines "rank 0: worker 0 of $cluster" "rank 1: worker 1 of $cluster" "rank 2: worker 2 of $cluster"
  expect_no_processes
}

test_an_error_of_one_worker_ends_those_that_wait_for_it() {
  uses tensorflow
  cat >broken.py <<'END'
import json
import os

import tensorflow as tf

if json.loads(os.environ["TF_CONFIG"])["task"]["index"] == 1:
    raise RuntimeError("no such image")
tf.distribute.MultiWorkerMirroredStrategy()
END
  run_dtrain run -np 2 --grace 2s "$python" broken.py
  expect_status 1
  expect_stderr_contains '[1]<stderr>:RuntimeError: no such image'
  expect_cause 1 "RuntimeError: no such image ($PWD/broken.py:7)"
  expect_no_processes
}

run_tests "$@"
