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

test_a_setup_ends_when_keeper_agent_and_sync_process_are_killed_at_once() {
  hosts_with_homes
  echo one >tree/one
  # shellcheck disable=SC2016
  start_sync --sync --setup 'sleep 1000 & touch "$DTRAIN_SETUP_DIR/started"; sleep 1000; true' -H a:1 true
  wait_for setup_of_a_has_started
  mapfile -t three < <(processes_of_a)
  [[ ${#three[@]} -eq 3 ]] || fail "not three processes: ${three[*]}"
  # Stopped, none of them can notice the end of another.
  kill -STOP "${three[@]}"
  kill -KILL "${three[@]}"
  finish
  [[ $status -ne 0 ]] || fail 'the job ran'
  expect_no_processes
}

run_tests "$@"
