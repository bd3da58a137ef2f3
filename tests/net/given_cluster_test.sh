#!/usr/bin/env bash
# A cluster with an external layout: each host runs a dtrain of its own, without ssh between the hosts.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

ring=$(realpath "$(dirname "$0")/../cli")/cluster_ring.py

# start_on K ARG…: starts `dtrain run` on node K in the background, with its output in `output of K`.
start_on() {
  local k=$1
  shift
  on_host "$k" "$DTRAIN" run "$@" >"output of $k" 2>&1 &
  started[k]=$!
}

await_all() {
  local k
  for k in "${!started[@]}"; do
    wait "${started[k]}" || fail "node $k:" "$(cat "output of $k")"
  done
}

test_each_host_starts_its_tasks_and_all_reach_each_other() {
  hosts_up 3
  # One host by its name, and one by its IPv4 and IPv6 addresses.
  local spec='chief|node1:2222,worker|10.77.0.2:2222;[fd77::2]:2223,ps|node3:2222;node1:2223'
  local k
  for k in 1 2 3; do start_on "$k" --cluster-spec "$spec" --success all --no-tag python3 "$ring"; done
  await_all
  expect_file 'output of 3' 'ps:0 heard chief:0 ps:1 worker:0 worker:1'
  expect diff <(sort 'output of 1') <(printf '%s\n' 'chief:0 heard ps:0 ps:1 worker:0 worker:1' 'ps:1 heard chief:0 ps:0 worker:0 worker:1')
  expect diff <(sort 'output of 2') <(printf '%s\n' 'worker:0 heard chief:0 ps:0 ps:1 worker:1' 'worker:1 heard chief:0 ps:0 ps:1 worker:0')
  expect_no_processes
}

test_ranks_go_through_all_hosts_and_the_first_is_where_all_find_it() {
  hosts_up 2
  local spec='worker|node1:2222;node2:2222;node2:2223' k
  for k in 1 2; do
    # shellcheck disable=SC2016
    start_on "$k" --cluster-spec "$spec" --no-tag sh -c \
      'echo "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $NODE_RANK/$GROUP_WORLD_SIZE $MASTER_ADDR:$MASTER_PORT"'
  done
  await_all
  expect_file 'output of 1' '0/3 0/1 0/2 node1:2222'
  expect diff <(sort 'output of 2') <(printf '%s\n' '1/3 0/2 1/2 node1:2222' '2/3 1/2 1/2 node1:2222')
}

test_a_host_without_a_task_is_refused() {
  hosts_up 2
  start_on 2 --cluster-spec 'worker|node1:2222' true
  status=0
  wait "${started[2]}" || status=$?
  expect_status 2
  local word
  for word in 'no task is on this machine' 10.77.0.2 node2 'its tasks are on node1'; do
    expect grep -qF "$word" 'output of 2'
  done
}

run_tests "$@"
