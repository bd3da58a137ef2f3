#!/usr/bin/env bash
# Faults of jobs in allocations of Slurm.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$(dirname "$0")/../net/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# Starts a job whose ranks run until the file `go` appears, on as many nodes, with further options of sbatch.
start_long_batch() {
  start_batch -N"$1" -n"$1" "${@:2}" <<<"exec $(long_command)"
  wait_for ranks_began "$1"
}
long_command() { echo "$DTRAIN run $* sh -c 'echo began; until test -e $PWD/go; do sleep 0.1; done; echo ended'"; }
no_process_on() { [[ -z $(processes_on "$@") ]]; }
ranks_began() { (expect_lines_with "$1" began) >/dev/null; }

test_the_end_of_srun_does_not_end_the_job() {
  slurm_up 2
  start_long_batch 2
  # The group, at once: a second process of srun cancels the step when the first one is killed alone.
  kill -KILL -- "-$(ps -o pgid= -p "$(processes_on 1 srun | head -n 1)" | tr -d ' ')"
  wait_for no_process_on 1 srun
  touch go
  finish_batch
  expect_status 0
  expect_lines_with 2 ended
  expect_no_processes
}

test_a_killed_launcher_leaves_no_process_on_any_node() {
  slurm_up 2
  start_long_batch 2
  kill -KILL "$(processes_on 1 dtrain)"
  finish_batch
  expect_no_processes
}

test_a_killed_launcher_of_salloc_leaves_no_process_while_the_allocation_stays() {
  slurm_up 2
  start_on_login salloc -N2 -n2 sh -c "$(long_command); echo left; until test -e go; do sleep 0.1; done"
  wait_for ranks_began 2
  kill -KILL "$(processes_on l dtrain)"
  wait_for stdout_has left
  wait_for no_process_on 1 dtrain-agent
  wait_for no_process_on 2 dtrain-agent
  wait_for no_process_on l srun
  touch go
  finish
  expect_no_processes
}

test_a_lost_agent_is_a_lost_host() {
  slurm_up 3
  start_long_batch 3
  kill -KILL "$(agent_on 2)"
  finish_batch
  expect_status 3
  expect_stderr_contains 'agent on n2 lost: '
  expect_no_processes
}

test_a_node_without_ranks_takes_the_place_of_a_lost_one() {
  slurm_up 3
  start_batch -N3 -n3 <<<"exec $(long_command -np 2 --max-restarts 1)"
  wait_for ranks_began 2
  kill -KILL "$(agent_on 2)"
  wait_for ranks_began 4
  touch go
  finish_batch
  expect_status 0
  expect_stderr_contains 'restart 1 of 1: agent on n2 lost: '
  expect_stderr_contains '; 2 ranks on n1, n3 (spare)'
  expect_no_processes
}

test_a_node_above_the_most_ranks_takes_the_place_of_a_lost_one() {
  slurm_up 3
  start_batch -N3 --ntasks-per-node=2 <<<"exec $(long_command --max-np 4 --max-restarts 1)"
  wait_for ranks_began 4
  kill -KILL "$(agent_on 2)"
  wait_for ranks_began 8
  touch go
  finish_batch
  expect_status 0
  expect_stderr_contains 'restart 1 of 1: agent on n2 lost: '
  expect_stderr_contains 'going on with 4 ranks on n[1,3]'
  expect_stderr_lacks 'waiting for '
  expect_no_processes
}

# A lost node does not return, so that no time is lost on it.
test_a_lost_node_makes_the_job_smaller_at_once() {
  slurm_up 3
  start_batch -N3 -n3 <<<"exec $(long_command --min-np 2 --max-restarts 1)"
  wait_for ranks_began 3
  kill -KILL "$(agent_on 2)"
  wait_for ranks_began 5
  touch go
  finish_batch
  expect_status 0
  expect_stderr_contains 'going on with 2 ranks on n[1,3]'
  expect_stderr_lacks 'waiting for '
  expect_no_processes
}

