#!/usr/bin/env bash
# Host keys: for any known_hosts file, both implementations reach the verdict of a real ssh, and so does --ssh auto.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

known() { echo "$(launcher_home)/.ssh/known_hosts"; }

# Print "ssh-ed25519 AAAA…": the key of the host, and one of no host.
host_key() { cut -d' ' -f1,2 "$out/net/node1/host_key.pub"; }
other_key() { cut -d' ' -f1,2 "$out/net/other_key.pub"; }

keys_up() {
  hosts_up 1
  ssh-keygen -q -t ed25519 -N '' -f "$out/net/other_key"
  ssh-keygen -q -t ed25519 -N '' -f "$out/net/authority"
  ssh-keygen -q -s "$out/net/authority" -h -I node1 -n node1 "$out/net/node1/host_key.pub"
}

# verdict N: prints the verdict of the last run: accepted, recorded, unknown, changed or revoked. N is the
# number of lines in known_hosts before the run.
verdict() {
  local before=$1 error
  error=$(cat "$out/stderr")
  if ((status == 0)); then
    if (($(wc -l <"$(known)") > before)); then echo recorded; else echo accepted; fi
  else
    case $error in
      *'REVOKED HOST KEY'* | *'is revoked by'*) echo revoked ;;
      *'IDENTIFICATION HAS CHANGED'* | *'is not the one of'*) echo changed ;;
      *'Host key verification failed'* | *'is not known: no known_hosts file'*) echo unknown ;;
      *) echo "$error" ;;
    esac
  fi
}

# expect_verdict WANTED KNOWN_HOSTS [CONFIG LINE…]: ssh, and dtrain by each possible implementation, have this verdict.
expect_verdict() {
  local wanted=$1 lines=$2 implementation seen
  shift 2
  printf '%s\n' 'Host node1' "$@" >"$(launcher_home)/.ssh/config"
  for implementation in ssh auto libssh2 openssh; do
    printf '%s' "$lines" >"$(known)"
    rm -rf "$(home_of 1)/.cache"
    if [[ $implementation == ssh ]]; then
      run_on_launcher ssh -o BatchMode=yes node1 true
    else
      run_on_launcher "$DTRAIN" run --ssh "$implementation" -H node1:1 true
    fi
    if [[ $implementation == libssh2 ]] && stderr_has 'cannot reach it: '; then continue; fi
    seen=$(verdict "$(printf '%s' "$lines" | wc -l)")
    [[ $seen == "$wanted" ]] || fail "$implementation: $seen, not $wanted"
    if [[ $implementation != ssh && $status -ne 0 ]]; then expect_status 3 && expect_named_key; fi
  done
}

# Expects the host, the type and the fingerprint in the message; the deciding file and line, if any; and a remedy.
expect_named_key() {
  expect_stderr_contains "node1: its host key ssh-ed25519 $(ssh-keygen -lf "$out/net/node1/host_key.pub" | cut -d' ' -f2)"
  case $(cat "$out/stderr") in
    *'is not known'*) expect_stderr_contains 'then accept it: ssh node1 true' ;;
    *'is not the one of /root/.ssh/known_hosts:'*) expect_stderr_contains 'if it is right: ssh-keygen -f /root/.ssh/known_hosts -R ' ;;
    *'is revoked by /root/.ssh/known_hosts:'*) expect_stderr_contains 'if the line is wrong, delete it: sed -i ' ;;
    *) fail 'neither place nor remedy' ;;
  esac
  expect_not test -e "$(home_of 1)/.cache"
}

test_keys_that_are_known_are_taken() {
  keys_up
  expect_verdict accepted "node1 $(host_key)"$'\n'
  printf 'node1 %s\n' "$(host_key)" >"$out/hashed"
  ssh-keygen -q -H -f "$out/hashed"
  expect_verdict accepted "$(cat "$out/hashed")"$'\n'
  expect_verdict accepted "node1 $(other_key)"$'\n'"node1 $(host_key)"$'\n'
  expect_verdict accepted "node* $(host_key)"$'\n'
  expect_verdict accepted "alias $(host_key)"$'\n'"node1 $(other_key)"$'\n' 'HostKeyAlias alias'
}

test_a_port_has_a_name_of_its_own() {
  keys_up
  sshd_option 1 'Port 2222'
  expect_verdict accepted "[node1]:2222 $(host_key)"$'\n'"node1 $(other_key)"$'\n' 'Port 2222'
  expect_verdict changed "[node1]:2222 $(other_key)"$'\n' 'Port 2222'
}

test_keys_that_are_not_known_are_refused_unless_new_ones_are_welcome() {
  keys_up
  expect_verdict unknown "node2 $(host_key)"$'\n'
  expect_verdict unknown "*,!node1 $(host_key)"$'\n'
  expect_verdict unknown "node2 $(host_key)"$'\n' 'StrictHostKeyChecking yes'
  expect_verdict recorded "node2 $(other_key)"$'\n' 'StrictHostKeyChecking accept-new'
}

test_changed_and_revoked_keys_are_refused() {
  keys_up
  expect_verdict changed "node1 $(other_key)"$'\n'
  expect_verdict changed "node1 $(other_key)"$'\n' 'StrictHostKeyChecking accept-new'
  expect_verdict revoked "node1 $(host_key)"$'\n'"@revoked * $(host_key)"$'\n'
}

test_a_certificate_of_a_known_authority_is_taken() {
  keys_up
  sshd_option 1 "HostCertificate $out/net/node1/host_key-cert.pub"
  expect_verdict accepted "@cert-authority node1 $(cut -d' ' -f1,2 "$out/net/authority.pub")"$'\n'
}

run_tests "$@"
