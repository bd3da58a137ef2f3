#!/usr/bin/env bash
# Jobs whose number of ranks follows their hosts. These are names of this machine, and a remote shell that runs all
# commands here refuses those that are down.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# The addresses are all of this machine.
one_machine='are one machine under several names'
checkpoints='dtrain: after a failure all ranks start again, each from its own checkpoint; dtrain keeps none of their memory'

# Each task prints its generation and the size of the world. Task T of generation G fails when a file fail.G.T exists,
# and all end well with a file stop. T is a rank, or the name of a role without ranks.
# shellcheck disable=SC2016  # the tasks' shell expands it
waits='task=${RANK:-$DTRAIN_ROLE}
echo "generation $DTRAIN_GENERATION: $task of ${WORLD_SIZE:-none}"
until [ -e stop ]; do
  [ ! -e "fail.$DTRAIN_GENERATION.$task" ] || exit 3
  sleep 0.1
done'

cat_rsh() {
  # shellcheck disable=SC2016  # expanded by the agent
  printf '%s\n' '#!/bin/sh' '[ ! -e "down.$1" ] || exit 1' 'echo $$ >"agent.$1"' 'shift' 'exec "$@"' >rsh
  printf '%s\n' '#!/bin/sh' 'echo "from the script" >&2' 'exec cat hosts' >hosts.sh
  chmod +x rsh hosts.sh
}

start_waiting() {
  cat_rsh
  start_dtrain run --rsh-agent ./rsh --no-tag --report report.json "$@" sh -c "$waits"
}

# hosts LINE…: these are what ./hosts.sh prints, and the hostfile.
hosts() {
  printf '%s\n' "$@" >hosts.new
  mv hosts.new hosts
}

# has_tasks GENERATION SIZE [N]: N tasks of this generation have started, by default as many as ranks.
has_tasks() { [[ $(grep -c "^generation $1: .* of $2$" "$out/stdout") -eq ${3-$2} ]]; }
fail_task() { touch "fail.$1.$2"; }
# lose HOST: its agent is killed, and cannot be started again.
lose() {
  touch "down.$1"
  kill -KILL "$(cat "agent.$1")"
}

ends_well() {
  touch stop
  finish
  expect_status 0
  expect_no_processes
}

# expect_generations SIZE:HOST,HOST…: one for each, by the report.
expect_generations() {
  expect python3 -c 'import json, sys
generations = json.load(open("report.json"))["generations"]
found = [":".join((str(g["world_size"]), ",".join(sorted(g["hosts"])))) for g in generations]
assert found == sys.argv[1:], found' "$@"
}

test_a_command_line_of_torchrun_shrinks_to_the_hosts_that_are_left() {
  start_waiting -H 127.0.0.2,127.0.0.3,127.0.0.4,127.0.0.5 --start-timeout 10s \
    --nnodes 2:4 --nproc-per-node 2 --max-restarts 3 --rdzv-backend=c10d --rdzv-endpoint localhost:0 --rdzv-id 7
  wait_for has_tasks 1 8
  lose 127.0.0.3
  lose 127.0.0.5
  wait_for has_tasks 2 4
  ends_well
  expect_generations 8:127.0.0.2,127.0.0.3,127.0.0.4,127.0.0.5 4:127.0.0.2,127.0.0.4
  expect_stderr_contains 'dtrain: restart 1 of 3: agent on 127.0.0.'
  expect_stderr_contains 'dtrain: waiting for 127.0.0.'
  expect_stderr_contains 'dtrain: going on with 4 ranks on 127.0.0.[2,4]'
}

test_a_command_line_of_horovodrun_starts_with_the_hosts_of_its_script() {
  cat_rsh
  hosts 127.0.0.2:2 127.0.0.3:2
  run_dtrain run -np 4 --min-np 2 --max-np 8 --host-discovery-script ./hosts.sh --rsh-agent ./rsh --no-tag \
    sh -c 'echo $HOROVOD_RANK of $HOROVOD_SIZE'
  expect_status 0
  expect_stdout_lines '0 of 4' '1 of 4' '2 of 4' '3 of 4'
  expect_stderr "$checkpoints
dtrain: warning: 127.0.0.2, 127.0.0.3 $one_machine (same boot, same network); each counts as a host of its own"
}

