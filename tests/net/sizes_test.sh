#!/usr/bin/env bash
# Jobs whose number of ranks follows their hosts, and sources of hosts that change.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

steady=$(dirname "$DTRAIN")/tests/programs/steady_worker

# Each rank prints its generation and the size of the world. Rank R of generation G fails when a file fail.G.R exists,
# and all ranks end well with a file stop.
# shellcheck disable=SC2016  # the tasks' shell expands it
waits='echo "generation $DTRAIN_GENERATION: rank $RANK of $WORLD_SIZE on $(hostname)"
until [ -e "$0/stop" ]; do
  [ ! -e "$0/fail.$DTRAIN_GENERATION.$RANK" ] || exit 3
  sleep 0.1
done'
# The same with ranks that sum, over all links between their hosts. A killed rank fails.
# shellcheck disable=SC2016
sums='echo "generation $DTRAIN_GENERATION: rank $RANK of $WORLD_SIZE on $(hostname)"; exec "$1" "$0/stop" auto 0'

start_waiting() { start_on_launcher "$DTRAIN" run --no-tag --report "$out/report.json" "$@" sh -c "$waits" "$out"; }
start_summing() { start_on_launcher "$DTRAIN" run --no-tag --report "$out/report.json" "$@" sh -c "$sums" "$out" "$steady"; }

# has_ranks GENERATION N: N ranks of this generation have started.
has_ranks() { [[ $(grep -c "^generation $1: rank [0-9]* of $2 on " "$out/stdout") -eq $2 ]]; }
# has_summed N: rank 0 of N generations has summed with all others.
has_summed() { [[ $(grep -cx steady "$out/stdout") -eq $1 ]]; }
# fail_rank RANK GENERATION; kill_rank HOST: one of the ranks that sum there.
fail_rank() { touch "$out/fail.$2.$1"; }
sums_on() { [[ -n $(processes_on "$1" steady_worker) ]]; }
kill_rank() {
  wait_for sums_on "$1"
  kill -KILL "$(processes_on "$1" steady_worker | head -n 1)"
}

# ends_well: all ranks end, and nothing is left.
ends_well() {
  touch "$out/stop"
  finish
  expect_status 0
  expect_no_processes
}

# expect_generation G SIZE HOST…: it had so many ranks on these hosts, by the report. G is -1 for the last one.
expect_generation() {
  expect python3 -c 'import json, sys
number = int(sys.argv[2])
generation = json.load(open(sys.argv[1]))["generations"][number - 1 if number > 0 else number]
found = [str(generation["world_size"]), *sorted(generation["hosts"])]
assert found == sys.argv[3:], found' "$out/report.json" "$@"
}

# hostfile LINE…: the file as a whole, as an editor replaces it.
hostfile() {
  printf '%s\n' "$@" >hosts.new
  mv hosts.new hosts
}

# is_empty K: no process of a job is left on this host.
is_empty() {
  local pid name
  for pid in $(ip netns pids "$net-$1"); do
    name=$(cat "/proc/$pid/comm" 2>/dev/null) || continue
    [[ $name == sshd* ]] || return 1
  done
}

# grows G SIZE FAIL…: generation G fails by this command, and a later one has SIZE ranks. Hosts that join have some
# seconds to connect, so on a busy machine that is not the next one.
grows() {
  local generation=$1 size=$2 last=$(($1 + 3))
  shift 2
  until stderr_has "going on with $size ranks on "; do
    ((generation < last)) || fail "no generation has $size ranks"
    "$@" "$generation"
    generation=$((generation + 1))
    wait_for grep -q "^generation $generation: rank 0 of " "$out/stdout"
  done
  wait_for has_ranks "$generation" "$size"
}

test_the_world_shrinks_by_a_lost_host_and_grows_when_it_is_back() {
  hosts_up 3
  start_waiting -H node1:2,node2:2,node3:2 --min-np 2 --max-restarts 9 --start-timeout 12s --output-dir logs
  wait_for has_ranks 1 6
  cut_cable 2
  wait_for has_ranks 2 4
  expect_stderr_contains 'dtrain: agent on node2 lost: no heartbeat for 5s'
  expect_stderr_contains 'dtrain: waiting for node2, up to 12s (--start-timeout)'
  expect_stderr_contains 'dtrain: going on with 4 ranks on node[1,3]'
  mend_cable 2
  grows 2 6 fail_rank 0
  ends_well
  expect_generation 1 6 node1 node2 node3
  expect_generation 2 4 node1 node3
  expect_generation -1 6 node1 node2 node3
  # The last ranks have no part in the second generation, and their files continue.
  expect grep -q '^generation 2: rank 3 of 4 ' logs/rank.3/stdout
  expect_not grep -q '^generation 2:' logs/rank.5/stdout
  expect test "$(grep -c '^generation .* of 6 ' logs/rank.5/stdout)" = 2
  expect test "$(cat logs/rank.*/stdout | grep -c '^generation 1: .* of 6 ')" = 6
  expect grep -qx 'generation 1: rank 0 of 6 on node1' logs/rank.0/stdout
}

