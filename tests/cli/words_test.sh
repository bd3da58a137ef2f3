#!/usr/bin/env bash
# Command lines that newcomers write: each gets an answer with the words that work.
. "$(dirname "$0")/lib.sh"

# answered STATUS TEXT ARGUMENT…: dtrain ends with this status and this line.
answered() {
  local expected=$1 text=$2
  shift 2
  run_dtrain "$@"
  expect_status "$expected"
  expect_stderr "dtrain: $text"
  expect_stdout ''
}

test_a_python_file_is_started_with_python() {
  local python=python
  command -v python >/dev/null || python=python3
  echo 'print("hello")' >ddp.py
  answered 126 "ddp.py is a Python file; write: dtrain run -np 2 $python ddp.py --lr 1" run -np 2 ddp.py --lr 1
  answered 126 "./ddp.py is a Python file; write: dtrain run -np 2 $python ./ddp.py" run -np 2 ./ddp.py
  chmod +x ddp.py
  answered 126 "./ddp.py is a Python file; write: dtrain run -np 2 $python ./ddp.py" run -np 2 -- ./ddp.py
  printf '#!/usr/bin/env python3\nprint("hello")\n' >ddp.py
  run_dtrain run -np 1 --no-tag ./ddp.py
  expect_stdout hello
}

test_a_command_in_quotes_is_one_word() {
  answered 126 "'sh -c true' is one word; leave out the quotes, or use sh -c: dtrain run -np 2 sh -c 'sh -c true'" \
    run -np 2 'sh -c true'
}

test_a_variable_before_the_command_is_an_option() {
  answered 126 'FOO=1 is no command; to set a variable: dtrain run -np 2 -x FOO=1 true' run -np 2 FOO=1 true
}

test_a_forgotten_number_is_missed() {
  answered 2 '-np: expected a number, got "true"' run -np true
}

test_the_version_has_the_usual_letter() {
  run_dtrain -v
  expect_status 0
  expect_stdout "$("$DTRAIN" version)"
}

test_help_names_the_page_of_a_topic_without_a_command() {
  run_dtrain help environment
  expect_status 0
  expect_stdout 'The manual page for environment (the variables that workers get, and that dtrain reads): man 7 dtrain-environment'
}

test_a_table_in_dtrain_toml_is_refused_as_a_table() {
  printf '[run]\nnp = 2\n' >dtrain.toml
  answered 2 "dtrain.toml:1:2: [run]: dtrain.toml has no tables; write each option as a line of its own, such as: np = 4
dtrain:   [run]
dtrain:    ^" run true
}

test_values_that_dtrain_replaces_are_named_once() {
  # shellcheck disable=SC2016
  run_dtrain run -np 2 -x RANK=7 -x WORLD_SIZE=9 --no-tag sh -c 'echo $RANK of $WORLD_SIZE'
  expect_status 0
  expect_stdout_lines '0 of 2' '1 of 2'
  expect_stderr 'dtrain: warning: RANK, WORLD_SIZE: dtrain sets them for each task; the values given are not used'
}

test_all_failures_of_a_job_that_continues_are_counted() {
  # shellcheck disable=SC2016
  run_dtrain run -np 4 --on-failure continue sh -c '[ $RANK = 3 ] || sleep $RANK; [ $RANK = 3 ] || exit 1$RANK'
  expect_status 10
  expect_stderr_contains 'rank 0 (host localhost'
  expect_stderr_contains 'dtrain: and 2 more: ranks 1, 2 failed'
}

# shellcheck disable=SC2317  # wait_for calls it
all_ready() { [[ $(grep -c ready "$out/stdout") -eq 3 ]]; }

test_a_job_that_is_slow_to_end_shows_for_which_ranks_it_waits() {
  # shellcheck disable=SC2016
  start_dtrain run -np 3 --grace 60s --no-tag sh -c '[ $RANK = 2 ] || trap "" INT TERM; echo ready; while sleep 0.1; do :; done'
  wait_for all_ready
  signal INT
  wait_for stderr_has 'dtrain: interrupted; waiting up to 1m for ranks 0, 1; Ctrl-C again ends them now'
  signal INT
  finish
  expect_status 130
  expect_soon
  expect_no_processes
}

run_tests "$@"
