#!/usr/bin/env bash
# The job when a process dies, hangs, or gets a signal. Each fault has its own deadline.
. "$(dirname "$0")/lib.sh"

rounds=$(long_or 3 50)

agent_pid() { pgrep -P "$pid" -x dtrain-agent; }

# Starts a job whose workers write their pids, and waits for all pids.
start_job() {
  local count=$1
  shift
  rm -f pid.*
  start_dtrain run -np "$count" "$@"
  # shellcheck disable=SC2016
  wait_for sh -c 'test $(cat pid.* 2>/dev/null | wc -l) -eq '"$count"
}
sleeper='echo $$ >pid.$RANK; exec sleep 60'
stubborn='trap "" TERM INT HUP; echo $$ >pid.$RANK; while :; do sleep 1; done'

test_killing_the_launcher_leaves_nothing_behind() { # F1 R1
  for _ in $(seq "$rounds"); do
    start_job 8 sh -c "$sleeper"
    signal KILL
    finish
    expect_status 137
    expect_no_processes
  done
}

test_killing_the_launcher_ends_workers_that_ignore_term() { # F1
  start_job 2 sh -c "$stubborn"
  signal KILL
  finish
  expect_no_processes
}

test_killing_the_launcher_ends_the_children_of_workers_too() { # F1 R1 R14
  start_job 2 sh -c 'sleep 60 & setsid sleep 60 & echo $$ >pid.$RANK; wait'
  signal KILL
  finish
  expect_no_processes
}

test_a_stuck_console_does_not_hold_a_job_that_gets_a_term() { # R12 F13
  mkfifo console
  exec 9<>console # nobody reads
  last_command='dtrain run sh -c yes >console'
  env --default-signal=INT,QUIT "$DTRAIN" run -np 2 --grace 1s sh -c 'echo $$ >pid.$RANK; exec yes' >console 2>"$out/stderr" &
  pid=$!
  wait_for test -s pid.1
  signal TERM
  sleep 1 # two signals within 300 ms are one
  signal INT
  finish
  expect_soon 3000
  expect_status 143
  expect_no_processes
}

test_a_closing_terminal_sends_hup_twice_and_workers_still_get_the_grace() { # F27
  start_job 1 sh -c 'trap "sleep 0.3; echo saved; exit 0" HUP; echo $$ >pid.$RANK; while :; do sleep 0.02; done'
  kill -HUP "$pid"
  sleep 0.02
  signal HUP
  finish
  expect_status 129
  expect_stdout '[0]<stdout>:saved'
}

test_too_few_descriptors_are_an_error_and_never_cross_streams() { # F16
  for limit in 40 56 60 64 68 72 80; do
    run sh -c "ulimit -n $limit; exec '$DTRAIN' run -np 14 sh -c 'echo hi; sleep 0.1'"
    expect_stderr_lacks 'protocol error'
    [[ $status -eq 0 || $(grep -c 'open files' "$out/stderr") -gt 0 ]] || fail "status $status without the reason"
    expect_no_processes
  done
}

test_killing_the_agent_ends_its_ranks_and_names_the_host() { # F2 R2
  for _ in $(seq "$rounds"); do
    start_job 4 sh -c "$stubborn"
    kill -KILL "$(agent_pid)"
    since_ms=$(now_ms)
    finish
    expect_status 3
    expect_soon 2500
    expect_stderr_contains 'agent on localhost lost: its process ended: killed by SIGKILL'
    expect_no_processes
  done
}

test_an_agent_that_is_killed_before_all_output_has_come_fails_the_job() {
  mkfifo console
  exec 9<>console # nobody reads
  python3 -c 'import fcntl; fcntl.fcntl(9, fcntl.F_SETPIPE_SZ, 4096)'
  # More than the launcher takes for a console that blocks, and so little more that the rank can end.
  start sh -c 'exec "$0" "$@" >console' "$DTRAIN" run -np 1 --verbose --no-tag sh -c 'yes | head -c 294912'
  wait_for stderr_has 'worker:0 ended: exit status 0'
  kill -KILL "$(agent_pid)"
  wait_for stderr_has 'may be missing'
  cat <&9 >/dev/null 9>&- &
  finish
  exec 9>&-
  kill $!
  expect_status 3
  expect_stderr_contains 'agent on localhost lost: its process ended: killed by SIGKILL; the end of '
  expect_no_processes
}