test_a_lost_host_that_is_soon_back_keeps_its_ranks() {
  hosts_up 3
  start_summing -H node1:1,node2:1,node3:1 --min-np 2 --max-restarts 9 --start-timeout 60s
  wait_for has_summed 1
  cut_cable 2
  wait_for stderr_has 'dtrain: waiting for node2, up to 1m (--start-timeout)'
  mend_cable 2
  wait_for has_summed 2
  ends_well
  expect_generation 2 3 node1 node2 node3
  expect_stderr_contains 'dtrain: going on with 3 ranks on node['
}

test_a_killed_agent_without_sshd_shrinks_the_world() {
  hosts_up 3
  start_summing -H node1:1,node2:1,node3:1 --min-np 2 --max-restarts 9 --start-timeout 12s
  wait_for has_summed 1
  kill -KILL "$(cat "$out/net/node3/sshd.pid")" "$(agent_on 3)"
  wait_for has_summed 2
  ends_well
  expect_generation 2 2 node1 node2
}

# tried K: the launcher has connected to this host.
tried() { grep -q 'Connection from ' "$out/net/node$1/sshd.log"; }

# joins OPTION…: node3 of three hosts joins by the hostfile after a failure, and all ranks sum.
joins() {
  hostfile 'node1 slots=2' 'node2 slots=1'
  start_summing --hostfile hosts --max-restarts 9 --min-np 2 "$@"
  wait_for has_summed 1
  hostfile 'node1 slots=2' 'node2 slots=1' 'node3 slots=2'
  kill_rank 1
  wait_for tried 3
  wait_for grep -q '^generation 2: rank 0 of ' "$out/stdout"
  grows 2 5 kill_rank 1
  ends_well
  expect_generation 1 3 node1 node2
  expect_generation -1 5 node1 node2 node3
  expect_lines_with 5 'all sums were right'
}

test_a_host_that_the_hostfile_names_later_joins() {
  hosts_up 3
  joins
}

test_a_host_that_the_hostfile_names_later_joins_with_a_port_range() {
  hosts_up 3
  joins --port-range 41200-41300
}

test_the_agent_of_a_host_that_joins_relays_the_rendezvous() {
  hosts_up 3
  firewall l -i bridge -p tcp --syn -j REJECT --reject-with tcp-reset
  joins --verbose
  expect_stderr_contains 'node3: cannot reach this machine; its agent relays the rendezvous'
}

test_remote_hosts_join_a_job_of_this_machine() {
  hosts_up 2
  hostfile 'localhost slots=2'
  start_summing --hostfile hosts --max-restarts 9 --min-np 2
  wait_for has_summed 1
  hostfile 'localhost slots=2' 'node1 slots=1' 'node2 slots=1'
  grows 1 4 kill_rank l
  ends_well
  expect_generation 1 2 localhost
  expect_generation -1 4 localhost node1 node2
  expect_lines_with 4 'all sums were right'
}

test_a_host_that_is_not_named_any_more_is_left() {
  hosts_up 2
  hostfile 'node1 slots=2' 'node2 slots=2'
  start_waiting --hostfile hosts --max-restarts 9 --min-np 2
  wait_for has_ranks 1 4
  hostfile 'node1 slots=2'
  fail_rank 0 1
  wait_for has_ranks 2 2
  expect_stderr_contains 'dtrain: node2 is not named any more, and is not used'
  wait_for is_empty 2
  expect_not is_empty 1
  ends_well
  expect_generation 2 2 node1
}

test_a_host_that_is_back_in_the_hostfile_ends_the_wait() {
  hosts_up 2
  hostfile 'node1 slots=2' 'node2 slots=2'
  start_waiting --hostfile hosts --max-restarts 9 --min-np 4
  wait_for has_ranks 1 4
  hostfile 'node1 slots=2'
  fail_rank 0 1
  wait_for stderr_has 'dtrain: 2 of 4 slots; waiting for hosts, up to 10m (--elastic-timeout)'
  wait_for is_empty 2
  hostfile 'node1 slots=2' 'node2 slots=2'
  wait_for has_ranks 2 4
  ends_well
  expect_generation 2 4 node1 node2
}

