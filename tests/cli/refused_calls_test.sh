#!/usr/bin/env bash
# Kernels and containers that refuse a system call, limits that keep the agent from starting, and disks without room.
. "$(dirname "$0")/lib.sh"

refuse=$(dirname "$DTRAIN")/tests/programs/refuse
full_disk=$(dirname "$DTRAIN")/tests/programs/full_disk.so
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

# fill CALLS ERROR: on the host a, all but the first calls that need room in dtrain's folders fail.
fill() {
  printf '%s\n' '#!/bin/sh' 'shift' "HOME=$PWD/a XDG_RUNTIME_DIR= LD_PRELOAD=$full_disk FULL_DISK_PATHS='$PWD/a/.cache/dtrain/[!p]*:$PWD/a/place/*'" \
    "FULL_DISK_AFTER=$1 FULL_DISK_ERROR=$2" 'export HOME XDG_RUNTIME_DIR LD_PRELOAD FULL_DISK_PATHS FULL_DISK_AFTER FULL_DISK_ERROR' \
    'mkdir -p "$HOME"' 'exec "$@"' >rsh
  chmod +x rsh
}

# fill_more_and_more ERROR TEXT WORD…: the first call fails, then the second, until the job has enough room. Each failed
# job has a message with host, path, reason and next step, and leaves nothing but the journal of a begun update.
fill_more_and_more() {
  local error=$1 text=$2 calls
  shift 2
  for ((calls = 0; calls < 100; ++calls)); do
    fill "$calls" "$error"
    rm -rf a/.cache/dtrain/objects
    run env -C tree "$DTRAIN" run --rsh-agent "$PWD/rsh" --no-tag -H a:1 "$@" cat one deep/two
    if ((status == 0)); then break; fi
    expect_status 2
    grep -q "^dtrain: a: .*$PWD/a/.*: $text.*; remove files there, for example by 'dtrain cache clear -H a'" "$out/stderr" ||
      fail "$calls calls"
    expect_stdout ''
    left=$(find a -name 'new.*' -o -name staging -o -path '*/trees/*' -o -name markers)
    [[ -z $left ]] || fail "$calls calls, left:" "$left"
    expect_no_processes
  done
  ((calls > 8)) || fail "no room for $calls calls was noticed"
}

test_a_quota_of_a_host_is_one_clear_line_and_leaves_nothing() {
  mkdir -p tree/deep
  echo 'first file' >tree/one
  head -c 200000 /dev/zero | tr '\0' 'x' >tree/deep/two
  ln -s one tree/link
  fill_more_and_more EDQUOT 'Disk quota exceeded' --sync
  expect_stdout_contains 'first file'
}

test_a_full_disk_in_an_update_leaves_the_next_job_a_whole_tree() {
  mkdir -p tree/deep
  echo 'first file' >tree/one
  echo 'second file' >tree/deep/two
  fill 1000 ENOSPC
  run env -C tree "$DTRAIN" run --rsh-agent "$PWD/rsh" --no-tag -H a:1 --sync-to place true
  expect_status 0
  echo 'changed' >tree/one
  echo 'changed, too' >tree/deep/two
  fill_more_and_more ENOSPC 'No space left on device' --sync-to place
  expect_stdout 'changed
changed, too'
  expect_file a/place/one changed
}

run_tests "$@"