test_a_host_that_is_lost_after_an_interrupt_is_named_and_the_interrupt_is_the_reason() {
  start_job 1 --grace 30s sh -c 'trap "echo asked" INT; echo $$ >pid.$RANK; while :; do sleep 0.1; done'
  signal INT
  wait_for stdout_has asked
  kill -KILL "$(agent_pid)"
  finish
  expect_status 130
  sed -i '/^dtrain: interrupted; waiting up to /d' "$out/stderr" # where all of this took a second
  expect_stderr 'dtrain: warning: agent on localhost lost: its process ended: killed by SIGKILL
dtrain: interrupted by SIGINT'
  expect_no_processes
}

test_an_agent_that_hangs_is_lost_after_the_dead_after_time() {
  start_job 2 --heartbeat 100ms --dead-after 1s sh -c "$sleeper"
  agent=$(agent_pid)
  kill -STOP "$agent"
  since_ms=$(now_ms)
  wait_for stderr_has 'agent on localhost lost: no heartbeat for 1s'
  finish
  expect_status 3
  expect_no_processes
}

test_a_crashed_worker_ends_the_others_at_once() { # F7
  for signal in SEGV ABRT KILL; do
    start_job 4 sh -c 'echo $$ >pid.$RANK; test $RANK = 2 || exec sleep 60; while test ! -e go; do sleep 0.02; done
      kill -'$signal' $$; sleep 60'
    touch go
    since_ms=$(now_ms)
    finish
    expect_soon 1500
    expect_status $((128 + $(kill -l "$signal")))
    expect_stderr_contains "rank 2 (host localhost, pid $(cat pid.2)) failed: killed by SIG$signal"
    expect_no_processes
    rm go
  done
}

test_one_ctrl_c_reaches_every_worker_once_and_gives_130() { # F25 R11
  for _ in $(seq "$rounds"); do
    start_job 3 sh -c 'trap "echo interrupted; exit 0" INT; echo $$ >pid.$RANK; while :; do sleep 0.05; done'
    signal INT
    finish
    expect_status 130
    expect_soon 2000
    expect_stdout_lines '[0]<stdout>:interrupted' '[1]<stdout>:interrupted' '[2]<stdout>:interrupted'
    expect_stderr_contains 'interrupted by SIGINT'
    expect_no_processes
  done
}