test_without_a_spare_a_lost_node_ends_the_job_at_once() {
  slurm_up 2
  start_batch -N2 -n2 <<<"exec $(long_command --max-restarts 1)"
  wait_for ranks_began 2
  kill -KILL "$(agent_on 2)"
  finish_batch
  expect_status 3
  expect_stderr_contains 'the job cannot start again: n2: '
  expect_stderr_lacks 'waiting for '
  expect_no_processes
}

# killed_or_lost HOST: stderr names the host for its rank or for its agent.
killed_or_lost() { stderr_has "(host $1, " || stderr_has "agent on $1 lost: "; }

test_a_node_that_is_set_down_ends_the_job_unless_it_has_no_kill() {
  slurm_up 3
  start_long_batch 3 --no-requeue
  on_login scontrol update NodeName=n2 State=DOWN Reason=test
  finish_batch
  expect_contains job 'JobState=NODE_FAIL'
  expect_no_processes
  on_login scontrol update NodeName=n2 State=IDLE
  wait_for nodes_are_idle
  start_long_batch 3 --no-kill
  on_login scontrol update NodeName=n2 State=DOWN Reason=test
  # Slurm kills its tasks on n2 only, in any order.
  finish_batch
  expect killed_or_lost n2
  expect_no_processes
}

test_a_host_whose_cable_is_cut_is_named() {
  slurm_up 3
  start_long_batch 3
  cut_cable 2
  wait_for stderr_has 'agent on n2 lost: no heartbeat for 5s'
  # The workers there end without the launcher.
  wait_for no_process_on 2 dtrain-agent
  mend_cable 2
  finish_batch
  expect_status 3
  expect_no_processes
}

test_agents_whose_launcher_was_killed_before_they_started_leave_nothing() {
  slurm_up 2
  mkdir bin
  printf '%s\n' '#!/bin/sh' "touch $PWD/waits; until test -e $PWD/go; do sleep 0.1; done" \
    "$(command -v srun) \"\$@\"; touch $PWD/srun_ended" >bin/srun
  chmod +x bin/srun
  start_on_login salloc -N2 -n2 sh -c "PATH=$PWD/bin:\$PATH $DTRAIN run true; until test -e srun_ended; do sleep 0.1; done"
  wait_for test -e waits
  kill -KILL "$(processes_on l dtrain)"
  touch go
  # The step begins, and its agents find no launcher.
  finish
  expect_no_processes
}

# Ranks that end two seconds after SIGTERM. Each SIGTERM is a line.
start_stopping_batch() {
  cat >stop.py <<'PYTHON'
import os, signal, time
end = []
signal.signal(signal.SIGTERM, lambda *_: (print("stop", flush=True), end.append(time.monotonic() + 2)))
print("began", flush=True)
while not end or time.monotonic() < end[0]:
    time.sleep(0.02)
os._exit(9)
PYTHON
  start_batch -N2 -n2 <<<"exec $DTRAIN run --restart-role worker=3 python3 $PWD/stop.py"
  wait_for ranks_began 2
}
expect_job_interrupted() {
  expect_status 143
  expect_stderr_contains 'dtrain: interrupted by SIGTERM'
  expect_stderr_lacks 'exit status 9'
  expect_stderr_lacks ' lost'
  expect_stderr_lacks 'restart 1'
  expect_every_rank 2 stop
  expect_no_processes
}
# On a busy machine, Slurm may need so long from host to host that a rank gets a signal twice.
expect_every_rank() {
  local rank
  for ((rank = 0; rank < $1; ++rank)); do expect_contains stdout "[$rank]<stdout>:$2"; done
}

test_scancel_interrupts_the_job() {
  slurm_up 2
  start_stopping_batch
  on_login scancel "$job"
  finish_batch
  expect_contains job 'JobState=CANCELLED'
  expect_job_interrupted
}

test_scancel_of_workers_that_end_at_once_names_no_failed_rank() {
  slurm_up 2
  start_batch -N2 -n2 <<<"exec $DTRAIN run --restart-role worker=3 sh -c 'echo began; exec sleep 600'"
  wait_for ranks_began 2
  on_login scancel "$job"
  finish_batch
  expect_status 143
  expect_stderr_contains 'dtrain: interrupted by SIGTERM'
  expect_stderr_lacks 'rank '
  expect_no_processes
}

