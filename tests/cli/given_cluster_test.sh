#!/usr/bin/env bash
# Clusters with an external layout: --cluster-spec, and a TF_CONFIG in dtrain's environment.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
unset TF_CONFIG
ring=$(realpath "$(dirname "$0")")/cluster_ring.py
digits=$(dirname "$DTRAIN")/examples/digits

# choose_ports N: sets $ports to N ports that are free now, outside of the kernel's ephemeral range.
choose_ports() {
  mapfile -t ports < <(python3 - "$1" <<'PY'
import random, socket, sys
chosen = {}
while len(chosen) < int(sys.argv[1]):
    port = random.randrange(10000, 30000)
    try:
        chosen[port] = chosen.get(port) or socket.create_server(("", port))
    except OSError:
        pass
print(*chosen, sep="\n")
PY
  )
}

# Prints the TF_CONFIG of the task $1 $2: a worker and a ps at $ports, on this machine.
config_of() {
  printf '{"cluster": {"worker": ["127.0.0.1:%d", "127.0.0.1:%d"], "ps": ["127.0.0.1:%d"]}, "task": {"type": "%s", "index": %s}, "rpc_layer": "grpc"}' \
    "${ports[0]}" "${ports[1]}" "${ports[2]}" "$1" "$2"
}

expect_refused() { # with this message, and nothing was started
  expect_status 2
  expect_stderr "dtrain: $1"
  expect_stdout ''
  (($(wc -l <"$out/stderr") <= 4)) || fail 'expected at most four lines'
  expect_not test -e started
}

test_a_cluster_that_is_here_as_a_whole_runs_at_its_addresses() {
  choose_ports 3
  run_dtrain run --cluster-spec "worker|127.0.0.1:${ports[0]};localhost:${ports[1]},ps|127.0.0.2:${ports[2]}" \
    --success all --no-tag python3 "$ring"
  expect_status 0
  expect_stderr ''
  expect_stdout_lines 'worker:0 heard ps:0 worker:1' 'worker:1 heard ps:0 worker:0' 'ps:0 heard worker:0 worker:1'
  # libdtrain finds the other tasks, as in any job.
  run_dtrain run --cluster-spec "worker|127.0.0.1:${ports[0]};127.0.0.1:${ports[1]}" --no-tag "$digits" --epochs 1
  expect_status 0
  expect_no_processes
}

test_dtrains_run_one_cluster_together_each_its_task() {
  choose_ports 3
  local task
  for task in 'worker 0' 'ps 0'; do
    # shellcheck disable=SC2086
    TF_CONFIG=$(config_of $task) "$DTRAIN" run --no-tag python3 "$ring" >"other ${task% *}" 2>&1 &
  done
  TF_CONFIG=$(config_of worker '"1"') run_dtrain run --no-tag python3 "$ring"
  expect_status 0
  expect_stdout 'worker:1 heard ps:0 worker:0'
  wait
  expect_file 'other worker' 'worker:0 heard ps:0 worker:1'
  expect_file 'other ps' 'ps:0 heard worker:0 worker:1'
}

test_a_task_finds_its_place_in_the_whole_cluster_and_no_rendezvous() {
  choose_ports 3
  TF_CONFIG=$(config_of worker 1)
  export TF_CONFIG
  # shellcheck disable=SC2016
  run_dtrain run --no-tag sh -c 'echo "$TF_CONFIG"; echo "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $ROLE_RANK/$ROLE_WORLD_SIZE \
$MASTER_ADDR $MASTER_PORT $HOROVOD_SIZE $1"; env | grep -cE "^(DTRAIN_(RENDEZVOUS|TOKEN|GENERATION)|HOROVOD_(CONTROLLER|GLOO_.*))="' sh '{role}{index}={hosts:ps}@{port}'
  expect_stdout "$TF_CONFIG
1/2 1/2 1/2 127.0.0.1 ${ports[0]} 2 worker1=127.0.0.1:${ports[2]}@${ports[1]}
0"
  run_dtrain run --env-set none --no-tag sh -c 'echo "${TF_CONFIG-none}"'
  expect_stdout none
  run_dtrain run --cluster-filter ps --no-tag sh -c 'echo "$TF_CONFIG"'
  expect_stdout "{\"cluster\":{\"ps\":[\"127.0.0.1:${ports[2]}\"],\"worker\":{\"1\":\"127.0.0.1:${ports[1]}\"}},\"task\":{\"type\":\"worker\",\"index\":1},\"rpc_layer\":\"grpc\"}"
  run_dtrain run "$digits" --epochs 1
  expect_status 1
  expect_stderr_contains 'starts a part of the job alone (--cluster-spec, or TF_CONFIG)'
}

test_a_part_answers_no_worker_of_horovod() {
  choose_ports 1
  start_dtrain run --verbose --cluster-spec "worker|127.0.0.1:${ports[0]};h2.invalid:1" --no-tag sh -c 'echo up; exec sleep 60'
  wait_for stdout_has up
  local at
  at=$(sed -n 's/.*; rendezvous on //p' "$out/stderr")
  expect test "$(python3 "$(dirname "$ring")/horovod_get.py" "$at")" = "b''"
  signal TERM
  finish
  expect_stderr_contains 'authentication failed from 127.0.0.1'
}

