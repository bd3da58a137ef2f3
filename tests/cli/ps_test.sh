#!/usr/bin/env bash
# Parameter servers: modes, faults, checkpoints, and wrong use.
. "$(dirname "$0")/lib.sh"

worker=$(dirname "$DTRAIN")/tests/programs/ps_worker

# Runs workers with dtrain's own servers: run_ps SERVERS WORKERS [option of dtrain run …] -- words of ps_worker
run_ps() {
  local servers=$1 workers=$2
  shift 2
  local options=()
  while [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  shift
  run_dtrain run --role "ps=$servers,worker=$workers" --strategy parameter_server --no-tag "${options[@]}" "$worker" "$@"
}

test_the_process_of_a_server_has_a_name() {
  start_dtrain run --role ps=1,worker=1 --strategy parameter_server --no-tag \
    --role-command "ps=sh -c 'echo \$\$ >ps.pid; exec \"$DTRAIN\" ps'" sleep 30
  wait_for sh -c 'grep -qx dtrain-ps "/proc/$(cat ps.pid)/comm"'
  signal INT
  finish
}

test_asynchronous_pushes_of_all_workers_count() {
  run_ps 2 3 -- 20 async 0
  expect_status 0
  expect_stderr ''
  local index
  for index in 0 1 2; do
    expect_stdout_contains "worker $index: w = 60 60, step 60, own pushes 20, stale 0"
  done
  expect_no_processes
}

test_synchronous_steps_average_the_gradients() {
  run_ps 2 3 -- 20 sync 0
  expect_status 0
  expect_stdout_contains 'worker 1: w = 20 20, step 20, own pushes 20, stale 0'
  expect_no_processes
}

test_with_bounded_staleness_all_pushes_count() {
  run_ps 1 3 -- 20 bounded 2
  expect_status 0
  expect_stdout_contains 'worker 2: w = 60 60, step 60, own pushes 20, stale 0'
}

test_the_server_ends_with_the_job_and_has_completed() {
  run_ps 1 2 --report report.json -- 5 async 0
  expect_status 0
  expect test "$(grep -c '"completed": true' report.json)" = 3
  expect_no_processes
}

test_large_variables_are_divided_over_the_servers() {
  run_ps 3 1 -- 3 async 0 size=1000000
  expect_status 0
  expect_stdout_contains 'worker 0: w = 3 3, step 3'
}

# Prints how many processes of the job have mapped memory that libdtrain shares.
sharing() {
  local process count=0
  for process in $(marked_pids); do
    ! grep -qs memfd:dtrain "/proc/$process/maps" || count=$((count + 1))
  done
  echo $count
}

test_a_server_and_a_worker_of_its_host_share_memory() {
  (($(nproc) > 1)) || skip 'each task needs a core'
  local transport users
  for transport in auto tcp; do
    start_dtrain run --role ps=1,worker=1 --strategy parameter_server --transport $transport --no-tag \
      "$worker" 20 async 0 "until=go.$transport:10"
    wait_for stdout_has 'worker 0: step 10'
    users=$(sharing)
    : >"go.$transport"
    finish
    expect_status 0
    expect_stdout_contains 'worker 0: w = 20 20, step 20, own pushes 20, stale 0'
    if [[ $transport == auto ]]; then expect test "$users" = 2; else expect test "$users" = 0; fi
  done
}

test_a_dead_worker_is_dropped_and_asynchronous_training_succeeds_without_it() {
  run_ps 2 3 --ps-mode async --report report.json -- 30 async 0 kill=1:10
  expect_status 0
  expect_stderr_contains 'rank 1 (host localhost'
  expect_stderr_contains 'killed by SIGKILL; the training goes on without it'
  expect_stdout_contains 'worker 0: w = 70 70, step 70, own pushes 30, stale 0'
  expect_stdout_contains 'worker 2: w = 70 70, step 70'
  expect test "$(grep -c '"completed": true' report.json)" = 4
  expect test "$(grep -c '"completed": false' report.json)" = 1
  expect_no_processes
}

test_a_worker_to_spare_lets_synchronous_training_succeed() {
  run_ps 1 2 --ps-mode sync:1 -- 30 sync 1 kill=1:3
  expect_status 0
  expect_stderr_contains 'the training goes on without it'
  expect_stdout_contains 'worker 0: w = '
  expect_stdout_lacks 'error'
  expect_no_processes
}

test_the_last_worker_ends_its_steps_alone() {
  run_ps 1 3 --ps-mode sync:2 --report report.json -- 30 sync 2
  expect_status 0
  expect_stderr ''
  for worker in 0 1 2; do expect_stdout_contains "worker $worker: w = "; done
  expect test "$(grep -c '"completed": true' report.json)" = 4
}

test_rank_0_is_missed_although_the_training_goes_on() {
  run_ps 2 3 --ps-mode async --report report.json -- 30 async 0 kill=0:10
  expect_status 137
  expect_stderr_contains 'dtrain: warning: the training goes on without rank 0; the exit status will be 137'
  expect_stderr_contains 'killed by SIGKILL'
  expect_stdout_contains 'worker 1: w = 70 70, step 70, own pushes 30, stale 0'
  expect_stdout_contains 'worker 2: w = 70 70, step 70'
  expect grep -q '"exit_status": 137' report.json
  expect grep -q '"failed_tasks": 1' report.json
  expect test "$(grep -c '"completed": false' report.json)" = 1
  expect_no_processes
}

test_fewer_workers_than_the_least_number_fail_the_job() {
  run_ps 1 2 --ps-mode async --min-workers 2 -- 1000000000 async 0 kill=1:3
  expect_status 137
  expect_stderr_contains 'rank 1 (host localhost'
  expect_stderr_lacks 'goes on without it'
  run_ps 1 2 --min-workers 3 -- 1 async 0
  expect_status 2
  expect_stderr_contains '--min-workers 3: the job has 2 workers'
  # Without a mode the launcher assumes steps of all workers.
  run_ps 1 2 -- 1000000000 async 0 kill=1:3
  expect_status 137
}

test_synchronous_steps_of_all_workers_end_by_the_name_of_the_dead_one() {
  run_ps 1 2 --on-failure continue -- 30 sync 0 kill=1:3
  expect_status 137
  expect_stdout_contains 'worker 0: error: a step needs the gradients of 2 workers, and 1 are left: worker:1 on localhost died: killed by SIGKILL'
  expect_no_processes
}

test_a_dead_server_is_named_to_all_workers_within_a_second() {
  start_dtrain run --dead-after 60s --role ps=2,worker=2 --no-tag --on-failure continue \
    --role-command "ps=sh -c 'echo \$\$ >ps.\$DTRAIN_TASK_INDEX; exec \"$DTRAIN\" ps'" "$worker" 1000000000 async 0
  wait_for stdout_has 'worker 0: started'
  wait_for stdout_has 'worker 1: started'
  local begin
  begin=$(now_ms)
  kill -KILL "$(cat ps.1)"
  wait_for stdout_has 'worker 0: error: the parameter server ps:1 on localhost died: killed by SIGKILL'
  wait_for stdout_has 'worker 1: error: the parameter server ps:1 on localhost died: killed by SIGKILL'
  expect test $(($(now_ms) - begin)) -lt "$(long_or 30000 1000)"
  finish
  expect_status 137
  expect_no_processes
}

# Starts two servers that write their pids, and two workers: start_replicated MODE COUNT STEPS [option of dtrain run …]
start_replicated() {
  local mode=$1 count=$2 steps=$3
  shift 3
  start_dtrain run --role ps=2,worker=2 --strategy parameter_server --ps-replicas 2 --no-tag "$@" \
    --role-command "ps=sh -c 'echo \$\$ >ps.\$DTRAIN_TASK_INDEX; exec \"$DTRAIN\" ps'" \
    "$worker" "$steps" "$mode" "$count" several=1 "until=$PWD/killed:100"
}

test_with_replicas_training_continues_when_a_server_dies() {
  local victim digest
  run_ps 2 2 -- 200 sync 0 several=1
  expect_status 0
  digest=$(sed -n 's/worker 0: digest //p' "$out/stdout")
  expect test -n "$digest"
  for victim in 0 1; do
    rm -f killed
    start_replicated sync 0 200
    wait_for stdout_has 'worker 0: step 100'
    kill -KILL "$(cat ps.$victim)"
    touch killed
    finish
    expect_status 0
    expect_stderr_contains 'killed by SIGKILL; the training goes on without it'
    expect_stdout_contains "worker 0: digest $digest"
    expect_stdout_contains "worker 1: digest $digest"
    expect_stdout_contains 'worker 0: w = 200 200, step 400, own pushes 400, stale 0'
    expect_no_processes
  done
}

test_with_replicas_asynchronous_pushes_count_once_when_a_server_dies() {
  start_replicated async 0 200
  wait_for stdout_has 'worker 0: step 100'
  kill -KILL "$(cat ps.0)"
  touch killed
  finish
  expect_status 0
  expect_stdout_contains 'worker 0: w = 400 400, step 800, own pushes 400, stale 0'
  expect_stdout_contains 'worker 1: w = 400 400, step 800, own pushes 400, stale 0'
  expect_no_processes
}

test_the_death_of_both_servers_is_named() {
  start_replicated async 0 200 --on-failure continue
  wait_for stdout_has 'worker 0: step 100'
  kill -KILL "$(cat ps.1)"
  wait_for stderr_has 'ps:0 has taken over the variables of ps:1'
  kill -KILL "$(cat ps.0)"
  touch killed
  finish
  expect_status 137
  expect_stderr_contains 'killed by SIGKILL; the training goes on without it'
  expect_stdout_contains 'worker 0: error: the parameter server ps:0 on localhost died: killed by SIGKILL; ps:1 on localhost, which had the other copy of its variables, had died before'
  expect_no_processes
}

test_replicas_need_two_servers() {
  run_ps 1 2 --ps-replicas 2 -- 1 async 0
  expect_status 2
  expect_stderr_contains '--ps-replicas 2: the job has 1 ps; add --role ps=2'
  run_ps 2 2 --ps-replicas 3 -- 1 async 0
  expect_status 2
  expect_stderr_contains '--ps-replicas: expected 1..2, got 3'
}

# Prints the steps of which a server of two has a file.
steps_of() {
  find . -name "model-*.ps-$1-of-2" | sed 's/.*model-//; s/\.ps.*//'
}

# has_step_of SERVER STEP: succeeds when that server has a checkpoint of this step or a later one.
has_step_of() { steps_of "$1" | awk -v wanted="$2" '$1 >= wanted { found = 1 } END { exit !found }'; }

test_after_kill_9_of_everything_the_last_checkpoint_is_restored_bit_for_bit() {
  local server="ps=self ps --checkpoint $PWD/model --checkpoint-every 10" index
  start_dtrain run --role ps=2,worker=2 --strategy parameter_server --no-tag --role-command "$server" "$worker" 1000000000 sync 0 several=1
  wait_for has_step_of 1 30
  kill -KILL "$pid"
  finish
  expect_no_processes
  local newest
  newest=$(steps_of 0 | sort -n | grep -xFf <(steps_of 1) | tail -n 1)
  mkdir kept
  cp model-"$newest".ps-?-of-2 kept
  # Servers that write no checkpoints of their own, so that these stay the last ones.
  run_ps 2 2 --role-command "ps=self ps --checkpoint $PWD/kept/model" -- 0 sync 0 several=1 "save=$PWD/again"
  expect_status 0
  expect_stderr_contains "restored step $newest from "
  expect_stdout_contains "step $newest"
  # A file has all variables with the numbers of their optimisers.
  for index in 0 1; do
    expect cmp "model-$newest.ps-$index-of-2" "again.ps-$index-of-2"
  done
  local digest
  digest=$(sed -n 's/worker 0: digest //p' "$out/stdout")
  expect test -n "$digest"
  expect_stdout_contains "worker 1: digest $digest"
  run_ps 2 2 --role-command "$server" -- 0 sync 0 several=1
  expect_stdout_contains "worker 0: digest $digest"
  # Another step gives another digest.
  run_ps 2 2 --role-command "$server" -- 1 sync 0 several=1
  expect_stdout_lacks "worker 0: digest $digest"
}

test_a_restarted_job_continues_from_the_servers_checkpoint() {
  # shellcheck disable=SC2016  # the tasks' shell expands it
  start_dtrain run --role ps=2,worker=1 --strategy parameter_server --no-tag --max-restarts 1 \
    --role-command "ps=self ps --checkpoint $PWD/model --checkpoint-every 10" \
    sh -c 'echo $$ >pid; exec "$0" 40 async 0 until=go:30' "$worker"
  wait_for has_step_of 0 30
  wait_for has_step_of 1 30
  kill -KILL "$(cat pid)"
  : >go
  finish
  expect_status 0
  expect_stderr_contains 'dtrain: restart 1 of 1 after '
  expect_stderr_contains 'restored step 30 from '
  expect_stdout_contains 'worker 0: w = 70 70, step 70'
  expect_no_processes
}

test_a_program_saves_and_loads() {
  run_ps 2 1 -- 5 async 0 "save=$PWD/saved"
  expect_status 0
  expect test -s saved.ps-0-of-2 -a -s saved.ps-1-of-2
  run_ps 2 1 -- 1 async 0 "load=$PWD/saved"
  expect_stdout_contains 'loaded step 5'
  expect_stdout_contains 'worker 0: w = 6 6, step 6'
  # Neither fewer servers nor a file that is cut short.
  run_ps 1 1 -- 1 async 0 "load=$PWD/saved"
  expect_stdout_contains "error: ps:0 on localhost: checkpoint $PWD/saved.ps-0-of-1: there is no such file"
  truncate -s -1 saved.ps-1-of-2
  run_ps 2 1 -- 1 async 0 "load=$PWD/saved"
  expect_status 1
  expect_stdout_contains "error: ps:1 on localhost: checkpoint $PWD/saved.ps-1-of-2: its checksum does not fit: it is damaged or cut short"
}

test_a_server_refuses_a_foreign_checkpoint() {
  echo 'not ours' >model-5.ps-0-of-1
  run_ps 1 1 --role-command "ps=self ps --checkpoint $PWD/model" -- 1 async 0
  expect_status 2
  expect_stderr_contains "dtrain: cannot restore $PWD/model-5.ps-0-of-1: it is no checkpoint of this version of dtrain"
}

test_a_folder_that_takes_no_checkpoints_ends_the_job_before_the_training() {
  run_ps 1 1 --role-command "ps=self ps --checkpoint $PWD/none/model" -- 1 async 0
  expect_status 2
  expect_stderr_contains "dtrain: checkpoints $PWD/none/model: no file can be made in the folder $PWD/none: No such file or directory; make the folder, or choose another one"
  expect_stdout_lacks 'w = '
  expect_no_processes
}

test_a_last_checkpoint_that_cannot_be_written_fails_the_job() {
  mkdir models
  start_dtrain run --role ps=1,worker=1 --strategy parameter_server --no-tag --report report.json \
    --role-command "ps=self ps --checkpoint $PWD/models/model" "$worker" 20 async 0 until=go:10
  wait_for stdout_has 'worker 0: step 10'
  rm -r models
  : >go
  finish
  expect_status 1
  expect_stdout_contains 'worker 0: w = 20 20'
  expect_stderr_contains "checkpoint $PWD/models/model-20.ps-0-of-1: No such file or directory"
  expect_stderr_contains 'dtrain: the last checkpoint of ps:0 (host localhost) is missing: exit status 3'
  expect grep -q '"exit_status": 1' report.json
  expect test "$(grep -c '"completed": false' report.json)" = 1
}

test_a_variable_of_two_shapes_is_named_and_the_server_stays_up() {
  run_ps 1 3 --on-failure continue -- 3 async 0 other=1
  expect_status 1
  expect_stdout_contains 'worker 1: error: variable w: worker:1 on localhost declares float32[5], sgd, but worker:0 on localhost declared float32[4], sgd'
  expect_stdout_contains 'worker 0: w = '
  expect_stdout_contains 'worker 2: w = '
  expect_no_processes
}

test_a_job_without_servers_is_named() {
  run_dtrain run -np 1 --no-tag "$worker" 1 async 0
  expect_status 1
  expect_stdout_contains 'worker 0: error: the job has no task of role ps; start parameter servers by --role ps=1'
}

test_ps_needs_a_job() {
  run_dtrain ps
  expect_status 2
  expect_stderr_contains 'belongs to no job; start it by dtrain run --role ps=1 --role worker=2 --strategy parameter_server ./train'
  run_dtrain ps --checkpoint-every 5
  expect_status 2
  expect_stderr 'dtrain: ps: --checkpoint-every needs --checkpoint, the names of the files'
}

test_ps_is_no_server_of_a_task_with_a_rank() {
  run_dtrain run -np 1 --no-tag self ps
  expect_status 2
  expect_stderr_contains 'worker:0 has rank 0; a parameter server is a task without rank, such as those of --role ps=2'
}

run_tests "$@"