test_a_stop_of_the_step_alone_interrupts_the_job_too() {
  slurm_up 2
  start_stopping_batch
  on_login scancel --signal=TERM "$job"
  finish_batch
  expect_job_interrupted
  # n1 got it from the launcher, and n2 from Slurm, after whose report no second one is due.
  expect_lines_with 2 stop
}

# Ranks that end well one second after SIGUSR1. Each SIGUSR1 is a line.
checkpointing_command() {
  cat >checkpoint.py <<'PYTHON'
import signal, time
end = []
signal.signal(signal.SIGUSR1, lambda *_: (print("checkpoint", flush=True), end.append(time.monotonic() + 1)))
print("began", flush=True)
while not end or time.monotonic() < end[0]:
    time.sleep(0.02)
PYTHON
  echo "$DTRAIN run python3 $PWD/checkpoint.py"
}

# Slurm sends it up to a minute earlier than asked, perhaps before the ranks are there. scancel sends
# the same at once.
test_a_signal_before_the_time_limit_reaches_all_ranks() {
  local batch
  slurm_up 3
  for batch in '' --batch; do
    start_batch -N3 -n3 <<<"exec $(checkpointing_command)"
    wait_for ranks_began 3
    on_login scancel --signal=USR1 ${batch:+"$batch"} "$job"
    finish_batch
    expect_status 0
    expect_every_rank 3 checkpoint
    expect_stderr_lacks '--signal'
    expect_no_processes
  done
}

test_a_signal_before_the_time_limit_reaches_one_node_by_the_batch_script() {
  slurm_up 1
  start_batch -N1 -n1 <<<"exec $(checkpointing_command)"
  wait_for ranks_began 1
  # Slurm signals steps, and there is none.
  on_login scancel --signal=USR2 "$job"
  on_login scancel --signal=USR1 --batch "$job"
  finish_batch
  expect_status 0
  expect_lines_with 1 checkpoint
  expect_stderr_contains 'reaches a job of one node only by B:'
  expect_no_processes
}

# Slurm kills the processes of a step that is cancelled alone, so that its agents cannot report it.
test_a_cancelled_step_is_a_lost_host() {
  slurm_up 2
  start_long_batch 2
  on_login scancel "$job.0"
  finish_batch
  # An agent may report the death of its task before it is killed itself.
  if [[ $status != 137 ]]; then
    expect_status 3
    expect_stderr_contains 'agent on n2 lost: '
  fi
  expect_no_processes
}

test_srun_that_fails_is_shown_with_its_last_lines() {
  slurm_up 2
  mkdir bin
  printf '%s\n' '#!/bin/sh' 'echo "srun: error: no such luck" >&2; exit 1' >bin/srun
  chmod +x bin/srun
  run_batch -N2 -n2 <<<"PATH=$PWD/bin:\$PATH exec $DTRAIN run true"
  expect_status 3
  expect_stderr_contains 'n2: srun ended before its agent had connected: exit status 1: srun: error: no such luck'
  expect_no_processes
}

test_without_srun_agents_start_over_ssh() {
  slurm_up 2
  run_batch -N2 -n2 <<<"PATH=/nowhere exec $DTRAIN run true"
  expect_status 3
  expect_stderr_contains 'srun is not in PATH, so that agents start over ssh'
  expect_stderr_contains 'n2: cannot connect to 10.77.0.2:22: Connection refused'
  expect_no_processes
}

# Runs a command of `dtrain run` in a batch job of whose nodes only the first sees dtrain at this path.
run_batch_with_dtrain_on_n1() {
  touch dtrain
  run_batch "${@:1:$#-1}" <<<"exec unshare --mount sh -c 'mount --bind $DTRAIN $PWD/dtrain && ${*: -1}'"
}

