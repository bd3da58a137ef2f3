#!/usr/bin/env bash
# A host that is silent for another host only, and a rank that is stopped but whose host answers.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# Starts sums without a time limit on two hosts.
start_unlimited() {
  hosts_up 2
  rm -f stop
  start_on_launcher "$DTRAIN" run --dead-after 4s -H node1:2,node2:1 \
    "$(dirname "$DTRAIN")/tests/programs/steady_worker" stop auto 0
  wait_for stdout_has '<stdout>:steady'
}

test_hosts_that_lose_each_other_alone_name_the_silent_rank() {
  start_unlimited
  local k
  # Such ports of a bridge reach the launcher, and not each other.
  for k in 1 2; do
    ip -n "$net-l" link set "port$k" type bridge_slave isolated on || skip 'no isolated ports here'
  done
  finish
  expect_status 5
  grep -Eq 'connection to rank [0-2] \(host node[12]\) lost: no answer for [4-9] s' "$out/stderr" ||
    fail "no silent rank is named: $(cat "$out/stderr")"
  expect_no_processes
}

test_a_stopped_rank_whose_host_answers_is_not_silent() {
  start_unlimited
  local victim
  victim=$(processes_on 2 steady_worker)
  kill -STOP "$victim"
  sleep 8 # twice the dead-after time, under a closed window
  kill -CONT "$victim"
  expect_steady_end
}

run_tests "$@"
