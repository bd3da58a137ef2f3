#!/usr/bin/env bash
# Kernels and containers that refuse a system call, and limits that keep the agent from starting.
. "$(dirname "$0")/lib.sh"

refuse=$(dirname "$DTRAIN")/tests/programs/refuse
run_timeout_s=30

# Each call alone, with both errors that filters return. The job succeeds, or there are a message and a status.
test_a_refused_system_call_ends_in_success_or_in_a_clear_message() {
  "$refuse" uname EPERM true || skip 'no filters of system calls here'
  local name error
  for name in $("$refuse"); do
    for error in EPERM ENOSYS; do
      run "$refuse" "$name" "$error" "$DTRAIN" run -np 1 --start-timeout 10s --no-tag echo hello
      # 124 is the status of timeout, 125 that of refuse; all above 127 are signals.
      ((status <= 127 && status != 124 && status != 125)) || fail "$name refused with $error"
      if ((status == 0)); then
        expect_stdout hello
      else
        grep -q '^dtrain: .' "$out/stderr" || fail "$name refused with $error: no message"
      fi
      expect_no_processes
    done
  done
}

# An agent that cannot be started or watched: `run` ends with 3, `check` with its status for a failure.
expect_no_agent() {
  local status_of_run=3 status_of_check=1 words expected
  for words in 'run -np 2 touch started' check; do
    # shellcheck disable=SC2086  # the words of a command
    run "$refuse" "$1" "$2" "$DTRAIN" $words
    expected=status_of_${words%% *}
    expect_status "${!expected}"
    expect_stderr "dtrain: $3"
    expect_stdout ''
    expect_not test -e started
    expect_no_processes
  done
}

test_an_agent_that_cannot_be_watched_is_one_line_and_a_status() {
  "$refuse" uname EPERM true || skip 'no filters of system calls here'
  expect_no_agent pidfd_open ENOSYS 'cannot watch the agent of this machine: Function not implemented; it takes the system call pidfd_open, which Linux has from 5.3 on and containers may refuse'
}

test_an_agent_that_cannot_be_started_is_one_line_and_a_status() {
  "$refuse" uname EPERM true || skip 'no filters of system calls here'
  expect_no_agent clone EPERM 'cannot start the agent of this machine: Operation not permitted'
}

test_an_agent_that_no_keeper_can_watch_ends_with_its_input() {
  "$refuse" uname EPERM true || skip 'no filters of system calls here'
  run_timeout_s=12
  run bash -c ': | "$0" pidfd_open ENOSYS "$1" agent | cat >/dev/null' "$refuse" "$DTRAIN"
  expect_status 0
  expect_stderr ''
  expect_no_processes
}

run_tests "$@"
