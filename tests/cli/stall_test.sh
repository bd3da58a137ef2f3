#!/usr/bin/env bash
# The report of a stall: ranks that wait for others in an operation of libdtrain.
. "$(dirname "$0")/lib.sh"

tests=$(realpath "$(dirname "$0")")
worker=$(dirname "$DTRAIN")/tests/programs/stalling_worker

# start_stall LATE WAY [TRANSPORT]: four ranks, of which one comes late; writes the pids to pid.RANK.
start_stall() {
  start_dtrain run -np 4 --stall-report 1s --report report.json --no-tag sh -c \
    "echo \$\$ >pid.\$RANK; exec $worker $1 $2 $PWD/release ${3-}"
  wait_for stdout_has late
}

# expect_stall TEXT…: the log has one stall, of at most four lines, with these texts.
expect_stall() {
  local text
  wait_for stderr_has ' stalls for '
  for text in "$@"; do
    expect_stderr_contains "$text"
  done
  [[ $(grep -c ' stalls for ' "$out/stderr") -eq 1 ]] || fail 'expected one report of the stall'
  [[ $(wc -l <"$out/stderr") -le 4 ]] || fail 'expected at most four lines'
}

# expect_sums: the stall ends by itself, and then the job.
expect_sums() {
  finish
  expect_status 0
  [[ $(grep -c '^sum: 4$' "$out/stdout") -eq 4 ]] || fail 'expected four right sums'
  grep -q '^dtrain: warning: all_reduce "gradients" stalls no more, after [0-9.]*s$' "$out/stderr" ||
    fail 'expected the end of the stall'
}

expect_report() {
  expect python3 "$tests/schema.py" "$tests/../../launcher/report/schemas/report.schema.json" report.json
  python3 - report.json "$@" <<'END' || fail "the report is not as expected: $(cat report.json)"
import json, sys
s = json.load(open(sys.argv[1]))["stalls"]
wrong = [e for e in sys.argv[2:] if not eval(e)]
sys.exit("not so: " + "; ".join(wrong) if wrong else 0)
END
}

a_rank_that_does_not_call_is_named() {
  start_stall 2 sleep "$1"
  expect_stall 'dtrain: warning: all_reduce "gradients" stalls for ' ': ranks 0, 1, 3 wait for rank 2' \
    "rank 2 (host localhost, pid $(cat pid.2)) is in no call of libdtrain since barrier \"start\", or hangs in one" \
    '; its process sleeps'
  touch release
  expect_sums
  expect_report 'len(s) == 1 and s[0]["operation"] == "all_reduce \"gradients\"" and s[0]["group"] == 0' \
    '[w["rank"] for w in s[0]["waiting"]] == [0, 1, 3]' \
    's[0]["last_before"] == "barrier \"start\""' \
    '0 < s[0]["began_at_s"] and s[0]["began_at_s"] + 1 < s[0]["ended_at_s"]' \
    'len(s[0]["missing"]) == 1 and s[0]["missing"][0]["rank"] == 2' \
    's[0]["missing"][0]["state"] == "sleeping" and s[0]["missing"][0]["answered"] is False' \
    "s[0]['missing'][0]['pid'] == $(cat pid.2)"
}
test_a_rank_that_does_not_call_is_named() { # F10
  a_rank_that_does_not_call_is_named auto
}
test_a_rank_that_does_not_call_is_named_over_tcp() {
  a_rank_that_does_not_call_is_named tcp
}

test_a_stopped_rank_is_named_as_stopped() { # F9 R15
  start_stall 1 stop tcp
  wait_for states_are T "$(cat pid.1)"
  expect_stall ': ranks 0, 2, 3 wait for rank 1' \
    "rank 1 (host localhost, pid $(cat pid.1)) does not answer since barrier \"start\"; its process is stopped by a signal" \
    "kill -CONT $(cat pid.1) on localhost continues it"
  expect kill -CONT "$(cat pid.1)"
  expect_sums
  expect_report 's[0]["missing"][0]["state"] == "stopped"'
}

