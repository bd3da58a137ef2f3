#!/usr/bin/env bash
# Jobs of TensorFlow 1 and 2 with servers that never return: dtrain has to end these.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$(dirname "$0")/../net/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

between=$examples/tensorflow1_between_graph/train.py
spec_flags=('--cluster_spec={cluster_spec}' '--job_name={role}' '--task_id={index}')
hosts_flags=('--job_name={role}' '--task_index={index}' '--ps_hosts={hosts:ps}' '--worker_hosts={hosts:worker}')

# expect_line NAME: the job printed NAME and a line y = w x + b, with w and b within 1 % of 2 and 10.
expect_line() {
  local number='([0-9]+\.[0-9]+)'
  # shellcheck disable=SC2031  # set by the library
  [[ $(cat "$out/stdout") =~ (^|$'\n')$1y\ =\ $number\ x\ \+\ $number($|$'\n') ]] || fail "no line of $1"
  awk -v w="${BASH_REMATCH[2]}" -v b="${BASH_REMATCH[3]}" \
    'BEGIN { exit !(w >= 1.98 && w <= 2.02 && b >= 9.9 && b <= 10.1) }' || fail 'not the line y = 2 x + 10'
}

# expect_all_completed FILE TASKS: the report has exactly these tasks, and all have completed: those that decide
# ended by themselves, and dtrain ended the others.
expect_all_completed() {
  python3 - "$1" "$2" <<'END' || fail "not what the report $1 should have"
import json
import sys

report = json.load(open(sys.argv[1]))
tasks = {f"{task['role']} {task['index']}": task for task in report["tasks"]}
print(*(f"{name}: {task['exit']}, completed: {task['completed']}" for name, task in tasks.items()), sep="\n")
assert report["exit_status"] == 0 and report["failure"] is None and report["failed_tasks"] == 0
assert sorted(tasks) == sorted(sys.argv[2].split(", "))
assert all(task["completed"] for task in tasks.values())
assert all(task["exit"]["signal"] in (None, "SIGTERM") for task in tasks.values())
END
}

test_the_chief_of_a_parameter_server_strategy_ends_the_job() {
  uses tensorflow
  DTRAIN_OPT_REPORT=report.json run_readme tensorflow_ps
  expect_status 0
  expect_line ''
  expect test -e checkpoints/line-5.index
  # The number of checkpoints that the evaluator sees is random.
  # shellcheck disable=SC2031  # set by the library
  expect_not grep -vE '^line-[1-5]: error 0\.[0-9]{6}$|^y = ' "$out/stdout"
  expect_all_completed report.json 'chief 0, evaluator 0, ps 0, ps 1, worker 0, worker 1'
  expect_no_dtrain_message
  expect_no_processes
}

test_workers_that_each_build_the_graph_learn_from_flags_of_hosts() {
  uses tensorflow
  DTRAIN_OPT_REPORT=report.json run_readme tensorflow1_between_graph
  expect_status 0
  expect_line 'worker 0: '
  expect_line 'worker 1: '
  expect_all_completed report.json 'ps 0, ps 1, worker 0, worker 1'
  expect_no_dtrain_message
  expect_no_processes
}

test_a_server_that_ends_starts_again_and_training_continues_from_its_checkpoint() {
  uses tensorflow
  run_dtrain run --role ps=1,worker=1 --restart-role ps=always --report report.json --no-tag \
    "$python" "$scripts/tensorflow1_server_restart.py"
  expect_status 0
  expect_stderr_contains 'ended with status 0; restart 1'
  # shellcheck disable=SC2031  # set by the library
  expect grep -qxE 'the checkpoint had step [1-5][0-9]' "$out/stdout"
  expect_stdout_contains 'step 100, weight 2.000'
  expect_all_completed report.json 'ps 0, worker 0'
  expect_no_processes
}

