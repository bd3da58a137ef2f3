#!/usr/bin/env bash
# Jobs of several roles, in real processes.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
digits=$(dirname "$DTRAIN")/examples/digits
unset CUDA_VISIBLE_DEVICES

# Expects status 2 with this one message, and that nothing has started.
expect_refused() {
  expect_status 2
  expect_stderr "dtrain: $1"
  expect_not test -e started
}

# Runs a command that would leave a trace if it started.
run_roles() { run_dtrain run "$@" touch started; }

test_ranks_go_to_the_chief_then_to_the_workers_and_ps_have_an_index() {
  # shellcheck disable=SC2016 # the tasks' own variables
  run_dtrain run --role ps=2 --role worker=2 --role chief=1 --role evaluator=1 --success all \
    sh -c 'echo "$DTRAIN_ROLE $DTRAIN_TASK_INDEX rank ${RANK-none} of ${WORLD_SIZE-none}, ${LOCAL_RANK-none} of ${LOCAL_WORLD_SIZE-none}"'
  expect_status 0
  expect_stdout_lines '[0]<stdout>:chief 0 rank 0 of 3, 0 of 3' \
    '[1]<stdout>:worker 0 rank 1 of 3, 1 of 3' \
    '[2]<stdout>:worker 1 rank 2 of 3, 2 of 3' \
    '[ps:0]<stdout>:ps 0 rank none of none, none of none' \
    '[ps:1]<stdout>:ps 1 rank none of none, none of none' \
    '[evaluator:0]<stdout>:evaluator 0 rank none of none, none of none'
  expect_no_processes
}

test_np_is_the_number_of_workers() {
  # shellcheck disable=SC2016
  run_dtrain run -np 2 --role ps=1 --success all --no-tag sh -c 'echo $DTRAIN_ROLE'
  expect_status 0
  expect_stdout_lines worker worker ps
  run_roles -np 3 --role worker=2
  expect_refused '-np: 3 workers, but --role says worker=2; leave one of them out'
}

test_a_role_has_a_command_and_an_environment_of_its_own() {
  # shellcheck disable=SC2016
  run_dtrain run --role ps=1,worker=2 --success all --role-env worker=A=w --role-env 'ps=A=p q' -x A=x -x B=b \
    --role-command "ps=sh -c 'echo \"serving \$A \$B\"'" sh -c 'echo "training $A $B"'
  expect_status 0
  expect_stdout_lines '[0]<stdout>:training w b' '[1]<stdout>:training w b' '[ps:0]<stdout>:serving p q b'
  # shellcheck disable=SC2016
  run_dtrain run --role ps=1,worker=1 --success all --role-command 'ps=echo a' --role-command 'worker=echo b'
  expect_status 0
  expect_stdout_lines '[0]<stdout>:b' '[ps:0]<stdout>:a'
}

test_programs_separated_by_a_colon_are_one_world() {
  # shellcheck disable=SC2016
  run_dtrain run -np 1 sh -c 'echo "a $RANK of $WORLD_SIZE $B"' : -np 2 -x B=b sh -c 'echo "it'"'"'s $RANK of $WORLD_SIZE $B"' : \
    -np 1 echo c
  expect_status 0
  expect_stdout_lines '[0]<stdout>:a 0 of 4 ' "[1]<stdout>:it's 1 of 4 b" "[2]<stdout>:it's 2 of 4 b" '[3]<stdout>:c'
  run_dtrain run -np 1 true : -np 2 false
  expect_status 1
  run_dtrain run -np 1 --no-tag -- echo a : -np 2 b
  expect_stdout 'a : -np 2 b'
  run_roles -np 1 true : -x A=1
  expect_status 2
  expect_not test -e started
}

test_ps_and_evaluator_see_no_gpu_by_default() {
  local show='echo "$DTRAIN_ROLE ${CUDA_VISIBLE_DEVICES-all}"'
  run_dtrain run --role ps=1,worker=1,evaluator=1 --success all --no-tag sh -c "$show"
  expect_status 0
  expect_stdout_lines 'worker all' 'ps ' 'evaluator '
  run_dtrain run --role ps=1,worker=1 --success all --role-env ps=CUDA_VISIBLE_DEVICES=1 --no-tag sh -c "$show"
  expect_stdout_lines 'worker all' 'ps 1'
}

test_a_role_finds_its_command_in_its_own_path() {
  mkdir bin
  printf '#!/bin/sh\necho mine\n' >bin/own_program
  chmod +x bin/own_program
  run_dtrain run --role ps=1,worker=1 --success all --role-command ps=own_program --role-env "ps=PATH=$PWD/bin:$PATH" echo theirs
  expect_status 0
  expect_stdout_lines '[0]<stdout>:theirs' '[ps:0]<stdout>:mine'
}

test_a_missing_command_names_its_role_and_nothing_starts() {
  run_roles --role ps=1,worker=1 --role-command ps=no_such_program
  expect_status 127
  expect_stderr_contains 'localhost: role ps: '
  expect_stderr_contains no_such_program
  expect_not test -e started
}

test_the_output_of_tasks_without_rank_has_folders_of_its_own() {
  # shellcheck disable=SC2016
  run_dtrain run --role ps=1,worker=1 --success all --output-dir o --no-tag sh -c 'echo $DTRAIN_ROLE; echo e >&2'
  expect_status 0
  expect_file o/rank.0/stdout worker
  expect_file o/ps.0/stdout ps
  expect_file o/ps.0/stderr e
}

