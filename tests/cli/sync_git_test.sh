#!/usr/bin/env bash
# --sync-from with the URL of a git repository. Hosts are names of this machine: the remote shell gives each its own home.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
server_source=$(realpath "$(dirname "$0")/../unit/launcher/sync/source/git_server.h")

token=s3cret

git_here() {
  GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 git -c user.name=Test -c user.email=test@example.org \
    -c protocol.file.allow=always -c init.defaultBranch=main -c commit.gpgsign=false "$@"
}

# A repository of two commits, `app`: the first has the tag v1 and the branch old/one.
make_repository() {
  export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
  mkdir -p hosted/source/part elsewhere
  echo one >hosted/source/code
  echo part >hosted/source/part/file
  git_here init -q hosted/source
  git_here -C hosted/source add -A
  git_here -C hosted/source commit -q -m first
  git_here -C hosted/source tag v1
  git_here -C hosted/source branch old/one
  first=$(git_here -C hosted/source rev-parse HEAD)
  echo two >hosted/source/code
  git_here -C hosted/source commit -q -a -m second
  second=$(git_here -C hosted/source rev-parse HEAD)
  git_here clone -q --bare hosted/source hosted/app
  url=file://$PWD/hosted/app
  printf '%s\n' '#!/bin/sh' 'host=$1' 'shift' "HOME=$PWD/homes/\$host XDG_RUNTIME_DIR=" \
    'export HOME XDG_RUNTIME_DIR' 'mkdir -p "$HOME"' 'exec "$@"' >rsh
  chmod +x rsh
  export HOME=$PWD/homes/here
  mkdir -p "$HOME"
  unset XDG_RUNTIME_DIR
}

# Serves ./hosted by HTTP: for all below /open/, for "me" with the token below /private/.
serve() {
  # The server of the unit tests, without the C++ around it.
  sed -n '/R"($/,/^)"/{//!p}' "$server_source" >../server.py
  env -u TEST_MARKER python3 ../server.py "$PWD/hosted" ../requests >../ports &
  # shellcheck disable=SC2064  # expands now
  trap "kill $!; end_marked_processes" EXIT
  wait_for test -s ../ports
  http=http://127.0.0.1:$(cut -d ' ' -f 1 ../ports)
}

# The current folder plays no role.
options=(run --rsh-agent "../rsh" --no-tag --report ../report.json)
git_dtrain() { run env -C elsewhere "$DTRAIN" "${options[@]}" "$@"; }

expect_report() {
  expect python3 -c 'import json, sys
sync = json.load(open("report.json"))["sync"]
assert eval(sys.argv[1]), sync' "$1"
}
expect_no_checkout() { [[ -z $(ls -A "$HOME/.cache/dtrain/checkouts" 2>/dev/null) ]] || fail 'a checkout is left'; }
expect_no_token() {
  local found
  found=$(grep -rlF "$token" . "$out" --exclude token || true)
  [[ -z $found ]] || fail "the token is in files:" "$found"
}
expect_refusal() {
  expect_status 2
  expect_stderr_contains "$1"
  [[ -z $(find homes -name started) ]] || fail 'a task has started'
  expect_no_checkout
}

test_the_tree_of_a_url_reaches_all_hosts_and_this_one() {
  make_repository
  # shellcheck disable=SC2016
  git_dtrain --sync-from "$url" -H a:1,localhost:1 sh -c 'echo "$(cat code) $(ls -A | tr "\n" " ")$DTRAIN_CODE_DIR"'
  expect_status 0
  expect_stdout_contains "two code part $PWD/homes/a/.cache/dtrain/trees/"
  expect_stdout_contains "two code part $PWD/homes/here/.cache/dtrain/trees/"
  expect_stderr_contains "--sync-from $url: no REF given: branch main, commit $second"
  expect_report "sync['root'] == '$url' and sync['commit'] == '$second' and sync['dirty'] is False"
  expect_report 'len(sync["hosts"]) == 2'
  expect_no_checkout
  git_dtrain --sync-from "$url@v1" --chdir part -H a:1 cat file ../code
  expect_stdout 'part
one'
}

test_a_ref_is_a_branch_a_tag_or_a_hash() {
  make_repository
  for ref in v1 old/one "$first" "${first:0:8}"; do
    git_dtrain --sync-from "$url@$ref" -H a:1 cat code
    expect_status 0
    expect_stdout one
    expect_stderr_lacks 'no REF given'
    expect_report "sync['root'] == '$url' and sync['commit'] == '$first'"
  done
}

test_a_ref_that_is_not_there_and_a_server_that_does_not_answer() {
  make_repository
  git_dtrain --sync-from "$url@none" -H a:1 touch ../started
  expect_refusal "no branch and no tag 'none'"
  git_dtrain --sync-from "$url@--upload-pack=x" -H a:1 touch ../started
  expect_refusal "it begins with '-'"
  git_dtrain --sync-from http://127.0.0.1:1/app -H a:1 touch ../started
  expect_refusal 'git cannot reach the repository'
}

test_submodules_come_from_the_server() {
  make_repository
  git_here clone -q --bare hosted/source hosted/parts
  git_here -C hosted/source submodule --quiet add "$PWD/hosted/parts" parts
  git_here -C hosted/source config -f .gitmodules submodule.parts.url ../parts
  git_here -C hosted/source commit -q -a -m third
  git_here -C hosted/source push -q ../app main
  serve
  git_dtrain --sync-from "$http/open/app" -H a:1 cat parts/code
  expect_status 0
  expect_stdout two
}

