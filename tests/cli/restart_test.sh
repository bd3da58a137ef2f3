#!/usr/bin/env bash
# --restart-role: tasks that fail, or that end at all, are started again.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

worker=$(dirname "$DTRAIN")/tests/programs/ps_worker

# A script that fails with status 3 until its attempt $1.
# shellcheck disable=SC2016  # the task's shell expands it
fails_until() { echo 'echo "$RANK attempt $DTRAIN_ATTEMPT $TORCHELASTIC_RESTART_COUNT"; [ "$DTRAIN_ATTEMPT" -ge '"$1"' ] || exit 3'; }

test_a_script_that_fails_once_is_restarted_and_the_job_succeeds() {
  run_dtrain run -np 1 --restart-role worker=1 --no-tag --output-dir logs --report report.json sh -c "$(fails_until 2)"
  expect_status 0
  expect_stdout '0 attempt 1 0
0 attempt 2 1'
  expect test "$(grep -c '^dtrain: warning: rank 0 (host localhost, pid [0-9]*) failed: exit status 3; restart 1 of 1$' "$out/stderr")" = 1
  expect_file logs/rank.0/stdout '0 attempt 1 0
0 attempt 2 1'
  expect python3 -c 'import json
task = json.load(open("report.json"))["tasks"][0]
earlier, = task["earlier_attempts"]
assert earlier["exit"]["code"] == 3 and task["exit"]["code"] == 0 and task["completed"]
assert earlier["pid"] != task["pid"] and earlier["ended_at_s"] <= task["started_at_s"]
assert json.load(open("report.json"))["roles"][0]["restarts"] == 1'
  expect_no_processes
}

test_with_no_restart_left_the_job_ends_with_the_last_failure() {
  run_dtrain run -np 2 --restart-role worker=2 --report report.json sh -c '[ "$RANK" = 1 ] || exec sleep 60; kill -9 $$'
  expect_status 137
  expect_stderr_contains 'failed: killed by SIGKILL; restart 1 of 2'
  expect_stderr_contains 'failed: killed by SIGKILL; restart 2 of 2 in 1s'
  expect test "$(grep -c ' failed: ' "$out/stderr")" = 3
  expect python3 -c 'import json
tasks = json.load(open("report.json"))["tasks"]
assert [len(task["earlier_attempts"]) for task in tasks] == [0, 2]'
  expect_no_processes
}

test_ctrl_c_cancels_a_restart_that_waits() {
  start_dtrain run -np 1 --restart-role worker=9 sh -c 'exit 3'
  wait_for stderr_has 'restart 4 of 9 in 4s'
  signal INT
  finish
  expect_status 130
  expect_soon 1000
  expect_no_processes
}

test_a_role_without_restarts_ends_the_job() {
  run_dtrain run --role ps=1,worker=1 --restart-role worker=5 sh -c '[ "$DTRAIN_ROLE" = worker ] || exit 4; exec sleep 60'
  expect_status 4
  expect_stderr_lacks '; restart '
}

test_a_restarted_task_has_its_port_and_no_input() {
  echo input >input
  # shellcheck disable=SC2016  # the task's shell expands it
  run sh -c '"$0" run -np 1 --stdin all --port-range 41000-41100 --restart-role worker=1 --no-tag \
    sh -c "echo \$DTRAIN_PORT; cat; exit \$((2 - DTRAIN_ATTEMPT))" <input' "$DTRAIN"
  expect_status 0
  expect test "$(sed -n 2p "$out/stdout")" = input
  expect test "$(sed -n 1p "$out/stdout")" = "$(sed -n 3p "$out/stdout")"
  expect test "$(wc -l <"$out/stdout")" = 3
}

test_all_output_of_an_attempt_comes_before_that_of_the_next() {
  # shellcheck disable=SC2016  # the task's shell expands it
  run_dtrain run -np 1 --restart-role worker=1 --no-tag sh -c 'yes "line of attempt $DTRAIN_ATTEMPT" | head -n 100000; [ "$DTRAIN_ATTEMPT" = 2 ] || kill -9 $$'
  expect_status 0
  expect test "$(uniq -c "$out/stdout" | tr -s ' ')" = ' 100000 line of attempt 1
 100000 line of attempt 2'
}

test_a_file_and_a_variable_give_restarts_too() {
  echo 'restart-role = ["worker=1"]' >dtrain.toml
  run_dtrain run -np 1 --no-tag sh -c "$(fails_until 2)"
  expect_status 0
  rm dtrain.toml
  DTRAIN_OPT_RESTART_ROLE=worker=1 run_dtrain run -np 1 --no-tag sh -c "$(fails_until 2)"
  expect_status 0
}