test_an_executable_that_nodes_lack_travels_by_sbcast() {
  slurm_gpus 4
  slurm_up 3
  local run="HOME=/root TMPDIR=$node_folder exec $PWD/dtrain run"
  # n3 gets no agent. Its copy is removed, too.
  run_batch_with_dtrain_on_n1 -N3 -n3 "$run -np 2 hostname"
  expect_status 0
  expect_stdout_lines '[0]<stdout>:n1' '[1]<stdout>:n2'
  expect_no_processes
  expect_node_folders_empty 3
  run_batch_with_dtrain_on_n1 -N1 -n1 : -N2 -n2 "$run hostname"
  expect_status 0
  expect_stdout_lines '[0]<stdout>:n1' '[1]<stdout>:n2' '[2]<stdout>:n3'
  expect_no_processes
  run_batch_with_dtrain_on_n1 -N3 -n3 --gpus=6 "$run hostname"
  expect_status 0
  expect_stdout_lines '[0]<stdout>:n1' '[1]<stdout>:n2' '[2]<stdout>:n3'
  expect_no_processes
  expect_node_folders_empty 3
  # n2 has kept a copy of an earlier start.
  local kept
  kept=$cluster/own/n2/.cache/dtrain/$(sha256sum <"$DTRAIN" | cut -d' ' -f1)
  mkdir -p "$kept"
  cp "$DTRAIN" "$kept/dtrain"
  run_batch_with_dtrain_on_n1 -N3 -n3 "HOME=$node_folder TMPDIR=$node_folder exec $PWD/dtrain run hostname"
  expect_status 0
  expect_stdout_lines '[0]<stdout>:n1' '[1]<stdout>:n2' '[2]<stdout>:n3'
  expect_no_processes
}

# A busy controller may know the end of a step long after its tasks. Here, the task that names its host runs on.
test_a_copy_does_not_wait_for_the_end_of_the_step_before() {
  local options
  slurm_gpus 4
  slurm_up 2
  mkdir bin
  cat >bin/srun <<SRUN
#!/bin/bash
test ! -e order || exec $(command -v srun) "\$@"
cat >order
$(command -v srun) "\${@/exit; \}/sleep 600; \}}" <order >lacking 2>/dev/null &
until grep -qs n2 lacking; do sleep 0.1; done
cat lacking
SRUN
  chmod +x bin/srun
  for options in '' '--gpus-per-node=2 --mem=500'; do
    rm -f order lacking
    # shellcheck disable=SC2086  # one word an option
    run_batch_with_dtrain_on_n1 -N2 -n2 $options "PATH=$PWD/bin:\$PATH TMPDIR=$node_folder exec $PWD/dtrain run hostname"
    expect_status 0
    expect_stdout_lines '[0]<stdout>:n1' '[1]<stdout>:n2'
    expect_no_processes
    expect_node_folders_empty 2
  done
}

test_a_copy_that_is_not_the_executable_is_not_run() {
  slurm_up 2
  mkdir bin
  printf '%s\n' '#!/bin/sh' "touch $PWD/ran" >other
  printf '%s\n' '#!/bin/sh' "exec $(command -v sbcast) $PWD/other \"\$2\"" >bin/sbcast
  chmod +x bin/sbcast
  run_batch_with_dtrain_on_n1 -N2 -n2 "PATH=$PWD/bin:\$PATH TMPDIR=$node_folder exec $PWD/dtrain run true"
  expect_status 3
  expect_stderr_contains "dtrain: n2: no copy of this dtrain at $PWD/dtrain; install dtrain in a folder that all hosts share"
  expect_stderr_contains 'another file'
  expect_not test -e ran
  expect_no_processes
  expect_node_folders_empty 2
}

test_a_node_to_which_nothing_can_be_copied_is_named_with_the_remedy() {
  slurm_up 2
  run_batch_with_dtrain_on_n1 -N2 -n2 "TMPDIR=/dev/null exec $PWD/dtrain run true"
  expect_status 3
  expect_stderr_contains "dtrain: n2: no copy of this dtrain at $PWD/dtrain; install dtrain in a folder that all hosts share"
  expect_stderr_contains 'Not a directory'
  expect_no_processes
  # It is enough that the host has kept a copy of an earlier start.
  local kept
  kept=$cluster/home/.cache/dtrain/$(sha256sum <"$DTRAIN" | cut -d' ' -f1)
  mkdir -p "$kept"
  cp "$DTRAIN" "$kept/dtrain"
  run_batch_with_dtrain_on_n1 -N2 -n2 "HOME=/root TMPDIR=/dev/null exec $PWD/dtrain run hostname"
  expect_status 0
  expect_stdout_lines '[0]<stdout>:n1' '[1]<stdout>:n2'
  expect_no_processes
}

