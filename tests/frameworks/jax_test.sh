#!/usr/bin/env bash
# Unchanged JAX scripts.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$(dirname "$0")/../net/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# expect_processes N TEXT: each of N processes printed its number, and then the text.
expect_processes() {
  local process expected=()
  for ((process = 0; process < $1; process++)); do expected+=("process $process of $1: $2"); done
  # Gloo prints, too.
  # shellcheck disable=SC2031  # set by the library
  sed -i '/^\[Gloo\] /d' "$out/stdout"
  expect_stdout_lines "${expected[@]}"
}

test_three_processes_gather_what_each_has() {
  uses jax
  run_readme jax_allgather
  expect_status 0
  expect_readme jax_allgather
  expect_no_dtrain_message
  expect_no_processes
}

test_processes_of_two_hosts_gather() {
  uses jax
  hosts_up 2
  run_on_launcher "$DTRAIN" run -H node1:2,node2:1 --no-tag "$python" "$examples/jax_allgather/gather.py"
  expect_status 0
  expect_processes 3 'the squares are [0, 1, 4]'
  expect_no_dtrain_message
  expect_no_processes
}

test_processes_find_each_other_without_arguments() {
  uses jax
  run_readme jax_training
  expect_status 0
  expect_readme jax_training
  expect_no_dtrain_message
  expect_no_processes
}

test_processes_of_two_hosts_find_each_other_without_arguments() {
  uses jax
  hosts_up 2
  run_on_launcher "$DTRAIN" run -H node1:1,node2:2 --env-set jax --no-tag \
    "$python" "$examples/jax_training/train.py"
  expect_status 0
  expect_processes 3 'y = 2.000 x + 10.000'
  expect_no_dtrain_message
  expect_no_processes
}

test_processes_sum_again_after_a_restart() {
  uses jax
  run_dtrain run -np 4 --env-set jax --max-restarts 1 --no-tag "$python" "$scripts/jax_restarts.py"
  expect_status 0
  expect_processes 4 'the sum is 4444 after 1 restart'
  expect_stderr_contains 'dtrain: restart 1 of 1 after rank '
  expect_no_processes
}

# The agent and the sshd of a host are killed amid the sums.
test_processes_of_the_hosts_that_are_left_sum_again() {
  uses jax
  hosts_up 4
  # shellcheck disable=SC2016,SC2031  # the tasks' shell expands it; set by the library
  start_on_launcher "$DTRAIN" run -H node1:1,node2:1,node3:1,node4:1 --min-np 3 --max-restarts 1 --start-timeout 15s \
    --env-set jax --no-tag sh -c 'until test -e "$0"; do sleep 0.1; done; exec "$@"' "$out/pids" \
    "$python" "$scripts/jax_restarts.py" "$out/pids"
  wait_for all_agents
  # shellcheck disable=SC2031  # set by the library
  echo "$(cat "$out/net/node2/sshd.pid") $(agent_on 2)" >"$out/pids.new"
  # shellcheck disable=SC2031
  mv "$out/pids.new" "$out/pids"
  finish
  expect_status 0
  expect_processes 3 'the sum is 444 after 1 restart'
  expect_stderr_contains 'dtrain: restart 1 of 1: agent on node2 lost: '
  expect_stderr_contains 'dtrain: going on with 3 ranks on node[1,3-4]'
  expect_no_processes
}
all_agents() {
  local host
  for host in 1 2 3 4; do [[ -n $(agent_on $host) ]] || return 1; done
}

# A batch script's variables are made up, so that no srun knows the job; the hosts are real ones.
test_processes_of_a_slurm_job_find_each_other_without_arguments() {
  uses jax
  hosts_up 2
  SLURM_JOB_ID=21 SLURM_JOB_NODELIST='node[1-2]' SLURM_NTASKS=3 SLURM_TASKS_PER_NODE='1,2' \
    run_on_launcher "$DTRAIN" run --ssh openssh --no-tag "$python" "$examples/jax_training/train.py"
  expect_status 0
  expect_processes 3 'y = 2.000 x + 10.000'
  expect_stderr_contains 'dtrain: Slurm job 21: node[1-2], 3 slots'
  expect_no_processes
}

run_tests "$@"
