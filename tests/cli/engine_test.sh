#!/usr/bin/env bash
# The errors of libdtrain on the other ranks when one has ended or differs, in real processes.
. "$(dirname "$0")/lib.sh"

worker=$(dirname "$DTRAIN")/tests/programs/collective_worker
rounds=$(long_or 2 200)

# expect_error_on_the_others TEXT: all three others print this error soon after the death: within a second
# where the machine has nothing else to do.
expect_error_on_the_others() {
  [[ $(grep -cF "error: $1" "$out/stdout") -eq 3 ]] || fail "expected this error on all three others: $1"
  [[ $(sed -n 's/.*after_ms: //p' "$out/stdout" | awk -v most="$(long_or 30000 1000)" '$1 > most' | wc -l) -eq 0 ]] || fail 'an error came too late'
  rm -f stamp
}

# In `make test-long`, other programs want the cores meanwhile.
die_by() {
  local way=$1 cause=$2 status=$3 i load=()
  for ((i = 0; i < $(long_or 0 "$(nproc)"); i++)); do
    sh -c 'while :; do :; done' &
    load+=($!)
  done
  for _ in $(seq "$rounds"); do
    run_dtrain run --dead-after 60s -np 4 --on-failure continue "$worker" 2 "$way" "$PWD/stamp"
    expect_status "$status"
    expect_error_on_the_others "$cause"
    grep -q 'error: all_reduce "gradients": ' "$out/stdout" || fail 'the operation is not named'
  done
  ((${#load[@]} == 0)) || kill "${load[@]}"
  expect_no_processes
}

test_a_killed_rank_is_named_to_all_others_within_a_second() { # F7 R3
  die_by kill 'all_reduce "gradients"' 137
  expect_stdout_contains 'rank 2 (host localhost) died: killed by SIGKILL'
}
test_a_segfault_is_named() { # R3
  die_by segv 'all_reduce "gradients"' 139
  expect_stdout_contains 'rank 2 (host localhost) died: killed by SIGSEGV'
}
test_an_abort_is_named() { # R3
  die_by abort 'all_reduce "gradients"' 134
  expect_stdout_contains 'rank 2 (host localhost) died: killed by SIGABRT'
}
test_an_early_failure_is_named() { # R3
  die_by exit3 'all_reduce "gradients"' 3
  expect_stdout_contains 'rank 2 (host localhost) died: exit status 3'
}
test_leaving_too_early_is_named() { # R3
  die_by exit0 'all_reduce "gradients"' 0
  expect_stdout_contains 'rank 2 (host localhost) has left the job'
}

test_a_mismatch_fails_that_operation_everywhere_and_nothing_else() { # B40
  run_dtrain run -np 4 "$worker" 1 mismatch "$PWD/stamp"
  expect_status 0
  [[ $(grep -cF 'error: all_reduce "gradients": rank 1 sent float32[9999], others float32[10000]' "$out/stdout") \
    -eq 4 ]] || fail 'expected the error on all four'
  [[ $(grep -c 'reached the end' "$out/stdout") -eq 4 ]] || fail 'the engine was not usable afterwards'
}

# A stopped process reads nothing, so its window closes. The stop lasts three times the dead-after time.
stop_a_rank() {
  start_dtrain run -np 2 --heartbeat 200ms --dead-after 1s --no-tag sh -c \
    "echo \$\$ >pid.\$RANK; exec $worker 1 $1 $PWD/stamp"
  wait_for test -s stamp
  wait_for states_are T "$(cat pid.1)"
  sleep 3
  expect_stdout_lacks 'error'
  expect_stdout_lacks 'reached the end'
  expect kill -CONT "$(cat pid.1)"
  finish
  expect_status 0
  expect_stdout_lacks 'error'
  [[ $(grep -c 'reached the end' "$out/stdout") -eq 2 ]] || fail 'the sums did not continue on both ranks'
}

test_a_stopped_rank_is_not_taken_for_dead() { # F9 R15
  stop_a_rank stop
}
test_a_stopped_rank_is_not_taken_for_dead_over_tcp() { # F9 R15
  stop_a_rank stop_tcp
}

test_a_worker_names_the_variable_that_was_tampered_with() { # B42
  tamper() { run_dtrain run -np 2 --no-tag sh -c "$1; exec $worker 0 exit0 $PWD/stamp"; }
  tamper 'DTRAIN_RANK=x'
  expect_status 5
  expect_stderr_contains 'DTRAIN_RANK'
  tamper 'unset DTRAIN_TOKEN'
  expect_status 5
  expect_stderr_contains 'DTRAIN_TOKEN'
  tamper 'DTRAIN_TOKEN=0123'
  expect_status 5
  expect_stderr_contains 'DTRAIN_TOKEN'
  tamper 'DTRAIN_SIZE=5'
  expect_status 5
  expect_stderr_contains 'DTRAIN_SIZE'
  tamper 'DTRAIN_RENDEZVOUS=127.0.0.1:1'
  expect_status 5
  expect_stderr_contains '127.0.0.1:1'
}

test_a_rank_that_never_joins_and_dies_ends_the_job_for_the_others() {
  run_dtrain run -np 3 --on-failure continue --no-tag sh -c \
    "test \$RANK != 1 || exit 6; exec $worker 0 exit0 $PWD/stamp"
  expect_status 6
  expect_stderr_contains 'rank 1 (worker:1 on localhost) ended before all ranks had joined: exit status 6'
  expect_soon
}

test_exit_with_sums_under_way_over_tcp_ends_well() {
  local encrypt
  for encrypt in '' --encrypt-data; do
    for _ in $(seq "$rounds"); do
      # shellcheck disable=SC2086  # an option or none
      run_dtrain run -np 2 $encrypt "$(dirname "$DTRAIN")/tests/programs/exiting_worker"
      expect_status 0
      expect_stderr ''
    done
  done
}

test_a_configuration_of_openssl_without_siphash_is_named() {
  cat >fips.cnf <<'CNF'
openssl_conf = all
[all]
alg_section = algorithms
[algorithms]
default_properties = fips=yes
CNF
  run_dtrain run -np 2 --no-tag -x "OPENSSL_CONF=$PWD/fips.cnf" "$worker" 0 exit0 "$PWD/stamp"
  expect_status 5
  expect_stderr_contains 'OpenSSL has no SipHash, which guards messages between machines'
  expect_stderr_contains 'OPENSSL_CONF=/dev/null'
}

test_a_low_soft_limit_of_open_files_is_raised() {
  run_dtrain run -np 8 --no-tag sh -c "ulimit -Sn 24; exec $worker 9 exit0 $PWD/stamp"
  expect_status 0
  [[ $(grep -c 'reached the end' "$out/stdout") -eq 8 ]] || fail 'not all ranks reached the end'
}
test_a_hard_limit_of_open_files_that_is_too_low_fails_at_once() {
  run_dtrain run -np 8 --no-tag sh -c "ulimit -n 24; exec $worker 9 exit0 $PWD/stamp"
  expect_status 5
  grep -qE '^the links to 7 other ranks need [0-9]+ open files, the hard limit is 24; raise it \(ulimit -Hn\)' \
    "$out/stderr" || fail 'both numbers should be named'
  expect_soon
}

run_tests "$@"
