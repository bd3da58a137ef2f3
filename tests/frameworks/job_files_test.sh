#!/usr/bin/env bash
# The job files of the examples: each runs its framework as its README does.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$(dirname "$0")/../net/lib.sh"
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

serves() { on_launcher "$DTRAIN" job logs 2>/dev/null | grep -q "serves $1 0"; }

# The ps and the worker serve clients in another namespace until somebody stops them.
test_a_standing_tensorflow_cluster() {
  uses tensorflow
  hosts_up 1
  cat >cluster.toml <<END
schema = 1
success = "never"
hosts = ["node1:2"]
command = ["$python", "$scripts/standing_server.py"]
[roles.ps]
replicas = 1
restart = "always"
[roles.worker]
replicas = 1
restart = "always"
END
  run_on_launcher "$DTRAIN" job run --detach "$PWD/cluster.toml"
  expect_status 0
  wait_for serves ps
  wait_for serves worker
  local spec config
  spec=$(on_launcher "$DTRAIN" job status --cluster-spec)
  config=$(on_launcher "$DTRAIN" job status --tf-config)
  # Two clients: one that leaves changes nothing.
  for _ in 1 2; do
    run_on_launcher env TF_CONFIG="$config" "$python" "$scripts/standing_client.py" "$spec"
    expect_status 0
    expect_stdout_contains 'TensorFlow 1: 42.0'
    expect_stdout_contains 'TensorFlow 2: 42.0 /job:ps/replica:0/task:0'
  done
  run_on_launcher "$DTRAIN" job stop
  expect_status 0
  run_on_launcher "$DTRAIN" job wait
  expect_status 0
}

run_tests "$@"
