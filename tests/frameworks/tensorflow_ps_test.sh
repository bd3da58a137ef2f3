#!/usr/bin/env bash
# TensorFlow jobs with servers that never return, of both its generations: their end is dtrain's to decide.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$(dirname "$0")/../net/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

between=$examples/tensorflow1_between_graph/train.py
hosts_flags=('--job_name={role}' '--task_index={index}' '--ps_hosts={hosts:ps}' '--worker_hosts={hosts:worker}')

# expect_line NAME: what the job printed ends with a line y = w x + b, both within 1 % of 2 and 10.
expect_line() {
  local number='([0-9]+\.[0-9]+)'
  # shellcheck disable=SC2031  # set by the library
  [[ $(cat "$out/stdout") =~ (^|$'\n')$1y\ =\ $number\ x\ \+\ $number($|$'\n') ]] || fail "no line of $1"
  awk -v w="${BASH_REMATCH[2]}" -v b="${BASH_REMATCH[3]}" \
    'BEGIN { exit !(w >= 1.98 && w <= 2.02 && b >= 9.9 && b <= 10.1) }' || fail 'not the line y = 2 x + 10'
}

test_the_chief_of_a_parameter_server_strategy_ends_the_job() {
  uses tensorflow
  run_dtrain run --role chief=1 --role ps=2 --role worker=2 --role evaluator=1 --no-tag --grace 5s \
    "$python" "$examples/tensorflow_ps/train.py" checkpoints
  expect_status 0
  expect_line ''
  expect test -e checkpoints/line-5.index
  expect_dtrain_reports_no_failure
  expect_no_processes
}

test_workers_that_each_build_the_graph_learn_from_flags_of_hosts() {
  uses tensorflow
  run_dtrain run --role ps=2 --role worker=2 --success all-workers --no-tag --grace 5s \
    "$python" "$between" "${hosts_flags[@]}"
  expect_status 0
  expect_line 'worker 0: '
  expect_line 'worker 1: '
  expect_dtrain_reports_no_failure
  expect_no_processes
}

test_servers_and_workers_may_be_on_different_hosts() {
  uses tensorflow
  hosts_up 2
  run_on_launcher "$DTRAIN" run -H node1,node2 --role ps=1@node1 --role worker=2@node2:2 --success all-workers \
    --no-tag --grace 5s "$python" "$between" \
    '--cluster_spec={cluster_spec}' '--job_name={role}' '--task_id={index}'
  expect_status 0
  expect_line 'worker 0: '
  expect_line 'worker 1: '
  expect_dtrain_reports_no_failure
  expect_no_processes
}

test_a_client_with_the_whole_graph_ends_the_servers() {
  uses tensorflow
  run_dtrain run --role ps=1 --role worker=2 --role client=1 --success role:client --no-tag --grace 5s \
    "$python" "$examples/tensorflow1_in_graph/train.py" "${hosts_flags[@]}"
  expect_status 0
  expect_line '2 workers: '
  expect_dtrain_reports_no_failure
  expect_no_processes
}

run_tests "$@"
