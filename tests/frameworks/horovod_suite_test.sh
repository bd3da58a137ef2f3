#!/usr/bin/env bash
# Horovod's own tests and examples on the package dtrain, where HOROVOD_SOURCE names a checkout of Horovod 0.28.1. The source
# distribution on PyPI has neither.
# shellcheck disable=SC2154,SC2031  # set by the libraries
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

# run_example FOLDER/NAME: two ranks train, by an example with other images and fewer steps.
run_example() {
  run_dtrain run -np 2 -x TF_CPP_MIN_LOG_LEVEL=3 -x "PYTHONPATH=$PWD/scipy" --no-tag --timeout $((run_timeout_s - 20)) \
    "$python" -m dtrain.horovod "$scripts/horovod_example.py" "$HOROVOD_SOURCE/examples/$1.py"
  expect_status 0
  expect_no_processes
}

test_its_examples_on_the_oldest_tensorflow() {
  [[ $(long_or short long) == long ]] || skip 'only make test-long runs them'
  uses_suite tensorflow-old
  # Keras turns images by it.
  "$python" -m pip install --quiet --disable-pip-version-check --no-deps --target scipy scipy==1.11.4
  run_example tensorflow2/tensorflow2_mnist
  expect grep -qE '^Step #30\s+Loss: 0\.[0-2]' "$out/stdout"
  run_example tensorflow2/tensorflow2_keras_mnist
  expect grep -qE 'accuracy: 0\.9[0-9]+ - lr: 0\.0020|accuracy: 1\.0+ - lr: 0\.0020' "$out/stdout"
  local name
  for name in keras_mnist keras_mnist_advanced; do
    run_example "keras/$name"
    # Both ranks have the same weights.
    expect test "$(grep -c '^Test loss' "$out/stdout")" = 2
    expect test "$(grep '^Test loss' "$out/stdout" | sort -u | wc -l)" = 1
  done
  run_example tensorflow/tensorflow_mnist
  expect test -s checkpoints/model.ckpt-40.index
}

install_wheel tensorflow tensorflow-old torch python-torch
run_tests "$@"
