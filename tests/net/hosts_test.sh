#!/usr/bin/env bash
# Jobs on several hosts over ssh.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=../cli/mpi.sh
. "$(dirname "$0")/../cli/mpi.sh"

collective=$(dirname "$DTRAIN")/tests/programs/collective_worker

test_every_host_runs_its_ranks_without_dtrain_installed() {
  hosts_up 3
  # shellcheck disable=SC2016  # for the workers' shells
  run_on_launcher "$DTRAIN" run -np 5 -H node1:2,node2:2,node3:2 -- \
    sh -c 'echo $(hostname) $RANK/$WORLD_SIZE $LOCAL_RANK $CROSS_RANK $MASTER_ADDR'
  expect_status 0
  expect_stdout_lines '[0]<stdout>:node1 0/5 0 10.77.0.1' '[1]<stdout>:node1 1/5 1 10.77.0.1' \
    '[2]<stdout>:node2 2/5 0 10.77.0.1' '[3]<stdout>:node2 3/5 1 10.77.0.1' \
    '[4]<stdout>:node3 4/5 0 10.77.0.1'
  expect_stderr ''
  expect test -x "$(echo "$(home_of 1)"/.cache/dtrain/*/dtrain)"
  expect_no_processes
}

test_this_machine_and_others_sum_together() {
  hosts_up 2
  run_on_launcher "$DTRAIN" run -H localhost:2,node1:2,node2:1 "$collective" -1 none none
  expect_status 0
  [[ $(grep -c 'reached the end' "$out/stdout") -eq 5 ]] || fail 'not every rank reached the end'
  expect_no_processes
}

test_a_failure_on_a_host_is_reported_with_its_name() {
  hosts_up 2
  # shellcheck disable=SC2016
  run_on_launcher "$DTRAIN" run -H node1:1,node2:1 -- sh -c '[ $RANK = 0 ] && sleep 60; exit 7'
  expect_status 7
  expect_stderr_contains 'rank 1 (host node2, pid '
  expect_no_processes
}

test_hosts_that_cannot_be_had_are_all_named_with_the_cause() {
  hosts_up 3
  kill "$(cat "$out/net/node1/sshd.pid")"
  rm "$(home_of 2)/.ssh/authorized_keys"
  sed -i '/^node3/d' "$(launcher_home)/.ssh/known_hosts"
  run_on_launcher "$DTRAIN" run --connect-timeout 4s -H node1:1,node2:1,node3:1,nosuchhost:1 true
  expect_status 3
  expect_soon
  expect_stderr_contains 'node1: cannot connect to 10.77.0.1:22: Connection refused; is the host up, and sshd running there?'
  expect_stderr_contains 'node2: login refused (tried ed25519 from /root/.ssh/id_ed25519); try: ssh-copy-id node2'
  expect_stderr_contains 'node3: its host key ssh-ed25519 SHA256:'
  expect_stderr_contains 'is not known: no known_hosts file lists node3'
  expect_stderr_contains "nosuchhost: cannot look up 'nosuchhost'"
  expect_no_processes
}

test_hosts_with_one_fault_share_its_lines() {
  hosts_up 2
  : >"$(launcher_home)/.ssh/known_hosts"
  run_on_launcher "$DTRAIN" run -H node1:1,node2:1 true
  expect_status 3
  expect_stderr_contains "  to accept whatever new hosts show: for HOST in node1 node2; do ssh -o StrictHostKeyChecking=accept-new \$HOST true; done"
  expect test "$(wc -l <"$out/stderr")" -eq 4
  run_on_launcher "$DTRAIN" run --ssh-config /nonexist -H node1:1,node2:1 true
  expect_status 3
  expect_stderr_contains 'dtrain: node1, node2: '
  expect test "$(wc -l <"$out/stderr")" -eq 1
  expect_no_processes
}