test_servers_and_workers_may_be_on_different_hosts() {
  uses tensorflow
  hosts_up 2
  run_on_launcher "$DTRAIN" run --role ps=1@node1 --role worker=2@node2:2 --report report.json --no-tag \
    "$python" "$between" "${spec_flags[@]}"
  expect_status 0
  expect_line 'worker 0: '
  expect_line 'worker 1: '
  expect_all_completed report.json 'ps 0, worker 0, worker 1'
  expect_no_dtrain_message
  expect_no_processes
  # There is one worker: a second one would poll for the chief's variables every 30 s.
  local flags
  for flags in spec hosts; do
    local -n words=${flags}_flags
    run_on_launcher "$DTRAIN" run -H node1:2,node2:1 --role ps=1@node2 --role worker=1@node1 --no-tag \
      "$python" "$between" "${words[@]}"
    expect_status 0
    expect_line 'worker 0: '
    expect_no_dtrain_message
  done
  expect_no_processes
}

test_a_dtrain_on_each_host_runs_a_cluster_that_is_given() {
  uses tensorflow
  hosts_up 2
  # Each ps has variables that workers on other hosts may need, so dtrain ends no ps.
  local spec='worker|node1:2222,ps|node2:2222;node1:2223' started=() k
  for k in 1 2; do
    on_host "$k" "$DTRAIN" run --cluster-spec "$spec" --no-tag "$python" "$between" "${hosts_flags[@]}" >"on $k" 2>&1 &
    started[k]=$!
  done
  wait_for grep -q '^worker 0: ' 'on 1'
  for k in 1 2; do
    kill -TERM "$(processes_on "$k" dtrain)"
    status=0
    wait "${started[k]}" || status=$?
    expect_status 143
  done
  # shellcheck disable=SC2031  # set by the library
  grep -v '^dtrain: ' 'on 1' >"$out/stdout"
  expect_line 'worker 0: '
  expect_no_processes
}

test_a_client_with_the_whole_graph_ends_the_servers() {
  uses tensorflow
  DTRAIN_OPT_REPORT=report.json run_readme tensorflow1_in_graph
  expect_status 0
  expect_line '2 workers: '
  expect_all_completed report.json 'client 0, ps 0, worker 0, worker 1'
  expect_no_dtrain_message
  expect_no_processes
}

test_a_client_finds_servers_on_other_hosts() {
  uses tensorflow
  hosts_up 3
  run_on_launcher "$DTRAIN" run --role ps=1@node3:1 --role worker=2@node1,node2 --role client=1@node3:1 \
    --success role:client --no-tag "$python" "$examples/tensorflow1_in_graph/train.py" "${hosts_flags[@]}"
  expect_status 0
  expect_line '2 workers: '
  expect_no_dtrain_message
  expect_no_processes
}

test_a_parameter_server_strategy_goes_over_hosts() {
  uses tensorflow
  hosts_up 2
  run_on_launcher "$DTRAIN" run --role chief=1@node1:1 --role ps=2@node1:1,node2:1 --role worker=2@node1:1,node2:1 \
    --report report.json --no-tag "$python" "$examples/tensorflow_ps/train.py" checkpoints
  expect_status 0
  expect_line ''
  expect_all_completed report.json 'chief 0, ps 0, ps 1, worker 0, worker 1'
  expect_no_dtrain_message
  expect_no_processes
}

test_a_parameter_server_strategy_continues_from_its_checkpoint_after_a_restart() {
  uses tensorflow
  run_dtrain run --role chief=1,ps=1,worker=1 --max-restarts 1 --no-tag "$python" "$scripts/tensorflow_ps_restarts.py"
  expect_status 0
  expect_stdout 'restart 0, round 0: 10 steps
restart 0, round 1: 20 steps
restart 0, round 2: 30 steps
restart 1, round 3: 40 steps
restart 1, round 4: 50 steps'
  expect_stderr_contains 'dtrain: restart 1 of 1 after '
  expect_no_processes
}

run_tests "$@"
