#!/usr/bin/env bash
# Disturbances of a healthy job: nobody reads its output, its terminal closes, strangers connect to its
# port. And the leftovers after many starts.
. "$(dirname "$0")/lib.sh"

worker=$(dirname "$DTRAIN")/tests/programs/steady_worker
blocked_s=$(long_or 4 60)

agent_of() { pgrep -P "$1" -x dtrain-agent; }
rss_kib() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }
rss_of_job() { echo $(($(rss_kib "$pid") + $(rss_kib "$(agent_of "$pid")"))); }

test_a_blocked_console_holds_the_workers_and_nothing_else() { # F13 R9
  for _ in $(seq "$(long_or 1 5)"); do
    rm -f console
    mkfifo console
    exec 9<>console # nobody reads
    last_command='dtrain run seq >console'
    "$DTRAIN" run -np 4 --heartbeat 100ms --dead-after 1s --no-tag seq 300000 >console 2>"$out/stderr" &
    pid=$! since_ms=$(now_ms)
    wait_for agent_of "$pid" >agent
    sleep 0.5
    before=$(rss_of_job)
    sleep "$blocked_s" # longer than the lease
    after=$(rss_of_job)
    ((after - before <= 64 * 1024)) || fail "grew by $((after - before)) KiB"
    cat <&9 >seen &
    reader=$!
    finish
    expect_status 0
    expect test ! -s "$out/stderr"
    wait_for sh -c 'test $(wc -l <seen) -eq 1200000'
    kill "$reader"
    sort -n seen | uniq -c | awk '$1 != 4 { exit 1 }' || fail 'lines are lost or torn'
    exec 9>&-
  done
}

# Runs its arguments on a terminal. After PAUSE seconds without a read, the terminal is read to the end, or
# closed.
write_terminal() {
  cat >terminal.py <<'END'
import os, pty, sys, time
what, pause = sys.argv[1], float(sys.argv[2])
pid, fd = pty.fork()
if pid == 0:
    os.environ.update(NO_COLOR="1", TERM="dumb")
    os.execvp(sys.argv[3], sys.argv[3:])
end = time.monotonic() + 20
while not os.path.exists("up"):
    if time.monotonic() > end:
        sys.exit("it did not come up")
    time.sleep(0.01)
time.sleep(pause)
seen = b""
while what == "read":
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    if not data:
        break
    seen += data
if what == "close":
    os.close(fd)
sys.stdout.buffer.write(seen)
sys.stdout.flush()
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
sys.exit(status if status >= 0 else 128 - status)
END
}

test_a_terminal_without_a_reader_loses_nothing() { # F13
  write_terminal
  run /usr/bin/python3 terminal.py read "$blocked_s" "$DTRAIN" run -np 2 --heartbeat 100ms --dead-after 1s \
    --no-tag sh -c ': >up; seq 50000'
  expect_status 0
  [[ $(tr -d '\r' <"$out/stdout" | grep -c '^[0-9]*$') -eq 100000 ]] || fail 'lines are lost'
}

test_a_terminal_that_closes_ends_the_job_but_not_under_nohup() { # F27 R13
  write_terminal
  for _ in $(seq "$(long_or 1 20)"); do
    rm -f up survived
    run /usr/bin/python3 terminal.py close 0 "$DTRAIN" run -np 2 sh -c ': >up; exec sleep 60'
    expect_status 129
    expect_soon
    expect_no_processes
    rm up
    run /usr/bin/python3 terminal.py close 0 nohup "$DTRAIN" run -np 2 sh -c ': >up; sleep 1; : >survived'
    expect_status 0
    expect test -e survived
    expect_no_processes
  done
}

# Connects to a port until the file `enough` exists: with a thousand connections that send nothing or one
# byte, with whole and half handshakes of noise, and with as many connections as one process can make.
write_strangers() {
  cat >strangers.py <<'END'
import os, random, resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
host, port = sys.argv[1].rsplit(":", 1)
noise = random.Random(1)
slow, count = [], 0
while not os.path.exists("enough"):
    s = socket.socket()
    s.setblocking(False)
    try:
        s.connect((host, int(port)))
    except BlockingIOError:
        pass
    count += 1
    try:
        if count % 7 == 0:
            s.send(noise.randbytes(noise.randrange(1, 300)))
        elif count % 7 == 1:
            s.send(b"G")
    except OSError:
        pass
    if count % 3 == 0:
        slow.append(s)
        if len(slow) > 1000:
            slow.pop(noise.randrange(1000)).close()
    else:
        s.close()
    if count == 5000:
        print("many", flush=True)
print(count, "connections")
END
}

