#!/usr/bin/env bash
# The addresses that a job over several hosts uses.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

collective=$(dirname "$DTRAIN")/tests/programs/collective_worker
steady=$(dirname "$DTRAIN")/tests/programs/steady_worker

# shellcheck disable=SC2016  # for the workers' shells
ways='echo $MASTER_ADDR ${DTRAIN_RENDEZVOUS%:*} ${NCCL_SOCKET_IFNAME-none} ${GLOO_SOCKET_IFNAME-none} \
  $TF_CONFIG | sed "s/:[0-9][0-9]*\"/\"/g"'
two_workers='{"cluster":{"worker":["10.77.0.1","10.77.0.2"]},"task":{"type":"worker","index":'

# expect_ways RANK INTERFACE: the rank printed the addresses of two hosts in $ways, and this interface.
expect_ways() {
  expect_stdout_contains "[$1]<stdout>:10.77.0.1 10.77.0.254 =$2 $2 $two_workers$1}}"
}

test_the_reachable_address_is_used_and_each_host_gets_its_own_interface() {
  hosts_up 2
  # On both hosts and on this machine, the first address is one that others cannot reach.
  local k
  for k in 1 2; do unplug $k && container_bridge $k; done
  container_bridge l
  plug_in 1 eth0
  plug_in 2 ens5
  run_on_launcher "$DTRAIN" run --verbose -H node1:1,node2:1 sh -c "$ways"
  expect_status 0
  expect_ways 0 eth0
  expect_ways 1 ens5
  expect_stderr_contains 'node1: other hosts reach it at 10.77.0.1 (eth0)'
  expect_stderr_contains 'node2: other hosts reach it at 10.77.0.2 (ens5)'
  run_on_launcher "$DTRAIN" run -H node1:1,node2:1 "$collective" -1 none none
  expect_status 0
  expect_stderr ''
  expect_lines_with 2 'reached the end'
}

# let_in K|l INTERFACE PORTS: a firewall that accepts connections to sshd and to these ports only.
let_in() {
  firewall "$1" -i "$2" -p tcp --dport 22 -j ACCEPT
  firewall "$1" -i "$2" -p tcp --dport "$3" -j ACCEPT
  firewall "$1" -i "$2" -p tcp --syn -j REJECT --reject-with tcp-reset
}

test_hosts_that_let_in_ssh_and_the_port_range_alone_need_no_other_port() { # F17
  hosts_up 2
  let_in 1 eth0 25000:25003
  let_in 2 eth0 25000:25003
  let_in l bridge 25000:25003
  # Twice: leftovers of the first job on the ports must not disturb the second.
  for _ in 1 2; do
    run_on_launcher "$DTRAIN" run --verbose --port-range 25000-25003 -H node1:2,node2:2 \
      "$collective" -1 none none
    expect_status 0
    expect_stderr_lacks 'cannot'
    expect_lines_with 4 'reached the end'
  done
  # A program that passes its identity to dtrain_init listens there, too.
  run_on_launcher "$DTRAIN" run --port-range 25000-25003 -H node1:2,node2:2 "${collective%/*}/identity_worker"
  expect_status 0
  expect_lines_with 4 joined
  run_on_launcher "$DTRAIN" run --port-range 25000-25002 -H node1:2,node2:2 "$collective" -1 none none
  expect_status 2
  expect_stderr 'dtrain: node1: --port-range 25000-25002: 4 ports are needed, it has 3'
  run_on_launcher "$DTRAIN" check --port-range 25002-25003 -H node1:1,node2:1
  expect_status 0
  expect_stdout_contains 'reaches this machine at 10.77.0.254'
  expect_stdout_contains '2 hosts, 1 pair: '
  run_on_launcher "$DTRAIN" check -H node1:1,node2:1
  expect_status 1
  expect_no_processes
}

test_interfaces_that_the_user_names_stand() {
  hosts_up 2
  run_on_launcher "$DTRAIN" run -H node1:1,node2:1 -x NCCL_SOCKET_IFNAME=ib -x GLOO_SOCKET_IFNAME= \
    -- sh -c 'echo $NCCL_SOCKET_IFNAME,${GLOO_SOCKET_IFNAME-none}'
  expect_status 0
  expect_stdout_lines '[0]<stdout>:ib,' '[1]<stdout>:ib,'
}

test_a_single_host_has_no_interface_to_name() {
  hosts_up 1
  run_on_launcher "$DTRAIN" run -H node1:2 -- \
    sh -c 'echo ${NCCL_SOCKET_IFNAME-none} ${GLOO_SOCKET_IFNAME-none}'
  expect_status 0
  expect_stdout_lines '[0]<stdout>:none none' '[1]<stdout>:none none'
}

# second_network K: gives node K a second network card, with the address 10.78.0.K.
second_network() {
  ip -n "$net-l" link add "more$1" type veth peer name ib0 netns "$net-$1"
  ip -n "$net-l" link set "more$1" master bridge up
  ip -n "$net-$1" link set ib0 up
  ip -n "$net-$1" address add "10.78.0.$1/24" dev ib0
}

test_network_interfaces_are_the_only_ones_used() {
  hosts_up 2
  second_network 1
  second_network 2
  run_on_launcher "$DTRAIN" run -H node1:1,node2:1 --network-interface ib0 --verbose -- \
    sh -c 'echo $MASTER_ADDR $NCCL_SOCKET_IFNAME ${DTRAIN_RENDEZVOUS%:*}'
  expect_status 0
  # This machine is not in that network: the agents relay the rendezvous.
  expect_stdout_lines '[0]<stdout>:10.78.0.1 =ib0 127.0.0.1' '[1]<stdout>:10.78.0.1 =ib0 127.0.0.1'
  run_on_launcher "$DTRAIN" run -H node1:1,node2:1 --network-interfaces 10.78.0.0/16 \
    "$collective" -1 none none
  expect_status 0
  expect_lines_with 2 'reached the end'
}