test_wrong_values_are_named() {
  local refused
  for refused in 'chief=1:the job has no role "chief"; it has worker' 'worker=x:role worker: expected a number of restarts, 1..1000, or always, or always:N, got "x"' \
    'worker=0:role worker: expected a number of restarts' 'worker=1,worker=2:role worker is given twice' 'worker:expected NAME=N, got "worker"'; do
    run_dtrain run -np 1 --restart-role "${refused%%:*}" touch started
    expect_status 2
    expect_stderr_contains "--restart-role: ${refused#*:}"
    expect_not test -e started
  done
}

test_restarts_that_cannot_help_are_refused() {
  run_dtrain run -np 2 --strategy multi_worker_mirrored --restart-role worker=1 --dry-run true
  expect_status 2
  expect_stderr_contains '--restart-role worker=1: workers of --strategy multi_worker_mirrored train by collectives'
  run_dtrain run --role ps=2,worker=2 --strategy parameter_server --restart-role ps=1 true
  expect_status 2
  expect_stderr_contains '--restart-role ps=1: the job has 2 parameter servers'
  run_dtrain run --role ps=1,worker=2 --strategy parameter_server --restart-role worker=1 true
  expect_status 2
  expect_stderr_contains '--restart-role worker=1: --ps-mode sync needs every worker'
  run_dtrain run --role ps=1,worker=2 --strategy parameter_server --ps-mode async --restart-role ps=1,worker=3 --dry-run --json true
  expect_status 0
  expect_stdout_contains '"restarts": 3'
}

test_a_server_that_ends_well_starts_again_until_the_workers_have_ended() {
  # shellcheck disable=SC2016  # the task's shell expands it
  run_dtrain run --role ps=1,worker=1 --restart-role ps=always --no-tag --report report.json sh -c '
    if [ "$DTRAIN_ROLE" = worker ]; then until [ -e third ]; do sleep 0.1; done; exit; fi
    echo "server $DTRAIN_ATTEMPT"; [ "$DTRAIN_ATTEMPT" = 3 ] || exit 0; touch third; exec sleep 60'
  expect_status 0
  expect_stdout 'server 1
server 2
server 3'
  expect test "$(sed 's/pid [0-9]*/pid 7/' "$out/stderr")" = 'dtrain: ps:0 (host localhost, pid 7) ended with status 0; restart 1
dtrain: ps:0 (host localhost, pid 7) ended with status 0; restart 2 in 1s'
  expect python3 -c 'import json
report = json.load(open("report.json"))
ps = report["roles"][1]
assert ps["name"] == "ps" and ps["restarts"] is None and ps["restarts_always"]
server = report["tasks"][1]
assert [attempt["exit"]["code"] for attempt in server["earlier_attempts"]] == [0, 0]
assert server["completed"] and server["exit"]["signal"] == "SIGTERM" and report["failed_tasks"] == 0'
  expect_no_processes
}

test_a_server_that_ends_again_and_again_waits_and_the_job_ends_meanwhile() {
  # shellcheck disable=SC2016  # the task's shell expands it
  start_dtrain run --role ps=1,worker=1 --restart-role ps=always --no-tag --report report.json sh -c '
    [ "$DTRAIN_ROLE" = worker ] || { echo server; exit; }; until [ -e stop ]; do sleep 0.1; done'
  wait_for stderr_has 'ended with status 0; restart 4 in 4s'
  touch stop
  finish
  expect_status 0
  expect test "$(sort -u "$out/stdout")" = server
  expect python3 -c 'import json
report = json.load(open("report.json"))
server = report["tasks"][1]
assert server["completed"] and server["exit"]["code"] == 0 and len(server["earlier_attempts"]) >= 3
assert report["failed_tasks"] == 0'
  expect_no_processes
}

test_a_limit_of_always_is_that_of_good_ends_and_failures_together() {
  # shellcheck disable=SC2016  # the task's shell expands it
  run_dtrain run --role ps=1,worker=1 --restart-role ps=always:2 --no-tag --report report.json sh -c '
    if [ "$DTRAIN_ROLE" = worker ]; then until [ -e third ]; do sleep 0.1; done; exit; fi
    [ "$DTRAIN_ATTEMPT" != 2 ] || exit 3; [ "$DTRAIN_ATTEMPT" = 1 ] || touch third'
  expect_status 0
  expect_stderr_contains 'ended with status 0; restart 1 of 2'
  expect_stderr_contains 'failed: exit status 3; restart 2 of 2 in 1s'
  expect python3 -c 'import json
server = json.load(open("report.json"))["tasks"][1]
assert server["completed"] and len(server["earlier_attempts"]) == 2'
}