test_ctrl_c_on_a_terminal_is_not_doubled_by_the_terminal() { # F25
  cat >worker.sh <<'END'
trap 'echo got INT' INT
echo ready
i=0
while [ $i -lt 100 ]; do sleep 0.05; i=$((i + 1)); if [ -e stop ]; then exit 0; fi; done
END
  cat >terminal.py <<'END'
import os, pty, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
seen, sent = b"", False
while True:
    try:
        data = os.read(fd, 4096)
    except OSError:
        break
    if not data:
        break
    seen += data
    if not sent and seen.count(b"ready") == 2:
        sent = True
        os.write(fd, b"\x03")
    if seen.count(b"got INT") == 2 and not os.path.exists("stop"):
        time.sleep(0.3)
        open("stop", "w")
print(seen.count(b"got INT"), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
  run /usr/bin/python3 terminal.py "$DTRAIN" run -np 2 sh worker.sh
  expect_stdout '2 130'
  expect_no_processes
}

test_workers_that_ignore_ctrl_c_are_killed_after_the_grace() { # R11
  start_job 2 --grace 1s sh -c "$stubborn"
  signal INT
  finish
  expect_status 130
  expect_soon 1500
  expect_no_processes
}

test_a_second_ctrl_c_kills_at_once() { # F25 R11
  for _ in $(seq "$rounds"); do
    start_job 2 --grace 60s sh -c "$stubborn"
    signal INT
    sleep 1 # two signals within 300 ms are one
    signal INT
    finish
    expect_status 130
    expect_soon 2000
    expect_no_processes
  done
}

test_term_right_after_ctrl_c_leaves_workers_the_grace() { # F25 as wrappers and systemd send them
  for pair in 'INT TERM' 'TERM HUP'; do
    start_job 2 --grace 60s sh -c 'trap "sleep 0.5; echo saved; exit 0" INT TERM HUP
      echo $$ >pid.$RANK; while :; do sleep 0.05; done'
    for name in $pair; do signal "$name"; done
    finish
    expect [ "$status" -gt 128 ]
    expect_stdout_lines '[0]<stdout>:saved' '[1]<stdout>:saved'
    expect_no_processes
  done
}

test_term_ends_even_stubborn_workers_within_the_grace_and_a_second() { # F26 R12
  grace=$(long_or 1 10)
  start_job 2 --grace "${grace}s" sh -c "$stubborn"
  signal TERM
  finish
  expect_status 143
  expect_soon
  expect_no_processes
}

test_usr1_is_forwarded_and_stops_nothing() { # F26
  start_job 2 sh -c 'trap "echo checkpoint; exit 0" USR1; echo $$ >pid.$RANK; while :; do sleep 0.05; done'
  signal USR1
  finish
  expect_status 0
  expect_stdout_lines '[0]<stdout>:checkpoint' '[1]<stdout>:checkpoint'
}

test_hup_that_was_ignored_stays_ignored() { # F27 for a launcher and its workers
  start_job 2 sh -c 'echo $$ >pid.$RANK; exec sleep 60'
  kill -HUP "$pid"
  finish
  expect_status 129
  rm -f pid.*
  last_command='nohup dtrain'
  nohup "$DTRAIN" run -np 2 sh -c 'echo $$ >pid.$RANK; sleep 5; echo survived' >"$out/stdout" 2>"$out/stderr" &
  pid=$! since_ms=$(now_ms)
  wait_for test -s pid.1
  kill -HUP "$pid" "$(cat pid.1)"
  finish
  expect_status 0
  expect_stdout_contains '[1]<stdout>:survived'
}

test_helpers_that_daemonised_end_with_the_job() { # F24 R14
  for _ in $(seq "$rounds"); do
    cat >helper.py <<'END'
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.close(1), os.close(2)
        open("helper.%s" % os.environ["RANK"], "w").write(str(os.getpid()))
        time.sleep(60)
    os._exit(0)
while not os.path.exists("helper.%s" % os.environ["RANK"]):
    time.sleep(0.01)
END
    run_dtrain run -np 2 /usr/bin/python3 helper.py
    expect_status 0
    expect_soon
    expect_no_processes
    rm helper.?
  done
}

test_a_helper_that_holds_the_output_does_not_hold_the_job() { # F24
  run_dtrain run -np 2 sh -c 'setsid sleep 60 & echo done'
  expect_status 0
  expect_soon
  expect_stdout_lines '[0]<stdout>:done' '[1]<stdout>:done'
  expect_no_processes
}

test_helpers_of_a_failed_job_end_too() { # R14
  run_dtrain run -np 2 sh -c 'setsid sleep 60 & exit 1'
  expect_status 1
  expect_no_processes
}

test_the_time_limit_gives_124() {
  run_dtrain run -np 2 --timeout 500ms sleep 60
  expect_status 124
  expect_soon 2000
  expect_stderr_contains 'time limit of 500ms reached'
  expect_no_processes
}

test_an_oom_kill_is_named_as_such() { # F8 R16
  [[ -w /sys/fs/cgroup/memory/cgroup.procs ]] || skip 'no writable memory cgroup (v1) here'
  group=/sys/fs/cgroup/memory/dtrain-test-$$
  mkdir "$group"
  echo 64M >"$group/memory.limit_in_bytes"
  run sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$group" "$DTRAIN" run -np 2 \
    /usr/bin/python3 -c 'import os, time
if os.environ["RANK"] == "1": x = bytearray(200 << 20)
time.sleep(60)'
  rmdir "$group" || true
  expect_status 137
  expect_stderr_contains "failed: killed by SIGKILL (the kernel's OOM killer"
}

test_interrupting_before_the_job_has_started_leaves_nothing() {
  for delay in 0 0.001 0.002 0.003 0.005 0.01; do
    start_dtrain run -np 4 sleep 60
    wait_for grep -qx dtrain "/proc/$pid/comm"
    sleep "$delay"
    signal INT
    finish
    [[ $status -eq 130 ]] || fail "expected 130, got $status"
    expect_no_processes
  done
}

run_tests "$@"
