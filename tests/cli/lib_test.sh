#!/usr/bin/env bash
# Tests of lib.sh itself: an expectation that does not hold must fail.
DTRAIN=/bin/sh
lib=$(realpath "$(dirname "$0")/lib.sh")
# shellcheck source=tests/cli/lib.sh
. "$lib"

# Runs the other arguments like a test function, and expects a failure with `message`.
expect_failure() {
  local message=$1
  shift
  if ("$@") >failure 2>&1; then fail "this should have failed: $*"; fi
  expect grep -qF -- "$message" failure
}

test_a_run_gives_status_and_both_outputs() {
  run_dtrain -c 'echo out; echo err >&2; exit 3'
  expect_status 3
  expect_stdout out
  expect_stderr err
  expect_stdout_contains u
  expect_stdout_lacks err
  expect_failure 'expected the status 4, not 3' expect_status 4
  expect_failure '> out' expect_stdout other
  expect_failure 'expected in stdout: xyz' expect_stdout_contains xyz
  expect_failure 'not expected in stderr: er' expect_stderr_lacks er
  expect_failure "command: $DTRAIN -c echo out" expect_status 4
}

test_lines_may_come_in_any_order_but_none_may_be_missing() {
  run_dtrain -c 'printf "b\na\na\n"'
  expect_stdout_lines a b a
  expect_failure '> a' expect_stdout_lines a b
  expect_failure '< c' expect_stdout_lines a a b c
}

test_text_is_equal_with_and_without_a_last_newline_only() {
  run_dtrain -c 'printf "a\nb"'
  expect_stdout $'a\nb'
  run_dtrain -c 'printf "a\n\n"'
  expect_failure 'expected in' expect_stdout a
}

test_nothing_is_on_stdin_and_the_folder_is_empty() {
  run_dtrain -c 'cat; ls'
  expect_stdout ''
  run_dtrain -c 'cat' <<<'given'
  expect_stdout given
}

test_variables_of_an_outer_job_are_gone() {
  run_dtrain -c 'env | grep ^DTRAIN_ | grep -v ^DTRAIN_TEST_'
  expect_status 1
}

test_a_background_command_takes_signals_as_from_a_terminal() {
  start_dtrain -c 'trap "exit 9" INT; echo ready; while :; do sleep 0.01; done'
  wait_for stdout_has ready
  signal INT
  finish
  expect_status 9
  elapsed_ms=40000
  # shellcheck disable=SC2119  # without a limit of its own
  expect_soon
  elapsed_ms=40001
  expect_failure 'expected within 40000 ms, took 40001 ms' expect_soon
}

test_waiting_has_an_end() {
  run_timeout_s=0
  expect_failure 'not within 0 s: false' wait_for false
  run_timeout_s=0.1
  run_dtrain -c 'exec sleep 100'
  expect_status 124
  start_dtrain -c 'exec sleep 100'
  run_timeout_s=0
  expect_failure 'still running after 0 s' finish
}

some_are_marked() { [[ -n $(marked_pids) ]]; }

test_a_process_left_behind_is_found() {
  run_dtrain -c 'setsid sleep 100 >/dev/null 2>&1 &'
  # A process that starts a program has no environment for a moment.
  wait_for some_are_marked
  end_marked_processes
  expect_no_processes
}

test_the_summary_counts_and_any_failing_command_fails_its_test() {
  printf '%s\n' ". '$lib'" 'test_a_b() { false; true; }' 'test_c() { true; }' \
    'test_d() { skip why; }' 'run_tests "$@"' >inner.sh
  run bash inner.sh
  expect_status 1
  expect_stdout $'FAILED: a b\nok: c\nskipped: d: why\n1 passed, 1 failed, 1 skipped'
  run bash inner.sh test_d
  expect_status 77
  run bash inner.sh nothing
  expect_status 1
}

run_tests "$@"
