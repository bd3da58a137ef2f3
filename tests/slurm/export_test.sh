#!/usr/bin/env bash
# Batch scripts that dtrain export writes, in a Slurm cluster.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$(dirname "$0")/../net/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# Exports job.toml to the script job.sh, for a dtrain that nodes find in PATH.
export_script() {
  mkdir -p bin
  ln -sf "$DTRAIN" bin/dtrain
  run_dtrain export slurm job.toml -o job.sh
  expect_status 0
}
submit() { run_on_login env PATH="$PWD/bin:$PATH" sbatch --wait "$@" job.sh; }

test_an_exported_script_runs_the_job_on_the_nodes() {
  slurm_up 2
  cat >job.toml <<'END'
schema = 1
name = "mnist"
hosts = ["a:2", "b:2"]
timeout = "10m"
no-tag = true
env = { NOTE = "$ \\ ' \" \\\\ \nend" }
command = ["sh", "-c", "printf %s \"$(hostname) $RANK/$WORLD_SIZE $1|$NOTE\" >out.$RANK", "sh", "$ \\ ' \" \\\\ \nword"]
END
  export_script
  submit --test-only
  expect_status 0
  submit
  expect_status 0
  # shellcheck disable=SC1003 # these are the bytes
  local text='$ \ '"'"' " \\ '
  expect_file out.0 "n1 0/4 ${text}
word|${text}
end"
  expect_file out.3 "n2 3/4 ${text}
word|${text}
end"
  expect compgen -G 'mnist-*.out'
  expect_no_processes
}

test_an_exported_script_counts_gpus_and_whole_nodes() {
  slurm_gpus 2
  slurm_up 2
  printf '%s\n' 'schema = 1' 'hosts = ["a:2", "b:2"]' 'gpu-bind = "rank"' 'command = ["true"]' >job.toml
  export_script
  expect grep -qx '#SBATCH --gpus-per-node=2' job.sh
  submit --test-only
  expect_status 0
  rm job.sh
  # shellcheck disable=SC2016 # for the ranks
  printf '%s\n' 'schema = 1' 'hosts = ["a", "b"]' 'no-tag = true' 'command = ["sh", "-c", "echo >>ranks.$RANK"]' >job.toml
  export_script
  submit
  expect_status 0
  # All CPUs of both nodes.
  expect test -e ranks.7
  expect_not test -e ranks.8
  expect_no_processes
}

test_the_signal_before_the_time_limit_ends_the_job_in_time() {
  slurm_up 1
  printf '%s\n' 'schema = 1' 'np = 1' 'grace = "1s"' 'no-tag = true' \
    'command = ["sh", "-c", "trap \"echo ended >ended; exit\" TERM; echo >started; while :; do sleep 0.1; done"]' >job.toml
  export_script
  expect grep -qx '#SBATCH --signal=B:TERM@11' job.sh
  local number
  number=$(on_login env PATH="$PWD/bin:$PATH" sbatch --parsable job.sh)
  wait_for test -e started
  # As Slurm does that many seconds before the limit.
  on_login scancel --batch --signal=TERM "$number"
  wait_for test -e ended
  job=$number since_ms=$(now_ms)
  finish_batch
  expect_file ended 'ended'
  expect_no_processes
}

run_tests "$@"
