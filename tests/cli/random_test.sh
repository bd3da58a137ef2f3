#!/usr/bin/env bash
# Random calls in random groups of real processes, of which one may die or leave. tests/programs/random_worker.cc
# judges each call on its rank, and outcomes.py compares the ranks. A seed makes the same calls each time.
# DTRAIN_SEEDS="FIRST LAST" plays other seeds.
. "$(dirname "$0")/lib.sh"

tests=$(realpath "$(dirname "$0")")
worker=$(dirname "$DTRAIN")/tests/programs/random_worker
seeds=${DTRAIN_SEEDS-$(long_or '1 12' '1 300')}

# play OPTION…: plays each seed in a job with these options.
play() {
  local seed
  # shellcheck disable=SC2086  # two numbers
  for seed in $(seq $seeds); do
    rm -rf outcomes
    mkdir outcomes
    run_dtrain run --on-failure continue --no-tag "$@" "$worker" "$seed" outcomes
    if has stderr 'fault:' || has stdout 'fault:' || ((status == 124)); then fail "seed $seed"; fi
    [[ $status =~ ^(0|3|137)$ ]] || fail "seed $seed"
    python3 "$tests/outcomes.py" outcomes >differences || fail "seed $seed" "$(cat differences)"
  done
  expect_no_processes
}

test_calls_of_four_ranks_end_with_a_result_or_the_name_of_the_dead_rank() {
  play -np 4
}

test_calls_between_hosts_end_with_a_result_or_the_name_of_the_dead_rank() {
  # shellcheck disable=SC2016  # expanded by the agent
  printf '#!/bin/sh\nshift\nexec "$@"\n' >rsh
  chmod +x rsh
  play --rsh-agent "$PWD/rsh" -H 127.0.0.2:2,127.0.0.3:3
}

run_tests "$@"
