#!/usr/bin/env bash
# Jobs on many hosts at once, all of which are one sshd of this machine, at 127.0.0.x.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# sshd_everywhere [LINE…]: starts one sshd on all addresses of the launcher's loopback, with these options.
sshd_everywhere() {
  hosts_up 0
  local folder=$out/net/everywhere
  mkdir -p "$folder"
  ssh-keygen -q -t ed25519 -N '' -f "$folder/host_key"
  cp "$out/net/user_key.pub" "$(launcher_home)/.ssh/authorized_keys"
  printf '%s\n' "$@" 'ListenAddress 0.0.0.0:22' "HostKey $folder/host_key" "PidFile $folder/sshd.pid" \
    'StrictModes no' 'UsePAM no' 'PasswordAuthentication no' 'UseDNS no' \
    "SetEnv SHLVL=5 TEST_MARKER=$TEST_MARKER" >"$folder/sshd_config"
  local i
  for ((i = 2; i < 80; ++i)); do
    echo "127.0.0.$i $(cut -d' ' -f1,2 "$folder/host_key.pub")"
  done >"$(launcher_home)/.ssh/known_hosts"
  on_launcher /usr/sbin/sshd -f "$folder/sshd_config" -E "$folder/sshd.log"
  wait_for test -s "$folder/sshd.pid"
}

list() {
  local i text=
  for ((i = $1; i <= $2; ++i)); do text+=${text:+,}127.0.0.$i:1; done
  echo "$text"
}

test_five_hosts_that_fail_in_five_ways_are_named_together() { # R20
  sshd_everywhere
  local ssh
  ssh=$(launcher_home)/.ssh
  # A refused connection, dropped packets, another host key, no login, no shell.
  ip netns exec "$net-l" iptables -A INPUT -d 127.0.0.61 -p tcp --dport 22 -j REJECT --reject-with tcp-reset 2>"$out/iptables" ||
    skip 'no iptables here'
  ip netns exec "$net-l" iptables -A INPUT -d 127.0.0.62 -p tcp --dport 22 -j DROP
  sed -i "s;^127.0.0.63 .*;127.0.0.63 $(cut -d' ' -f1,2 "$out/net/user_key.pub");" "$ssh/known_hosts"
  printf '%s\n' 'Host 127.0.0.64' 'IdentitiesOnly yes' 'IdentityFile none' >"$ssh/config"
  printf '%s\n' 'Match LocalAddress 127.0.0.65' 'ForceCommand /usr/sbin/nologin' >>"$out/net/everywhere/sshd_config"
  kill -HUP "$(cat "$out/net/everywhere/sshd.pid")"
  wait_for test -s "$out/net/everywhere/sshd.pid"
  # The 64 logins cost this machine 18 s of processor time, which other tests may need at the same time.
  local limit
  limit=$(long_or 25s 10s)
  run_on_launcher "$DTRAIN" run --connect-timeout "$limit" -H "$(list 2 65)" sleep 60
  expect_status 3
  # Two limits, one after the other, would take longer.
  [[ $(long_or short long) == short ]] || expect_soon 15000
  expect_stderr_contains '127.0.0.61: cannot connect to 127.0.0.61:22: Connection refused'
  expect_stderr_contains "127.0.0.62: no answer for $limit (--connect-timeout)"
  expect_stderr_contains '127.0.0.63: its host key ssh-ed25519 SHA256:'
  expect_stderr_contains '127.0.0.64: login refused (no key to try)'
  expect_stderr_contains '127.0.0.65: it printed this instead of starting'
  [[ $(grep -c '^dtrain: 127' "$out/stderr") -eq 5 ]] || fail 'not five hosts'
  expect_no_processes
}

test_logins_that_sshd_drops_are_tried_again() { # R21
  sshd_everywhere 'MaxStartups 3:100:3'
  run_on_launcher "$DTRAIN" run -H "$(list 2 25)" true
  expect_status 0
  expect_no_processes
}

test_no_more_logins_at_once_than_allowed() {
  sshd_everywhere 'MaxStartups 2:100:2'
  run_on_launcher "$DTRAIN" run --verbose --ssh-parallel 2 -H "$(list 2 9)" true
  expect_status 0
  expect_stderr_lacks 'trying again'
}

run_tests "$@"
