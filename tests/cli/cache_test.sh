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

run_tests "$@"
