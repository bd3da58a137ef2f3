#!/usr/bin/env bash
# Ctrl-Z, fg and bg, and a dtrain that was stopped by SIGSTOP or frozen.
. "$(dirname "$0")/lib.sh"

worker=$(dirname "$DTRAIN")/tests/programs/steady_worker
pause_s=$(long_or 4 60) # longer than the lease, the time limits of sums and the job's time limit

# Starts a job of steady workers and waits for its first sum: sets $ranks to their pids.
start_steady() { # TRANSPORT OPTION…
  local transport=$1
  shift
  rm -f stop
  start_dtrain run -np 3 --heartbeat 100ms --dead-after 1s "$@" "$worker" stop "$transport"
  wait_for stdout_has '<stdout>:steady'
  mapfile -t ranks < <(pgrep -P "$(pgrep -P "$pid" -x dtrain-agent)" -x steady_worker)
  [[ ${#ranks[@]} -eq 3 ]] || fail "expected 3 ranks, found ${ranks[*]}"
}

test_a_paused_job_stands_still_and_nothing_of_it_expires() { # F33 R34
  for transport in auto tcp; do
    start_steady "$transport" --timeout 30s
    for _ in 1 2; do
      signal TSTP
      wait_for states_are T "$pid" "${ranks[@]}"
      sleep "$pause_s" # longer than every deadline of the job
      states_are T "$pid" "${ranks[@]}" || fail 'a process was running'
      signal CONT
      wait_for states_are '[RSD]' "$pid" "${ranks[@]}"
    done
    expect_steady_end
  done
}

test_the_time_limit_stands_still_too() { # F33
  start_dtrain run -np 1 --timeout 4s sh -c 'echo up; exec sleep 60'
  wait_for stdout_has up
  signal TSTP
  wait_for states_are T "$pid"
  sleep 5
  signal CONT
  finish
  expect_status 124
  ((elapsed_ms > 500)) || fail "ended $elapsed_ms ms after the pause: the pause counted"
  expect_no_processes
}

# True once dtrain blocks SIGTSTP, to read it from a descriptor. Before that, the default action applies, and in an
# orphaned process group the kernel drops the signal.
takes_tstp() {
  local blocked
  blocked=$(awk '$1 == "SigBlk:" { print $2 }' "/proc/$1/status") && ((0x$blocked & 1 << 19))
}

test_a_pause_that_was_asked_for_before_the_start_comes_with_it() {
  for _ in 1 2 3 4; do
    start_dtrain run -np 2 sh -c 'echo up; sleep 1'
    wait_for takes_tstp "$pid"
    kill -TSTP "$pid"
    wait_for states_are T "$pid"
    signal CONT
    finish
    expect_status 0
    expect_stdout_lines '[0]<stdout>:up' '[1]<stdout>:up'
  done
}

# has_read SIGNAL: true when dtrain has read its last signal of this name.
has_read() {
  local pending
  pending=$(awk '$1 == "ShdPnd:" { print $2 }' "/proc/$pid/status") && ! ((0x$pending & 1 << ($(kill -l "$1") - 1)))
}

# A scheduler stops launcher and agents at once, so that an agent answers the pause only after it.
test_a_dtrain_that_continues_before_its_agent_has_answered_does_not_stop_again() {
  local agent
  start_steady auto
  agent=$(pgrep -P "$pid" -x dtrain-agent)
  kill -STOP "$agent"
  signal TSTP
  wait_for has_read TSTP
  signal CONT
  wait_for has_read CONT
  kill -CONT "$agent"
  wait_for states_are '[RSD]' "${ranks[@]}"
  # The answer and SIGCONT are there together.
  kill -STOP "$agent"
  signal TSTP
  wait_for has_read TSTP
  signal STOP
  kill -CONT "$agent"
  wait_for states_are T "${ranks[@]}"
  signal CONT
  wait_for states_are '[RSD]' "${ranks[@]}"
  expect_steady_end
}

test_term_to_a_paused_job_ends_it_when_it_continues() {
  start_dtrain run -np 2 sh -c 'echo up; exec sleep 60'
  wait_for stdout_has '[1]<stdout>:up'
  signal TSTP
  wait_for states_are T "$pid"
  kill -TERM "$pid"
  signal CONT
  finish
  expect_status 143
  expect_soon
  expect_no_processes
}

test_killing_a_paused_dtrain_leaves_nothing_behind() {
  start_dtrain run -np 2 sh -c 'echo up; exec sleep 60'
  wait_for stdout_has '[1]<stdout>:up'
  signal TSTP
  wait_for states_are T "$pid"
  signal KILL
  finish
  expect_status 137
  expect_no_processes
}

test_a_rank_that_is_killed_during_the_pause_fails_the_job_afterwards() {
  start_steady auto
  signal TSTP
  wait_for states_are T "$pid" "${ranks[@]}"
  kill -KILL "${ranks[1]}"
  signal CONT
  finish
  expect_status 137
  expect_stderr_contains 'killed by SIGKILL'
  expect_no_processes
}

test_a_tstp_that_was_ignored_stays_ignored() {
  # A shell that ignores the signal passes that to its children.
  (
    trap '' TSTP
    exec "$DTRAIN" run -np 1 sh -c 'echo up; sleep 1; echo done'
  ) >"$out/stdout" 2>"$out/stderr" &
  pid=$!
  since_ms=$(now_ms)
  wait_for stdout_has up
  kill -TSTP "$pid"
  finish
  expect_status 0
  expect_stdout_contains 'done'
}

test_a_dtrain_stopped_for_longer_than_the_lease_ends_cleanly_and_reports_it() { # F33 R34
  start_steady auto
  signal STOP
  for rank in "${ranks[@]}"; do
    wait_for sh -c "! kill -0 $rank 2>/dev/null"
  done
  sleep 1
  signal CONT
  finish
  expect_status 3
  grep -qE 'agent on localhost lost: dtrain was suspended for [0-9.]+m?s, longer than the lease of 1s \(--dead-after\)' \
    "$out/stderr" || fail 'the cause is not named'
  expect_no_processes
}

test_a_dtrain_that_waits_for_its_turn_for_seconds_ends_no_job_of_its_machine() { # a busy machine
  start_dtrain run -np 2 sh -c 'echo up; while [ ! -e stop ]; do sleep 0.1; done; echo done'
  wait_for stdout_has '[1]<stdout>:up'
  signal STOP
  sleep 7 # longer than the lease of other hosts
  signal CONT
  sleep 1.5 # a heartbeat of both sides
  touch stop
  finish
  expect_status 0
  expect_stdout_contains '[0]<stdout>:done'
}

test_a_job_that_was_frozen_as_a_whole_continues() { # docker pause, a virtual machine
  start_steady auto
  frozen=("$pid" "$(pgrep -P "$pid" -x dtrain-agent)" "${ranks[@]}")
  kill -STOP "${frozen[@]}"
  sleep 3
  kill -CONT "${frozen[@]}"
  expect_steady_end
}

# Runs an interactive shell on a terminal. Each line of the script waits for a text, then sends a line.
terminal() {
  cat >terminal.py <<'END_PY'
import os, pty, re, select, sys, time
steps = [line.rstrip("\n").split("|", 2) for line in sys.stdin]
pid, fd = pty.fork()
if pid == 0:
    os.environ.update(PS1="PROMPT> ", NO_COLOR="1")
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
seen = ""
def read_until(text, seconds):
    global seen
    end = time.monotonic() + seconds
    while text not in seen:
        if time.monotonic() > end:
            sys.exit("not seen within %s s: %s\n%s" % (seconds, text, seen))
        if select.select([fd], [], [], 0.1)[0]:
            try:
                seen += os.read(fd, 65536).decode(errors="replace")
            except OSError:
                break
    if text in seen:
        seen = seen.split(text, 1)[1]
for wanted, pause, send in steps:
    read_until(wanted, 20)
    time.sleep(float(pause))
    os.write(fd, b"\x1a" if send == "^Z" else send.encode() + b"\n")
try:
    while True:
        data = os.read(fd, 65536)
        if not data:
            break
        seen += data.decode(errors="replace")
except OSError:
    pass
sys.stdout.write(seen)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END_PY
  run /usr/bin/python3 terminal.py
}

test_ctrl_z_and_fg_on_a_terminal_twice() { # F33 R34
  terminal <<END_STEPS
PROMPT> |0|$DTRAIN run -np 2 --heartbeat 100ms --dead-after 1s $worker stop
:steady|0|^Z
Stopped|$pause_s|fg
$worker stop|0.5|^Z
Stopped|$pause_s|touch stop; fg
all sums were right|0|
all sums were right|0|echo "status \$?"; exit 7
END_STEPS
  expect_status 7
  expect_stdout_contains 'status 0'
  expect_no_processes
}

test_a_job_in_the_background_is_not_stopped_by_the_terminal() { # F33
  terminal <<END_STEPS
PROMPT> |0|stty tostop -tostop; $DTRAIN run -np 2 --stdin all $worker stop &
:steady|0.3|fg
$worker stop|0.3|^Z
Stopped|0.3|bg
$worker stop|0.5|jobs -r; touch stop
Running|0|wait %1; echo "status \$?"; exit 7
END_STEPS
  expect_status 7
  expect_stdout_contains 'status 0'
  expect_no_processes
}

run_tests "$@"
