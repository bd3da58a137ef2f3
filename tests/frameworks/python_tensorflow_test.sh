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

install_wheel tensorflow tensorflow-old
run_tests "$@"