test_a_step_that_does_not_begin_is_reported_with_its_reason() {
  slurm_up 2
  run_batch -N2 -n2 <<<"srun -N2 -n2 sh -c 'touch $PWD/busy; sleep 600' & until test -e busy; do sleep 0.1; done
    exec $DTRAIN run true"
  expect_status 3
  expect_stderr_contains 'n2: srun ended before its agent had connected: exit status 1: '
  expect_stderr_contains 'Requested nodes are busy; another step holds what the job has there: wait for its end, or '
  expect_no_processes
}

# Slurm stops all processes of a job at the same time. The agent answers the launcher's pause before or after it.
test_a_suspended_and_resumed_job_runs_on() {
  local agent answer launcher
  slurm_up 2
  start_long_batch 2
  agent=$(agent_on 2)
  launcher=$(processes_on 1 dtrain)
  for answer in before after; do
    if [[ $answer == after ]]; then kill -STOP "$agent"; fi
    on_login scontrol suspend "$job"
    wait_for states_are T "$launcher" "$agent"
    sleep 6 # longer than the lease
    states_are T "$launcher" "$agent" || fail 'it runs while the job is suspended'
    on_login scontrol resume "$job"
    wait_for states_are '[RSD]' "$launcher" "$agent"
  done
  touch go
  finish_batch
  expect_status 0
  expect_lines_with 2 ended
  expect_stderr_lacks lost
  expect_no_processes
}

# Holds 200 connections to the agents' port, and replaces the closed ones until the port is closed.
write_strangers() {
  cat >strangers.py <<'PYTHON'
import json, selectors, socket, time
addresses = json.load(open("order"))["addresses"]
address = next(address for address in addresses if address.startswith("10.77.")).split(":")
# Silence, one byte, half a claim.
begun = [b"", b"d", b"dtrain\n\x03\x50" + bytes(40)]
waiting = selectors.DefaultSelector()
def dial(number):
    connection = socket.create_connection(address)
    connection.sendall(begun[number % 3])
    waiting.register(connection, selectors.EVENT_READ, number)
closed = 0
try:
    for number in range(200):
        dial(number)
    while True:
        for key, _ in waiting.select()[:20]:
            waiting.unregister(key.fileobj)
            key.fileobj.close()
            closed += 1
            if closed == 200:
                print("many", flush=True)
            dial(key.data)
        time.sleep(0.01)
except (ConnectionRefusedError, ConnectionResetError, BrokenPipeError):
    print("refused")
PYTHON
}

test_strangers_at_the_agents_port_change_nothing() {
  slurm_up 3
  write_strangers
  mkdir bin
  printf '%s\n' '#!/bin/sh' "cat >$PWD/order.new; mv $PWD/order.new $PWD/order" \
    "until test -e $PWD/flooded; do sleep 0.1; done" "exec $(command -v srun) \"\$@\" <$PWD/order" >bin/srun
  chmod +x bin/srun
  start_batch -N3 -n3 <<<"PATH=$PWD/bin:\$PATH exec $(long_command)"
  wait_for test -e order
  # An agent with another token.
  sed -E 's/("token":")[0-9a-f]{8}/\100000000/' order >forged
  expect_not in_namespace 2 n2 env SLURMD_NODENAME=n2 "$DTRAIN" agent dial SLURMD_NODENAME <forged
  wait_for stderr_has 'port of the agents: authentication failed from 10.77.0.2: '
  in_namespace 2 n2 python3 strangers.py >strangers &
  wait_for grep -q many strangers
  wait_for stderr_has 'port of the agents: closed the oldest of 132 unfinished handshakes, from 10.77.0.2'
  touch flooded
  wait_for ranks_began 3
  wait_for grep -q refused strangers
  touch go
  finish_batch
  expect_status 0
  expect_lines_with 3 ended
  expect_no_processes
}

run_tests "$@"
