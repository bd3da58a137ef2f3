#!/usr/bin/env bash
# --max-restarts on several hosts.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

steady=$(dirname "$DTRAIN")/tests/programs/steady_worker

sums_begun() { [[ $(grep -cx steady "$out/stdout") -eq $1 ]]; }

# sums_again_after_a_death: kills a rank on node2 twice; each time all ranks of both hosts sum again.
sums_again_after_a_death() {
  local ranks begun
  start_on_launcher "$DTRAIN" run -H node1:2,node2:1 --max-restarts 2 --no-tag --report "$out/report.json" "$steady" "$out/stop"
  for begun in 1 2; do
    wait_for sums_begun $begun
    mapfile -t ranks < <(processes_on 2 steady_worker)
    [[ ${#ranks[@]} -eq 1 ]] || fail "expected one rank on node2, found ${ranks[*]}"
    kill -KILL "${ranks[0]}"
  done
  wait_for sums_begun 3
  touch "$out/stop"
  finish
  expect_status 0
  expect_lines_with 3 'all sums were right'
  expect_stderr_contains 'dtrain: restart 1 of 2 after rank 2 on node2: killed by SIGKILL; 3 ranks on node[1-2]'
  expect_stderr_contains 'dtrain: restart 2 of 2 in 1s after rank 2 on node2: killed by SIGKILL; 3 ranks on node[1-2]'
  expect test "$(grep -c '^dtrain: ' "$out/stderr")" = 4
  expect_no_processes
}

test_a_rank_killed_on_another_host_restarts_all() {
  hosts_up 2
  sums_again_after_a_death
  expect python3 -c 'import json, sys
report = json.load(open(sys.argv[1]))
assert [g["hosts"] for g in report["generations"]] == [["node1", "node2"]] * 3
assert [g["failure"] and g["failure"]["host"] for g in report["generations"]] == ["node2", "node2", None]' "$out/report.json"
}

test_agents_relay_the_rendezvous_of_each_generation() {
  hosts_up 2
  firewall l -i bridge -p tcp --syn -j REJECT --reject-with tcp-reset
  sums_again_after_a_death
}

# waits_for_restart: starts a job on two hosts that fails until it waits for 8 s.
waits_for_restart() {
  start_on_launcher "$DTRAIN" run -H node1:1,node2:1 --max-restarts 9 --output-dir logs \
    sh -c '[ $RANK = 1 ] || exec sleep 60; exit 42'
  wait_for stderr_has 'restart 6 of 9 in 16s'
}

test_an_agent_killed_in_the_wait_ends_the_job_with_its_failure() {
  hosts_up 2
  waits_for_restart
  kill -KILL "$(agent_on 2)"
  finish
  expect_status 42
  expect_stderr_contains 'dtrain: the job cannot start again: '
  expect grep -q 'the job cannot start again: .*node2' "$out/stderr"
  expect_no_processes
}

test_a_launcher_killed_in_the_wait_leaves_nothing_on_its_hosts() {
  hosts_up 2
  waits_for_restart
  signal KILL
  finish
  expect_no_processes
}

test_a_host_lost_while_it_runs_ends_the_job() {
  hosts_up 2
  start_on_launcher "$DTRAIN" run -H node1:1,node2:1 --max-restarts 2 --dead-after 2s --no-tag "$steady" "$out/stop"
  wait_for sums_begun 1
  cut_cable 2
  finish
  expect_status 3
  expect_stderr_contains 'agent on node2 lost: '
  expect_stderr_lacks 'dtrain: restart '
}

run_tests "$@"
