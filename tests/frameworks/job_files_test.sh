#!/usr/bin/env bash
# The job files of the examples: each runs its framework as its README does.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# Runs the job file of an example in another folder, by a PATH that has python.
run_job_file() {
  mkdir -p bin
  local folder=${python%/*}
  if [[ ! -e $folder/python ]]; then ln -sf "$python" bin/python; fi
  run env PATH="$PWD/bin:$folder:$PATH" "$DTRAIN" job run "$examples/$1/job.toml"
  expect_status 0
  expect_readme "$1"
  expect_no_processes
}

test_tensorflow_1_servers() {
  uses tensorflow
  run_job_file tensorflow1_between_graph
}

test_keras_on_mirrored_workers() {
  uses tensorflow
  run_job_file tensorflow_mwms
}

test_pytorch() {
  uses torch
  run_job_file pytorch_ddp
}

test_horovod() {
  uses horovod-torch
  run_job_file horovod_torch
}

run_tests "$@"