test_the_evaluator_has_no_place_in_the_cluster() {
  choose_ports 3
  TF_CONFIG=$(config_of evaluator 0)
  export TF_CONFIG
  # shellcheck disable=SC2016
  run_dtrain run sh -c 'echo "${RANK-none} [$CUDA_VISIBLE_DEVICES] $TF_CONFIG"; exit 4'
  expect_status 4
  expect_stdout "[evaluator:0]<stdout>:none [] $TF_CONFIG"
}

test_a_ps_serves_until_a_term() {
  choose_ports 3
  TF_CONFIG=$(config_of ps 0) start_dtrain run --success all-workers --no-tag python3 "$ring" --serve
  local task
  for task in 0 1; do
    TF_CONFIG=$(config_of worker "$task") "$DTRAIN" run --no-tag python3 "$ring" >"worker $task" 2>&1 || fail "worker $task" &
    workers[task]=$!
  done
  wait "${workers[@]}" || fail 'a worker failed'
  wait_for stdout_has 'ps:0 heard worker:0 worker:1'
  expect kill -0 "$pid"
  signal TERM
  finish
  expect_status 143
  expect_no_processes
}

test_tasks_that_others_may_need_are_not_ended_by_a_worker_here() {
  choose_ports 2
  local spec="worker|127.0.0.1:${ports[0]};h2.invalid:1,ps|127.0.0.1:${ports[1]}" command='test -e go && exit; [ $DTRAIN_ROLE = ps ] || { echo finished; exit; }; trap "echo told; exit" TERM; : >trapped; while :; do sleep 0.05; done'
  start_dtrain run --cluster-spec "$spec" --no-tag sh -c "$command"
  wait_for stdout_has finished
  wait_for test -e trapped
  expect kill -0 "$pid"
  signal TERM
  finish
  expect_stdout_lines finished told
  # With a rule that all hosts share, each launcher waits for its own tasks.
  touch go
  run_dtrain run --cluster-spec "$spec,chief|h3.invalid:1" --success chief sh -c "$command"
  expect_status 0
  rm go
  run_dtrain run --cluster-spec "$spec" --success role:worker --no-tag sh -c "$command"
  expect_status 0
  expect_stdout_contains finished
}

test_what_would_start_is_shown_and_reported() {
  run_dtrain run --cluster-spec 'worker|h2.invalid:1;localhost:2222,ps|h3.invalid:1' --dry-run train
  expect_status 0
  expect_stdout '1 processes on 1 host, of 3 in the cluster: train
 rank  host       local_rank  cross_rank  task
    1  localhost           0           1  worker:1 at localhost:2222'
  choose_ports 3
  TF_CONFIG=$(config_of ps 0) run_dtrain run --report report.json true
  expect_status 0
  expect python3 -c "
import json
report = json.load(open('report.json'))
assert report['cluster']['ps'] == ['127.0.0.1:${ports[2]}'], report
assert [(t['role'], t['index'], t['rank']) for t in report['tasks']] == [('ps', 0, None)], report
assert report['world_size'] == 2, report"
}

test_a_taken_port_is_named_with_its_address_and_nothing_starts() {
  choose_ports 2
  local spec="worker|127.0.0.1:${ports[0]};127.0.0.1:${ports[1]}"
  python3 - "${ports[1]}" <<'PY' &
import pathlib, socket, sys, time
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
listener.bind(("127.0.0.1", int(sys.argv[1])))
listener.listen()
pathlib.Path("listens").touch()
time.sleep(60)
PY
  local listener=$!
  wait_for test -e listens
  run_dtrain run --cluster-spec "$spec" touch started
  expect_status 4
  expect_stderr "dtrain: 127.0.0.1: 127.0.0.1:${ports[1]}: cannot hold port ${ports[1]}: Address already in use"
  expect_not test -e started
  kill "$listener"
  wait "$listener" 2>/dev/null || true
  # The port of a running task belongs to that task, even before the task listens.
  start_dtrain run --cluster-spec "$spec" sh -c 'echo up; exec sleep 60'
  wait_for stdout_has up
  last_command='a second dtrain for the same tasks'
  status=0
  "$DTRAIN" run --cluster-spec "$spec" touch started 2>second || status=$?
  expect_status 4
  expect grep -qF "127.0.0.1:${ports[0]}: cannot hold port ${ports[0]}: another dtrain of this host has it for a job" second
  expect_not test -e started
  signal TERM
  finish
}