test_a_rank_that_stops_within_a_sum_is_named() { # F9 R15
  local transport
  for transport in stop stop_tcp; do
    rm -f stamp
    start_dtrain run -np 2 --stall-report 1s --no-tag sh -c \
      "echo \$\$ >pid.\$RANK; exec $(dirname "$worker")/collective_worker 1 $transport $PWD/stamp"
    wait_for test -s stamp
    wait_for states_are T "$(cat pid.1)"
    expect_stall 'all_reduce "gradients" stalls for ' ': rank 0 waits for rank 1' \
      "rank 1 (host localhost, pid $(cat pid.1)) does not answer since all_reduce \"gradients\"; its process is stopped"
    expect kill -CONT "$(cat pid.1)"
    finish
    expect_status 0
    expect_stderr_contains 'all_reduce "gradients" stalls no more, after '
    [[ $(grep -c 'reached the end' "$out/stdout") -eq 2 ]] || fail 'the sums did not continue on both ranks'
  done
}

test_a_rank_that_reads_from_a_pipe_is_named_with_its_state() {
  mkfifo release
  start_stall 0 read
  expect_stall ': ranks 1-3 wait for rank 0' "rank 0 (host localhost, pid $(cat pid.0))" '; its process sleeps'
  echo >release
  expect_sums
}

test_a_rank_that_waits_in_another_operation_is_named_with_it() {
  start_stall 3 receive
  expect_stall ': ranks 0-2 wait for rank 3' 'rank 3 (host localhost, pid ' ' waits in receive from rank 0 "never" for rank 0'
  touch release
  finish
  expect_status 0
}

# Asynchronous calls: a rank that waits for one may still make another, so this is no mismatch.
test_ranks_that_wait_in_different_names_are_named_with_them() {
  start_dtrain run -np 2 --stall-report 1s --report report.json --no-tag sh -c \
    "echo \$\$ >pid.\$RANK; exec $worker 1 names $PWD/release"
  wait_for stdout_has late
  wait_for stderr_has ' stalls for '
  # The report begins with the call of either rank, and has that of the other one behind it.
  local first=1 other=0 names=(ours theirs)
  if stderr_has 'all_reduce "ours" stalls for '; then first=0 other=1; fi
  expect_stall "dtrain: warning: all_reduce \"${names[first]}\" stalls for " ": rank $first waits for rank $other" \
    "rank $other (host localhost, pid $(cat pid.$other)) waits in all_reduce \"${names[other]}\" for rank $first; its process sleeps"
  touch release
  finish
  expect_status 0
  [[ $(grep -c '^sum: 4$' "$out/stdout") -eq 2 ]] || fail 'expected two right sums'
  expect_stderr_contains "all_reduce \"${names[first]}\" stalls no more, after "
  expect_report 'len(s) == 1 and s[0]["operation"] == "all_reduce \"'"${names[first]}"'\""' \
    "[w['rank'] for w in s[0]['waiting']] == [$first] and [m['rank'] for m in s[0]['missing']] == [$other]"
}

test_a_rank_that_waits_for_a_key_is_named_with_it() {
  start_stall 3 key
  expect_stall ': ranks 0-2 wait for rank 3' 'rank 3 (host localhost, pid ' " is in a wait for the key 'weights'; its process"
  touch release
  expect_sums
}

test_the_process_that_joined_is_examined_and_not_its_shell() {
  start_dtrain run -np 2 --stall-report 500ms --no-tag sh -c "$worker 1 stop $PWD/release & echo \$! >pid.\$RANK; wait"
  wait_for stdout_has late
  wait_for states_are T "$(cat pid.1)"
  expect_stall "rank 1 (host localhost, pid $(cat pid.1)) does not answer"
  expect kill -CONT "$(cat pid.1)"
  finish
  expect_status 0
}

test_a_stall_that_lasts_until_a_time_limit_has_no_end() {
  run_dtrain run -np 2 --stall-report 300ms --timeout 3s --grace 1s --report report.json "$worker" 1 sleep release
  expect_status 124
  expect_stderr_contains ': rank 0 waits for rank 1'
  expect_stderr_lacks 'stalls no more'
  expect_report 'len(s) == 1 and s[0]["missing"][0]["rank"] == 1'
}

test_without_the_option_a_slow_job_logs_nothing() {
  start_dtrain run -np 2 --stall-report 0 --report report.json "$worker" 1 sleep "$PWD/release"
  wait_for stdout_has late
  sleep 2
  touch release
  finish
  expect_status 0
  expect_stderr ''
  expect_report 's == []'
}

test_a_job_that_is_quick_enough_logs_nothing() {
  start_dtrain run -np 2 --stall-report 20s "$worker" 1 sleep "$PWD/release"
  wait_for stdout_has late
  sleep 1
  touch release
  finish
  expect_status 0
  expect_stderr ''
}

run_tests "$@"
