#!/usr/bin/env bash
# What goes wrong between hosts, and what is left of it: nothing.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# Says "up", and leaves processes behind that are in no group or session of the job's; one of them
# does not mind a TERM.
stray_script='(setsid sh -c "trap \"\" TERM; while :; do sleep 60; done" &); (sleep 60 &); echo up; exec sleep 60'
start_strays_on() {
  start_on_launcher "$DTRAIN" run --dead-after 2s -H "$1" sh -c "$stray_script"
  wait_for 20 stdout_has "[${2-1}]<stdout>:up"
}

no_agent_on() { [[ -z $(agent_on "$1") ]]; }

test_what_a_killed_agent_has_started_ends_with_it() { # F2 R2 F24
  hosts_up 2
  start_strays_on node1:1,node2:1
  kill -KILL "$(agent_on 2)"
  wait_for "$(long_or 5 1)" stderr_has 'agent on node2 lost'
  finish
  expect_status 3
  expect_stderr_contains 'agent on node2 lost: killed by SIGKILL'
  expect_no_processes
}

test_an_agent_whose_keeper_is_killed_ends_everything_itself() {
  hosts_up 2
  start_strays_on node1:1,node2:1
  kill -KILL "$(keeper_on 2)"
  finish
  expect_status 3
  expect_stderr_contains 'agent on node2 lost: '
  expect_no_processes
}

test_what_an_agent_that_was_stopped_for_ever_has_started_ends_too() { # F33
  hosts_up 2
  start_strays_on node1:1,node2:1
  kill -STOP "$(agent_on 2)"
  finish
  expect_status 3
  expect_stderr_contains 'agent on node2 lost: no heartbeat for 2s'
  wait_for 15 no_agent_on 2
  expect_no_processes
}

run_tests "$@"