test_a_wrong_cluster_is_refused_with_its_field() {
  local row
  while IFS='~' read -r row message; do
    run_dtrain run --cluster-spec "$row" touch started
    expect_refused "--cluster-spec: $message"
  done <<'ROWS'
worker~cluster: 'worker' has no |; expected worker|host:port;host:port,ps|host:port, in quotes, since a shell takes an unquoted | or ; for itself
worker|localhost~cluster: worker[0]: 'localhost' has no port
worker|localhost:0~cluster: worker[0]: 'localhost:0' needs a port of 1 to 65535
worker|localhost:1;~cluster: worker[1] is empty: two ; in a row, or one at the end
worker|a:1;a:1~cluster: worker[1]: 'a:1' is also the address of cluster: worker[0]
chief|a:1;b:1~cluster: 2 tasks of role chief, at most one is allowed
../x|localhost:1~cluster: role "../x": a name is made of letters, digits, - and _, a letter first
{"worker": {"x": "a:1"}}~cluster: worker[x]: an index is a number from 0
worker|localhost:5;127.0.0.1:5~cluster: worker[1]: port 5 is also that of worker[0], on the same machine
ROWS
  run_dtrain run --cluster-spec 'worker|h2.invalid:1' touch started
  expect_status 2
  expect_stderr_contains 'its tasks are on h2.invalid'
  expect_not test -e started
}

test_a_wrong_tf_config_is_refused_with_its_field() {
  local config
  while IFS='~' read -r config message; do
    TF_CONFIG=$config run_dtrain run touch started
    expect_refused "TF_CONFIG: $message
dtrain: (-np N starts so many instead, --cluster-spec none ignores it)"
  done <<'ROWS'
{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}}~task.index: the cluster has no worker:1; it has 1 of that role
{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": "x"}}~task.index: expected a number from 0, got "x"
{"cluster": {"worker": ["a:1"]}, "task": {"type": "ps", "index": 0}}~task.type: the cluster has no role ps; it has worker
{"cluster": {"worker": ["a:1"]}, "task": {"index": 0}}~task.type: expected a role, got nothing
{"cluster": {"worker": ["a:x"]}, "task": {"type": "worker", "index": 0}}~cluster: worker[0]: 'a:x' needs a port of 1 to 65535
{"cluster": {"worker": ["a:1"], "ps": ["a:1"]}, "task": {"type": "ps", "index": 0}}~cluster: worker[0]: 'a:1' is also the address of cluster: ps[0]
{"cluster": {"worker": ["a:1"]}}~task: missing; {"type": …, "index": …} names the task to start here; without it, give -np N
ROWS
}

test_a_list_that_a_shell_has_cut_is_reported() {
  run bash -c "'$DTRAIN' run --cluster-spec worker|no_such_host:1;no_such_host:2 touch started"
  expect_stderr_contains "'worker' has no |"
  expect_stderr_contains 'a shell takes an unquoted | or ; for itself'
  run bash -c "'$DTRAIN' run --cluster-spec 'worker|localhost:1';no_such_host:2 touch started"
  expect_stderr_contains 'no command given'
  expect_stderr_contains 'Without quotes a shell takes each | and ; for itself.'
  expect_not test -e started
}

test_a_cluster_and_a_count_contradict_each_other() {
  local option
  for option in '-np 2' '--role ps=1' '-H localhost:2' '--hostfile hosts' '--ppn 2'; do
    # shellcheck disable=SC2086
    run_dtrain run --cluster-spec 'worker|localhost:1' $option touch started
    expect_refused "${option% *}: --cluster-spec already has the tasks and their addresses; leave one of them out"
  done
}

test_a_count_leaves_tf_config_aside_and_a_job_in_a_job_has_its_own() {
  choose_ports 3
  TF_CONFIG=$(config_of worker 1)
  export TF_CONFIG
  run_dtrain run -np 1 --no-tag sh -c 'echo "$DTRAIN_ROLE $DTRAIN_SIZE"'
  expect_status 0
  expect_stdout 'worker 1'
  expect_stderr 'dtrain: warning: TF_CONFIG is ignored, since -np decides what to start (--cluster-spec none: no warning)'
  run_dtrain run -np 1 --cluster-spec none true
  expect_stderr ''
  run_dtrain run --cluster-spec none true
  expect_stderr_contains '-np: missing'
  # shellcheck disable=SC2016
  run_dtrain run --no-tag "$DTRAIN" run -np 2 --no-tag sh -c 'echo "$RANK of $WORLD_SIZE"'
  expect_status 0
  expect_stderr ''
  expect_stdout_lines '0 of 2' '1 of 2'
}

test_the_cluster_stands_in_a_file_or_a_variable() {
  choose_ports 1
  printf 'worker|localhost:%s\n' "${ports[0]}" >spec
  run_dtrain run --cluster-spec @spec --no-tag sh -c 'echo $DTRAIN_ROLE'
  expect_status 0
  expect_stdout worker
  DTRAIN_OPT_CLUSTER_SPEC="{\"chief\": [\"localhost:${ports[0]}\"]}" run_dtrain run --no-tag sh -c 'echo $DTRAIN_ROLE'
  expect_stdout chief
  run_dtrain run --cluster-spec @nowhere touch started
  expect_refused '--cluster-spec: cannot read "nowhere": No such file or directory'
}

run_tests "$@"
