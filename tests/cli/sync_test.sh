#!/usr/bin/env bash
# The files of --sync, on hosts that are names of this machine: the remote shell gives each its own home.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/cli/sync.sh
. "$(dirname "$0")/sync.sh"

one_machine='are one machine under several names'

# expect_report EXPRESSION: true of `sync`, the report's member.
expect_report() {
  expect python3 -c 'import json, sys
sync = json.load(open("report.json"))["sync"]
assert eval(sys.argv[1]), sync' "$1"
}

# contents FOLDER: a line for each of its entries, with mode, target and digest.
contents() { (cd "$1" && find . -mindepth 1 -not -name .dtrain -not -path './.dtrain/*' \( -type f -printf '%p %m ' -exec sha256sum {} \; -o -printf '%p %y %l\n' \) | sed 's/  .*//' | LC_ALL=C sort -z); }

test_a_tree_reaches_all_hosts() {
  hosts_with_homes
  mkdir -p tree/package tree/empty
  echo 'echo "$(basename "$0") on ${HOME##*/}"' >tree/package/train.sh
  chmod +x tree/package/train.sh
  printf 'x' >"tree/a name
with a newline"
  : >tree/none
  head -c 300000 /dev/urandom >tree/data
  ln -s data tree/link
  contents tree >expected
  # shellcheck disable=SC2016
  sync_dtrain --sync -H a:1,b:1 sh -c 'sh ./package/train.sh; cp -a . "$0.${HOME##*/}"; [ "$PWD" = "$DTRAIN_CODE_DIR" ]' "$PWD/copy"
  expect_status 0
  expect_stdout_contains 'train.sh on a'
  expect_stdout_contains 'train.sh on b'
  contents copy.a >got.a
  contents copy.b >got.b
  expect cmp expected got.a
  expect cmp expected got.b
  expect_report 'len(sync["hosts"]) == 2 and all(host["files_sent"] == 3 for host in sync["hosts"])'
  expect_report "sync['hosts'][0]['folder'].startswith('$PWD/homes/a/.cache/dtrain/trees/')"
  # Nothing was written to the trees.
  expect_not ls -d homes/a/.cache/dtrain/trees/?*
  expect_not ls -d homes/a/.cache/dtrain/markers
}

test_only_what_changed_is_sent_again() {
  hosts_with_homes
  echo one >tree/one
  echo two >tree/two
  sync_dtrain --sync -H a:1,b:1 true
  expect_status 0
  sync_dtrain --sync -H a:1,b:1 true
  expect_status 0
  expect_report 'all(host["files_sent"] == 0 for host in sync["hosts"])'
  echo three >tree/two
  sync_dtrain --sync -H a:1,b:1 cat two
  expect_status 0
  expect_stdout 'three
three'
  expect_report 'all(host["files_sent"] == 1 and host["bytes_sent"] == 6 for host in sync["hosts"])'
}