test_standard_input_is_for_ranks() {
  # shellcheck disable=SC2016
  run_dtrain run --role ps=1,worker=2 --success all --stdin 1 --no-tag sh -c 'echo "$DTRAIN_ROLE ${RANK-} $(cat)"' < <(echo typed)
  expect_status 0
  expect_stdout_lines 'worker 0 ' 'worker 1 typed' 'ps  '
  run_roles --role ps=3,worker=2 --stdin 2
  expect_refused '--stdin: expected none, all or a rank of 0..1, got 2'
}

test_a_failure_of_a_task_without_rank_names_its_role() {
  # shellcheck disable=SC2016
  run_dtrain run --role ps=2,worker=1 --report report.json sh -c '[ "$DTRAIN_ROLE$DTRAIN_TASK_INDEX" != ps1 ] || exit 7; sleep 60'
  expect_status 7
  expect_stderr_contains 'dtrain: ps:1 (host localhost, pid '
  expect_stderr_contains 'failed: exit status 7'
  run python3 -c '
import json
report = json.load(open("report.json"))
print([(role["name"], role["tasks"], role["ranked"]) for role in report["roles"]])
print([(task["role"], task["index"], task["rank"]) for task in report["tasks"]])
print(report["failure"]["role"], report["failure"]["index"], report["failure"]["rank"])'
  expect_stdout "[('worker', 1, True), ('ps', 2, False)]
[('worker', 0, 0), ('ps', 0, None), ('ps', 1, None)]
ps 1 None"
  expect_no_processes
}

test_roles_run_on_their_hosts() {
  run_dtrain run -H a:2,b:2,c:1 --role worker=3 --role ps=1@b --role scheduler=1@c --dry-run train
  expect_status 0
  expect_stdout '5 processes on 3 hosts: train
 rank  host  local_rank  cross_rank  task
    0  a              0           0  worker:0
    1  a              1           0  worker:1
    2  b              0           1  worker:2
    -  b              -           -  ps:0
    -  c              -           -  scheduler:0'
  run_dtrain run --role worker=2@a:1,b:1 --role ps=1@a:1 --role-command ps='serve now' --dry-run train
  expect_stdout '3 processes on 2 hosts: train
ps: serve now
 rank  host  local_rank  cross_rank  task
    0  a              0           0  worker:0
    1  b              0           1  worker:1
    -  a              -           -  ps:0'
}

test_a_role_gets_ranks_on_request() {
  run_dtrain run --role client=1,worker=1 --role-ranked client --no-tag sh -c "echo \$DTRAIN_ROLE \$RANK"
  expect_status 0
  expect_stdout_lines 'worker 0' 'client 1'
}

test_workers_of_the_engine_train_beside_a_ps() {
  run_dtrain run --role ps=1 --role worker=2 --success all --role-command ps='echo served' --no-tag "$digits" --epochs 1
  expect_status 0
  expect_stdout_contains served
  expect_stdout_contains '1437 images to train on, 360 to test on, 2 ranks'
}

test_a_ps_has_no_rank_for_the_engine() {
  run_dtrain run --role ps=1,worker=1 --success all --role-command ps="$digits" true
  expect_stderr_contains 'digits: ps:0 has no rank in this job, so it cannot train; add --strategy parameter_server'
}

test_roles_that_make_no_job_are_refused_before_anything_starts() {
  run_roles --role worker=0
  expect_refused '--role: role worker: expected 1..65536 tasks, got "0"'
  run_roles --role chief=2,worker=1
  expect_refused '--role: chief=2: a job has one chief; use chief=1'
  run_roles --role chief=1,master=1
  expect_refused '--role: chief and master: each leads the job; use one of them'
  run_roles --role ps=2
  expect_refused '--role: ps=2: parameter servers without worker have nobody to serve; add --role worker=N'
  run_roles -H localhost:2 --role ps=1,worker=2
  expect_refused 'asked for 3 processes (ps=1, worker=2) but hosts offer 2 (localhost:2); use fewer or --oversubscribe'
  run_roles -H localhost:2 --role worker=1 --role ps=1@b
  expect_refused "role ps: host b is none of the job's hosts (localhost)"
  run_roles --role worker=1 --role-command wrker=x
  expect_refused '--role-command: the job has no role "wrker"; did you mean worker?'
  run_roles --role worker=1 --role launcher=1
  expect_refused '--role: role "launcher": dtrain uses this name itself; give the role another one'
}

test_roles_stand_in_files_and_variables_too() {
  printf 'role = ["ps=1", "worker=2"]\nsuccess = "all"\n' >dtrain.toml
  run_dtrain run --no-tag sh -c "echo \$DTRAIN_ROLE"
  expect_stdout_lines ps worker worker
  DTRAIN_OPT_ROLE='chief=1 worker=1' run_dtrain run --no-tag sh -c "echo \$DTRAIN_ROLE"
  expect_stdout_lines chief worker
  printf 'role-command = ["worker=id"]\nnp = 1\n' >dtrain.toml
  run_roles
  expect_status 2
  expect_stderr_contains 'role-command: it can make programs run'
}

# A search through all hosts for each task would take minutes.
test_a_role_may_have_very_many_hosts_of_its_own() {
  run timeout 20 "$DTRAIN" run --dry-run --role 'worker=32768@h[1-32768]:1' true
  expect_status 0
  expect_stdout_contains h32768
  run timeout 20 "$DTRAIN" run --dry-run -H 'h[1-32768]:1' --role 'worker=32768@H[1-32768]' true
  expect_status 0
}

run_tests "$@"