test_a_restart_of_the_whole_job_takes_waiting_servers_along() {
  # shellcheck disable=SC2016  # the task's shell expands it
  run_dtrain run --role ps=1,worker=1 --restart-role ps=always --max-restarts 1 --no-tag --report report.json sh -c '
    [ "$DTRAIN_ROLE" = worker ] || { [ "$DTRAIN_GENERATION" = 1 ] || exec sleep 60; echo x >>ends; exit; }
    [ "$DTRAIN_GENERATION" = 1 ] || exit 0
    until [ "$(cat ends 2>/dev/null | wc -l)" = 3 ]; do sleep 0.1; done; exit 9'
  expect_status 0
  expect_stderr_contains 'ended with status 0; restart 2 in 1s'
  expect_stderr_contains 'restart 1 of 1 after rank 0 on localhost: exit status 9'
  expect python3 -c 'import json
report = json.load(open("report.json"))
assert report["tasks"][1]["completed"] and report["tasks"][1]["earlier_attempts"] == []
assert len(report["generations"]) == 2'
  expect_no_processes
}

test_a_role_that_decides_cannot_always_start_again() {
  run_dtrain run -np 2 --restart-role worker=always touch started
  expect_status 2
  expect_stderr_contains '--restart-role worker=always: by --success all-workers the job ends when worker:0 has ended'
  expect_stderr_contains 'use --restart-role worker=N for failures alone, or a --success of other tasks'
  run_dtrain run --role ps=1,worker=1 --success all --restart-role ps=always:2 touch started
  expect_status 2
  expect_stderr_contains '--restart-role ps=always:2: by --success all the job ends when ps:0 has ended'
  expect_not test -e started
}

test_a_killed_worker_rejoins_asynchronous_training() {
  run_dtrain run --role ps=2,worker=2 --strategy parameter_server --ps-mode async --restart-role worker=1 --no-tag "$worker" 30 async 0 kill=1:10
  expect_status 0
  expect_stderr_contains 'rank 1 (host localhost, pid '
  expect_stderr_contains 'failed: killed by SIGKILL; restart 1 of 1'
  expect_stderr_lacks 'goes on without it'
  # Worker 0 waits in its last barrier. Both attempts of worker 1 count.
  expect_stdout_contains 'worker 0: w = 70 70, step 70, own pushes 30, stale 0'
  expect_stdout_contains 'worker 1: w = 70 70, step 70, own pushes 40, stale 0'
  expect_no_processes
}

test_a_killed_worker_rejoins_synchronous_training() {
  run_dtrain run --role ps=1,worker=2 --strategy parameter_server --ps-mode sync:1 --restart-role worker=1 --no-tag "$worker" 10 sync 1 kill=1:3
  expect_status 0
  expect_stderr_contains 'failed: killed by SIGKILL; restart 1 of 1'
  expect_stdout_contains 'worker 0: w = '
  expect_stdout_contains 'worker 1: w = '
  expect_stdout_lacks error
  expect_no_processes
}

test_a_worker_that_always_dies_ends_the_job_when_no_restart_is_left() {
  run_dtrain run --role ps=1,worker=2 --strategy parameter_server --ps-mode async --min-workers 2 --restart-role worker=1 --no-tag \
    "$worker" 1000000000 async 0 kill=1:3 kills=9
  expect_status 137
  expect test "$(grep -c '; restart 1 of 1' "$out/stderr")" = 1
  expect_no_processes
}

test_a_restarted_rank_gets_a_sentence_instead_of_collectives() {
  run_dtrain run -np 2 --restart-role worker=1 --no-tag "$(dirname "$DTRAIN")/tests/programs/collective_worker" 1 exit3 stamp
  expect_not test "$status" = 0
  cat "$out/stdout" "$out/stderr" >all
  expect grep -q 'worker:1 was restarted (attempt 2), and the end of its attempt before has ended the collectives of the job' all
  expect_no_processes
}

# Starts a single server with checkpoints and a worker, which may both be restarted.
test_a_killed_server_restores_its_checkpoint_and_its_worker_connects_again() {
  local server="ps=sh -c 'echo \$\$ >ps.pid; exec \"$DTRAIN\" ps --checkpoint model --checkpoint-every 10'"
  start_dtrain run --role ps=1,worker=1 --no-tag --restart-role ps=1,worker=1 --role-command "$server" \
    sh -c '[ "$DTRAIN_ATTEMPT" = 2 ] && exec "$0" 5 async 0; exec "$0" 1000000000 async 0' "$worker"
  wait_for sh -c 'ls model-*0.ps-0-of-1 2>/dev/null | grep -q .'
  kill -KILL "$(cat ps.pid)"
  finish
  expect_status 0
  expect_stderr_contains 'ps:0 (host localhost, pid '
  expect_stderr_contains 'failed: killed by SIGKILL; restart 1 of 1'
  expect_stderr_contains 'dtrain: restored step '
  expect_stdout_contains 'worker 0: error: the parameter server ps:0 on localhost died: killed by SIGKILL'
  expect_stdout_contains 'worker 0: w = '
  expect_no_processes
}

