#!/usr/bin/env bash
# `dtrain check` of several hosts over ssh.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# finding HOST TOPIC: prints the topic's status on a host, in the last document.
finding() {
  /usr/bin/python3 -c '
import json, sys
host, topic = sys.argv[2:]
hosts = json.load(open(sys.argv[1]))["hosts"]
print(*[f["status"] for h in hosts if h["name"] == host for f in h["findings"] if f["topic"] == topic])' \
    "$out/stdout" "$1" "$2"
}
expect_finding() { [[ $(finding "$1" "$2") == "$3" ]] || fail "expected $2 of $1 to be $3, not '$(finding "$1" "$2")'"; }

test_good_hosts_and_the_ways_between_them_are_measured() {
  hosts_up 4
  run_on_launcher "$DTRAIN" check -H node1:1,node2:1,node3:1,node4:1
  expect_status 0
  expect_stderr ''
  expect grep -qE '^  ssh +ok +(libssh2 [0-9.]+|the OpenSSH client,.*), key ed25519 from' "$out/stdout"
  expect_stdout_contains 'sent to /root/.cache/dtrain'
  expect_stdout_contains 'reaches this machine at 10.77.0.254'
  expect_stdout_contains '10.77.0.1, fd77::1 lead other hosts here'
  [[ $(grep -cE '^  node[1-4] → node[1-4] .* m?s  +[0-9.]+ [MG]B/s  10\.77\.0\.[1-4]$' "$out/stdout") -eq 6 ]] ||
    fail 'expected six pairs'
  expect_stdout_contains '4 hosts, 6 pairs: '
  run_on_launcher "$DTRAIN" check --ssh openssh -H node1,localhost
  expect_status 0
  expect_stdout_contains 'the OpenSSH client, for --ssh openssh, key ed25519'
  expect_stdout_contains '/root/.ssh/id_ed25519, '
  expect_stdout_contains 'found in /root/.cache/dtrain'
  expect_stdout_contains '2 hosts, 1 pair: '
  expect_no_processes
}

test_a_host_that_is_down_and_one_that_knows_no_key_fail_and_the_others_are_checked() {
  hosts_up 3
  kill "$(cat "$out/net/node1/sshd.pid")"
  rm "$(home_of 2)/.ssh/authorized_keys"
  run_on_launcher "$DTRAIN" check --connect-timeout 4s -H node1:1,node2:1,node3:1
  expect_status 1
  expect_stderr ''
  expect_stdout_contains 'Connection refused'
  expect_stdout_contains 'login refused'
  expect_stdout_contains 'ssh-copy-id node2'
  expect_stdout_contains 'reaches this machine at 10.77.0.254'
  expect_stdout_contains '3 hosts: 2 failures'
  # The message is the same as that of `run`.
  run_on_launcher "$DTRAIN" check --connect-timeout 4s --json -H node2
  text=$(/usr/bin/python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["hosts"][0]["findings"][0]["text"])' "$out/stdout")
  run_on_launcher "$DTRAIN" run --connect-timeout 4s -H node2 true
  expect_stderr "dtrain: node2: $text"
  expect_no_processes
}

test_little_shared_memory_and_few_files_are_warnings_on_their_host_only() {
  hosts_up 2
  on_host 1 mount -t tmpfs -o size=16m none /dev/shm || skip 'no tmpfs can be mounted here'
  prlimit --pid "$(cat "$out/net/node2/sshd.pid")" --nofile=512:512
  run_on_launcher "$DTRAIN" check --json -H node1:1,node2:1
  expect_status 0
  expect_finding node1 shared_memory warning
  expect_finding node2 shared_memory ok
  expect_finding node1 open_files ok
  expect_finding node2 open_files warning
  expect_finding node1 ssh ok
}

test_a_firewall_between_two_hosts_fails_their_pair_in_its_direction() {
  hosts_up 3
  command -v iptables >/dev/null || skip 'no iptables; run: tools/setup.sh ci'
  on_host 2 iptables -A INPUT -s 10.77.0.1 -p tcp --syn -j REJECT --reject-with tcp-reset 2>"$out/iptables" ||
    skip "iptables does not work here: $(cat "$out/iptables")"
  # A lost SYN looks like a host that is down; it must not delay the other pairs.
  on_host 2 ip6tables -A INPUT -s fd77::1 -p tcp --syn -j DROP
  run_on_launcher "$DTRAIN" check -H node1:1,node2:1,node3:1
  expect_status 1
  expect_stdout_contains 'node1 → node2  failure  node1 cannot reach node2 at 10.77.0.2, fd77::2'
  expect_stdout_contains 'a firewall must let TCP connections from node1 to'
  expect_stdout_contains '3 hosts, 4 pairs: 1 failure'
  # The other direction works, and is measured.
  expect grep -qE '^  node2 → node1 +(ok|warning) .*B/s  10\.77\.0\.1$' "$out/stdout"
  expect_no_processes
}

