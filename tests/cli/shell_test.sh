#!/usr/bin/env bash
# dtrain under a shell: in loops, in the background of a terminal, in pipes.
. "$(dirname "$0")/lib.sh"
typing=$(realpath "$(dirname "$0")/typing.py")
export PYTHONDONTWRITEBYTECODE=1 # typing.py includes a file beside it

test_a_loop_that_reads_its_list_from_stdin_keeps_it() {
  printf '%s\n' a b c >list
  run bash -c 'while read -r host; do
    "$0" run -np 2 --no-tag sh -c "cat; echo job for \$1" "" "$host"
  done <list' "$DTRAIN"
  expect_status 0
  expect_stdout_lines 'job for a' 'job for a' 'job for b' 'job for b' 'job for c' 'job for c'
}

test_a_loop_keeps_its_list_also_when_jobs_fail_or_are_wrong() {
  printf '%s\n' 1 2 3 >list
  run bash -c 'while read -r status; do
    "$0" run -np 2 sh -c "exit $status" || echo "status $?"
    "$0" run --no-such-option || echo "usage $?"
  done <list' "$DTRAIN"
  expect_status 0
  expect_stdout $'status 1\nusage 2\nstatus 2\nusage 2\nstatus 3\nusage 2'
}

# shell_steps LINE-OF-THE-SHELL…: types each at the prompt of an interactive bash with job control.
type_into_a_shell() {
  local line
  for line in "$@"; do printf '%s\n' 'ready>' "$line\\r"; done >steps
  printf '%s\n' 'ready>' 'exit\r' >>steps
  ln -sf "$DTRAIN" dtrain
  run "$typing" 30 steps env PS1='ready>' TERM=dumb bash --norc --noprofile -i
  tr -d '\r' <"$out/stdout" >screen
}

test_a_job_in_the_background_of_a_terminal_is_not_stopped() {
  type_into_a_shell 'set -m; stty tostop' \
    './dtrain run -np 2 sh -c "echo out $((40 + 2)); echo err $((40 + 3)) >&2; cat; echo end" & job=$!' \
    'stty -tostop; wait $job; echo "ended with $?"'
  expect_status 0
  for line in '[0]<stdout>:end' '[1]<stdout>:end' '[0]<stdout>:out 42' '[1]<stderr>:err 43' 'ended with 0'; do
    expect grep -qF "$line" screen
  done
  expect_not grep -q Stopped screen
}

test_a_job_that_reads_stdin_leaves_the_terminal_to_the_shell_until_it_is_in_front() {
  printf '%s\n' 'ready>' './dtrain run -np 2 --stdin all sh -c "echo up; read line; echo got \\$line" &\r' \
    'stdout>:up' '\r' 'ready>' 'echo typed $((40 + 2))\r' 'typed 42' 'fg\r' \
    'dtrain run' 'hello\r' '[0]<stdout>:got hello' '' >steps
  printf '%s\n' 'ready>' 'exit\r' >>steps
  ln -s "$DTRAIN" dtrain
  run "$typing" 30 steps env PS1='ready>' TERM=dumb bash --norc --noprofile -i
  expect_status 0
  expect_stdout_contains '[1]<stdout>:got hello'
  expect_stdout_lacks Stopped
}

test_a_job_in_the_foreground_ends_by_the_keys_of_the_terminal() {
  printf '%s\n' 'ready>' './dtrain run -np 2 sh -c "echo up $((40 + 2)); exec sleep 300"\r' \
    '[1]<stdout>:up 42' '\x03' 'ready>' 'echo "status $?"\r' 'ready>' 'exit\r' >steps
  ln -s "$DTRAIN" dtrain
  run "$typing" 30 steps env PS1='ready>' TERM=dumb bash --norc --noprofile -i
  expect_stdout_contains 'status 130'
  expect_no_processes
}

test_command_substitution_gets_the_workers_output_and_nothing_else() {
  run bash -c 'text=$("$0" run -np 1 --no-tag echo hello); echo "<$text>"' "$DTRAIN"
  expect_stdout '<hello>'
}

run_tests "$@"
