# shellcheck shell=bash
# The hosts of tests of --sync, which are names of this machine; sourced behind lib.sh.

# hosts_with_homes: a remote shell for hosts a, b, …; two hosts share a home when their names begin with "shared".
hosts_with_homes() {
  # shellcheck disable=SC2016  # expanded by the remote shell
  printf '%s\n' '#!/bin/sh' 'case $1 in shared*) home=shared;; *) home=$1;; esac' 'host=$1' 'shift' \
    "HOME=$PWD/homes/\$home XDG_RUNTIME_DIR=" 'export HOME XDG_RUNTIME_DIR' \
    'mkdir -p "$HOME"' 'exec "$@"' >rsh
  chmod +x rsh
  mkdir -p tree
  # The home of this machine's agent, with its memory of digests.
  export HOME=$PWD/homes/here
  mkdir -p "$HOME"
}

# in_folder FOLDER WORD…: dtrain run, with these hosts, in a folder.
in_folder() {
  local folder=$1
  shift
  run env -C "$folder" "$DTRAIN" run --rsh-agent "$PWD/rsh" --no-tag --report "$PWD/report.json" "$@"
}
sync_dtrain() { in_folder tree "$@"; }
start_sync() { start env -C tree "$DTRAIN" run --rsh-agent "$PWD/rsh" --no-tag "$@"; }

tasks_have_started() { ls homes/a/.cache/dtrain/trees/*/started >/dev/null 2>&1; }