test_only_the_networks_that_are_named_count() {
  hosts_up 2
  run_on_launcher "$DTRAIN" check --json --network-interface fd77::/64 -H node1:1,node2:1
  expect_status 0
  expect_stdout_contains '"address": "fd77::2"'
  run_on_launcher "$DTRAIN" check --json --network-interface ib0 -H node1:1,node2:1
  expect_status 1
  expect_finding node1 addresses failure
  expect_stdout_contains 'ib0'
}

test_a_launcher_behind_a_firewall_is_reported_for_each_host() {
  hosts_up 2
  command -v iptables >/dev/null || skip 'no iptables; run: tools/setup.sh ci'
  ip netns exec "$net-l" iptables -A INPUT -i bridge -p tcp --syn -j REJECT --reject-with tcp-reset 2>"$out/iptables" ||
    skip "iptables does not work here: $(cat "$out/iptables")"
  ip netns exec "$net-l" ip6tables -A INPUT -i bridge -p tcp --syn -j REJECT --reject-with tcp-reset
  run_on_launcher "$DTRAIN" check --json -H node1:1,node2:1
  expect_status 0
  expect_finding node1 launcher warning
  expect_finding node2 launcher warning
}

test_hosts_with_other_programs_and_modules_are_named_with_both_values() {
  hosts_up 2
  mkdir -p "$(home_of 1)/bin" "$(home_of 1)/lib" "$(home_of 2)/lib"
  printf '#!/bin/sh\nexec /usr/bin/python3 "$@"\n' >"$(home_of 1)/bin/python3"
  printf '#!/bin/sh\nexit 1\n' | tee "$(home_of 1)/train" >"$(home_of 2)/train"
  chmod +x "$(home_of 1)/bin/python3" "$(home_of 1)/train" "$(home_of 2)/train"
  echo '__version__ = "1.0"' | tee "$(home_of 1)/lib/mine.py" >"$(home_of 2)/lib/mine.py"
  run_on_launcher env PATH="/root/bin:$PATH" PYTHONPATH=/root/lib "$DTRAIN" check --json \
    --import mine -H node1:1,node2:1 -- /root/train
  expect_status 0
  expect_finding node1 path ok
  expect_finding node2 path warning
  expect_finding node2 python warning
  expect_finding node2 command ok
  expect_finding node2 modules ok
  expect_stdout_contains 'at /usr/bin/python3'
  expect_stdout_contains 'node1 has /root/bin/python3: its packages may differ'
  expect_stdout_contains 'node1 has /root/bin: a job finds other programs there'
  echo '# newer' >>"$(home_of 2)/train"
  echo '__version__ = "2.0"' >"$(home_of 2)/lib/mine.py"
  run_on_launcher env PYTHONPATH=/root/lib "$DTRAIN" check --json --import mine -H node1:1,node2:1 -- /root/train
  expect_status 0
  expect_finding node2 python ok
  expect_finding node1 command ok
  expect_finding node2 command warning
  expect_stdout_contains 'node1 has another file there, SHA-256 '
  expect_stdout_contains '"text": "mine 2.0"'
  expect_stdout_contains '"remedy": "node1 has mine 1.0"'
  rm "$(home_of 2)/train"
  run_on_launcher "$DTRAIN" check --json -H node1:1,node2:1 -- /root/train
  expect_status 1
  expect_finding node2 command failure
  expect_no_processes
}

test_a_host_that_goes_away_meanwhile_fails_and_nothing_is_left() {
  hosts_up 2
  # This host's Python prints no version before the agent has ended.
  mkdir -p "$(home_of 1)/bin"
  printf '#!/bin/sh\necho $PPID >/root/agent\nexec sleep 60\n' >"$(home_of 1)/bin/python3"
  chmod +x "$(home_of 1)/bin/python3"
  start_on_launcher env PATH="/root/bin:$PATH" "$DTRAIN" check -H node1:1,node2:1
  wait_for test -s "$(home_of 1)/agent"
  kill -KILL "$(cat "$(home_of 1)/agent")"
  finish
  expect_status 1
  expect grep -qE '^  agent +failure +' "$out/stdout"
  expect_stdout_contains '2 hosts: 1 failure'
  expect_no_processes
}

run_tests "$@"
