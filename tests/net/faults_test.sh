#!/usr/bin/env bash
# When a launcher, an agent or a connection dies, nothing is left on any host.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# Prints "up", and leaves processes behind that are in no process group or session of the job. One of them
# ignores TERM.
stray_script='(setsid sh -c "trap \"\" TERM; while :; do sleep 60; done" &); (sleep 60 &); echo up; exec sleep 60'
start_strays_on() {
  start_on_launcher "$DTRAIN" run --dead-after 2s -H "$1" sh -c "$stray_script"
  wait_for stdout_has "[${2-1}]<stdout>:up"
}

no_agent_on() { [[ -z $(agent_on "$1") ]]; }
all_up() {
  local rank
  for ((rank = 0; rank < $1; ++rank)); do stdout_has "[$rank]<stdout>:up" || return 1; done
}

test_a_killed_launcher_leaves_nothing_on_any_host() { # F1 R1
  hosts_up 4
  local k
  for k in 1 2 3 4; do
    host_setup $k "$(private_tmp mode=1777); mount -t tmpfs shm /dev/shm; mkdir -p /root/run"
    host_variable $k XDG_RUNTIME_DIR=/root/run
  done
  for ((k = 0; k < $(long_or 1 50); ++k)); do
    start_on_launcher "$DTRAIN" run -H node1:4,node2:4,node3:4,node4:4 sh -c "$stray_script"
    wait_for all_up 16
    signal KILL
    expect_no_processes
  done
  for k in 1 2 3 4; do
    expect test "$(on_host $k find /dev/shm /root/run /tmp -mindepth 1 -maxdepth 1)" = "/tmp/$(basename "${out%/*/*}")"
    expect test "$(on_host $k find /root -name 'dtrain*' -type f)" = "/root/.cache/dtrain/$(sha256sum <"$DTRAIN" | cut -c-64)/dtrain"
  done
}

test_a_killed_ssh_client_leaves_nothing_on_its_host() { # F3
  hosts_up 2
  DTRAIN_OPT_SSH=openssh start_strays_on node1:1,node2:1
  kill -KILL "$(pgrep -P "$pid" -x ssh | tail -n 1)"
  finish
  expect_status 3
  expect_stderr_contains 'agent on node'
  expect_no_processes
}

test_a_black_hole_names_the_host_and_leaves_nothing() { # F4 R4
  hosts_up 2
  local n
  for ((n = 0; n < $(long_or 1 20); ++n)); do
    start_on_launcher "$DTRAIN" run --dead-after "$(long_or 2s 5s)" -H node1:1,node2:1 sh -c "$stray_script"
    wait_for all_up 2
    cut_cable 2
    wait_for stderr_has "agent on node2 lost: no heartbeat for $(long_or 2s 5s)"
    finish
    expect_status 3
    expect_no_processes
    mend_cable 2
  done
}

test_a_reset_connection_ends_the_job_and_leaves_nothing() { # F3 R5
  hosts_up 2
  local n
  for ((n = 0; n < $(long_or 1 50); ++n)); do
    start_strays_on node1:1,node2:1
    drop_on 2 -p tcp --dport 22 -j REJECT --reject-with tcp-reset
    # The next heartbeat meets it, a second later at most.
    wait_for stderr_has 'agent on node2 lost'
    finish
    expect_status 3
    expect_no_processes
    ip netns exec "$net-2" iptables -F
  done
}

# The keeper of a killed agent ends the processes in the cgroup of its tasks, and removes the cgroup.
test_the_processes_of_a_killed_agent_end_with_it() { # F2 R2 F24
  hosts_up 2
  host_setup 1 'mount -t tmpfs cgroups /sys/fs/cgroup; mkdir /sys/fs/cgroup/unified
    mount -t cgroup2 unified /sys/fs/cgroup/unified || true'
  local n
  for ((n = 0; n < $(long_or 1 25); ++n)); do
    kill_agent_on 1
    kill_agent_on 2
  done
}

kill_agent_on() {
  local agent
  start_strays_on node1:1,node2:1
  agent=$(agent_on "$1")
  kill -KILL "$agent"
  wait_for stderr_has "agent on node$1 lost: killed by SIGKILL"
  finish
  expect_status 3
  expect_no_processes
  expect test -z "$(find /sys/fs/cgroup -name "dtrain-tasks-$agent")"
}

test_an_agent_whose_keeper_is_killed_ends_everything_itself() {
  hosts_up 2
  start_strays_on node1:1,node2:1
  kill -KILL "$(keeper_on 2)"
  finish
  expect_status 3
  expect_stderr_contains 'agent on node2 lost: '
  expect_no_processes
}

test_the_processes_of_an_agent_that_stays_stopped_end_too() { # F33
  hosts_up 2
  start_strays_on node1:1,node2:1
  kill -STOP "$(agent_on 2)"
  finish
  expect_status 3
  expect_stderr_contains 'agent on node2 lost: no heartbeat for 2s'
  wait_for no_agent_on 2
  expect_no_processes
}

test_an_agent_that_receives_nothing_reports_it() {
  hosts_up 1
  cat >"$out/rsh" <<EOF
#!/usr/bin/env python3
import os, select, subprocess, sys
sshd = open(f"$out/net/{sys.argv[1]}/sshd.pid").read().strip()
child = subprocess.Popen(["nsenter", "--target", sshd, "--mount", "--uts", "--net", *sys.argv[2:]], stdin=subprocess.PIPE)
# This stdin may not block: the agent shares the other end, and sets O_NONBLOCK on it.
while select.select([0], [], []) and (data := os.read(0, 65536)):
    if not os.path.exists("$out/deaf"):
        child.stdin.write(data)
        child.stdin.flush()
child.stdin.close()
sys.exit(child.wait())
EOF
  chmod +x "$out/rsh"
  start_on_launcher "$DTRAIN" run --rsh-agent "$out/rsh" --dead-after 2s -H node1:1 sh -c "$stray_script"
  wait_for stdout_has '[0]<stdout>:up'
  : >"$out/deaf"
  finish
  expect_status 3
  expect_stderr_contains 'agent on node1 lost: nothing from here reached it for too long; see --dead-after'
  expect_no_processes
}

test_an_oom_kill_on_a_host_is_named_as_such() { # F8 R16
  [[ -w /sys/fs/cgroup/memory/cgroup.procs ]] || skip 'no writable memory cgroup (v1) here'
  hosts_up 2
  local group=/sys/fs/cgroup/memory/dtrain-net-$$
  mkdir "$group"
  echo 96M >"$group/memory.limit_in_bytes"
  host_setup 2 'mount -t tmpfs cgroups /sys/fs/cgroup && mkdir /sys/fs/cgroup/memory &&
    mount -t cgroup -o memory memory /sys/fs/cgroup/memory'
  cat "$out/net/node2/sshd.pid" >"$group/cgroup.procs"
  run_on_launcher "$DTRAIN" run -H node1:1,node2:1 /usr/bin/python3 -c 'import os, time
if os.environ["RANK"] == "1": x = bytearray(300 << 20)
time.sleep(60)'
  hosts_down
  wait_for rmdir "$group"
  expect_status 137
  expect_stderr_contains "rank 1 (host node2, pid "
  expect_stderr_contains "failed: killed by SIGKILL (the kernel's OOM killer"
}

run_tests "$@"
