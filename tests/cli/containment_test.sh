#!/usr/bin/env bash
# Processes that tasks leave behind end with the job, however well they hide.
. "$(dirname "$0")/lib.sh"

# A process that forks without end, so that a list of processes never has its current pid. It is
# double-forked, in a session of its own, without our environment, and ignores TERM. Its name is on its
# command line.
write_hare() {
  cat >hare.py <<'END'
import os, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.closerange(0, 3)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if os.fork():
                os._exit(0)
    os._exit(0)
END
}

# A single look may miss the process between two forks.
no_hare() {
  for _ in $(seq 30); do
    ! pgrep -f "hare-$$" >/dev/null || return 1
  done
}

test_the_cgroup_ends_what_no_list_of_processes_shows() { # F24 R14
  folder=$(cgroup_folder) || skip 'no cgroup of version 2 is ours to divide here'
  folder=$folder/dtrain-test-$$
  mkdir "$folder"
  write_hare
  for _ in $(seq "$(long_or 1 10)"); do
    # shellcheck disable=SC2016  # the inner shell's
    run sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$folder" \
      "$DTRAIN" run -np 2 --verbose sh -c "exec env -i /usr/bin/python3 hare.py hare-$$"
    expect_status 0
    expect_soon
    expect_stderr_contains 'localhost: all processes have ended (checked by cgroup)'
    expect_stderr_lacks 'cannot be killed'
    no_hare || fail 'a stray is left'
    [[ -z $(find "$folder" -mindepth 1 -type d) ]] || fail "a cgroup is left in $folder"
  done
  rmdir "$folder"
}

test_tasks_are_in_a_cgroup_of_their_own_and_the_agent_is_not() {
  cgroup_folder >folder || skip 'no cgroup of version 2 is ours to divide here'
  run_dtrain run -np 2 --no-tag sh -c 'sed -n s/^0:://p /proc/self/cgroup; sed -n s/^0:://p /proc/$PPID/cgroup'
  expect_status 0
  [[ $(grep -c 'dtrain-tasks-[0-9]*$' "$out/stdout") -eq 2 ]] || fail 'a task is elsewhere'
  [[ $(grep -vc 'dtrain-tasks-' "$out/stdout") -eq 2 ]] || fail 'the agent is with its tasks'
}

test_the_cgroup_of_a_killed_agent_is_removed_by_the_next_one() {
  folder=$(cgroup_folder) || skip 'no cgroup of version 2 is ours to divide here'
  start_dtrain run -np 1 sh -c 'echo up; exec sleep 60'
  wait_for stdout_has up
  agent=$(pgrep -P "$pid" -x dtrain-agent)
  expect test -d "$folder/dtrain-tasks-$agent"
  kill -KILL "$agent"
  finish
  expect_status 3
  run_dtrain run -np 1 true
  expect_status 0
  [[ ! -e $folder/dtrain-tasks-$agent ]] || fail 'it is still there'
}

test_without_a_cgroup_the_sweep_ends_strays_and_logs_it() { # F24 R14
  ((EUID == 0)) || skip 'needs root to hide the cgroups'
  unshare -m true 2>/dev/null || skip 'no mount namespaces here'
  cat >stray.sh <<'END'
setsid env -i /bin/sh -c 'trap "" TERM; exec 1>&- 2>&-; : >here; while :; do sleep 0.05; done' "$1" &
while [ ! -e here ]; do sleep 0.01; done
END
  # shellcheck disable=SC2016  # the inner shell's
  run unshare -m sh -c 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"' sh \
    "$DTRAIN" run -np 1 --verbose sh stray.sh "stray-$$"
  expect_status 0
  expect_stderr_contains 'localhost: all processes have ended (checked by sweep)'
  expect_not pgrep -f "stray-$$"
}

run_tests "$@"
