#!/usr/bin/env bash
# Faults of jobs of nodes: pods that do not fit together, do not come, or are lost. Each ends in one line.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=pods.sh
. "$(dirname "$0")/pods.sh"

# pod_count POD TEXT N: N lines of its stderr have this text.
pod_count() { [[ $(grep -cF -- "$2" "$(pod_folder "$1")/stderr") -eq $3 ]]; }

test_a_name_that_is_never_published_ends_the_nodes() {
  pods_up 2
  new_token
  dns_up
  start_pod 0 "$DTRAIN" run --nnodes 2 --node-rank 0 --master-addr "$(pod_name 0)" --start-timeout 8s touch started
  start_pod 1 "$DTRAIN" run --nnodes 2 --node-rank 1 --master-addr "$(pod_name 0)" --start-timeout 8s touch started
  finish_pods
  expect_pods 3 3
  expect_pod 1 stderr "dtrain: node 0 at $(pod_name 0):29500 did not answer for 8s (--start-timeout): "
  expect_pod 0 stderr 'node 1: it has not connected to port 29500 of this machine (--start-timeout)'
  expect_not test -e "$(pod_folder 0)/home/started"
  expect_no_processes
}

test_a_node_with_another_token_is_refused() {
  pods_up 2
  new_token
  pod_variable 1 "DTRAIN_NODES_TOKEN=$("$DTRAIN" token)"
  start_nodes --start-timeout 12s touch started
  finish_pods
  expect test "${pod_status[0]}" -ne 0
  expect test "${pod_status[1]}" -ne 0
  expect_pod 1 stderr 'is no node 0 with the same secret: give all nodes one DTRAIN_NODES_TOKEN'
  expect_pod 0 stderr "authentication failed from $(pod_address 1): wrong token"
  expect_not test -e "$(pod_folder 0)/home/started" -o -e "$(pod_folder 1)/home/started"
  expect_no_processes
}

test_twins_are_named_on_both_sides_and_the_missing_rank_too() {
  pods_up 3
  new_token
  start_node 0 --start-timeout 12s touch started
  wait_for_pod 0 stderr 'waiting for 2 nodes'
  # In containers, dtrain is the process 1.
  local k
  for k in 1 2; do
    start_pod "$k" unshare --pid --fork --kill-child "$DTRAIN" run --nnodes 3 --node-rank 1 \
      --master-addr "$(pod_address 0)" --start-timeout 12s touch started
  done
  finish_pods
  expect test "${pod_status[*]}" != '0 0 0'
  expect_pod 0 stderr 'each node needs a rank of its own'
  expect_pod 0 stderr 'port of the agents: a node at 10.77.0.1'
  expect_pod 0 stderr 'node 2: it has not connected to port 29500'
  grep -qF 'each node needs a rank of its own' "$(pod_folder 1)/stderr" "$(pod_folder 2)/stderr" ||
    pod_fail 'neither of the twins names the other'
  expect_not test -e "$(pod_folder 0)/home/started"
  expect_no_processes
}

# Nobody is the node 1 for which both wait.
test_two_nodes_of_rank_0_name_each_other() {
  pods_up 2
  new_token
  local k
  for k in 0 1; do
    start_pod "$k" "$DTRAIN" run --nnodes 2 --node-rank 0 --master-addr "$(pod_address 0)" --start-timeout 12s touch started
  done
  finish_pods
  expect_pods 3 3
  for k in 0 1; do
    expect_pod "$k" stderr 'A second node of rank 0 would wait, too: check --node-rank on each node'
  done
  expect_pod 1 stderr "this machine has no address $(pod_address 0), which is that of node 0"
  expect_pod_lacks 0 stderr 'this machine has no address'
  expect_no_processes
}

test_nodes_of_another_world_are_named_with_both_values() {
  pods_up 2
  new_token
  start_node 0 touch started
  start_pod 1 "$DTRAIN" run --nnodes 3 --node-rank 1 --master-addr "$(pod_address 0)" touch started
  finish_pods
  expect_pods 2 2
  expect_pod 0 stderr 'node 1 (train-1) has --nnodes 3, node 0 (train-0) has 2'
  expect_pod 1 stderr '--nnodes 3, node 0 (train-0) has 2'
  start_node 0 --nproc-per-node 2 touch started
  start_node 1 --nproc-per-node 1 touch started
  finish_pods
  expect_pods 2 2
  expect_pod 0 stderr 'node 1 (train-1) has --nproc-per-node 1, node 0 (train-0) has 2'
  expect_pod 1 stderr '--nproc-per-node 1, node 0 (train-0) has 2'
  expect_not test -e "$(pod_folder 0)/home/started" -o -e "$(pod_folder 1)/home/started"
  expect_no_processes
}