test_a_tree_that_tasks_wrote_to_is_kept() {
  hosts_with_homes
  echo one >tree/one
  sync_dtrain --sync -H a:1,b:1 sh -c '[ "${HOME##*/}" = b ] || echo result >result'
  expect_status 0
  expect_file homes/a/.cache/dtrain/trees/*/result result
  expect_not ls -d homes/b/.cache/dtrain/trees/?*
}

test_hosts_with_one_home_get_one_tree() {
  hosts_with_homes
  echo one >tree/one
  # shellcheck disable=SC2016
  sync_dtrain --sync -H shared1:1,shared2:1,b:1 sh -c 'cat one; echo "$DTRAIN_CODE_DIR"'
  expect_status 0
  expect_report 'sorted(host["files_sent"] for host in sync["hosts"]) == [0, 1, 1]'
  [[ $(grep -c homes/shared "$out/stdout") -eq 2 ]] || fail "two hosts in one home"
  expect_not ls -d homes/shared/.cache/dtrain/trees/?*
}

test_the_original_is_no_copy_for_a_host_with_the_same_home() {
  hosts_with_homes
  echo one >tree/one
  # shellcheck disable=SC2016
  sync_dtrain --sync --setup true -H localhost:1,here:1 sh -c 'cat one; echo "$DTRAIN_CODE_DIR"'
  expect_status 0
  expect_stdout_contains "$PWD/tree"
  expect_stdout_contains "$HOME/.cache/dtrain/trees/"
}

test_this_machine_uses_the_original() {
  hosts_with_homes
  echo one >tree/one
  # shellcheck disable=SC2016
  sync_dtrain --sync -H localhost:1,b:1 sh -c 'echo "$DTRAIN_RANK $DTRAIN_CODE_DIR"'
  expect_status 0
  expect_stdout_contains "0 $PWD/tree"
  expect_report 'len(sync["hosts"]) == 1'
  # shellcheck disable=SC2016
  sync_dtrain --sync --sync-local-copy -np 1 sh -c 'echo "$DTRAIN_CODE_DIR"'
  expect_status 0
  expect_stdout_contains "$HOME/.cache/dtrain/trees/"
}

test_tasks_start_at_the_place_of_the_current_folder() {
  hosts_with_homes
  mkdir -p tree/part/deep tree/other
  # shellcheck disable=SC2016
  show='echo "${PWD#"$DTRAIN_CODE_DIR"}"'
  git init -q tree
  touch tree/part/deep/file tree/other/file
  in_folder tree/part --sync -H a:1 sh -c "$show"
  expect_status 0
  expect_stdout /part
  in_folder tree/part --sync --chdir deep -H a:1 sh -c "$show"
  expect_stdout /part/deep
  in_folder tree/part --sync --chdir "$PWD/tree/other" -H a:1 sh -c "$show"
  expect_stdout /other
  in_folder tree/part --sync --chdir ../.. -H a:1 sh -c "$show"
  expect_status 2
  expect_stderr_contains 'is not in'
  # shellcheck disable=SC2016
  sync_dtrain --sync -H a:1 sh -c 'test "$1" = "$DTRAIN_CODE_DIR"' - '{code_dir}'
  expect_status 0
  run_dtrain run -np 1 echo '{code_dir}'
  expect_status 2
  expect_stderr_contains '--sync, which is not given'
}

test_a_current_folder_that_no_copy_has_is_refused_here() {
  hosts_with_homes
  git init -q tree
  mkdir -p tree/ignored
  touch tree/train tree/ignored/file
  echo ignored >tree/.gitignore
  # shellcheck disable=SC2016
  show='echo "${PWD#"$DTRAIN_CODE_DIR"}"'
  in_folder tree/ignored --sync -H a:1,localhost:1 --setup 'touch ../set-up' sh -c "$show"
  expect_status 2
  expect_stderr_contains 'dtrain: the current folder ignored is not among the files of --sync (git ignores it, --sync-exclude has '\
'it, or it has no files); cd elsewhere, use --chdir, or take it with --sync-include ignored'
  expect_not test -e homes/a/.cache/dtrain/trees
  expect_not test -e tree/set-up
  sync_dtrain --sync --chdir ignored -H a:1 sh -c "$show"
  expect_status 2
  expect_stderr_contains 'dtrain: --chdir: the folder ignored is not among the files of --sync'
  in_folder tree/ignored --sync --sync-include ignored -H a:1 sh -c "$show"
  expect_status 0
  expect_stdout /ignored
  # The original has the folder, and so may a target.
  in_folder tree/ignored --sync -np 1 sh -c "$show"
  expect_status 0
  expect_stdout /ignored
  mkdir -p homes/a/place/ignored
  in_folder tree/ignored --sync-to place --sync-into -H a:1 sh -c "$show"
  expect_status 0
  expect_stdout /ignored
}

test_a_target_is_kept_between_jobs() {
  hosts_with_homes
  mkdir tree/part
  echo one >tree/part/one
  echo two >tree/two
  sync_dtrain --sync-to place -H a:1,b:1 sh -c 'echo mine >"part/of ${HOME##*/}"'
  expect_status 0
  expect_file homes/a/place/two two
  rm tree/part/one
  echo new >tree/two
  sync_dtrain --sync-to place -H a:1,b:1 cat two
  expect_status 0
  expect_stdout 'new
new'
  expect_not test -e homes/a/place/part/one
  expect_file 'homes/b/place/part/of b' mine
  expect_report 'all(host["files_sent"] == 1 for host in sync["hosts"])'
}

test_a_target_of_others_is_refused() {
  hosts_with_homes
  mkdir -p homes/a/place
  echo theirs >homes/a/place/file
  echo ours >tree/file
  sync_dtrain --sync-to place -H a:1,b:1 true
  expect_status 2
  expect_stderr_contains 'a: '
  expect_stderr_contains '--sync-into'
  expect_file homes/a/place/file theirs
  sync_dtrain --sync-to place --sync-into -H a:1,b:1 true
  expect_status 0
  expect_file homes/a/place/file ours
}

