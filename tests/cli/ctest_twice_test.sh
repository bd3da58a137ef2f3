#!/usr/bin/env bash
# tools/ctest_twice.sh: a test that needs a second try fails the run, unless the list allows it.
. "$(dirname "$0")/lib.sh"
tools_dir=$(realpath "$(dirname "$0")/../../tools")

# project NAME… : makes CTest tests of these names. "good" passes, "bad" fails, others fail only once.
project() {
  local name
  printf '%s\n' 'cmake_minimum_required(VERSION 3.20)' 'project(p NONE)' 'enable_testing()' >CMakeLists.txt
  for name in "$@"; do
    case $name in
      good) echo 'add_test(NAME good COMMAND true)' ;;
      bad) echo 'add_test(NAME bad COMMAND false)' ;;
      *) echo "add_test(NAME $name COMMAND sh -c \"test -e $name || ! : >$name\")" ;;
    esac >>CMakeLists.txt
  done
  run cmake -S . -B build
  expect_status 0
}

# twice LINE… : runs the tests, with these lines as the list.
twice() {
  printf '%s\n' "$@" >list
  run "$tools_dir/ctest_twice.sh" list --test-dir build
}

# expect_closing TEXT: TEXT is the last summary in the output, which other programs may parse.
expect_closing() {
  expect test "$(grep '% tests passed' "$out/stdout" | tail -n 1)" = "$1"
}

test_a_test_that_passes_runs_once() {
  project good
  twice ''
  expect_status 0
  expect_stdout_lacks 'once more'
  expect_closing '100% tests passed, 0 tests failed out of 1'
}

test_a_second_try_fails_the_run_and_is_named() {
  project good late.one bad_luck
  twice '# nothing'
  expect_status 8
  expect_stdout_contains 'late.one needed a second try, and is not in list: this run has failed'
  expect_stdout_contains 'bad_luck needed a second try, and is not in list: this run has failed'
  expect_closing '33% tests passed, 2 tests failed out of 3'
}

test_a_second_try_that_the_list_allows_passes_and_is_shown_with_its_reason() {
  project good late.one
  twice '# why' 'late.one: its port is everybody'"'"'s' 'other: never'
  expect_status 0
  expect_stdout_contains "late.one needed a second try, which list allows: its port is everybody's"
  expect_closing '100% tests passed, 0 tests failed out of 1'
}

test_a_name_in_the_list_is_no_pattern() {
  project late_one
  twice 'late.one: another test' 'late: another test'
  expect_status 8
  expect_stdout_contains 'late_one needed a second try, and is not in list'
}

test_a_test_that_fails_twice_fails_the_run_listed_or_not() {
  project good bad late
  twice 'bad: hopeless' 'late: of a busy machine'
  expect_status 8
  expect_stdout_contains 'late needed a second try, which list allows'
  expect_stdout_lacks 'bad needed a second try'
  expect_closing '50% tests passed, 1 tests failed out of 2'
}

test_a_line_without_a_reason_is_refused_before_anything_runs() {
  project good
  twice 'late:'
  expect_status 2
  expect_stderr_contains "list: a line is 'name: reason', not 1:late:"
  expect_stdout ''
}

run_tests "$@"
