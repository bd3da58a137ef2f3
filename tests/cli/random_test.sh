#!/usr/bin/env bash
# Random calls in random groups of real processes, of which one may die or leave. tests/programs/random_worker.cc
# judges each call on its rank, and outcomes.py compares the ranks. A seed makes the same calls each time.
# DTRAIN_SEEDS="FIRST LAST" executes other seeds.
. "$(dirname "$0")/lib.sh"

tests=$(realpath "$(dirname "$0")")
worker=$(dirname "$DTRAIN")/tests/programs/random_worker
seeds=${DTRAIN_SEEDS-$(long_or '1 12' '1 300')}

# execute OPTION…: executes each seed in a job with these options. The workers run by $kernels, if that is set.
execute() {
  local seed
  # shellcheck disable=SC2086  # two numbers
  for seed in $(seq $seeds); do
    rm -rf outcomes
    mkdir outcomes
    run_dtrain run --on-failure continue --no-tag "$@" ${kernels:+"$kernels"} "$worker" "$seed" outcomes
    if has stderr 'fault:' || has stdout 'fault:' || ((status == 124)); then fail "seed $seed"; fi
    [[ $status =~ ^(0|3|137)$ ]] || fail "seed $seed"
    python3 "$tests/outcomes.py" outcomes >differences || fail "seed $seed" "$(cat differences)"
  done
  expect_no_processes
}

test_calls_of_four_ranks_end_with_a_result_or_the_name_of_the_dead_rank() {
  execute -np 4
}

test_calls_between_hosts_end_with_a_result_or_the_name_of_the_dead_rank() {
  # shellcheck disable=SC2016  # expanded by the agent
  printf '#!/bin/sh\nshift\nexec "$@"\n' >rsh
  chmod +x rsh
  execute --rsh-agent "$PWD/rsh" -H 127.0.0.2:2,127.0.0.3:3
}

# Every rank computes small results by itself, so each uses the kernels of another kind of CPU.
test_calls_of_ranks_with_different_vector_instructions_have_equal_results() {
  cat >mixed <<'END'
#!/bin/sh
case $((DTRAIN_RANK % 3)) in
  0) DTRAIN_KERNELS=portable ;;
  1) DTRAIN_KERNELS=avx2 ;;
  2) DTRAIN_KERNELS=avx512 ;;
esac
if [ "$DTRAIN_KERNELS" = avx512 ] && ! grep -q avx512vl /proc/cpuinfo; then DTRAIN_KERNELS=avx2; fi
if [ "$DTRAIN_KERNELS" = avx2 ] && ! grep -q avx2 /proc/cpuinfo; then DTRAIN_KERNELS=portable; fi
export DTRAIN_KERNELS
exec "$@"
END
  chmod +x mixed
  local kernels=$PWD/mixed
  execute -np 3
}

test_unknown_vector_instructions_are_an_error_that_lists_those_of_the_cpu() {
  run_dtrain run -np 2 -x DTRAIN_KERNELS=mmx "$worker" 1 .
  expect_status 5
  expect_stderr_contains "DTRAIN_KERNELS: there are no kernels 'mmx' for this CPU; it can run "
}

run_tests "$@"
