#!/usr/bin/env bash
# A coordinator: closures of a chief run on workers, which use parameter servers.
. "$(dirname "$0")/lib.sh"

program=$(dirname "$DTRAIN")/tests/programs/coordinator_worker

# run_coordinator WORKERS [option of dtrain run …] -- words of coordinator_worker
run_coordinator() {
  local workers=$1
  shift
  local options=()
  while [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  shift
  run_dtrain run --role "chief=1,worker=$workers,ps=1" --strategy parameter_server --ps-mode async --no-tag \
    "${options[@]}" "$program" "$@"
}

test_closures_run_once_each_and_workers_end_with_the_coordinator() {
  run_coordinator 3 --report report.json -- 100
  expect_status 0
  expect_stderr ''
  expect_stdout_contains 'chief: 100 right results, each ran once'
  expect test "$(grep -c '"completed": true' report.json)" = 5
  expect_no_processes
}

test_the_closure_of_a_killed_worker_runs_on_another_one() {
  run_coordinator 3 -- 100 kill=1:3
  expect_status 0
  expect_stderr_contains 'killed by SIGKILL; the training goes on without it'
  # It died before it pushed.
  expect_stdout_contains 'chief: 100 right results, each ran once'
  expect_no_processes
}

test_an_error_of_a_closure_names_it_with_its_worker_and_host() {
  run_coordinator 1 -- 10 fail=7
  expect_status 1
  expect_stdout_contains 'chief: error: closure "add", on worker:0 on localhost: it shall fail'
  expect_no_processes
}

test_a_name_that_workers_have_not_registered_is_an_error() {
  run_coordinator 2 -- 1 unknown=1
  expect_status 1
  expect_stdout_contains 'chief: error: closure "subtract", on worker:'
  expect_stdout_contains 'this worker has no closure of that name; it has add'
}

test_the_death_of_all_workers_is_named() {
  local begin
  start_dtrain run --dead-after 60s --role chief=1,worker=2,ps=1 --strategy parameter_server --no-tag --on-failure continue \
    sh -c 'if [ "$DTRAIN_ROLE" = worker ]; then echo $$ >pid.$DTRAIN_TASK_INDEX; fi; exec "$0" "$@"' "$program" 3 hang=1
  wait_for stdout_has 'worker 0: hangs'
  wait_for stdout_has 'worker 1: hangs'
  begin=$(now_ms)
  kill -KILL "$(cat pid.0)" "$(cat pid.1)"
  wait_for stdout_has 'chief: error: closure "add"'
  expect test $(($(now_ms) - begin)) -lt "$(long_or 30000 1000)"
  finish
  expect_stdout_contains 'the coordinator needs 1 workers, and 0 are left: worker:0 on localhost died: killed by SIGKILL, worker:1 on localhost died: killed by SIGKILL'
  expect_no_processes
}

test_fewer_workers_than_the_least_number_end_the_job() {
  run_coordinator 2 --min-workers 2 -- 1000 kill=0:3
  expect_status 137
  expect_stderr_contains 'killed by SIGKILL'
  expect_no_processes
}

test_a_job_without_workers_is_named() {
  run_dtrain run --role chief=1,ps=1 --strategy parameter_server --no-tag "$program" 1
  expect_status 1
  expect_stdout_contains 'chief: error: a coordinator of at least 1 workers: the job has 0 tasks of role worker; start them by --role worker=1'
}

run_tests "$@"
