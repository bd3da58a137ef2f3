#!/usr/bin/env bash
# A launcher to which its hosts cannot connect, as behind NAT: the tests use a firewall.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

collective=$(dirname "$DTRAIN")/tests/programs/collective_worker
steady=$(dirname "$DTRAIN")/tests/programs/steady_worker
digits=$(dirname "$DTRAIN")/examples/digits

# Blocks all connections from the network to this machine. Outgoing ssh and loopback still work.
shut() { firewall l -i bridge -p tcp --syn -j "$@"; }

test_a_launcher_whose_firewall_drops_trains_through_its_agents() {
  hosts_up 2
  shut DROP
  run_on_launcher "$DTRAIN" run --verbose --no-tag -H node1:2,node2:2 "$digits"
  expect_status 0
  expect_stdout_contains ' 4 ranks'
  expect_stdout_contains 'accuracy 9'
  expect_stderr_contains 'node1: cannot reach this machine; its agent relays the rendezvous'
  expect_stderr_contains 'node2: cannot reach this machine; its agent relays the rendezvous'
  expect_no_processes
}

test_a_launcher_whose_firewall_refuses_is_found_out_at_once() {
  hosts_up 2
  shut REJECT --reject-with tcp-reset
  run_on_launcher "$DTRAIN" run -H node1:16,node2:16 "$collective" -1 none none
  expect_status 0
  expect_stderr ''
  expect_lines_with 32 'reached the end'
}

test_only_hosts_that_need_it_are_relayed() {
  hosts_up 2
  firewall_rule iptables l -s 10.77.0.2 -p tcp --syn -j REJECT --reject-with tcp-reset
  firewall_rule ip6tables l -s fd77::2 -p tcp --syn -j REJECT --reject-with tcp-reset
  run_on_launcher "$DTRAIN" run --verbose -H node1:1,node2:1 -- \
    sh -c 'echo ${DTRAIN_RENDEZVOUS%:*}'
  expect_status 0
  expect_stdout_lines '[0]<stdout>:10.77.0.254' '[1]<stdout>:127.0.0.1'
  expect_stderr_lacks 'node1: cannot dial'
  run_on_launcher "$DTRAIN" run -H node1:1,node2:1 "$collective" -1 none none
  expect_status 0
  expect_lines_with 2 'reached the end'
}

test_ranks_on_a_machine_that_accepts_no_connections_dial_the_others() {
  hosts_up 2
  shut REJECT --reject-with tcp-reset
  run_on_launcher "$DTRAIN" run -H localhost:2,node1:2,node2:1 "$collective" -1 none none
  expect_status 0
  expect_lines_with 5 'reached the end'
  expect_stderr 'dtrain: warning: node1, node2 cannot reach localhost at 10.77.0.254, fd77::254, 127.0.0.1, ::1, but can be reached from there; that is enough for dtrain'"'"'s engine, not for every program'
}

# Without a report, only the silence of a minute would tell it.
test_a_death_is_reported_through_the_relay_at_once() {
  hosts_up 2
  shut REJECT --reject-with tcp-reset
  run_on_launcher "$DTRAIN" run --dead-after 60s --on-failure continue -H node1:2,node2:2 \
    "$collective" 3 kill "$out/stamp"
  expect_status 137
  expect_lines_with 3 'error: .*rank 3 .*node2.*SIGKILL'
  local after
  while read -r after; do
    [[ $after -le $(long_or 30000 1000) ]] || fail "told after $after ms"
  done < <(sed -n 's/.*after_ms: //p' "$out/stdout")
  expect_no_processes
}

# sums_for_long: starts a job of two hosts, and waits for its first sum.
sums_for_long() {
  start_on_launcher "$DTRAIN" run --dead-after 2s -H node1:1,node2:1 "$steady" "$out/stop"
  wait_for stdout_has steady
}

test_a_killed_agent_that_relayed_names_its_host() { # F2
  hosts_up 2
  shut REJECT --reject-with tcp-reset
  sums_for_long
  kill -KILL "$(agent_on 2)"
  finish
  expect_no_processes
  # Rank 1 notices it, too. Whether rank 0 has failed by then, or the launcher knows first, is open: both name the host.
  if [[ $status -eq 5 ]]; then
    expect_stderr_contains 'rank 1 (host node2) has lost the launcher'
  else
    expect_status 3
    expect_stderr_contains 'agent on node2 lost: '
  fi
}

test_a_cut_cable_under_a_relay_names_the_host() { # F4 F21
  hosts_up 2
  shut REJECT --reject-with tcp-reset
  sums_for_long
  cut_cable 2
  finish
  expect_status 3
  expect_stderr_contains 'agent on node2 lost: no heartbeat for 2s'
  expect_no_processes
}

test_a_stranger_at_the_relay_gets_no_further_than_at_the_rendezvous() {
  hosts_up 1
  shut REJECT --reject-with tcp-reset
  # shellcheck disable=SC2016
  run_on_launcher "$DTRAIN" run --no-horovod --no-tag -H node1:1 -- bash -c '
    exec 3<>"/dev/tcp/${DTRAIN_RENDEZVOUS%:*}/${DTRAIN_RENDEZVOUS##*:}" &&
      printf "GET / HTTP/1.0\r\n\r\n%0300d" 0 >&3 && [[ -z $(cat <&3) ]] && echo closed'
  expect_status 0
  expect_stdout closed
  expect_stderr_contains 'rendezvous: authentication failed from node1 (relayed by its agent): '
}

test_strangers_at_the_relay_do_not_keep_tasks_from_joining() {
  hosts_up 1
  shut REJECT --reject-with tcp-reset
  cat >knock.py <<'END'
import os, socket, sys
host, port = os.environ["DTRAIN_RENDEZVOUS"].rsplit(":", 1)
held = []
for _ in range(1000):
    s = socket.create_connection((host, int(port)))
    s.close()
for _ in range(300):
    held.append(socket.create_connection((host, int(port))))
    os.set_inheritable(held[-1].fileno(), True)
os.execvp(sys.argv[1], sys.argv[1:])
END
  run_on_launcher "$DTRAIN" run -H node1:2 /usr/bin/python3 "$PWD/knock.py" "$collective" -1 none none
  expect_status 0
  expect_lines_with 2 'reached the end'
  expect_no_processes
}

run_tests "$@"
