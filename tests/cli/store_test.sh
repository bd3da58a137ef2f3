#!/usr/bin/env bash
# The job's store that libdtrain offers to programs, in real processes.
. "$(dirname "$0")/lib.sh"

worker=$(dirname "$DTRAIN")/tests/programs/store_worker

test_ranks_use_every_request_of_the_store() {
  run_dtrain run -np 3 "$worker" all
  expect_status 0
  [[ $(grep -c 'good' "$out/stdout") -eq 3 ]] || fail 'not all ranks found all as it should be'
}

test_a_program_that_is_alone_has_a_store_of_its_own() {
  "$worker" all >"$out/stdout" || fail "the program failed"
  expect_stdout_contains 'good'
}

test_a_waiter_that_is_killed_is_named_to_the_other_waiters_and_the_store_lives_on() {
  run_dtrain run -np 3 --on-failure continue "$worker" waiter
  expect_status 137
  [[ $(grep -cF 'told: "in vain": wait for '\''never'\'': rank 1 (host localhost) died: killed by SIGKILL' \
    "$out/stdout") -eq 2 ]] || fail 'expected both others to be told'
  [[ $(grep -c 'still counts' "$out/stdout") -eq 1 ]] || fail 'the store did not live on'
  expect_no_processes
}

run_tests "$@"
