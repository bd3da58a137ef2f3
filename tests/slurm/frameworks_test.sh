#!/usr/bin/env bash
# Unchanged scripts of frameworks in jobs of Slurm, whose batch scripts have one line.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$(dirname "$0")/../net/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=../frameworks/lib.sh
. "$(dirname "$0")/../frameworks/lib.sh"

# train_in_job SCRIPT ARG…: runs the script as train.py, with these arguments of sbatch. The files of `run` have no tags
# then.
train_in_job() {
  mkdir bin
  ln -s "$DTRAIN" bin/dtrain
  # A virtual environment's own folder: by a link elsewhere, Python would not recognise it.
  local folder=${python%/*}
  if [[ ! -e $folder/python ]]; then ln -s "$python" bin/python; fi
  ln -s "$1" train.py
  PATH="$PWD/bin:$folder:$PATH" run_batch "${@:2}" <<<'exec dtrain run python train.py'
  # shellcheck disable=SC2031  # set by the library
  sed -i 's/^\[[0-9]*\]<std[a-z]*>://; /^\[Gloo\] /d' "$out/stdout" "$out/stderr"
}

test_pytorch_trains_on_four_nodes() {
  uses debian-torch
  slurm_up 4
  train_in_job "$examples/pytorch_ddp/train.py" -N4 -n4
  expect_status 0
  expect_training_result 4
  expect_stderr "dtrain: Slurm job $job: n[1-4]"
  expect_no_processes
}

test_jax_without_arguments_finds_the_processes_of_all_nodes() {
  uses jax
  slurm_up 3
  train_in_job "$examples/jax_training/train.py" -N3 -n4
  expect_status 0
  expect_stdout_lines 'process '{0,1,2,3}' of 4: y = 2.000 x + 10.000'
  expect_no_processes
}

test_tensorflows_resolver_finds_the_tasks_of_all_nodes() {
  uses tensorflow
  slurm_up 3
  train_in_job "$scripts/tensorflow_slurm.py" -N3 -n3
  expect_status 0
  local cluster='n1:8888 n2:8888 n3:8888'
  expect_stdout_lines "rank 0: worker 0 of $cluster" "rank 1: worker 1 of $cluster" "rank 2: worker 2 of $cluster"
  expect_no_processes
}

run_tests "$@"
