#!/usr/bin/env bash
# Faults of jobs in allocations of Slurm.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$(dirname "$0")/../net/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# Starts a job whose ranks run until the file `go` appears, on as many nodes.
start_long_batch() {
  start_batch -N"$1" -n"$1" <<<"exec $(long_command)"
  wait_for ranks_began "$1"
}
long_command() { echo "$DTRAIN run sh -c 'echo began; until test -e $PWD/go; do sleep 0.1; done; echo ended'"; }
no_process_on() { [[ -z $(processes_on "$@") ]]; }
ranks_began() { (expect_lines_with "$1" began) >/dev/null; }

test_the_end_of_srun_does_not_end_the_job() {
  slurm_up 2
  start_long_batch 2
  # The group, at once: a second process of srun cancels the step when the first one is killed alone.
  kill -KILL -- "-$(ps -o pgid= -p "$(processes_on 1 srun | head -n 1)" | tr -d ' ')"
  wait_for no_process_on 1 srun
  touch go
  finish_batch
  expect_status 0
  expect_lines_with 2 ended
  expect_no_processes
}

test_a_killed_launcher_leaves_no_process_on_any_node() {
  slurm_up 2
  start_long_batch 2
  kill -KILL "$(processes_on 1 dtrain)"
  finish_batch
  expect_no_processes
}

test_a_killed_launcher_of_salloc_leaves_no_process_while_the_allocation_stays() {
  slurm_up 2
  start_on_login salloc -N2 -n2 sh -c "$(long_command); echo left; until test -e go; do sleep 0.1; done"
  wait_for ranks_began 2
  kill -KILL "$(processes_on l dtrain)"
  wait_for stdout_has left
  wait_for no_process_on 1 dtrain-agent
  wait_for no_process_on 2 dtrain-agent
  wait_for no_process_on l srun
  touch go
  finish
  expect_no_processes
}

test_a_lost_agent_is_a_lost_host() {
  slurm_up 3
  start_long_batch 3
  kill -KILL "$(agent_on 2)"
  finish_batch
  expect_status 3
  expect_stderr_contains 'agent on n2 lost: '
  expect_no_processes
}

test_scancel_ends_the_workers() {
  slurm_up 2
  start_long_batch 2
  on_login scancel "$job"
  finish_batch
  expect_contains job 'JobState=CANCELLED'
  expect_no_processes
}

test_srun_that_fails_is_shown_with_its_last_lines() {
  slurm_up 2
  mkdir bin
  printf '%s\n' '#!/bin/sh' 'echo "srun: error: no such luck" >&2; exit 1' >bin/srun
  chmod +x bin/srun
  run_batch -N2 -n2 <<<"PATH=$PWD/bin:\$PATH exec $DTRAIN run true"
  expect_status 3
  expect_stderr_contains 'n2: srun ended before its agent had connected: exit status 1: srun: error: no such luck'
  expect_no_processes
}

test_without_srun_agents_start_over_ssh() {
  slurm_up 2
  run_batch -N2 -n2 <<<"PATH=/nowhere exec $DTRAIN run true"
  expect_status 3
  expect_stderr_contains 'srun is not in PATH, so that agents start over ssh'
  expect_stderr_contains 'n2: cannot connect to 10.77.0.2:22: Connection refused'
  expect_no_processes
}

test_a_node_without_this_executable_is_named_with_the_remedy() {
  slurm_up 2
  # Only the launcher sees dtrain at this path.
  touch dtrain
  run_batch -N2 -n2 <<<"exec unshare --mount sh -c 'mount --bind $DTRAIN $PWD/dtrain && exec $PWD/dtrain run true'"
  expect_status 3
  expect_stderr_contains "dtrain: n2: no copy of this dtrain at $PWD/dtrain; install dtrain in a folder that all hosts share"
  expect_no_processes
  # It is enough that the host has kept a copy of an earlier start.
  local kept
  kept=$cluster/home/.cache/dtrain/$(sha256sum <"$DTRAIN" | cut -d' ' -f1)
  mkdir -p "$kept"
  cp "$DTRAIN" "$kept/dtrain"
  run_batch -N2 -n2 <<<"exec unshare --mount sh -c 'mount --bind $DTRAIN $PWD/dtrain && HOME=/root exec $PWD/dtrain run hostname'"
  expect_status 0
  expect_stdout_lines '[0]<stdout>:n1' '[1]<stdout>:n2'
  expect_no_processes
}

test_a_step_that_does_not_begin_is_reported_with_its_reason() {
  slurm_up 2
  run_batch -N2 -n2 <<<"srun -N2 -n2 sh -c 'touch $PWD/busy; sleep 600' & until test -e busy; do sleep 0.1; done
    exec $DTRAIN run true"
  expect_status 3
  expect_stderr_contains 'n2: srun ended before its agent had connected: exit status 1: '
  expect_stderr_contains 'Requested nodes are busy'
  expect_no_processes
}

run_tests "$@"