test_a_node_of_another_version_is_named_with_both() {
  pods_up 2
  new_token
  local version other
  version=$("$DTRAIN" version)
  version=${version#dtrain }
  other=${version%?}z
  LC_ALL=C sed "s/${version//./\\.}/$other/g" "$DTRAIN" >dtrain
  chmod +x dtrain
  expect test "$(./dtrain version)" = "dtrain $other"
  start_node 0 touch started
  start_pod 1 "$PWD/dtrain" run --nnodes 2 --node-rank 1 --master-addr "$(pod_address 0)" touch started
  finish_pods
  expect_pods 2 2
  local k
  for k in 0 1; do
    expect_pod "$k" stderr "node 1 (train-1) has dtrain $other, node 0 (train-0) has $version"
  done
  expect_not test -e "$(pod_folder 0)/home/started" -o -e "$(pod_folder 1)/home/started"
  expect_no_processes
}

test_a_master_address_of_another_pod_is_named() {
  pods_up 3
  new_token
  # Node 0 is pod 0, but the words have the address of pod 2, where nothing listens.
  local k
  for k in 0 1; do
    start_pod "$k" "$DTRAIN" run --nnodes 2 --node-rank "$k" --master-addr "$(pod_address 2)" --start-timeout 12s touch started
  done
  finish_pods
  expect_pods 3 3
  expect_pod 1 stderr "dtrain: waiting for node 0 at $(pod_address 2):29500: "
  expect_pod 1 stderr 'Connection refused'
  expect_no_processes
}

test_a_port_that_another_program_has_is_named() {
  pods_up 2
  new_token
  start_pod 1 "$DTRAIN" run --nnodes 2 --node-rank 0 --master-addr "$(pod_address 1)" --no-tag touch started
  wait_for_pod 1 stderr 'waiting for 1 node'
  wait_for ip netns exec "$net-1" sh -c 'ss -Hltn | grep -q :29500'
  run_in_pod 0 true
  run ip netns exec "$net-1" env "DTRAIN_NODES_TOKEN=$token" "$DTRAIN" run --nnodes 2 --node-rank 0 \
    --master-addr "$(pod_address 1)" touch started
  expect test "$status" -ne 0
  expect_stderr_contains '29500'
  expect_stderr_contains 'Address already in use; if that is another node of rank 0, check --node-rank on each node'
  signal_pod 1 TERM
  finish_pods
  expect_no_processes
}

test_strangers_at_the_port_keep_no_node_out() {
  pods_up 2
  new_token
  start_node 0 --no-tag "${show_rank[@]}"
  wait_for_pod 0 stderr 'waiting for 1 node'
  cat >strangers.py <<'PYTHON'
import socket, sys, time
peers = []
for i in range(200):
    try:
        peer = socket.create_connection((sys.argv[1], 29500), timeout=5)
        peer.sendall(b"GET / HTTP/1.0\r\n\r\n" if i % 2 else b"")
        peers.append(peer)
    except OSError:
        pass
print("there", flush=True)
time.sleep(60)
PYTHON
  start ip netns exec "$net-1" python3 strangers.py "$(pod_address 0)"
  wait_for stdout_has there
  start_node 1 --no-tag "${show_rank[@]}"
  finish_pods
  expect_pods 0 0
  expect_all_ranks 2 1
  signal KILL
  finish
}

test_nodes_end_when_node_0_is_killed() {
  pods_up 3
  new_token
  start_nodes --no-tag "${up[@]}"
  local k
  for k in 0 1 2; do wait_for_pod "$k" stdout up; done
  signal_pod 0 KILL
  finish_pods
  expect_pods 137 3 3
  for k in 1 2; do expect_pod "$k" stderr 'dtrain: node 0 lost: '; done
  expect_no_processes
}

test_nodes_end_when_node_0_falls_silent() {
  pods_up 2
  new_token
  start_nodes --dead-after 2s --no-tag "${up[@]}"
  local k
  for k in 0 1; do wait_for_pod "$k" stdout up; done
  ip -n "$net-l" link set port0 down
  finish_pods
  expect_pods 3 3
  expect_pod 1 stderr 'dtrain: node 0 lost: '
  expect_pod 0 stderr 'train-1'
  expect_no_processes
}

test_the_eviction_of_a_node_ends_the_job() {
  pods_up 3
  new_token
  # shellcheck disable=SC2016
  start_nodes --no-tag sh -c 'trap "echo $RANK has time; exit 0" TERM; echo up; while :; do sleep 0.1; done'
  local k
  for k in 0 1 2; do wait_for_pod "$k" stdout up; done
  signal_pod 1 TERM
  finish_pods
  expect test "${pod_status[1]}" = 143
  expect test "${pod_status[0]}" -ne 0
  expect test "${pod_status[2]}" = "${pod_status[0]}"
  expect_pod 1 stdout '1 has time'
  expect_pod 1 stderr 'this node leaves the job: it got SIGTERM'
  expect_pod 0 stderr 'train-1'
  expect_no_processes
}

test_a_node_that_leaves_before_the_start_is_named() {
  pods_up 3
  new_token
  start_node 0 --verbose --start-timeout 12s touch started
  start_node 1 --start-timeout 12s touch started
  wait_for_pod 0 stderr 'node 1 is train-1'
  signal_pod 1 KILL
  finish_pods
  expect test "${pod_status[0]}" = 3
  expect_pod 0 stderr 'train-1: its connection ended'
  expect_pod 0 stderr 'node 2: it has not connected to port 29500'
  expect_not test -e "$(pod_folder 0)/home/started"
  expect_no_processes
}

test_a_node_that_is_lost_before_the_start_may_come_again() {
  pods_up 3
  new_token
  start_node 0 --verbose --no-tag "${show_rank[@]}"
  local signal count=0
  for signal in KILL TERM; do
    start_node 1 --no-tag "${show_rank[@]}"
    wait_for pod_count 0 'node 1 is train-1' $((++count))
    signal_pod 1 $signal
    wait_for pod_count 0 'the job awaits it again' $count
    wait "${pod_pid[1]}" || true
  done
  start_node 1 --no-tag "${show_rank[@]}"
  wait_for pod_count 0 'node 1 is train-1' 3
  start_node 2 --no-tag "${show_rank[@]}"
  finish_pods
  expect_pods 0 0 0
  expect_all_ranks 3 1
  expect_pod 0 stderr 'warning: train-1: its connection ended; the job awaits it again'
  expect_pod 0 stderr 'warning: train-1: it got SIGTERM; the job awaits it again'
  expect_pod_lacks 0 stderr 'is there already'
  expect_no_processes
}

test_an_evicted_pod_that_does_not_come_back_ends_the_job() {
  pods_up 2
  new_token
  start_nodes --max-restarts 1 --start-timeout 12s --no-tag "${up[@]}"
  local k
  for k in 0 1; do wait_for_pod "$k" stdout up; done
  signal_pod 1 KILL
  finish_pods
  expect test "${pod_status[0]}" = 3
  expect_pod 0 stderr 'train-1'
  expect_no_processes
}

test_c10d_without_an_owner_of_the_address_names_the_ranks() {
  pods_up 2
  new_token
  start_pods "$DTRAIN" run --nnodes 2 --rdzv-backend c10d --rdzv-endpoint 10.77.0.99 --start-timeout 12s touch started
  finish_pods
  expect_pods 3 3
  local k
  for k in 0 1; do
    expect_pod "$k" stderr 'dtrain: waiting for node 0 at 10.77.0.99:29400: '
    expect_pod "$k" stderr 'if no node has the address 10.77.0.99, give each its rank: --node-rank'
  done
  expect_no_processes
}

test_c10d_without_the_other_nodes_names_the_endpoint() {
  pods_up 1
  new_token
  start_pods "$DTRAIN" run --nnodes 2 --rdzv-backend c10d --rdzv-endpoint "$(pod_address 0)" --start-timeout 12s touch started
  finish_pods
  expect_pods 3
  expect_pod 0 stderr "does dtrain run start there, with --rdzv-endpoint $(pod_address 0):29400 and --nnodes 2?"
  expect_pod_lacks 0 stderr 'does dtrain run start there, with its'
  expect_no_processes
}

test_a_cut_between_two_nodes_is_a_lost_link_and_no_hang() {
  pods_up 3
  new_token
  command -v iptables >/dev/null || skip 'no iptables; run: tools/setup.sh ci'
  ip netns exec "$net-2" iptables -A INPUT -s "$(pod_address 1)" -j DROP 2>"$out/iptables" ||
    skip "no firewall here: $(head -n 1 "$out/iptables")"
  # Node 0 reaches both, so the job starts; only their own sums would miss each other.
  start_nodes --no-tag "${show_rank[@]}"
  finish_pods
  expect_pods 0 0 0
  expect_all_ranks 3 1
  expect_no_processes
}

# The reader of node 1 takes nothing until a file is there, which the test makes when the job has ended.
test_a_reader_that_stops_on_one_node_does_not_stop_the_job() {
  local command
  pods_up 2
  new_token
  command="$DTRAIN run --nnodes 2 --master-addr $(pod_address 0) --no-tag --node-rank"
  start_pod 0 sh -c "$command 0 sh -c 'seq 1000000; echo last \$RANK'"
  start_pod 1 bash -c "$command 1 sh -c 'seq 1000000; echo last \$RANK' |
    (until [ -e go ]; do sleep 0.1; done; cat); exit \${PIPESTATUS[0]}"
  wait_for_pod 1 stderr 'warning: nobody has read the output of this node for 10s'
  wait "${pod_pid[0]}"
  touch "$(pod_folder 1)/home/go"
  unset 'pod_pid[0]'
  finish_pods
  expect test "${pod_status[1]}" = 0
  # Node 0 has all lines of both.
  expect test "$(wc -l <"$(pod_folder 0)/stdout")" = 2000002
  expect_pod 0 stdout 'last 1'
  expect_pod_lacks 1 stdout 'last 0'
  expect test "$(wc -l <"$(pod_folder 1)/stdout")" -lt 1000001
  expect_no_processes
}

run_tests "$@"
