#!/usr/bin/env bash
# Horovod's own tests on the package dtrain, where HOROVOD_SOURCE names a checkout of Horovod 0.28.1. The source
# distribution on PyPI has no tests.
# shellcheck disable=SC2154  # set by the libraries
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$(dirname "$0")/../net/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=python_lib.sh
. "$(dirname "$0")/python_lib.sh"

uses_suite() {
  uses_wheel "$1"
  [[ -n ${HOROVOD_SOURCE-} ]] || skip 'HOROVOD_SOURCE names no checkout of Horovod'
}

# run_suite VENV FILE…: each rank has judged each of these tests.
run_suite() {
  local name=$1
  shift
  uses_suite "$name"
  FILES=$* run "$scripts/horovod_suite.sh" "$name"
  expect_status 0
  expect_no_processes
}

# Those that only make test-long runs.
run_long() {
  [[ $(long_or short long) == long ]] || skip 'only make test-long runs them'
  # shellcheck disable=SC2034  # for the library of tests/cli
  run_timeout_s=3000
  run_suite "$@"
}

test_keras_on_the_oldest_tensorflow() { run_suite tensorflow-old test_tensorflow2_keras; }

test_all_on_the_oldest_tensorflow() { run_long tensorflow-old; }

test_all_on_todays_tensorflow() { run_long tensorflow; }

test_all_on_todays_pytorch() { run_long torch; }

test_all_on_debians_pytorch() { run_long python-torch; }

install_wheel tensorflow tensorflow-old torch python-torch
run_tests "$@"