# The tokens of a job that runs: of all its processes but the launcher, to whom its user gave the variable.
marked_with_token() {
  local pid
  for pid in $(marked_pids); do
    ! grep -qsF "$token" "/proc/$pid/cmdline" || echo "$pid has it in an argument"
    tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q ' run --rsh-agent ' && continue
    ! grep -qsF "$token" "/proc/$pid/environ" || echo "$pid: $(tr '\0' ' ' <"/proc/$pid/cmdline")"
  done
}

test_a_token_of_a_variable_reaches_only_git() {
  make_repository
  serve
  # shellcheck disable=SC2016
  start env -C elsewhere GIT_TOKEN=$token "$DTRAIN" "${options[@]}" --sync-from "$http/private/app@v1" --sync-user me \
    --sync-token-env GIT_TOKEN --setup env --verbose -H a:1,localhost:1 \
    sh -c 'env >&2; touch "../started.$RANK"; until [ -e ../stop ]; do sleep 0.05; done; cat code'
  wait_for test -e homes/a/.cache/dtrain/trees/started.0 -a -e homes/here/.cache/dtrain/trees/started.1
  found=$(marked_with_token)
  [[ -z $found ]] || fail "the token is in processes:" "$found"
  [[ $(marked_pids | wc -l) -ge 5 ]] || fail 'no processes of the job were found'
  touch homes/a/.cache/dtrain/trees/stop homes/here/.cache/dtrain/trees/stop
  finish
  expect_status 0
  expect_stdout_contains one
  expect_no_token
  expect_stderr_lacks GIT_TOKEN=
  expect_stderr_contains TEST_MARKER=
  expect_report "sync['root'] == '$http/private/app'"
  expect_no_checkout
}

test_a_token_of_a_file_and_wrong_ones() {
  make_repository
  serve
  (umask 077 && echo "$token" >token && echo guess >wrong)
  private=(--sync-from "$http/private/app@v1" -H a:1)
  git_dtrain "${private[@]}" --sync-user me --sync-token-file ../token cat code
  expect_status 0
  expect_stdout one
  expect_no_token
  git_dtrain "${private[@]}" --sync-user me --sync-token-file ../wrong touch ../started
  expect_refusal 'Authentication failed'
  expect_stderr_lacks guess
  git_dtrain "${private[@]}" touch ../started
  expect_refusal '--sync-token-file'
  git_dtrain "${private[@]}" --sync-user me touch ../started
  expect_refusal '--sync-token-file'
  git_dtrain "${private[@]}" --sync-token-file ../none touch ../started
  expect_refusal 'No such file'
  git_dtrain "${private[@]}" --sync-token-env NONE touch ../started
  expect_refusal 'NONE: there is no such variable'
  chmod 622 token
  git_dtrain "${private[@]}" --sync-token-file ../token touch ../started
  expect_refusal 'other users may write to it'
}

test_options_that_do_not_fit_a_url_are_refused_before_the_start() {
  make_repository
  git_dtrain --sync-from "$url" --fetch out -H a:1 touch ../started
  expect_refusal '--fetch-to DIR'
  git_dtrain --sync-from https://127.0.0.1:1/a --sync-token-env TOKEN -x TOKEN -H a:1 touch ../started
  expect_refusal '-x gives TOKEN to the workers'
  git_dtrain --sync-from "$url" --chdir ../.. -H a:1 touch ../started
  expect_refusal "is not in $url"
  git_dtrain --sync-from "https://me:$token@127.0.0.1:1/a" -H a:1 touch ../started
  expect_refusal 'has a password'
  expect_no_token
  git_dtrain --sync-from "$url" --dry-run -H a:1 touch ../started
  expect_status 0
  expect_stdout_contains "Files of $url: not listed"
}

test_setup_and_fetch_work_with_a_url() {
  make_repository
  for ref in v1 main; do
    # shellcheck disable=SC2016
    git_dtrain --sync-from "$url@$ref" --setup 'cat code >>"$DTRAIN_SETUP_DIR/log"' --fetch out --fetch-to ../results \
      -H a:1,localhost:1 sh -c 'mkdir -p out; cat "$DTRAIN_SETUP_DIR/log" >"out/$RANK"'
    expect_status 0
  done
  # One folder for all commits of a repository.
  expect_file results/out/0 'one
two'
}

test_a_killed_launcher_leaves_no_git() {
  make_repository
  # It takes connections, and never answers.
  env -u TEST_MARKER python3 -c 'import socket, time
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
time.sleep(600)' >../port &
  # shellcheck disable=SC2064  # expands now
  trap "kill $!; end_marked_processes" EXIT
  wait_for test -s ../port
  for number in KILL TERM; do
    start env -C elsewhere "$DTRAIN" "${options[@]}" --sync-from "http://127.0.0.1:$(<../port)/a" -H a:1 true
    wait_for git_runs
    signal "$number"
    finish
    expect_no_processes
  done
  # That of the launcher that was killed; the other one has removed its own.
  [[ $(find "$HOME/.cache/dtrain/checkouts" -name "*.lock" | wc -l) -eq 1 ]] || fail 'not one checkout is left'
  git_dtrain --sync-from "$url" -H a:1 true
  expect ls -d "$HOME"/.cache/dtrain/checkouts/?*
  touch -d '2 days ago' "$HOME"/.cache/dtrain/checkouts/*.lock
  git_dtrain --sync-from "$url" -H a:1 true
  expect_status 0
  expect_no_checkout
}
git_runs() {
  local pid
  for pid in $(marked_pids); do
    ! grep -qs '^git-remote-http' "/proc/$pid/comm" || return 0
  done
  return 1
}

run_tests "$@"
