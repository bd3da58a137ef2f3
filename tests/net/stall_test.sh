#!/usr/bin/env bash
# The report of a stall whose cause is a rank on another host than the launcher and rank 0.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# start_stall WAY: two ranks on each of two hosts, of which the last one comes late; waits for the report.
start_stall() {
  hosts_up 2
  rm -f release
  start_on_launcher "$DTRAIN" run --stall-report 1s --report report.json --no-tag -H node1:2,node2:2 \
    "$(dirname "$DTRAIN")/tests/programs/stalling_worker" 3 "$1" "$PWD/release"
  wait_for stdout_has late
  wait_for stderr_has '--timeout would end it'
}

# late_pid: of the rank that the report names, as its host sees it.
late_pid() {
  sed -n 's/.*rank 3 (host node2, pid \([0-9]*\)).*/\1/p' "$out/stderr"
}

# expect_stall TEXT…: one report, of three lines, which has these texts.
expect_stall() {
  local text
  for text in 'all_reduce "gradients" stalls for ' ': ranks 0-2 wait for rank 3' "$@"; do
    expect_stderr_contains "$text"
  done
  [[ $(wc -l <"$out/stderr") -eq 3 ]] || fail 'expected three lines'
  processes_on 2 stalling_worker | grep -qx "$(late_pid)" || fail 'no such process on node2'
}

# The stall ends by itself, and then the job. It was reported once.
expect_sums() {
  finish
  expect_status 0
  [[ $(grep -c '^sum: 4$' "$out/stdout") -eq 4 ]] || fail 'expected four right sums'
  [[ $(grep -c ' stalls for ' "$out/stderr") -eq 1 ]] || fail 'expected one report of the stall'
  expect_stderr_contains 'all_reduce "gradients" stalls no more, after '
  python3 - report.json "$1" <<'END' || fail "the report is not as expected: $(cat report.json)"
import json, sys
(stall,) = json.load(open(sys.argv[1]))["stalls"]
(missing,) = stall["missing"]
assert [w["rank"] for w in stall["waiting"]] == [0, 1, 2], stall
assert (missing["rank"], missing["host"], missing["state"]) == (3, "node2", sys.argv[2]), missing
END
  expect_no_processes
}

test_a_rank_of_another_host_that_makes_no_call_is_named() { # F10
  start_stall sleep
  expect_stall 'is in no call of libdtrain since barrier "start", or hangs in one; its process sleeps' \
    "gdb -p $(late_pid) on node2 shows where"
  touch release
  expect_sums sleeping
}

test_a_rank_of_another_host_that_is_stopped_is_named() { # F9 R15
  start_stall stop
  expect_stall 'does not answer since barrier "start"; its process is stopped by a signal' \
    "kill -CONT $(late_pid) on node2 continues it"
  expect kill -CONT "$(late_pid)"
  expect_sums stopped
}

test_a_rank_of_another_host_that_waits_for_a_key_is_named_with_it() {
  start_stall key
  expect_stall "is in a wait for the key 'weights'; its process"
  touch release
  expect_sums sleeping
}

run_tests "$@"
