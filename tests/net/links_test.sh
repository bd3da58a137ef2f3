#!/usr/bin/env bash
# Links between hosts, which connect when they are first used.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# Starts two ranks on each of two hosts, and waits until all have joined.
start_unused() {
  hosts_up 2
  rm -f go stop
  start_on_launcher "$DTRAIN" run -H node1:2,node2:2 \
    "$(dirname "$DTRAIN")/tests/programs/link_worker" "$PWD/go" "$PWD/stop"
  wait_for joined_are 4
}
joined_are() { [[ $(grep -c joined "$out/stdout") -eq $1 ]]; }

expect_links() {
  ip netns exec "$net-1" ss -Htn state established dst 10.77.0.2 >"$out/sockets"
  [[ $(grep -c . "$out/sockets") -eq $1 ]] || fail "expected $1 links between the hosts:" "$(cat "$out/sockets")"
}

test_ranks_have_only_the_links_between_hosts_that_they_use() {
  start_unused
  expect_links 0
  touch go
  wait_for stdout_has received
  expect_links 1
  touch stop
  finish
  expect_status 0
  expect_stderr ''
  expect_no_processes
}

test_a_path_that_is_cut_before_its_first_use_is_named_with_rank_and_host() {
  start_unused
  local k
  # Such ports of a bridge reach the launcher, and not each other.
  for k in 1 2; do
    ip -n "$net-l" link set "port$k" type bridge_slave isolated on || skip 'no isolated ports here'
  done
  touch go
  finish
  expect_status 5
  local named='connection to rank (0 \(host node1\)|3 \(host node2\)) lost: cannot connect to 10.77.0.[12]:'
  grep -Eq "$named.* \(after [5-9][0-9]{3} ms\)" "$out/stderr" ||
    fail "no rank is named within 10 s: $(cat "$out/stderr")"
  expect_no_processes
}

test_more_ranks_than_the_peer_s_queue_holds_dial_it_while_it_computes() {
  hosts_up 2
  rm -f go stop wake
  # The kernel drops the connections beyond this length of a listener's queue, as it does with packets.
  ip netns exec "$net-2" sysctl -qw net.core.somaxconn=4 2>"$out/sysctl" || skip 'no somaxconn of a namespace here'
  start_on_launcher "$DTRAIN" run -H node1:24,node2:1 --no-tag \
    "$(dirname "$DTRAIN")/tests/programs/link_worker" "$PWD/go" "$PWD/stop" "$PWD/wake"
  wait_for joined_are 25
  touch go
  # Longer than the time after which a silent peer counts as dead.
  sleep 8
  touch wake
  wait_for stdout_has received
  touch stop
  finish
  expect_status 0
  expect_stderr ''
  expect_no_processes
}

run_tests "$@"