test_output_follows_a_world_that_shrinks() {
  hosts 127.0.0.2:2 127.0.0.3:2
  start_waiting -np 4 --min-np 2 --max-np 8 --host-discovery-script ./hosts.sh --output-dir logs
  wait_for has_tasks 1 4
  hosts 127.0.0.2:2
  fail_task 1 0
  wait_for has_tasks 2 2
  ends_well
  expect_generations 4:127.0.0.2,127.0.0.3 2:127.0.0.2
  expect_stderr_contains 'dtrain: restart 1 after rank 0 on 127.0.0.2: exit status 3'
  expect_stderr_contains 'dtrain: 127.0.0.3 is not named any more, and is not used'
  expect_file logs/rank.1/stdout 'generation 1: 1 of 4
dtrain: restart 1 after rank 0 on 127.0.0.2: exit status 3
generation 2: 1 of 2'
  expect grep -qx 'generation 1: 3 of 4' logs/rank.3/stdout
  expect_not grep -q 'generation 2' logs/rank.3/stdout
}

# A host that joins has some seconds to connect, so on a busy machine more than one failure may be needed.
test_output_follows_a_world_that_grows() {
  local generation=2
  hosts 127.0.0.2:2
  start_waiting -np 2 --max-np 4 --host-discovery-script ./hosts.sh --reset-limit 4 --output-dir logs
  wait_for has_tasks 1 2
  hosts 127.0.0.2:2 127.0.0.3:8
  fail_task 1 1
  wait_for test -e agent.127.0.0.3
  wait_for stdout_has 'generation 2: 0 of '
  until stdout_has ': 0 of 4'; do
    ((generation < 5)) || fail 'the world does not grow'
    fail_task $generation 1
    generation=$((generation + 1))
    wait_for stdout_has "generation $generation: 0 of "
  done
  wait_for has_tasks $generation 4
  ends_well
  expect grep -qx 'generation 1: 1 of 2' logs/rank.1/stdout
  expect grep -qx "generation $generation: 1 of 4" logs/rank.1/stdout
  # A rank that is new has the line of the restart, too.
  expect test "$(tail -n 1 logs/rank.3/stdout)" = "generation $generation: 3 of 4"
  expect grep -q '^dtrain: restart ' logs/rank.3/stdout
}

test_a_ppn_counts_on_the_hosts_that_are_left() {
  hosts 127.0.0.2 127.0.0.3
  start_waiting -np 4 --min-np 2 --ppn 2 --hostfile hosts --max-restarts 3
  wait_for has_tasks 1 4
  hosts 127.0.0.2
  fail_task 1 3
  wait_for has_tasks 2 2
  ends_well
  expect_generations 4:127.0.0.2,127.0.0.3 2:127.0.0.2
  expect_stderr_lacks 'named before stay'
}

test_the_first_start_waits_for_the_slots_of_np() {
  hosts 127.0.0.2:2
  start_waiting -np 4 --min-np 2 --host-discovery-script ./hosts.sh
  wait_for stderr_has 'dtrain: 2 of 4 slots; waiting for hosts, up to 10m (--elastic-timeout)'
  expect_stdout ''
  hosts 127.0.0.2:2 127.0.0.3:2
  wait_for has_tasks 1 4
  ends_well
  expect_generations 4:127.0.0.2,127.0.0.3
}

test_a_ps_stays_beside_workers_that_become_fewer() {
  hosts 127.0.0.2:3 127.0.0.3:2
  start_waiting --role ps=1,worker=4 --min-np 2 --hostfile hosts --max-restarts 3
  wait_for has_tasks 1 4
  wait_for stdout_has 'generation 1: ps of none'
  hosts 127.0.0.2:3
  fail_task 1 ps
  wait_for has_tasks 2 2
  wait_for stdout_has 'generation 2: ps of none'
  touch stop
  finish
  expect_status 0
  expect_stderr_contains 'dtrain: restart 1 of 3 after ps:0 on 127.0.0.'
  expect_no_processes
  expect_generations 4:127.0.0.2,127.0.0.3 2:127.0.0.2
}

# refused_script TEXT: a job whose hosts are printed by ./script does not start.
refused_script() {
  chmod +x script 2>/dev/null || true
  run_dtrain run -np 2 --host-discovery-script ./script touch started
  expect_status 2
  expect_stderr "$checkpoints
dtrain: $1"
  expect_not test -e started
}

