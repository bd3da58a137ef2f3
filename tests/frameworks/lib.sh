# shellcheck shell=bash
# For tests of real scripts of the frameworks that tools/setup.sh frameworks installs. Sourced after
# tests/cli/lib.sh; for jobs on hosts, tests/net/lib.sh comes after it.
#
#   uses NAME              $python is that of build/venv-NAME, or Debian's with `uses debian-torch`; skips the
#                          test where it is not installed
#   $examples, $scripts    the folders of the examples, and of this file
#   run_readme EXAMPLE     runs the command in the README of an example, unchanged
#   expect_readme EXAMPLE  stdout has the lines of that README, in any order, and no others
#   expect_same_numbers FILE SHOWN TOLERANCE      both have the same words, and numbers that differ by no more
#   expect_cause RANK ERROR          dtrain names the rank that failed first, and its Python error with its place
#   expect_no_dtrain_message         stderr, where the frameworks print much, has no message of dtrain
#   expect_training_result N         N ranks have trained on the digits
#   expect_resumed_training ARG…     `dtrain run --max-restarts 3 ARG…` of a script with KILLS has the losses of a run
#                                    without deaths, and starts again only the steps after its checkpoint
scripts=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck disable=SC2034  # for the tests
examples=$(realpath "$scripts/../../examples")
# shellcheck disable=SC2034  # for the library of tests/cli
run_timeout_s=600 # one command may start thirty jobs, each of which imports a framework, on a busy machine

uses() {
  local folder
  folder=$(realpath "$scripts/../..")/build/venv-$1
  if [[ $1 == debian-torch ]]; then
    python=/usr/bin/python3
    "$python" -c 'import torch' 2>/dev/null || skip "python3-torch is not installed (tools/setup.sh frameworks)"
  else
    python=$folder/bin/python
    [[ -e $folder/installed ]] || skip "build/venv-$1 is not there (tools/setup.sh frameworks)"
  fi
}

shown_command() { awk '/^    \$ dtrain / { on = sub(/^    \$ /, "") } on { print } on && !/\\$/ { exit }' "$1"; }
shown_output() {
  awk '/^    \$ dtrain / { on = 1 } on && !NF { exit } shown { sub(/^ +/, ""); print } on && !/\\$/ { shown = 1 }' "$1"
}

# Runs in a folder with links to the example's scripts, by a shell that finds dtrain and python.
run_readme() {
  local command
  command=$(shown_command "$examples/$1/README.md")
  [[ -n $command ]] || fail "no command in the README of $1"
  ln -sf "$examples/$1"/*.py .
  mkdir -p bin
  ln -sf "$DTRAIN" bin/dtrain
  # PATH has a virtual environment's own folder: by a link elsewhere, Python would not recognise it.
  local folder=${python%/*}
  if [[ ! -e $folder/python ]]; then ln -sf "$python" bin/python; fi
  run env PATH="$PWD/bin:$folder:$PATH" bash -c "$command"
}

# Leaves out the lines of Gloo, which logs its connections on stdout.
expect_readme() {
  # shellcheck disable=SC2154  # set by the library
  grep -v '^\[Gloo\] ' "$out/stdout" | sort >printed || true
  shown_output "$examples/$1/README.md" | sort >shown
  expect test -s shown
  expect_file printed "$(cat shown)"
}

expect_same_numbers() {
  expect test -s "$2"
  expect test "$(wc -l <"$1")" = "$(wc -l <"$2")"
  paste -d ' ' "$1" "$2" | awk -v tolerance="$3" '
    { for (i = 1; i <= NF / 2; i++) {
        a = $i; b = $(i + NF / 2)
        if (a == b) continue
        if (a + 0 == 0 || b + 0 == 0 || (a - b) ^ 2 > (tolerance * 1.001) ^ 2) { print a " is not " b; exit 1 } } }' ||
    fail "$1 differs from $2" "$(cat "$1")" "$(cat "$2")"
}

# Every framework trains the digits to the same network, except for the rounding of sums.
expect_training_result() {
  local ranks="$1 ranks"
  if (($1 == 1)); then ranks='1 rank'; fi
  # shellcheck disable=SC2154  # set by the library
  [[ $(cat "$out/stdout") =~ ^$ranks:\ loss\ (0\.01[0-9]+),\ accuracy\ (89|9[0-9])\.[0-9]\ %$ ]] ||
    fail 'no such result'
  awk -v loss="${BASH_REMATCH[1]}" 'BEGIN { exit !((loss - 0.0189) ^ 2 <= 1e-6) }' || fail 'expected the loss 0.0189'
}

# Other ranks may fail first because of the error. The rank that raised it then gets a TERM while it ends.
expect_cause() {
  local failed="^dtrain: rank $1 \(host localhost, pid [0-9]+\) failed: (exit status 1|killed by SIGTERM .*)$"
  grep -E -A 1 "$failed" "$out/stderr" >cause || fail "rank $1 is not reported as the cause"
  expect grep -qxF "dtrain:   $2" cause
}

expect_no_dtrain_message() { ! grep -q '^dtrain: ' "$out/stderr" || fail 'dtrain logged a message'; }

# losses_of FILE [VARIABLE=VALUE] CMD…: runs it, and writes the loss of each step.
losses_of() {
  local file=$1
  shift
  rm -f checkpoint.pt
  run env "$@"
  expect_status 0
  # shellcheck disable=SC2031  # set by the library
  sed -n 's/^\[0\]<stdout>:restart/restart/p' "$out/stdout" >"$file"
}

expect_resumed_training() {
  losses_of undisturbed "$DTRAIN" run --max-restarts 3 "$@"
  expect_no_dtrain_message
  expect test "$(wc -l <undisturbed)" = 12
  losses_of killed KILLS=1 "$DTRAIN" run --max-restarts 3 "$@"
  expect_stderr_contains 'dtrain: restart 2 of 3 in 1s after rank '
  expect test "$(cut -d, -f1 killed | uniq -c | tr -s ' ')" = ' 4 restart 0
 4 restart 1
 4 restart 2'
  expect test "$(cut -d, -f2 killed)" = "$(cut -d, -f2 undisturbed)"
  expect_no_processes
}
