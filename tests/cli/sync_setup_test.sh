#!/usr/bin/env bash
# The processes and the output of --setup, on hosts that are names of this machine.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/cli/sync.sh
. "$(dirname "$0")/sync.sh"

setup_of_a_has_started() { ls homes/a/.cache/dtrain/setups/*/started >/dev/null 2>&1; }

# Keeper, agent and sync process of the host a; not the guard of its setup.
processes_of_a() {
  local process
  for process in $(marked_pids); do
    grep -qzxF "HOME=$PWD/homes/a" "/proc/$process/environ" && grep -qzx agent "/proc/$process/cmdline" &&
      [[ $(cat "/proc/$process/comm") != dtrain-guard ]] && echo "$process"
  done
  return 0
}

guard_of_a_has_started() {
  local process
  for process in $(marked_pids); do
    [[ $(cat "/proc/$process/comm") != dtrain-guard ]] || return 0
  done
  return 1
}

test_a_setup_ends_when_keeper_agent_and_sync_process_are_killed_at_once() {
  hosts_with_homes
  echo one >tree/one
  # shellcheck disable=SC2016
  start_sync --sync --setup 'sleep 1000 & touch "$DTRAIN_SETUP_DIR/started"; sleep 1000; true' -H a:1 true
  wait_for setup_of_a_has_started
  wait_for guard_of_a_has_started # after the command, perhaps later than its lines
  mapfile -t three < <(processes_of_a)
  [[ ${#three[@]} -eq 3 ]] || fail "not three processes: ${three[*]}"
  # Stopped, none of them can notice the end of another.
  kill -STOP "${three[@]}"
  kill -KILL "${three[@]}"
  finish
  [[ $status -ne 0 ]] || fail 'the job ran'
  expect_no_processes
}

# mebibytes_of_dtrain: the most memory that one of its processes has had.
mebibytes_of_dtrain() {
  local process
  for process in $(marked_pids); do
    if [[ $(cat "/proc/$process/comm") == dtrain* ]]; then awk '/^VmHWM/ { print int($2 / 1024) }' "/proc/$process/status"; fi
  done | sort -n | tail -1
}

# writer_waits: it writes nothing for a while.
writer_waits() {
  local writer before
  writer=$(marked_pids | while read -r process; do if [[ $(cat "/proc/$process/comm") == seq ]]; then echo "$process"; fi; done)
  [[ -n $writer ]] && before=$(grep wchar "/proc/$writer/io") && sleep 1 && [[ $before == "$(grep wchar "/proc/$writer/io")" ]]
}

test_a_setup_waits_for_the_reader_of_its_output_and_loses_nothing() {
  hosts_with_homes
  echo one >tree/one
  mkfifo errors
  # Open, and nobody reads.
  exec {reader}<>errors
  # shellcheck disable=SC2016
  start sh -c 'exec "$@" 2>"$0"' "$PWD/errors" env -C tree "$DTRAIN" run --rsh-agent "$PWD/rsh" --no-tag --sync \
    --setup 'seq 10000000' -H a:1 sh -c 'touch started; until [ -e stop ]; do sleep 0.1; done'
  wait_for writer_waits
  # All lines together have 79 MB.
  (($(mebibytes_of_dtrain) < 40)) || fail "$(mebibytes_of_dtrain) MiB for output that nobody reads"
  (
    exec {reader}>&-
    sed -n 's/^\[a\] //p' <errors | cmp - <(seq 10000000)
  ) &
  compared=$!
  exec {reader}>&-
  wait_for tasks_have_started
  (($(mebibytes_of_dtrain) < 40)) || fail "$(mebibytes_of_dtrain) MiB for output that was read"
  touch "$(ls -d homes/a/.cache/dtrain/trees/????????????????)/stop"
  since_ms=$(now_ms)
  finish
  expect_status 0
  expect wait "$compared"
}

run_tests "$@"
