#!/usr/bin/env bash
# Jobs on several hosts over ssh.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

test_the_bench_itself_logs_in_everywhere() {
  hosts_up 2
  run_on_launcher ssh -o BatchMode=yes node2 hostname
  expect_status 0
  expect_stdout node2
  run_on_launcher ssh -o BatchMode=yes root@fd77::1 'hostname; echo $HOME; ls -A'
  expect_status 0
  expect_stdout "$(printf 'node1\n/root\n.ssh')"
}

run_tests "$@"
