#!/usr/bin/env bash
# Jobs on several hosts over ssh.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

test_every_host_runs_its_ranks_without_dtrain_installed() {
  hosts_up 3
  # shellcheck disable=SC2016  # for the workers' shells
  run_on_launcher "$DTRAIN" run -np 5 -H node1:2,node2:2,node3:2 -- \
    sh -c 'echo $(hostname) $RANK/$WORLD_SIZE $LOCAL_RANK $MASTER_ADDR'
  expect_status 0
  expect_stdout_lines '[0]<stdout>:node1 0/5 0 10.77.0.1' '[1]<stdout>:node1 1/5 1 10.77.0.1' \
    '[2]<stdout>:node2 2/5 0 10.77.0.1' '[3]<stdout>:node2 3/5 1 10.77.0.1' \
    '[4]<stdout>:node3 4/5 0 10.77.0.1'
  expect_stderr ''
  expect test -x "$(echo "$(home_of 1)"/.cache/dtrain/*/dtrain)"
  expect_no_processes
}

run_tests "$@"