test_a_job_does_without_a_spare_that_cannot_have_the_tree() {
  hosts_with_homes
  mkdir -p homes/b/place
  echo theirs >homes/b/place/file
  echo ours >tree/file
  sync_dtrain --sync-to place --max-restarts 1 -H a:1 --spare b:1 cat file
  expect_status 0
  expect_stdout ours
  expect_stderr_contains 'b: '
  expect_stderr_contains '--sync-into'
  expect_file homes/b/place/file theirs
}

test_two_jobs_in_one_target() {
  hosts_with_homes
  echo one >tree/one
  start_sync --sync-to place -H a:1 sh -c 'touch started; until [ -e stop ]; do sleep 0.1; done'
  wait_for test -e homes/a/place/started
  start_pid=$pid
  sync_dtrain --sync-to place -H a:1 true
  expect_status 2
  expect_stderr_contains 'a: '
  touch homes/a/place/stop
  pid=$start_pid
}

test_a_full_disk_is_one_sentence() {
  hosts_with_homes
  [[ -w /dev/full ]] || skip 'no /dev/full'
  mkdir -p homes/a/.cache
  : >homes/a/.cache/dtrain
  chmod 500 homes/a/.cache
  echo one >tree/one
  sync_dtrain --sync --sync-to /dev/full/place -H b:1 true
  expect_status 2
  expect_stderr_contains 'b: '
  expect_stderr_contains '/dev/full'
  chmod 700 homes/a/.cache
}

test_bad_input() {
  hosts_with_homes
  sync_dtrain --sync-from missing -H a:1 true
  expect_status 2
  expect_stderr_contains 'missing'
  in_folder / --sync -np 1 true
  expect_status 2
  in_folder "$HOME" --sync -np 1 true
  expect_status 2
  expect_stderr_contains '--sync-from'
  head -c 3000000 /dev/zero >tree/large
  sync_dtrain --sync --sync-max 1M -H a:1 true
  expect_status 2
  expect_stderr_contains 'large'
  expect_stderr_contains '--sync-exclude'
  sync_dtrain --sync --sync-max 1M --sync-exclude large -H a:1 ls
  expect_status 0
  expect_stdout ''
}

test_dry_run_lists_the_files() {
  hosts_with_homes
  echo one >tree/one
  sync_dtrain --sync --dry-run -H a:1 true
  expect_status 0
  expect_stdout_contains 'one'
  expect_not test -e homes/a
}

# expect_plan EXPRESSION: true of `sync`, the member of the plan.
expect_plan() {
  expect python3 -c 'import json, sys
sync = json.load(open(sys.argv[1]))["sync"]
assert eval(sys.argv[2]), sync' "$out/stdout" "$1"
}

test_dry_run_has_the_files_as_json() {
  hosts_with_homes
  git init -q tree
  mkdir -p tree/data/deep
  head -c 3000 /dev/zero >tree/data/deep/large
  head -c 200 /dev/zero >tree/small
  : >tree/none
  sync_dtrain --sync --dry-run --json -H a:1 true
  expect_status 0
  expect_plan "sync['root'] == '$PWD/tree' and sync['commit'] is None and sync['dirty']"
  expect_plan 'sync["files"] == 3 and sync["bytes"] == 3200 and sync["warnings"] == []'
  expect_plan 'sync["largest"] == [{"path": "data/deep/large", "bytes": 3000, "folder": False}, {"path": "small", "bytes": 200, "folder": False}]'
  ln -s /etc/passwd tree/away
  git -C tree -c user.name=a -c user.email=a@b commit -q --allow-empty -m first
  sync_dtrain --sync --dry-run --json -H a:1 true
  expect_status 0
  expect_plan "sync['commit'] == '$(git -C tree rev-parse HEAD)' and len(sync['warnings']) == 1"
  sync_dtrain --sync --sync-max 1K --dry-run --json -H a:1 true
  expect_status 2
  sync_dtrain --sync-from https://me@git.example.org/code.git@v1 --dry-run --json -H a:1 true
  expect_status 0
  expect_plan 'sync["root"] == "https://git.example.org/code.git" and sync["files"] is None'
  sync_dtrain --dry-run --json -H a:1 true
  expect_plan 'sync is None'
  expect_not test -e homes/a
}

test_a_killed_launcher_leaves_no_process() {
  hosts_with_homes
  echo one >tree/one
  start_sync --sync-to place -H a:1,b:1 sh -c 'touch started; sleep 1000'
  wait_for test -e homes/a/place/started
  wait_for test -e homes/b/place/started
  signal KILL
  expect_no_processes
  sync_dtrain --sync-to place -H a:1,b:1 cat one
  expect_status 0
  expect_stdout 'one
one'
}