test_a_changed_host_key_ends_before_anything_is_sent() {
  hosts_up 1
  sed -i "s/^node1,.*/node1 $(cut -d' ' -f1,2 "$out/net/user_key.pub" | sed 's;/;\\/;g')/" \
    "$(launcher_home)/.ssh/known_hosts"
  run_on_launcher "$DTRAIN" run -H node1:1 true
  expect_status 3
  expect_stderr_contains 'is not the one of /root/.ssh/known_hosts:1 (ssh-ed25519)'
  expect_stderr_contains 'if it is right: ssh-keygen -f /root/.ssh/known_hosts -R node1 && ssh node1 true'
  expect_not test -e "$(home_of 1)/.cache"
}

test_the_output_of_a_login_that_is_no_shell_is_shown() {
  hosts_up 1
  sshd_option 1 'ForceCommand echo This account is for show.'
  run_on_launcher "$DTRAIN" run -H node1:1 true
  expect_status 3
  expect_stderr_contains "node1: it printed this instead of starting dtrain's agent:"
  expect_stderr_contains 'This account is for show.'
}

test_a_chatty_login_disturbs_nothing() {
  hosts_up 1
  echo 'echo Welcome to this machine; printf "no end of line"' >"$(home_of 1)/.bashrc"
  sed -i 's/SHLVL=5 //' "$out/net/node1/sshd_config"
  sshd_option 1 'PrintMotd yes'
  run_on_launcher "$DTRAIN" run -H node1:1 echo out
  expect_status 0
  expect_stdout '[0]<stdout>:out'
}

test_an_interrupt_ends_the_workers_of_all_hosts() { # F25
  hosts_up 2
  start_on_launcher "$DTRAIN" run -H node1:1,node2:1 sh -c 'echo up; sleep 60'
  wait_for stdout_has '[0]<stdout>:up'
  wait_for stdout_has '[1]<stdout>:up'
  signal INT
  finish
  expect_status 130
  expect_soon
  expect_no_processes
}

test_a_folder_that_hosts_lack_is_one_warning_and_their_home() {
  hosts_up 3
  mkdir -p "$out/data/my job"
  host_setup 1 "mount -t tmpfs data $out/data"
  host_setup 2 "mount -t tmpfs data $out/data && touch '$out/data/my job'"
  cd "$out/data/my job" || fail 'no folder'
  # shellcheck disable=SC2016  # for the workers' shells
  run_on_launcher "$DTRAIN" run -H node1:1,node2:1,node3:1 -- sh -c 'echo "$PWD $(pwd)"'
  expect_status 0
  expect_stdout_lines '[0]<stdout>:/root /root' '[1]<stdout>:/root /root' "[2]<stdout>:$PWD $PWD"
  expect_stderr "dtrain: warning: '$PWD' cannot be entered on node1, node2; workers start in the home directory there (--sync copies its files; see also --chdir)"
  run_on_launcher "$DTRAIN" run -H node1:1 --chdir "$PWD" pwd
  expect_status 2
  expect_stderr "dtrain: node1: cannot enter the working directory '$PWD': No such file or directory (use --chdir)"
}

test_a_program_that_hosts_lack_but_this_machine_has_is_one_for_sync() {
  hosts_up 1
  mkdir "$out/data"
  host_setup 1 "mount -t tmpfs data $out/data"
  cd "$out/data" || fail 'no folder'
  printf '#!/bin/sh\n' >train
  chmod +x train
  run_on_launcher "$DTRAIN" run -H node1:1 --chdir "$PWD" ./train
  expect_status 127
  expect_stderr "dtrain: node1: cannot run ./train: No such file or directory
dtrain: ./train is on this machine; --sync copies it to the hosts, with its folder"
}

test_programs_with_mpi_alone_are_one_warning_for_all_hosts() {
  hosts_up 2
  make_program libmpi.so.40
  start_on_launcher "$DTRAIN" run -H node1:1,node2:2 "$PWD/alone"
  wait_for stderr_has 'dtrain: warning: 3 processes, each alone: MPI was not started by mpirun'
  touch end
  finish
  expect_status 0
  expect test "$(grep -c 'each alone' "$out/stderr")" = 1
  expect_no_processes
}

run_tests "$@"
