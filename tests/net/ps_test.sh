#!/usr/bin/env bash
# Parameter servers and workers on several hosts.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

worker=$(dirname "$DTRAIN")/tests/programs/ps_worker
line=$(dirname "$DTRAIN")/examples/linear_regression

# Two servers and four workers, half of them on each of two hosts.
run_on_two_hosts() {
  run_on_launcher "$DTRAIN" run -H node1:3,node2:3 --role ps=2@node1:1,node2:1 --role worker=4@node1:2,node2:2 \
    --strategy parameter_server --no-tag "$@"
}

test_workers_and_servers_of_two_hosts_train_together() {
  hosts_up 2
  run_on_two_hosts "$worker" 20 sync 0 size=200000
  expect_status 0
  local index
  for index in 0 1 2 3; do
    expect_stdout_contains "worker $index: w = 20 20, step 20, own pushes 20, stale 0"
  done
  run_on_two_hosts --encrypt-data "$worker" 10 async 0 size=200000
  expect_status 0
  expect_stdout_contains 'worker 3: w = 40 40, step 40, own pushes 10, stale 0'
  expect_no_processes
}

test_the_line_is_found_over_two_hosts() {
  hosts_up 2
  run_on_launcher "$DTRAIN" run -H node1:2,node2:2 --role ps=1@node1 --role worker=2@node2 --no-tag "$line" \
    '--cluster_spec={cluster_spec}' '--job_name={role}' '--task_id={index}' --sync
  expect_status 0
  expect_stdout_contains 'y = 2.00 x + 10.00 after 640 steps'
  expect_no_processes
}

test_a_worker_of_another_host_is_restarted_and_rejoins() {
  hosts_up 2
  run_on_two_hosts --ps-mode async --restart-role worker=1 "$worker" 20 async 0 kill=3:5
  expect_status 0
  expect_stderr_contains 'rank 3 (host node2, pid '
  expect_stderr_contains 'failed: killed by SIGKILL; restart 1 of 1'
  expect_stdout_contains 'worker 0: w = 85 85, step 85, own pushes 20, stale 0'
  expect_stdout_contains 'worker 3: w = 85 85, step 85, own pushes 25, stale 0'
  expect_no_processes
}

test_a_lost_host_has_no_restarts() {
  hosts_up 2
  start_on_launcher "$DTRAIN" run -H node1:1,node2:1 --restart-role worker=5 --no-tag sh -c 'echo up; exec sleep 60'
  wait_for sh -c '[ "$(grep -c up "$0")" = 2 ]' "$out/stdout"
  kill -KILL "$(agent_on 2)"
  finish
  expect_status 3
  expect_stderr_contains 'agent on node2 lost: '
  expect_stderr_contains '(tasks of a lost host are not restarted)'
}

test_a_server_that_dies_on_another_host_is_named() {
  hosts_up 2
  start_on_launcher "$DTRAIN" run -H node1:2,node2:2 --role ps=1@node2 --role worker=2@node1 --no-tag \
    --on-failure continue --role-command "ps=sh -c 'echo \$\$ >\"$PWD/ps.pid\"; exec \"$DTRAIN\" ps'" \
    "$worker" 1000000000 async 0
  wait_for stdout_has 'worker 0: started'
  wait_for stdout_has 'worker 1: started'
  kill -KILL "$(cat ps.pid)"
  wait_for stdout_has 'worker 0: error: the parameter server ps:0 on node2 died: killed by SIGKILL'
  wait_for stdout_has 'worker 1: error: the parameter server ps:0 on node2 died: killed by SIGKILL'
  finish
  expect_status 137
  expect_no_processes
}

run_tests "$@"