test_setup_runs_once_a_host_before_any_task() {
  hosts_with_homes
  echo requirement >tree/requirements
  # shellcheck disable=SC2016
  set -- --sync --setup 'mkdir -p "$DTRAIN_SETUP_DIR/bin"; cp requirements "$DTRAIN_SETUP_DIR/"; echo "set up ${HOME##*/}"' \
    --setup 'printf "#!/bin/sh\necho tool of %s\n" "${HOME##*/}" >"$DTRAIN_SETUP_DIR/bin/tool"; chmod +x "$DTRAIN_SETUP_DIR/bin/tool"' \
    -H a:2,shared1:1,shared2:1
  sync_dtrain "$@" tool
  expect_status 0
  expect_stdout_lines 'tool of a' 'tool of a' 'tool of shared' 'tool of shared'
  expect_stderr_contains '[a] set up a'
  [[ $(grep -c 'set up' "$out/stderr") -eq 2 ]] || fail 'a setup ran twice on one host'
  expect_file homes/a/.cache/dtrain/setups/*/requirements requirement
}

test_a_setup_that_fails_names_host_command_and_status() {
  hosts_with_homes
  # shellcheck disable=SC2016
  sync_dtrain --sync --setup 'echo no such package >&2; [ "${HOME##*/}" != b ] || exit 7' -H a:1,b:1 touch started
  expect_status 2
  expect_stderr_contains 'b: '
  expect_stderr_contains 'no such package'
  expect_stderr_contains 'status 7'
  expect_not ls homes/a/.cache/dtrain/trees/*/started
}

test_setup_without_sync_runs_in_the_folder_of_the_tasks() {
  hosts_with_homes
  # shellcheck disable=SC2016
  in_folder tree --setup 'pwd >"$DTRAIN_SETUP_DIR/where"' -np 1 sh -c 'cat "$DTRAIN_SETUP_DIR/where"; echo "${DTRAIN_CODE_DIR-none}"'
  expect_status 0
  expect_stdout "$PWD/tree
none"
}

test_files_come_back_from_rank_0() {
  hosts_with_homes
  echo old >tree/results.txt
  echo mine >tree/mine
  # shellcheck disable=SC2016
  sync_dtrain --sync --fetch 'out' --fetch '*.txt' --fetch 'none*' -H a:1,b:1 \
    sh -c '[ "$RANK" = 0 ] || exec sleep 1000; mkdir -p out/deep; echo "rank 0" >out/deep/file; echo new >results.txt; exit 1'
  expect_status 1
  expect_file tree/out/deep/file 'rank 0'
  expect_file tree/results.txt new
  expect_stderr_contains "none*"
  expect_file tree/mine mine
  sync_dtrain --sync --fetch 'out' --fetch-to ../there -H a:1,b:1 sh -c 'mkdir -p out; echo "$RANK" >out/rank'
  expect_status 0
  expect_file there/out/rank 0
}

test_a_target_in_the_tree_is_refused_on_hosts_that_share_it() {
  hosts_with_homes
  git init -q tree
  echo precious >tree/precious
  for target in "$PWD/tree" "$PWD/tree/new" "$PWD"; do
    sync_dtrain --sync-to "$target" --sync-into -H a:1 true
    expect_status 2
    expect_stderr_contains 'a: --sync-to'
  done
  expect_file tree/precious precious
  [[ $(find tree -path tree/.git -prune -o -name '*dtrain*' -print) == '' ]] || fail 'something was left in the tree'
  [[ $(ls tree/.git) != *dtrain* ]] || fail 'something was left in .git'
}

setup_has_started() { ls "$HOME"/.cache/dtrain/setups/*/started >/dev/null 2>&1; }

