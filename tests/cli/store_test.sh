#!/usr/bin/env bash
# The job's store, used through libdtrain by real processes.
. "$(dirname "$0")/lib.sh"

worker=$(dirname "$DTRAIN")/tests/programs/store_worker

test_ranks_use_every_request_of_the_store() {
  run_dtrain run -np 3 "$worker" all
  expect_status 0
  [[ $(grep -c 'good' "$out/stdout") -eq 3 ]] || fail 'a request of a rank failed'
}

test_a_program_without_a_job_has_a_store_of_its_own() {
  "$worker" all >"$out/stdout" || fail "the program failed"
  expect_stdout_contains 'good'
}

test_a_killed_waiter_is_named_to_the_other_waiters_and_the_store_still_works() {
  run_dtrain run -np 3 --on-failure continue "$worker" waiter
  expect_status 137
  [[ $(grep -cF 'error: "in vain": wait for '\''never'\'': rank 1 (host localhost) died: killed by SIGKILL' \
    "$out/stdout") -eq 2 ]] || fail 'expected the error on both others'
  [[ $(grep -c 'still counts' "$out/stdout") -eq 1 ]] || fail 'the store did not work afterwards'
  expect_no_processes
}

run_tests "$@"
