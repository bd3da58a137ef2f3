#!/usr/bin/env bash
# The batch scripts of LSF and PBS, on their first host. Debian has neither: the tests set their variables, and blaunch
# is a stand-in, which enters the namespaces of its host.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# batch_up N: N hosts, without a key for ssh. The program "lsf" runs a command as the script of LSF's job 7, and "pbs"
# as that of PBS's job 8, on node1. The job has two slots there, and one on each other host.
batch_up() {
  local k pairs='node1 2'
  hosts_up "$1"
  printf '%s\n' node1 node1 >nodes
  for ((k = 2; k <= $1; ++k)); do
    pairs+=" node$k 1"
    echo "node$k" >>nodes
  done
  batch_program lsf LSB_JOBID=7 "'LSB_MCPU_HOSTS=$pairs'"
  batch_program pbs PBS_JOBID=8 "PBS_NODEFILE=$PWD/nodes"
}

batch_program() {
  printf '%s\n' '#!/bin/bash' \
    "exec nsenter --target $(cat "$out/net/node1/sshd.pid") --mount --uts --net env -C $PWD ${*:2} HOME=/root PATH=$PWD/bin:\$PATH \"\$@\"" >"$1"
  chmod +x "$1"
}

# blaunch HOST WORD…, as LSF's: it passes its input and output, and a shell of the host gets the words.
make_blaunch() {
  mkdir bin
  cat >bin/blaunch <<SCRIPT
#!/bin/sh
read -r pid <"$out/net/\$1/sshd.pid" || exit 255
[ "\$1" != "\$(cat broken 2>/dev/null)" ] || { echo "\$1: no route to RES" >&2; exit 255; }
shift
exec nsenter --target "\$pid" --mount --uts --net /bin/sh -c "\$*"
SCRIPT
  chmod +x bin/blaunch
}

# The script's host has a key for the others, and knows theirs.
make_key() {
  cp "$(launcher_home)/.ssh/id_ed25519" "$(launcher_home)/.ssh/known_hosts" "$(home_of 1)/.ssh/"
}

# Ranks that print each signal, and end a second after SIGUSR1 or SIGUSR2.
signalled_command() {
  cat >signalled.py <<'PYTHON'
import signal, time
end = []
def received(number, _):
    print(signal.Signals(number).name, flush=True)
    end.append(time.monotonic() + 1)
signal.signal(signal.SIGUSR1, received)
signal.signal(signal.SIGUSR2, received)
print("began", flush=True)
while not end or time.monotonic() < end[0]:
    time.sleep(0.02)
PYTHON
  echo python3 "$PWD/signalled.py"
}
ranks_began() { [[ $(grep -c began "$out/stdout") -eq $1 ]]; }

# Signals all of the job on the script's host, as a scheduler may do, and not only the script.
signal_first_host() {
  local process receivers=()
  since_ms=$(now_ms)
  for process in $(ip netns pids "$net-1"); do
    [[ $(cat "/proc/$process/comm" 2>/dev/null) == sshd ]] || receivers+=("$process")
  done
  # One call: it fails only where no process is left, and the first signal may end others.
  kill -s "$1" "${receivers[@]}"
}

# expect_signals_to_reach_workers PROGRAM SENDER: with a rank on each of two hosts. SENDER NAME sends a signal.
expect_signals_to_reach_workers() {
  local name rank command
  command=$(signalled_command)
  for name in USR1 USR2; do
    # shellcheck disable=SC2086  # words
    start "$1" "$DTRAIN" run --map-by node -np 2 $command
    wait_for ranks_began 2
    "$2" "$name"
    finish
    expect_status 0
    for rank in 0 1; do expect_stdout_contains "[$rank]<stdout>:SIG$name"; done
    expect_no_processes
  done
  # shellcheck disable=SC2086
  start "$1" "$DTRAIN" run --map-by node -np 2 $command
  wait_for ranks_began 2
  "$2" TERM
  finish
  expect_status 143
  expect_stderr_contains 'dtrain: interrupted by SIGTERM'
  expect_no_processes
}

test_blaunch_starts_the_agents_of_an_lsf_job() {
  batch_up 3
  make_blaunch
  # shellcheck disable=SC2016  # the workers' shell expands it
  run ./lsf "$DTRAIN" run --no-tag sh -c 'echo $RANK at $(hostname)'
  expect_status 0
  expect_stdout_lines '0 at node1' '1 at node1' '2 at node2' '3 at node3'
  expect_stderr 'dtrain: LSF job 7: node[1-3], 4 slots'
  run ./lsf "$DTRAIN" check
  expect_status 0
  expect_stdout_contains "blaunch (the scheduler's program)"
  expect_no_processes
}

test_a_way_that_the_user_gives_replaces_blaunch() {
  batch_up 2
  make_blaunch
  make_key
  echo node2 >broken
  run ./lsf "$DTRAIN" run --ssh openssh --no-tag hostname
  expect_status 0
  expect_stdout_lines node1 node1 node2
  mv bin/blaunch other
  sed -i 's/^\[.*/touch used/' other
  run ./lsf "$DTRAIN" run --rsh-agent ./other --no-tag hostname
  expect_status 0
  expect_stdout_lines node1 node1 node2
  expect test -e used
  expect_stderr 'dtrain: LSF job 7: node[1-2], 3 slots'
  expect_no_processes
}

test_without_blaunch_agents_start_over_ssh() {
  batch_up 2
  make_key
  run ./lsf "$DTRAIN" run --no-tag hostname
  expect_status 0
  expect_stdout_lines node1 node1 node2
  expect_stderr_lines 'dtrain: LSF job 7: node[1-2], 3 slots' \
    'dtrain: blaunch is not in PATH, so that agents start over ssh'
  # A job on this host needs neither.
  run ./lsf "$DTRAIN" run -np 2 --no-tag hostname
  expect_status 0
  expect_stderr_lacks blaunch
  expect_no_processes
}

test_a_host_on_which_blaunch_fails_is_named_with_its_message() {
  batch_up 3
  make_blaunch
  echo node3 >broken
  run ./lsf "$DTRAIN" run touch started
  expect_status 3
  expect_stderr_contains 'dtrain: node3: node3: no route to RES (its process ended: exit status 255)'
  expect_not test -e started
  expect_no_processes
}

test_bkill_reaches_the_workers_of_an_lsf_job() {
  batch_up 2
  make_blaunch
  expect_signals_to_reach_workers ./lsf signal
}

test_a_pbs_job_starts_its_agents_over_ssh() {
  batch_up 3
  make_key
  # shellcheck disable=SC2016
  run ./pbs "$DTRAIN" run --no-tag sh -c 'echo $RANK at $(hostname)'
  expect_status 0
  expect_stdout_lines '0 at node1' '1 at node1' '2 at node2' '3 at node3'
  expect_stderr 'dtrain: PBS job 8: node[1-3], 4 slots'
  expect_no_processes
}

test_qdel_and_qsig_reach_the_workers_of_a_pbs_job() {
  batch_up 2
  make_key
  expect_signals_to_reach_workers ./pbs signal
  expect_signals_to_reach_workers ./pbs signal_first_host
}

run_tests "$@"
