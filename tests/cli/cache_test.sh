#!/usr/bin/env bash
# `dtrain cache`: the copies of dtrain that jobs leave on hosts.
. "$(dirname "$0")/lib.sh"

test_copies_are_listed_and_removed() {
  local copy
  copy=$HOME/.cache/dtrain/$(printf 'a%.0s' {1..64})
  mkdir -p "$copy"
  head -c 3000000 /dev/zero >"$copy/dtrain"
  export XDG_RUNTIME_DIR=$PWD/none
  run_dtrain cache list
  expect_status 0
  expect_stdout_contains "  3.0 MB  last used $(date -u +%F)  $copy/dtrain"
  run_dtrain cache clear
  expect_status 0
  expect_stdout_contains "removed 1 copy (3.0 MB) in $HOME/.cache/dtrain"
  expect_not test -e "$copy"
}

test_copies_on_hosts_are_removed_by_the_copy_that_runs_there() {
  # shellcheck disable=SC2016  # expanded by the agent
  printf '#!/bin/sh\nshift\nexec "$@"\n' >rsh
  chmod +x rsh
  run_dtrain run --rsh-agent "$PWD/rsh" -H 127.0.0.2:1 true
  expect_status 0
  [[ $(find "$HOME/.cache/dtrain" -name dtrain -type f | wc -l) -eq 1 ]] || fail 'no copy was made'
  DTRAIN_OPT_RSH_AGENT=$PWD/rsh run_dtrain cache clear -H 127.0.0.2
  expect_status 0
  expect_stdout_contains '127.0.0.2: removed 1 copy ('
  expect_not test -e "$HOME/.cache/dtrain"
  DTRAIN_OPT_RSH_AGENT=$PWD/rsh run_dtrain cache list -H 127.0.0.3,127.0.0.2
  expect_status 0
  expect_stdout '127.0.0.3: no copies of dtrain
127.0.0.2: no copies of dtrain'
  expect_not test -e "$HOME/.cache/dtrain"
  run_dtrain cache shrink
  expect_status 2
  expect_stderr 'dtrain: cache: "shrink" is not one of its commands; use list or clear'
}

setup_runs() { ls "$HOME"/.cache/dtrain/setups/*/started >/dev/null 2>&1; }

test_leftovers_of_killed_jobs_are_listed_and_removed() {
  local below cache=$HOME/.cache/dtrain
  mkdir tree
  echo one >tree/one
  # A setup that is killed with the launcher leaves a tree, objects, a setup, and markers.
  # shellcheck disable=SC2016
  start env -C tree "$DTRAIN" run --sync --sync-local-copy --setup 'touch "$DTRAIN_SETUP_DIR/started"; sleep 1000' -np 1 true
  wait_for setup_runs
  run_dtrain cache list
  expect_stdout_lacks ' leftover'
  # shellcheck disable=SC2046  # one word a pid
  kill -KILL $(marked_pids) 2>/dev/null || true
  finish
  expect_no_processes
  # Those of moments that no test can meet: a killed start, transfer, check-out, and record.
  mkdir -p "$cache"/trees/killed.own/staging "$cache"/checkouts/killed
  touch "$cache"/trees/killed.own/lock "$cache"/checkouts/killed.lock "$cache"/setups/{x.lock,x.done.unfinished-0}
  echo part >"$cache"/objects/new.0
  expect test -d "$cache"/markers
  run_dtrain cache list
  expect_status 0
  expect_stdout_contains '6 leftovers'
  run_dtrain cache clear
  expect_status 0
  expect_stdout_contains "removed 6 leftovers of killed jobs (0.0 MB) in $cache"
  expect_stdout_contains "removed 1 tree (0.0 MB) in $cache/trees"
  for below in trees objects setups checkouts markers; do
    expect_not test -e "$cache/$below"
  done
}

run_tests "$@"