test_a_server_that_ends_on_sigterm_starts_again_from_its_last_checkpoint() {
  local server="ps=sh -c 'echo \$\$ >ps.pid; exec \"$DTRAIN\" ps --checkpoint model --checkpoint-every 10'"
  start_dtrain run --role ps=1,worker=1 --no-tag --restart-role ps=always,worker=1 --role-command "$server" \
    sh -c '[ "$DTRAIN_ATTEMPT" = 2 ] && exec "$0" 5 async 0; exec "$0" 1000000000 async 0' "$worker"
  wait_for sh -c 'ls model-*0.ps-0-of-1 2>/dev/null | grep -q .'
  kill -TERM "$(cat ps.pid)"
  finish
  expect_status 0
  expect_stderr_contains 'ended with status 0; restart 1'
  expect_stderr_lacks 'restart 2'
  expect_stderr_contains 'dtrain: restored step '
  expect_stdout_contains 'worker 0: error: the parameter server ps:0 on localhost died: exit status 0'
  expect_stdout_contains 'worker 0: w = '
  expect_no_processes
}

test_a_cluster_that_never_succeeds_runs_until_a_signal_and_ends_with_status_0() {
  local name
  for name in TERM INT; do
    # shellcheck disable=SC2016  # the task's shell expands it
    start_dtrain run --role ps=1,worker=1 --restart-role ps=always,worker=always --success never --no-tag \
      --report report.json sh -c 'echo "$DTRAIN_ROLE $DTRAIN_ATTEMPT"; [ "$DTRAIN_ROLE$DTRAIN_ATTEMPT" = worker1 ] || exec sleep 60'
    wait_for stdout_has 'worker 2'
    wait_for stdout_has 'ps 1'
    signal $name
    finish
    expect_status 0
    expect_stderr_contains "dtrain: stopped by SIG$name"
    expect python3 -c 'import json
report = json.load(open("report.json"))
assert report["exit_status"] == 0 and report["failure"] is None, report["reason"]'
    expect_no_processes
  done
}

test_a_cluster_that_never_succeeds_ends_by_a_failure() {
  run_dtrain run -np 2 --success never sh -c '[ "$RANK" = 1 ] && exit 3; exec sleep 60'
  expect_status 3
  run_dtrain run --role chief=1,worker=1 --restart-role chief=always --success auto true
  expect_status 2
  expect_stderr_contains 'which then cannot start again'
  expect_no_processes
}

# Prints a port that was free a moment ago.
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])'; }

test_a_restarted_server_has_the_port_of_its_role_again() {
  local port
  port=$(free_port)
  # shellcheck disable=SC2016  # the task's shell expands it
  run_dtrain run --role ps=1,worker=1 --restart-role ps=always --role-ports ps="$port" --no-tag sh -c '
    if [ "$DTRAIN_ROLE" = worker ]; then until [ -e second ]; do sleep 0.1; done; exit; fi
    python3 -c "import json, os; print(json.loads(os.environ[\"TF_CONFIG\"])[\"cluster\"][\"ps\"])"
    [ "$DTRAIN_ATTEMPT" = 2 ] || exit 0; touch second; exec sleep 60'
  expect_status 0
  expect_stdout "['127.0.0.1:$port']
['127.0.0.1:$port']"
}

test_a_port_that_is_in_use_is_an_error_with_host_and_port() {
  python3 -c 'import socket, time
listener = socket.socket()
listener.bind(("", 0))
listener.listen()
print(listener.getsockname()[1], flush=True)
time.sleep(600)' >port &
  local holder=$! port
  wait_for test -s port
  port=$(cat port)
  run_dtrain run --role ps=1,worker=1 --role-ports ps="$port" true
  kill $holder
  expect_status 2
  expect_stderr_contains "localhost: "
  expect_stderr_contains "$port"
  run_dtrain run --role ps=2,worker=1 --role-ports ps=2222 true
  expect_status 2
  expect_stderr_contains '--role-ports: ps:0 and ps:1 are both on localhost, and have port 2222'
}

run_tests "$@"
