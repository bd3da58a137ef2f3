#!/usr/bin/env bash
# Horovod's API for TensorFlow, in the package that its wheel installs. python/tests/tensorflow has the tests in Python.
# shellcheck source=../cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"
# shellcheck source=../net/lib.sh
. "$(dirname "$0")/../net/lib.sh"
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=python_lib.sh
. "$(dirname "$0")/python_lib.sh"
export TF_CPP_MIN_LOG_LEVEL=2

test_horovods_api_for_tensorflow() {
  uses_wheel tensorflow
  run_on 2 "$repository/python/tests/tensorflow"
  run_on 3 "$repository"/python/tests/tensorflow/test_{order,functions,gradients,arguments}.py
}

test_horovods_api_for_the_oldest_tensorflow() {
  uses_wheel tensorflow-old
  run_on 2 "$repository/python/tests/tensorflow"
}

test_horovods_api_for_tensorflow_on_two_hosts() {
  uses_wheel tensorflow
  run_on_hosts "$repository"/python/tests/tensorflow/test_{order,functions}.py
}

test_jobs_with_tensorflow_from_outside() {
  local name
  for name in tensorflow tensorflow-old; do
    uses_wheel "$name"
    run "$python" -m pytest -q -p no:cacheprovider "$repository/python/tests/tensorflow_outside"
    expect_status 0
  done
  expect_no_processes
}

test_horovods_script_for_tensorflow_with_no_line_changed() {
  uses_wheel tensorflow
  run_dtrain run -np 2 --no-tag "$python" -m dtrain.horovod "$examples/horovod_tensorflow/train.py" saved
  expect_status 0
  expect_stdout_lines 'rank '{0,1}' of 2: y = 2.000 x + 10.000'
}

install_wheel tensorflow tensorflow-old
run_tests "$@"