test_a_signal_in_a_setup_ends_all_of_its_processes() {
  hosts_with_homes
  echo one >tree/one
  for signal in INT KILL; do
    # shellcheck disable=SC2016
    start_sync --sync --setup 'touch "$DTRAIN_SETUP_DIR/started"; sleep 1000 & trap "" INT TERM; sleep 1000' --sync-local-copy -np 1 true
    wait_for setup_has_started
    signal $signal
    finish
    expect_no_processes
    rm -rf homes/*/.cache/dtrain/setups
  done
  expect_not ls -d "$HOME"/.cache/dtrain/markers
  expect_not ls -d "$HOME"/.cache/dtrain/trees/?*
}

test_a_lost_sync_process_is_named_when_files_are_to_come_back() {
  hosts_with_homes
  echo one >tree/one
  start_sync --sync --fetch out -H a:1 sh -c 'echo 1 >out; touch started; until [ -e stop ]; do sleep 0.1; done'
  wait_for tasks_have_started
  # The launcher's own, and those of hosts, whose parents are agents. In one call: an end of one may end the others.
  local process victims=()
  for process in $(marked_pids); do
    if [[ $(cat "/proc/$process/comm" 2>/dev/null) == dtrain-sync ]]; then victims+=("$process"); fi
  done
  kill -KILL "${victims[@]}"
  touch "$(ls -d homes/a/.cache/dtrain/trees/????????????????)/stop"
  finish
  expect_stderr_contains 'the files of --sync has ended'
}

# stop_sync_process HOST: SIGSTOP for the process of this host that has the tree.
stop_sync_process() {
  local process
  for process in $(pgrep -x dtrain-sync); do
    if grep -qzxF "HOME=$PWD/homes/$1" "/proc/$process/environ" 2>/dev/null; then kill -STOP "$process"; fi
  done
}
b_receives() { ls homes/b/.cache/dtrain/objects/?* >/dev/null 2>&1; }
b_sets_up() { ls homes/b/.cache/dtrain/setups/*/started >/dev/null 2>&1; }

test_a_host_that_falls_silent_during_the_transfer_is_named() {
  [[ $(long_or short long) == long ]] || skip 'takes half a minute; make test-long runs it'
  run_timeout_s=120
  hosts_with_homes
  head -c 500000000 /dev/urandom >tree/large
  start_sync --sync -H a:1,b:1 touch ../started
  wait_for b_receives
  stop_sync_process b
  finish
  expect_status 2
  expect_stderr_contains 'dtrain: b: nothing has come from it for 30s while it got the files of --sync'
  expect_stderr_lacks 'dtrain: a: '
  expect_not ls homes/a/.cache/dtrain/trees/started
  expect_no_processes
}

test_a_host_whose_process_hangs_in_a_setup_is_named() {
  [[ $(long_or short long) == long ]] || skip 'takes half a minute; make test-long runs it'
  run_timeout_s=120
  hosts_with_homes
  echo one >tree/one
  # shellcheck disable=SC2016
  start_sync --sync --setup 'touch "$DTRAIN_SETUP_DIR/started"; [ "${HOME##*/}" = a ] || sleep 1000' --setup-timeout 3s \
    -H a:1,b:1 true
  wait_for b_sets_up
  stop_sync_process b
  finish
  expect_status 2
  expect_stderr_contains 'dtrain: b: its setup has not ended long after --setup-timeout'
  expect_stderr_lacks 'dtrain: a: '
  expect_no_processes
}

test_links_come_back_and_what_cannot_come_is_named() {
  hosts_with_homes
  mkdir -p tree/out
  ln -s ../data tree/out/kept
  ln -s old tree/out/moved
  echo data >tree/data
  # A link that is younger than 10 ms when the job starts counts as changed since.
  sleep 0.02
  sync_dtrain --sync --fetch 'out' -H a:1,b:1 sh -c '[ "$RANK" = 0 ] || exit 0
    cd out; echo 9 >model-9; ln -s model-9 latest; ln -sfn model-9 moved; ln -s /etc/passwd away; ln -s ../../x up; mkfifo fifo pipe'
  expect_status 0
  expect_file tree/out/model-9 9
  expect_file tree/out/latest 9
  expect [ "$(readlink tree/out/latest)" = model-9 ]
  expect [ "$(readlink tree/out/kept)" = ../data ]
  expect [ "$(readlink tree/out/moved)" = model-9 ]
  expect_stderr_contains "--fetch leaves out 4 names of a, since only files and links that stay in the tree come back: out/fifo (a FIFO), out/pipe (a FIFO), out/away (a link to '/etc/passwd', which is absolute), …"
  expect [ "$(ls -A tree/out)" = "$(printf '%s\n' kept latest model-9 moved)" ]
  # A user without the right to read: root has it by two capabilities.
  local as=()
  if ((EUID == 0)); then as=(setpriv --bounding-set '-dac_override,-dac_read_search'); fi
  run env -C tree "${as[@]}" "$DTRAIN" run --rsh-agent "$PWD/rsh" --no-tag --sync --fetch 'new' -H a:1,b:1 \
    sh -c '[ "$RANK" = 0 ] || exit 0; mkdir new; for name in a b c; do echo "$name" >new/$name; done; chmod 0 new/a new/c'
  expect_status 0
  expect_file tree/new/b b
  expect [ "$(ls -A tree/new)" = b ]
  expect_stderr_contains '--fetch: 2 files of a cannot be read: new/a (Permission denied), new/c (Permission denied)'
}

run_tests "$@"