test_a_network_that_a_host_lacks_is_reported_with_those_that_it_has() {
  hosts_up 3
  second_network 1
  run_on_launcher "$DTRAIN" run -H node1:1,node2:1,node3:1 --network-interface ib0 touch started
  expect_status 2
  expect_stderr \
    'dtrain: node2, node3: no interface fits --network-interfaces ib0; there are: eth0, lo'
  run_on_launcher "$DTRAIN" run -H node1:1,node2:1 --network-interface 10.78.0.0/24 touch started
  expect_status 2
  expect_stderr_contains 'node2: no interface fits --network-interfaces 10.78.0.0/24; there are: eth0 (10.77.0.2, fd77::2), lo'
}

test_a_ring_of_cables_without_a_switch_sums_together() {
  hosts_up 3
  local k next
  for k in 1 2 3; do
    # From here on, the common network leads each host to this machine only.
    bridge -n "$net-l" link set dev "port$k" isolated on || skip 'ports of bridges cannot be isolated'
    next=$((k % 3 + 1))
    ip -n "$net-$k" link add "to$next" type veth peer name "to$k" netns "$net-$next"
    ip -n "$net-$k" address add "10.10$k.0.$k/24" dev "to$next"
    ip -n "$net-$next" address add "10.10$k.0.$next/24" dev "to$k"
    ip -n "$net-$k" link set "to$next" up
    ip -n "$net-$next" link set "to$k" up
  done
  run_on_launcher "$DTRAIN" run -H node1:1,node2:1,node3:2 "$collective" -1 none none
  expect_status 0
  expect_lines_with 4 'reached the end'
  expect_stderr_contains 'node3 can reach node1 only at 10.103.0.1, others at 10.101.0.1;'
}

test_two_names_of_one_machine_are_one_warning() { # F22
  hosts_up 1
  echo '10.77.0.1 alias' >>"$out/net/hosts"
  sed "s/^node1,/alias,/" "$(launcher_home)/.ssh/known_hosts" >"$out/more"
  cat "$out/more" >>"$(launcher_home)/.ssh/known_hosts"
  run_on_launcher "$DTRAIN" run -H node1:1,alias:1 -- sh -c 'echo $RANK $LOCAL_RANK $LOCAL_WORLD_SIZE'
  expect_status 0
  expect_stdout_lines '[0]<stdout>:0 0 1' '[1]<stdout>:1 0 1'
  expect_stderr 'dtrain: warning: node1, alias are one machine under several names (same boot, same network); each counts as a host of its own'
}

test_ipv6_alone_is_enough() { # F20 R29
  hosts_up 2
  ip netns exec "$net-l" ip -4 address flush dev bridge
  for k in 1 2; do ip netns exec "$net-$k" ip -4 address flush dev eth0; done
  run_on_launcher "$DTRAIN" run -H '[fd77::1]:1,[fd77::2]:1' sh -c "$ways"
  expect_status 0
  expect_stdout_contains '[0]<stdout>:fd77::1 [fd77::254] =eth0 eth0 {"cluster":{"worker":["[fd77::1]","[fd77::2]"]}'
  run_on_launcher "$DTRAIN" run -H '[fd77::1]:1,[fd77::2]:1' "$collective" -1 none none
  expect_status 0
  expect_lines_with 2 'reached the end'
}

test_a_dead_name_server_does_not_matter_to_hosts_that_are_addresses() { # F19 R29
  hosts_up 2
  echo 'nameserver 10.77.0.99' >"$out/net/resolv.conf"
  sed -i "s;shift 2 &&;mount --bind $out/net/resolv.conf /etc/resolv.conf \&\& shift 2 \&\&;" \
    "$out/net/on_launcher"
  : >"$out/net/hosts"
  run_on_launcher "$DTRAIN" run -H 10.77.0.1:1,10.77.0.2:1 echo up
  expect_status 0
  expect_stdout_lines '[0]<stdout>:up' '[1]<stdout>:up'
  run_on_launcher "$DTRAIN" run --connect-timeout 3s -H 10.77.0.1:1,node2:1 echo up
  expect_status 3
  expect_soon
  expect_stderr_contains 'node2: '
  expect_no_processes
}

test_a_host_that_loses_its_power_ends_the_job_and_serves_the_next() { # F21 F29
  hosts_up 2
  start_on_launcher "$DTRAIN" run --dead-after 2s -H node1:1,node2:1 "$steady" "$out/stop"
  wait_for stdout_has steady
  # The host sends nothing any more, and all its connections stay half open.
  cut_cable 2
  local pids
  pids=$(ip netns pids "$net-2")
  # shellcheck disable=SC2086  # one word a pid
  kill -KILL $pids
  since_ms=$(now_ms)
  finish
  expect_status 3
  expect_soon
  expect_stderr_contains 'agent on node2 lost: '
  expect_no_processes
  mend_cable 2
  sshd_up 2
  run_on_launcher "$DTRAIN" run -H node1:1,node2:1 "$collective" -1 none none
  expect_status 0
  expect_lines_with 2 'reached the end'
}

run_tests "$@"
