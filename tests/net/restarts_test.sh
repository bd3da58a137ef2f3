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

test_an_agent_killed_in_the_wait_is_started_again() {
  hosts_up 2
  waits_for_restart
  kill -KILL "$(agent_on 2)"
  wait_for stderr_has 'dtrain: all hosts are there again'
  wait_for stderr_has 'restart 7 of 9 in 30s after rank 1 on node2: exit status 42'
  signal TERM
  finish
  expect_status 143
  expect_no_processes
}

test_a_launcher_killed_in_the_wait_leaves_nothing_on_its_hosts() {
  hosts_up 2
  waits_for_restart
  signal KILL
  finish
  expect_no_processes
}

# sums_twice OPTION...: starts a job that sums on node1 and node2; its spares are among the options.
sums_twice() {
  start_on_launcher "$DTRAIN" run -H node1:1,node2:1 --max-restarts 2 --no-tag \
    --report "$out/report.json" "$@" "$steady" "$out/stop"
  wait_for sums_begun 1
}

# waits_twice OPTION...: the same with ranks that wait for the end. No time limit of theirs tells a lost host first.
waits_twice() {
  # shellcheck disable=SC2016
  start_on_launcher "$DTRAIN" run -H node1:1,node2:1 --max-restarts 2 --no-tag --report "$out/report.json" "$@" \
    sh -c 'echo generation $DTRAIN_GENERATION; until test -e "$0"; do sleep 0.1; done' "$out/stop"
  wait_for generations_begun 1
}
generations_begun() { [[ $(grep -c "generation $1" "$out/stdout") -eq 2 ]]; }

# expect_hosts GENERATION HOST...: these hosts had tasks, by the report.
expect_hosts() {
  expect python3 -c 'import json, sys
assert json.load(open(sys.argv[1]))["generations"][int(sys.argv[2]) - 1]["hosts"] == sys.argv[3:]' "$out/report.json" "$@"
}

test_a_spare_takes_the_place_of_a_lost_host() {
  hosts_up 3
  waits_twice --spare node3:1
  cut_cable 2
  wait_for generations_begun 2
  touch "$out/stop"
  finish
  expect_status 0
  expect_stderr_contains 'dtrain: agent on node2 lost: no heartbeat for 5s'
  expect_stderr_contains 'dtrain: restart 1 of 2: agent on node2 lost: no heartbeat for 5s; 2 ranks on node1, node3 (spare)'
  expect_hosts 1 node1 node2
  expect_hosts 2 node1 node3
  mend_cable 2
  expect_no_processes
}

test_a_killed_agent_s_host_is_used_again() {
  hosts_up 2
  sums_twice
  kill -KILL "$(agent_on 2)"
  wait_for sums_begun 2
  touch "$out/stop"
  finish
  expect_status 0
  expect_stderr_contains 'dtrain: waiting for node2, up to 30s (--start-timeout)'
  expect_stderr_contains 'dtrain: all hosts are there again'
  expect_hosts 2 node1 node2
  expect_no_processes
}

test_a_lost_host_that_returns_may_take_the_place_of_its_spare() {
  hosts_up 3
  sums_twice --spare node3:1
  cut_cable 2
  wait_for sums_begun 2
  mend_cable 2
  kill -KILL "$(agent_on 3)"
  # Either may be the first that answers.
  wait_for sums_begun 3
  touch "$out/stop"
  finish
  expect_status 0
  expect_hosts 2 node1 node3
  expect_no_processes
}

test_without_a_spare_a_lost_host_ends_the_job_after_the_start_timeout() {
  hosts_up 2
  waits_twice --start-timeout 12s
  cut_cable 2
  finish
  expect_status 3
  expect_stderr_contains 'dtrain: waiting for node2, up to 12s (--start-timeout)'
  expect_stderr_contains 'dtrain: the job cannot start again: node2: '
  expect_stderr_contains 'agent on node2 lost: no heartbeat for 5s'
  mend_cable 2
  expect_no_processes
}

test_a_spare_that_cannot_start_its_tasks_gives_way_to_the_next() {
  local host
  hosts_up 4
  for host in 1 2 3 4; do mkdir "$(home_of $host)/work"; done
  # shellcheck disable=SC2016
  start_on_launcher "$DTRAIN" run -H node1:1,node2:1 --spare node3:1,node4:1 --chdir /root/work --max-restarts 5 \
    --report "$out/report.json" sh -c 'echo generation $DTRAIN_GENERATION; until test -e "$0"; do sleep 0.1; done' "$out/stop"
  wait_for generations_begun 1
  rmdir "$(home_of 3)/work"
  kill -KILL "$(agent_on 2)"
  wait_for generations_begun 2
  touch "$out/stop"
  finish
  expect_status 0
  expect_stderr_contains 'node3: cannot enter the working directory /root/work'
  expect_stderr_contains 'dtrain: node4 takes the place of a lost host'
  expect_hosts 2 node1 node4
  expect_no_processes
}

test_a_lost_host_counts_for_restart_on_although_a_peer_fails_first() {
  hosts_up 3
  # Rank 0 fails before the silence of node2 is noticed, and ignores the end.
  # shellcheck disable=SC2016
  start_on_launcher "$DTRAIN" run -H node1:1,node2:1 --spare node3:1 --max-restarts 5 --restart-on 42 \
    sh -c 'echo generation $DTRAIN_GENERATION; [ $DTRAIN_GENERATION = 1 ] || exit 0
      [ $RANK = 0 ] || exec sleep 600
      until test -e "$0"; do sleep 0.1; done; exit 1' "$out/cut"
  wait_for generations_begun 1
  cut_cable 2
  touch "$out/cut"
  finish
  expect_status 0
  expect_stderr_contains 'agent on node2 lost: no heartbeat for 5s'
  expect_stderr_contains 'dtrain: restart 1 of 5'
  mend_cable 2
  expect_no_processes
}

test_hosts_lost_one_after_the_other_in_a_restart_are_named() {
  hosts_up 2
  waits_twice
  kill -KILL "$(agent_on 2)"
  wait_for stderr_has 'dtrain: all hosts are there again'
  kill -KILL "$(agent_on 1)"
  wait_for generations_begun 2
  touch "$out/stop"
  finish
  expect_status 0
  expect_stderr_contains 'agent on node2 lost: '
  expect_stderr_contains 'dtrain: warning: agent on node1 lost: '
  expect_stderr_contains 'dtrain: waiting for node1, up to 30s (--start-timeout)'
  expect_no_processes
}

test_a_spare_that_is_lost_is_one_warning() {
  hosts_up 3
  sums_twice --spare node3:1
  kill -KILL "$(agent_on 3)"
  wait_for stderr_has 'the job goes on without this spare'
  touch "$out/stop"
  finish
  expect_status 0
  expect_stdout_contains 'all sums were right'
  expect test "$(grep -c '^dtrain: ' "$out/stderr")" = 1
  expect_no_processes
}

test_an_unreachable_spare_is_one_warning() {
  hosts_up 2
  sums_twice --spare node9:1
  touch "$out/stop"
  finish
  expect_status 0
  expect_stderr_contains 'dtrain: warning: node9: '
  expect test "$(grep -c '^dtrain: ' "$out/stderr")" = 1
  expect_stderr_contains '; the job goes on without this spare'
  expect_no_processes
}

run_tests "$@"