test_a_script_that_fails_first_ends_the_job() {
  refused_script 'cannot read hosts: cannot run ./script: No such file or directory'
  printf '%s\n' '#!/bin/sh' 'echo node1:2' 'echo no such queue >&2' 'echo or no cluster >&2' 'exit 4' >script
  refused_script 'cannot read hosts from ./script: exit status 4
dtrain:   no such queue
dtrain:   or no cluster'
  printf '%s\n' '#!/bin/sh' 'head -c 1000000 /dev/zero' >script
  refused_script 'cannot read hosts from ./script: it prints more than 65536 bytes'
  printf '%s\n' '#!/bin/sh' 'head -c 10 /dev/zero' >script
  refused_script 'output of ./script:1: not a text file (byte 0x00 at offset 0)'
  printf '%s\n' '#!/bin/sh' 'echo node1:none' >script
  refused_script 'output of ./script:1:7: host "node1": slots must be 1..4096, got "none"'
  rm script
  mkdir script
  refused_script 'cannot read hosts: cannot run ./script: Is a directory'
}

test_a_script_that_fails_later_is_a_warning() {
  local cause
  hosts 127.0.0.2:1 127.0.0.3:1
  start_waiting --min-np 1 --host-discovery-script ./hosts.sh
  wait_for has_tasks 1 2
  rm hosts
  fail_task 1 0
  wait_for has_tasks 2 2
  expect grep -q '^dtrain: warning: cannot read hosts from ./hosts.sh: exit status 1$' "$out/stderr"
  # Its last lines follow, as at the first start.
  expect_stderr_contains 'from the script'
  rm hosts.sh
  fail_task 2 0
  wait_for has_tasks 3 2
  cause='cannot run ./hosts.sh: No such file or directory; the hosts that were named before stay'
  expect_stderr_contains "dtrain: warning: cannot read hosts: $cause"
  ends_well
}

test_a_script_that_never_ends_ends_with_the_job() {
  local name
  printf '%s\n' '#!/bin/sh' 'sleep 600 &' 'touch hanging' 'wait' >script
  chmod +x script
  for name in INT TERM KILL; do
    rm -f hanging
    start_dtrain run -np 2 --host-discovery-script ./script true
    wait_for test -e hanging
    signal "$name"
    finish
    expect_status $((128 + $(kill -l "$name")))
    expect_no_processes
  done
}

test_a_script_that_never_ends_is_killed() {
  [[ ${DTRAIN_TEST_LONG-} == 1 ]] || skip 'the limit is 30 s'
  printf '%s\n' '#!/bin/sh' 'sleep 600' >script
  refused_script 'cannot read hosts from ./script: it has not ended after 30s'
  expect_no_processes
}

test_slots_per_host_are_those_of_hosts_without_slots() {
  cat_rsh
  hosts 127.0.0.2 127.0.0.3:1
  run_dtrain run --min-np 2 --host-discovery-script ./hosts.sh --slots-per-host 3 --dry-run true
  expect_status 0
  expect_stdout_contains '4 processes on 2 hosts: true'
}

test_the_plan_is_that_of_the_first_generation() {
  cat_rsh
  run_dtrain run -H a:2,b:2,c:2 --min-np 2 --max-np 3 --dry-run true
  expect_status 0
  expect_stdout_contains '3 processes on 2 hosts: true'
  hosts a:2 b:2
  run_dtrain run -np 2 --max-np 8 --host-discovery-script ./hosts.sh --dry-run true
  expect_status 0
  expect_stdout_contains '4 processes on 2 hosts: true'
  run_dtrain run -np 6 --host-discovery-script ./hosts.sh --dry-run true
  expect_status 2
  expect_stderr_contains 'dtrain: 4 of 6 slots are there (a:2 b:2); the job waits for the others'
  : >hosts
  run_dtrain run -np 6 --host-discovery-script ./hosts.sh --dry-run true
  expect_status 2
  expect_stderr_contains 'dtrain: 0 of 6 slots are there (no host); the job waits for the others'
}

test_spares_are_hosts_above_the_most_ranks() {
  run_dtrain run -H a:1,b:1 --max-np 1 --max-restarts 1 --spare c:1 touch started
  expect_status 2
  expect_stderr 'dtrain: --spare: where the number of ranks follows the hosts, those above --max-np are spares: name them by -H'
  expect_not test -e started
}

run_tests "$@"
