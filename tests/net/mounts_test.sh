#!/usr/bin/env bash
# Folders that tasks of several hosts find at other places: --mount and --mount-command.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# The mounts of a node, without those that tests beside this one make and remove.
mounts_of() {
  on_host "$1" awk -v own="${PWD%/*}" '$5 !~ "^/run/netns/" && ($5 !~ "^/tmp/" || index($0, own))' /proc/self/mountinfo
}

# The hosts have homes of their own, at /root, and nothing else.
hosts_with_data() {
  hosts_up 2
  local k
  for k in 1 2; do
    mkdir -p "$(home_of $k)/data/below" "$(home_of $k)/target"
    echo "data of node$k" >"$(home_of $k)/data/file"
    mounts_of $k >"before.$k"
  done
}

# The hosts have the mounts that they had before, and no process of a job.
expect_hosts_as_before() {
  local k
  expect_no_processes_of_jobs
  for k in 1 2; do
    mounts_of $k >"after.$k"
    diff "before.$k" "after.$k" >difference || fail "node$k has other mounts" "$(cat difference)"
    [[ -z $(ls "$(home_of $k)/target") ]] || fail "node$k has files at the target"
  done
}
no_process_of_a_job() {
  local k name
  for k in 1 2; do
    for name in dtrain-agent dtrain-keeper dtrain-mounts bindfs sleep; do
      [[ -z $(processes_on $k $name) ]] || return 1
    done
  done
}
expect_no_processes_of_jobs() { wait_for no_process_of_a_job; }

test_each_host_has_its_own_folder_at_the_target() {
  hosts_with_data
  # shellcheck disable=SC2016
  run_on_launcher "$DTRAIN" run --no-tag -H node1:1,node2:1 --mount /root/data:/root/target:ro \
    --mount "/root/data:/dtrain-test-$$/x" --chdir /root/target \
    sh -c 'cat file "$0/x/file"; touch new 2>/dev/null || touch below/new 2>/dev/null || echo refused' "/dtrain-test-$$"
  expect_status 0
  expect_stdout_lines 'data of node1' 'data of node1' 'data of node2' 'data of node2' refused refused
  expect_not test -e "/dtrain-test-$$"
  expect_hosts_as_before
}

test_a_host_without_the_source_is_named_and_nothing_starts() {
  hosts_with_data
  rm -r "$(home_of 2)/data"
  run_on_launcher "$DTRAIN" run --no-tag -H node1:1,node2:1 --mount /root/data:/root/target touch /root/started
  expect_status 2
  expect_stderr 'dtrain: node2: cannot mount /root/data at /root/target: No such file or directory'
  expect_not test -e "$(home_of 1)/started"
  expect_hosts_as_before
}

# start_with_command: a job that has a mount by FUSE on both hosts, and waits.
start_with_command() {
  command -v bindfs >/dev/null || skip 'no bindfs here'
  [[ -w /dev/fuse ]] || skip 'no /dev/fuse here'
  hosts_with_data
  start_on_launcher "$DTRAIN" run --no-tag -H node1:1,node2:1 --mount any:/root/target:ro \
    --mount-command '/root/target=bindfs /root/data {target}' \
    sh -c 'cat /root/target/file; touch /root/target/new 2>/dev/null || echo refused; until test -e /root/stop; do sleep 0.1; done'
  wait_for both_have_started
}
both_have_started() { [[ $(grep -c refused "$out/stdout") -eq 2 ]]; }

test_a_command_mounts_on_each_host() {
  start_with_command
  touch "$(home_of 1)/stop" "$(home_of 2)/stop"
  finish
  expect_status 0
  expect_stdout_lines 'data of node1' 'data of node2' refused refused
  expect_hosts_as_before
}

test_a_killed_launcher_leaves_no_mount_on_hosts() {
  start_with_command
  signal KILL
  finish
  expect_hosts_as_before
}

test_a_killed_agent_leaves_no_mount_on_its_host() {
  start_with_command
  kill -KILL "$(agent_on 2)"
  finish
  [[ $status -ne 0 ]] || fail 'the job has ended well'
  expect_hosts_as_before
}

test_an_export_that_the_host_has_mounted_is_found() {
  local source place
  read -r source place < <(awk '{ for (at = 7; $at != "-"; ++at); if ($(at + 1) ~ /^nfs4?$/) print $(at + 2), $5 }' /proc/self/mountinfo | head -n 1) ||
    skip 'this machine has no NFS mount: the search for exports is only tested on text'
  mkdir target
  run_dtrain run --no-tag -np 1 --mount "nfs://${source/:\//\/}:$PWD/target:ro" stat -fc %t:%i "$PWD/target"
  expect_status 0
  expect_stdout "$(stat -fc %t:%i "$place")"
}

run_tests "$@"
