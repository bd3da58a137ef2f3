#!/usr/bin/env bash
# JAX scripts as they are.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$(dirname "$0")/../net/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

gather=$examples/jax_allgather/gather.py

expect_squares() {
  # JAX prints of itself, too.
  # shellcheck disable=SC2031  # set by the library
  grep '^process ' "$out/stdout" | sort >printed || true
  expect_file printed "$1"
}

test_three_processes_gather_what_each_has() {
  uses jax
  run_dtrain run -np 3 --no-tag "$python" "$gather"
  expect_status 0
  expect_squares "process 0 of 3: the squares are [0, 1, 4]
process 1 of 3: the squares are [0, 1, 4]
process 2 of 3: the squares are [0, 1, 4]"
  expect_dtrain_says_nothing
  expect_no_processes
}

test_processes_of_two_hosts_gather() {
  uses jax
  hosts_up 2
  run_on_launcher "$DTRAIN" run -H node1,node2 -np 2 --ppn 1 --no-tag "$python" "$gather"
  expect_status 0
  expect_squares "process 0 of 2: the squares are [0, 1]
process 1 of 2: the squares are [0, 1]"
  expect_dtrain_says_nothing
  expect_no_processes
}

run_tests "$@"