test_a_broken_hostfile_is_one_warning_a_restart() {
  local warnings='; the hosts that were named before stay'
  hosts_up 2
  hostfile 'node1 slots=1' 'node2 slots=1'
  start_waiting --hostfile hosts --max-restarts 9 --min-np 1
  wait_for has_ranks 1 2
  rm hosts
  fail_rank 0 1
  wait_for has_ranks 2 2
  expect_stderr_contains 'dtrain: warning: cannot read hosts: No such file or directory; the hosts that were named before stay'
  head -c 1000 /dev/urandom >hosts
  fail_rank 1 2
  wait_for has_ranks 3 2
  expect test "$(grep -c "$warnings" "$out/stderr")" = 2
  ends_well
}

test_too_few_slots_end_the_job_after_the_elastic_timeout() {
  hosts_up 2
  start_waiting -H node1:2,node2:2 --min-np 4 --max-restarts 9 --elastic-timeout 12s
  wait_for has_ranks 1 4
  cut_cable 2
  finish
  expect_status 3
  expect_stderr_contains 'dtrain: 2 of 4 slots; waiting for hosts, up to 12s (--elastic-timeout)'
  expect_stderr_contains 'dtrain: the job cannot start again: 2 of 4 slots after 12s (--elastic-timeout)'
  expect_stderr_contains 'dtrain: node2: '
  mend_cable 2
  expect_no_processes
}

test_an_idle_host_above_the_most_ranks_serves_for_a_lost_one() {
  hosts_up 3
  start_waiting -H node1:2,node2:2,node3:2 --min-np 2 --max-np 4 --max-restarts 9
  wait_for has_ranks 1 4
  expect test -n "$(agent_on 3)"
  cut_cable 2
  wait_for has_ranks 2 4
  expect_stderr_lacks 'waiting for'
  mend_cable 2
  ends_well
  expect_generation 1 4 node1 node2
  expect_generation 2 4 node1 node3
}

test_a_host_that_failed_is_kept_out_for_its_cool_down() {
  hosts_up 3
  start_waiting -H node1:1,node2:1,node3:1 --min-np 1 --max-restarts 9 --blacklist-cooldown-range 15 15
  wait_for has_ranks 1 3
  fail_rank 1 1
  wait_for has_ranks 2 2
  expect_stderr_contains 'dtrain: node2 is kept out for 15s (--blacklist-cooldown-range)'
  # No event shows that the cool-down is over.
  sleep 16
  fail_rank 0 2
  wait_for has_ranks 3 2
  ends_well
  expect_generation 2 2 node1 node3
  expect_generation 3 2 node2 node3
}

test_a_job_of_a_fixed_size_finds_a_host_for_a_lost_one() {
  hosts_up 3
  hostfile 'node1 slots=1' 'node2 slots=1'
  start_waiting --hostfile hosts --max-restarts 9
  wait_for has_ranks 1 2
  hostfile 'node1 slots=1' 'node2 slots=1' 'node3 slots=1'
  cut_cable 2
  wait_for has_ranks 2 2
  expect grep -qx 'generation 2: rank 1 of 2 on node3' "$out/stdout"
  mend_cable 2
  ends_well
  expect_generation 2 2 node1 node3
}

# waits_for_slots: starts a job that waits for the slots of a host that its source has left out.
waits_for_slots() {
  rm -f "$out"/fail.*
  hostfile 'node1 slots=1' 'node2 slots=1'
  start_waiting --hostfile hosts --max-restarts 9 --min-np 2
  wait_for has_ranks 1 2
  hostfile 'node1 slots=1'
  fail_rank 0 1
  wait_for stderr_has 'dtrain: 1 of 2 slots; waiting for hosts'
}

# hangs_in_script: the same with a script that does not end.
hangs_in_script() {
  rm -f "$out"/fail.* hang hanging
  printf '%s\n' '#!/bin/sh' '[ ! -e hang ] || { touch hanging; sleep 600 & sleep 600; }' 'echo node1:1' 'echo node2:1' >hosts.sh
  chmod +x hosts.sh
  start_waiting --host-discovery-script ./hosts.sh --max-restarts 9
  wait_for has_ranks 1 2
  touch hang
  fail_rank 0 1
  wait_for test -e hanging
}

# ends_by CAUSE: signals end the job in this wait, and leave nothing.
ends_by() {
  local name
  hosts_up 2
  for name in INT TERM KILL; do
    "$1"
    signal "$name"
    finish
    expect_status $((128 + $(kill -l "$name")))
    expect_no_processes
  done
}

test_signals_end_the_wait_for_slots() { ends_by waits_for_slots; }

test_signals_end_the_wait_for_a_script() { ends_by hangs_in_script; }

run_tests "$@"