test_strangers_at_the_rendezvous_change_nothing() { # R22
  write_strangers
  for _ in $(seq "$(long_or 1 5)"); do
    rm -f stop enough many
    start_dtrain run -np 3 "$worker" stop
    wait_for stdout_has steady
    rank=$(pgrep -P "$(agent_of "$pid")" | head -n 1)
    address=$(tr '\0' '\n' <"/proc/$rank/environ" | sed -n 's/^DTRAIN_RENDEZVOUS=//p')
    before=$(rss_kib "$pid")
    /usr/bin/python3 strangers.py "$address" >many &
    strangers=$!
    wait_for grep -q many many
    sleep "$(long_or 2 30)"
    after=$(rss_kib "$pid") || fail 'the job has ended'
    touch enough
    wait "$strangers"
    touch stop
    since_ms=$(now_ms)
    finish
    expect_status 0
    [[ $(grep -c 'all sums were right' "$out/stdout") -eq 3 ]] || fail 'not all came to the end'
    ((after - before <= 16 * 1024)) || fail "grew by $((after - before)) KiB"
    # At most one line a second, and none with control bytes.
    (($(grep -c '^dtrain: ' "$out/stderr") <= 60)) || fail 'too many complaints'
    if grep -qP '[\x00-\x08\x0e-\x1f]' "$out/stderr"; then fail 'noise in the log'; fi
  done
}

# Holds 200 connections that send nothing until the file `enough` exists. It replaces each closed
# connection, some 2000 times a second.
write_silent_strangers() {
  cat >silent.py <<'END'
import os, selectors, socket, sys
host, port = sys.argv[1].rsplit(":", 1)
waiting = selectors.DefaultSelector()
def dial():
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex((host, int(port)))
    waiting.register(s, selectors.EVENT_READ)
for _ in range(200):
    dial()
closed = 0
pause = selectors.DefaultSelector()
while not os.path.exists("enough"):
    for key, _ in waiting.select(0.01)[:20]:
        waiting.unregister(key.fileobj)
        key.fileobj.close()
        dial()
        closed += 1
        if closed == 200:
            print("flooded", flush=True)
    pause.select(0.01)
END
}

test_silent_strangers_do_not_keep_workers_from_joining() {
  write_silent_strangers
  start_dtrain run -np 3 sh -c 'echo "$DTRAIN_RENDEZVOUS" >up.$RANK; mv up.$RANK up; until [ -e flooded ]; do sleep 0.02; done; exec "$0" stop' "$worker"
  wait_for test -s up
  address=$(cat up)
  : >strangers
  /usr/bin/python3 silent.py "$address" >strangers &
  strangers=$!
  wait_for grep -q flooded strangers
  touch flooded
  wait_for stdout_has steady
  touch enough
  wait "$strangers"
  touch stop
  since_ms=$(now_ms)
  finish
  expect_status 0
  [[ $(grep -c 'all sums were right' "$out/stdout") -eq 3 ]] || fail 'not all came to the end'
  expect_stderr_contains 'rendezvous: closed the oldest of 131 unfinished handshakes, from 127.0.0.1'
  expect_no_processes
}

test_another_user_that_listens_on_a_held_port_ends_the_job() {
  ((EUID == 0)) || skip 'needs root to be another user'
  cat >squat.py <<'END'
import os, socket, sys, time
os.setuid(65534)
squatter = socket.socket()
squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
squatter.bind(("", int(sys.argv[1])))
squatter.listen()
time.sleep(60)
END
  start_dtrain run -np 2 --no-tag sh -c 'echo port=$MASTER_PORT; exec sleep 60'
  wait_for stdout_has port=
  port=$(sed -n 's/port=//p;q' "$out/stdout")
  /usr/bin/python3 squat.py "$port" &
  squatter=$!
  finish
  kill "$squatter"
  expect_status 3
  expect_stderr_contains "localhost: uid 65534, python3 (pid $squatter), listens on port $port, which is held for this job"
  expect_no_processes
}

test_many_jobs_leave_nothing_behind() { # R33
  ((EUID == 0)) || skip 'needs root for namespaces of its own'
  unshare --net --ipc --pid --mount --fork true 2>/dev/null || skip 'no namespaces here'
  if folder=$(cgroup_folder); then
    folder=$folder/dtrain-cycles-$$
    mkdir "$folder"
  fi
  cat >cycles.sh <<'END'
mount -t proc proc /proc
mount -t tmpfs none /dev/shm
mkdir own && mount -t tmpfs none own && export TMPDIR=$PWD/own
/usr/bin/python3 -c '
import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh", b"lo", 0x41)) # up'
[ -z "$4" ] || echo 0 >"$4/cgroup.procs"
world() { # prints the processes and the other resources of this test's namespaces
  processes=0 # counted by the shell itself: a program that counts would be one more process
  for each in /proc/[0-9]*; do processes=$((processes + 1)); done
  echo $processes
  find /dev/shm own . | sort
  [ -z "$4" ] || find "$4" -mindepth 1 -type d
  tail -n +2 /proc/net/tcp | awk '$4 == "0A"'
  grep -c dtrain /proc/net/unix
}
: >console >before >after
world "$@" >before
for i in $(seq "$2"); do
  "$1" run -np 4 --port-range 20000-20020 "$3" stop >console 2>&1 || { cat console; exit 1; }
  [ "$(grep -c "all sums were right" console)" -eq 4 ] || exit 1
done
world "$@" >after
diff before after
END
  touch stop
  run_timeout_s=600
  run unshare --net --ipc --pid --mount --fork sh cycles.sh "$DTRAIN" "$(long_or 20 1000)" "$worker" "$folder"
  [[ -z $folder ]] || rmdir "$folder"
  expect_status 0
  expect_stdout ''
}

run_tests "$@"
