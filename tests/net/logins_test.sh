#!/usr/bin/env bash
# Logins that fail, by either implementation: each has one message, with a remedy.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# refused_by_both TEXT…: `true` on node1 fails by both implementations, and the message has all these texts.
refused_by_both() {
  local implementation text
  for implementation in auto openssh; do
    run_on_launcher "$DTRAIN" run --ssh "$implementation" --connect-timeout 4s -H node1:1 true
    expect_status 3
    for text in "$@"; do expect_stderr_contains "$text"; done
    (($(wc -l <"$out/stderr") <= 4)) || fail 'more than four lines'
    expect_no_processes
  done
}

# instead_of_sshd CODE: replaces node1's sshd by a Python server on its port, which runs CODE for each client.
instead_of_sshd() {
  kill "$(cat "$out/net/node1/sshd.pid")"
  ip netns exec "$net-1" env -u TEST_MARKER python3 -c "
import socket
server = socket.create_server(('10.77.0.1', 22), backlog=64)
print('listens', flush=True)
held = []
while True:
    client = server.accept()[0]
    $1" >"$out/server" &
  disown
  wait_for grep -q listens "$out/server"
}

test_an_encrypted_key_without_an_agent() {
  hosts_up 1
  ssh-keygen -q -p -N secret -f "$(launcher_home)/.ssh/id_ed25519"
  refused_by_both 'node1: login refused (' \
    '/root/.ssh/id_ed25519 is encrypted and no ssh-agent holds it; try: ssh-add /root/.ssh/id_ed25519'
}

test_a_key_that_others_may_read() {
  hosts_up 1
  chmod 644 "$(launcher_home)/.ssh/id_ed25519"
  refused_by_both 'node1: login refused (' \
    '/root/.ssh/id_ed25519 may be read by others (mode 0644), so it is not used; try: chmod 600 /root/.ssh/id_ed25519'
}

test_no_key_at_all() {
  hosts_up 1
  rm "$(launcher_home)/.ssh/id_ed25519"
  refused_by_both 'node1: login refused (no key to try); try: ssh-keygen -t ed25519, then ssh-copy-id node1'
}

test_a_key_file_that_is_missing_leaves_the_other_keys() {
  hosts_up 1
  local implementation
  for implementation in auto openssh; do
    run_on_launcher "$DTRAIN" run --ssh $implementation -i /root/.ssh/missing -H node1:1 --no-tag echo hi
    expect_status 0
    expect_stdout hi
    expect_stderr 'dtrain: warning: --ssh-identity-file /root/.ssh/missing: No such file or directory; the other keys are tried'
  done
}

test_the_advice_for_a_refused_login_has_its_user_port_and_key() {
  hosts_up 1
  ssh-keygen -q -t ed25519 -N '' -f "$(launcher_home)/.ssh/second"
  rm "$(home_of 1)/.ssh/authorized_keys"
  local implementation
  for implementation in auto openssh; do
    run_on_launcher "$DTRAIN" run --ssh $implementation -p 22 -i /root/.ssh/second -H root@node1:1 true
    expect_status 3
    expect_stderr_contains '; try: ssh-copy-id -i /root/.ssh/second -p 22 root@node1'
  done
}

test_a_closed_port_is_not_tried_for_long() {
  hosts_up 1
  kill "$(cat "$out/net/node1/sshd.pid")"
  local implementation
  for implementation in auto openssh; do
    run_on_launcher "$DTRAIN" run --ssh $implementation -H node1:1 true
    expect_status 3
    expect_stderr_contains 'Connection refused'
    expect_soon
  done
}

test_a_loop_of_jump_hosts_is_shown_as_ssh_reports_it() {
  hosts_up 1
  printf 'Host *\n  ProxyJump node1\n' >"$(launcher_home)/.ssh/config"
  run_on_launcher "$DTRAIN" run -H node1:1 true
  expect_status 3
  expect_stderr_contains 'node1: jumphost loop via node1; give the jump host a Host block with ProxyJump none'
  expect_soon
}

test_a_host_is_shown_as_it_was_typed() {
  hosts_up 1
  run_on_launcher "$DTRAIN" run --connect-timeout 2s -H nodeX:1 true
  expect_status 3
  expect_stderr_contains "nodeX: cannot look up 'nodeX': "
}

test_a_key_that_the_host_does_not_want() {
  hosts_up 1
  rm "$(home_of 1)/.ssh/authorized_keys"
  refused_by_both 'node1: login refused (tried ed25519 from /root/.ssh/id_ed25519); try: ssh-copy-id node1'
}

test_an_account_that_is_no_shell() {
  hosts_up 1
  sshd_option 1 'ForceCommand /usr/sbin/nologin'
  refused_by_both "node1: it printed this instead of starting dtrain's agent:" \
    'This account is currently not available.'
}

test_a_message_instead_of_a_shell() {
  hosts_up 1
  sshd_option 1 'ForceCommand echo Maintenance until noon.; exec cat'
  refused_by_both "node1: it printed this instead of starting dtrain's agent:" 'Maintenance until noon.'
}

test_a_server_that_closes_at_once() {
  hosts_up 1
  instead_of_sshd 'client.close()'
  refused_by_both 'node1: ' 'the log of its sshd has the reason (MaxStartups'
}

test_a_server_that_never_answers() {
  hosts_up 1
  instead_of_sshd 'held.append(client)'
  run_on_launcher "$DTRAIN" run --connect-timeout 3s -H node1:1 true
  expect_status 3
  expect_stderr_contains 'node1: no answer for 3s (--connect-timeout) while waiting for the'
  expect_stderr_contains 'does an sshd listen there?'
  run_on_launcher "$DTRAIN" run --ssh openssh --connect-timeout 3s -H node1:1 true
  expect_status 3
  # A slow start of ssh leaves it too little time for its own limit.
  stderr_has 'node1: Connection timed out during banner exchange; is the host up, and its port' ||
    expect_stderr_contains 'node1: no answer for 3s (--connect-timeout)'
  expect_no_processes
}

test_a_server_that_is_no_sshd() {
  hosts_up 1
  instead_of_sshd "client.sendall(b'HTTP/1.0 400 Bad Request\\r\\n' * 2000); client.close()"
  run_on_launcher "$DTRAIN" run --ssh libssh2 --connect-timeout 3s -H node1:1 true
  expect_status 3
  expect_stderr_contains "'HTTP/1.0 400 Bad Request"
}

test_a_program_like_rsh_reaches_hosts() {
  hosts_up 2
  # shellcheck disable=SC2016  # for the program
  printf '%s\n' '#!/bin/bash' "pid=\$(cat $out/net/\$1/sshd.pid)" 'shift' \
    'exec nsenter --target "$pid" --mount --uts --net "$@"' >"$out/rsh"
  chmod +x "$out/rsh"
  # shellcheck disable=SC2016
  run_on_launcher "$DTRAIN" run --rsh-agent "$out/rsh" -H node1:1,node2:1 -- sh -c 'echo $(hostname)'
  expect_status 0
  expect_stdout_lines '[0]<stdout>:node1' '[1]<stdout>:node2'
  expect test -x "$(echo "$(home_of 1)"/.cache/dtrain/*/dtrain)"
  expect_no_processes
}

run_tests "$@"
